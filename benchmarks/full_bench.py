"""Real sets at their full size, for whoever has them: nothing is downloaded here (docs/scale.md has the commands).

``full_bench.py cut NAME FILE FOLDER`` cuts a file, as it is downloaded and unpacked, into Parquet files of 250,000 rows
to learn from and one to test with. ``full_bench.py fit NAME FOLDER`` learns from these partitions and prints what was
reached on the test rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

import onkel
from onkel import partitions, streams

FLIGHTS = (
    "Month",
    "DayofMonth",
    "DayOfWeek",
    "CRSDepTime",
    "CRSArrTime",
    "UniqueCarrier",
    "Origin",
    "Dest",
    "Distance",
)
FLIGHTS_TEXT = ("UniqueCarrier", "Origin", "Dest")


@dataclass(frozen=True)
class Form:
    """How the file of a set is read, and which of its rows are for testing."""

    target: int | str  # column
    rows: int
    train: int | None = None  # the first rows; None: of ten rows the last one is for testing
    positive: int | None = None  # the class that is told from all others; None: the target is as it stands
    columns: tuple[str, ...] | None = None  # of a table that has names, the features
    regression: bool = False

    @property
    def is_table(self) -> bool:
        return self.columns is not None

    def is_for_training(self, rows: np.ndarray) -> np.ndarray:
        return rows % 10 != 9 if self.train is None else rows < self.train


FORMS = {
    "susy": Form(0, 5_000_000, 4_500_000),
    "higgs": Form(0, 11_000_000, 10_500_000),
    "covtype": Form(54, 581_012, positive=2),
    "flights": Form("ArrDelay", 7_009_728, columns=FLIGHTS, regression=True),
    "msd": Form(0, 515_345, 463_715, regression=True),
}


def chunks(form: Form, file: Path) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """The rows with their target in the last column, y, and their numbers; without those that have no target."""
    first = 0
    for rows in tables(form, file) if form.is_table else arrays(form, file):
        known = rows.filter(pc.is_valid(rows["y"]))
        yield known, first + np.arange(len(known))
        first += len(known)


def tables(form: Form, file: Path) -> Iterator[pa.Table]:
    """Columns that have names: text, and numbers with gaps."""
    types = {name: pa.string() if name in FLIGHTS_TEXT else pa.float64() for name in (*form.columns, form.target)}
    read = csv.ConvertOptions(column_types=types, include_columns=[*types], null_values=["NA", ""])
    for batch in csv.open_csv(file, convert_options=read):
        yield pa.Table.from_batches([batch]).rename_columns([*form.columns, "y"])


def arrays(form: Form, file: Path) -> Iterator[pa.Table]:
    """Columns of numbers alone."""
    with streams.open(file, format="csv", header=False, target=form.target, chunk_rows=50_000) as stream:
        for X, y in stream:
            rows = pa.table({f"x{i}": column for i, column in enumerate(np.asarray(X, np.float32).T)})
            told = y if form.positive is None else (y == form.positive).astype(np.float64)
            yield rows.append_column("y", pa.array(told))


def cut(form: Form, file: Path, folder: Path, part_rows: int = 250_000) -> None:
    """Write the rows as they come, in parts."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting: list[pa.Table] = []
    numbers, test = itertools.count(), None

    def write(least: int) -> None:
        while (n := sum(map(len, waiting))) >= max(1, least):
            whole = pa.concat_tables(waiting, promote_options="permissive")
            pq.write_table(whole[:part_rows], folder / f"train-{next(numbers):03d}.parquet", row_group_size=16_384)
            waiting[:] = [whole[part_rows:]] if n > part_rows else []

    for rows, places in chunks(form, file):
        mine = form.is_for_training(places)
        waiting.append(rows.filter(pa.array(mine)))
        write(part_rows)
        others = rows.filter(pa.array(~mine))
        if len(others):
            test = test or pq.ParquetWriter(folder / "test.parquet", others.schema)
            test.write_table(others.cast(test.schema))
    write(1)
    if test is None:
        raise ValueError(f"{file} has no rows for testing")
    test.close()


def model_of(form: Form, **parameters):
    kind = onkel.NewtonRegressor if form.regression else onkel.NewtonClassifier
    first = onkel.StreamEncoder() if form.is_table else onkel.StreamStandardScaler()
    return onkel.StreamPipeline(first, kind(random_state=0, **parameters))


def fit(form: Form, folder: Path, jobs: int = 1, **parameters) -> dict[str, float]:
    """Learn from the partitions; what was reached."""
    options = {"target": "y"} if form.is_table else {"target": "y", "dtype": "float32"}
    parts = [partitions.FilePartition(str(file), options) for file in sorted(folder.glob("train-*.parquet"))]
    start = time.process_time()
    fitted = partitions.fit(model_of(form, **parameters), parts, n_jobs=jobs)
    seconds = time.process_time() - start
    model, wrong, squares, losses, n = fitted.model, 0.0, 0.0, 0.0, 0
    for batch in pq.ParquetFile(folder / "test.parquet").iter_batches(50_000):
        method = "predict" if form.regression else "predict_proba"
        said = partitions.predict_arrow(model, pa.Table.from_batches([batch]), method=method, keep=["y"])
        y, said = said["y"].to_numpy(), said[said.num_columns - 1].to_numpy()  # of the last class
        n += len(y)
        if form.regression:
            squares += float(np.sum((said - y) ** 2))
            continue
        right = np.where(y == 1, said, 1 - said)
        wrong += float(np.sum(right < 0.5))
        losses -= float(np.sum(np.log(np.maximum(right, 1e-15))))
    facts = {"rows": fitted.report.rows, "test_rows": n, "process_seconds": round(seconds, 1)}
    reached = {"rmse": np.sqrt(squares / n)} if form.regression else {"accuracy": 1 - wrong / n, "log_loss": losses / n}
    shape = {"regions": sum(region.is_leaf for region in model.estimator_.regions_), "points": fitted.report.n_points}
    return facts | shape | {name: round(float(value), 5) for name, value in reached.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("cut")
    one.add_argument("name", choices=FORMS)
    one.add_argument("file", type=Path)
    one.add_argument("folder", type=Path)
    two = commands.add_parser("fit")
    two.add_argument("name", choices=FORMS)
    two.add_argument("folder", type=Path)
    two.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.command == "cut":
        cut(FORMS[options.name], options.file, options.folder)
    else:
        print(json.dumps(fit(FORMS[options.name], options.folder, options.jobs)))
