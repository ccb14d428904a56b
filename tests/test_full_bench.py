"""The benchmark of full sets, on small files of the forms that they are downloaded in."""

import gzip
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from onkel.partitions import newton

ROWS = 700


@pytest.fixture(scope="module")
def bench():
    path = Path(__file__).parents[1] / "benchmarks" / "full_bench.py"
    spec = importlib.util.spec_from_file_location("full_bench", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["full_bench"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["full_bench"]


def numbers(rng, n_features):
    X = rng.normal(size=(ROWS, n_features))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


def text_of(name):
    """What the file of a set looks like."""
    rng = np.random.default_rng(3)
    if name == "flights":
        header = (
            "Year,Month,DayofMonth,DayOfWeek,DepTime,CRSDepTime,ArrTime,CRSArrTime,UniqueCarrier,FlightNum,TailNum,"
        )
        header += "ActualElapsedTime,ArrDelay,DepDelay,Origin,Dest,Distance,Cancelled"
        lines = [header]
        for i in range(ROWS):
            month, hour, carrier = rng.integers(1, 5), rng.integers(6, 22), rng.choice(["WN", "AA", "9E"])
            delay = "NA" if i % 50 == 7 else f"{round(hour * 3 + 20 * (carrier == 'AA') + rng.normal())}"
            lines.append(
                f"2008,{month},{i % 28 + 1},{i % 7 + 1},{hour}05,{hour}00,{hour + 2}10,{hour + 2}00,{carrier},335,"
                f"N712SW,128,{delay},8,IAD,{rng.choice(['TPA', 'BWI'])},{'NA' if i % 9 == 0 else 810},0"
            )
        return "\n".join(lines)
    if name == "covtype":
        X, score = numbers(rng, 54)
        rows = np.column_stack([np.round(100 * X), np.where(score > 0, 2, rng.choice([1, 3, 7], ROWS))])
        return "\n".join(",".join(f"{value:.0f}" for value in row) for row in rows)
    X, score = numbers(rng, {"susy": 18, "higgs": 28, "msd": 90}[name])
    target = np.round(1998 + 9 * X[:, 0]) if name == "msd" else (score > 0) * 1.0
    form = "{:.5f}" if name == "msd" else "{:.18e}"
    return "\n".join(
        ",".join([f"{y:.0f}" if name == "msd" else form.format(y), *map(form.format, row)])
        for y, row in zip(target, X, strict=True)
    )


@pytest.mark.parametrize("name", ["susy", "higgs", "covtype", "flights", "msd"])
def test_a_small_file_of_each_form_is_cut_and_learned_from(name, bench, tmp_path, monkeypatch):
    monkeypatch.setattr(newton, "sample_rows_for", lambda budget: 300)
    form = bench.FORMS[name]
    if form.train is not None:
        form = replace(form, train=600)
    file = tmp_path / f"{name}.csv.gz"
    file.write_bytes(gzip.compress(text_of(name).encode()))
    bench.cut(form, file, tmp_path / "parts", part_rows=250)
    train = [pq.read_metadata(path).num_rows for path in sorted((tmp_path / "parts").glob("train-*.parquet"))]
    known = ROWS - (ROWS // 50 if name == "flights" else 0)
    test = pq.read_metadata(tmp_path / "parts" / "test.parquet").num_rows
    assert train[:2] == [250, 250]
    assert sum(train) + test == known
    assert test == (100 if form.train else known // 10)
    gamma = 0.002 if name == "msd" else 0.02
    found = bench.fit(form, tmp_path / "parts", budget=60, gamma=gamma, lam=0.001)
    assert (found["rows"], found["test_rows"]) == (sum(train), test)
    if name in ("susy", "higgs", "covtype"):
        assert 0.6 < found["accuracy"] < 1
        assert found["log_loss"] < 0.69
    else:
        targets = pq.read_table(tmp_path / "parts" / "test.parquet")["y"].to_numpy()
        assert found["rmse"] < 0.9 * targets.std()
