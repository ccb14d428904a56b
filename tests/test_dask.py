"""The promises of onkel.dask, on a real cluster of processes: the same partitions give the same bytes."""

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas
import pytest
from distributed import Client

import onkel
import onkel.dask
from onkel import partitions
from onkel.cli import main
from onkel.dask.collections import partitions_in
from onkel.dask.local import LocalProcesses
from onkel.partitions import FilePartition, newton
from onkel.partitions.sources import Partition, partitions_of
from onkel.regions import Condition
from onkel_papers._cells import Cell
from onkel_papers.lab import Lab
from states import state_of

# One cluster for all, in whichever process of xdist it is.
pytestmark = pytest.mark.xdist_group("cluster")

WHOLE = "ONKEL_WHOLE" in os.environ
PARAMETERS = {"budget": 30, "gamma": 0.5, "lam": 0.1, "random_state": 0}
ROUNDS = 3  # fewer than these rows need: a pass costs the scheduler more than they do


@pytest.fixture(scope="module")
def cluster():
    with dask.config.set({"distributed.comm.timeouts.connect": "120s"}), LocalProcesses(2) as two:
        yield two


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as made:
        yield made


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(newton, "sample_rows_for", lambda budget: 200)


def rows(n=1200):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def blocks(X, y, n=4):
    return [(X[i::n], y[i::n]) for i in range(n)]


def wait_until_nothing_is_left(client):
    while client.futures or any(client.processing().values()):
        time.sleep(0.05)


def state(model):
    return {k: v.tobytes() for k, v in state_of(model.__onkel_inside__().learner).items()}


def alone(parts, **parameters):
    model = onkel.NewtonClassifier(**{**PARAMETERS, **parameters})
    return state(partitions.fit(model, parts, rounds=ROUNDS).model)


def together(client, **parameters):
    return onkel.dask.NewtonClassifier(**{**PARAMETERS, "rounds": ROUNDS, "client": client, **parameters})


# -- the same bytes --------------------------------------------------------------------------------------------------


def test_a_cluster_gives_the_bytes_of_one_process(client):
    X, y = rows()
    model = together(client).fit(blocks(X, y))
    assert state(model) == alone(blocks(X, y))
    assert len(model.report_.rounds) == ROUNDS
    one = together(client).fit([(X, y)])
    assert state(one) == alone([(X, y)])
    assert client.processing() == dict.fromkeys(client.processing(), ())


def test_experts_of_regions_have_the_bytes_of_one_process(client, monkeypatch):
    sample = newton.fitted_learner

    def divided(*words):
        root = sample(*words)
        return root.divided(0, Condition((0,), (0.25,)), [root], [root.blank(budget=12)])

    monkeypatch.setattr(newton, "fitted_learner", divided)
    X, y = rows()
    model = together(client).fit(blocks(X, y))
    assert len(model.regions_) == 3
    assert state(model) == alone(blocks(X, y))


def test_frames_with_categories_and_gaps_are_encoded_like_those_of_one_process(client):
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {
            "town": pandas.Categorical(rng.choice(["Bern", "Graz", "Linz", None], 400)),
            "word": rng.choice(["high", "low", None], 400),
            "age": np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400)),
        }
    )
    y = ((frame["town"] == "Bern") ^ (frame["age"] > 0)).astype(np.int64)
    model = onkel.StreamPipeline(onkel.StreamEncoder(), onkel.NewtonClassifier(**PARAMETERS))
    cut = dask.dataframe.from_pandas(frame.assign(y=y), chunksize=100)
    parts = partitions_in(cut[["town", "word", "age"]], cut["y"])
    fitted = partitions.fit(model, parts, engine=onkel.dask.cluster_of(client), rounds=ROUNDS).model
    alone = [(frame[i : i + 100], y[i : i + 100]) for i in range(0, 400, 100)]
    expected = partitions.fit(model, alone, rounds=ROUNDS).model
    assert len(parts) == 4
    assert state(fitted) == state(expected)
    labels = onkel.dask.predict(fitted, cut, keep=["y"]).compute()
    assert labels["prediction"].tolist() == expected.predict(frame).tolist()


def test_collections_and_delayed_chunks_give_the_bytes_of_their_blocks(client):
    X, y = rows()
    parts = [(X[i : i + 300], y[i : i + 300]) for i in range(0, 1200, 300)]
    expected = alone(parts)
    model = together(client)
    arrays = dask.array.from_array(X, chunks=(300, 2)), dask.array.from_array(y, chunks=500)  # cut otherwise
    assert state(model.fit(*arrays)) == expected
    frame = dask.dataframe.from_pandas(pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), chunksize=300)
    assert state(model.fit(frame[["a", "b", "c"]], frame["y"])) == expected
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert state(model.fit([dask.delayed(part) for part in parts])) == expected
    weights = dask.array.ones(1200, chunks=300)
    assert state(model.fit(*arrays, sample_weight=weights)) == expected


class Slow(Partition):
    """A partition that kills the worker that reads it, at its n-th reading, as long as a file is there."""

    def __init__(self, name, X, y, fuse=None, reading=0):
        self.name, self.X, self.y, self.fuse, self.reading = name, X, y, fuse, reading

    def chunks(self):
        if self.fuse is not None:
            count = self.fuse.with_suffix(".count")
            times = int(count.read_text()) + 1 if count.exists() else 1
            count.write_text(str(times))
            if times == self.reading:
                os.kill(os.getpid(), signal.SIGKILL)
        yield partitions.Chunk(self.X, self.y)


@pytest.mark.parametrize("reading", [2, 4] if WHOLE else [4])  # 1: the census; 2: the points; then the rounds
def test_a_killed_worker_costs_nothing_but_time(client, tmp_path, reading):
    X, y = rows()
    parts = blocks(X, y)
    slow = [Slow(str(i), *part, tmp_path / "fuse" if i == 3 else None, reading) for i, part in enumerate(parts)]
    before = set(client.scheduler_info(n_workers=-1)["workers"])
    model = together(client).fit(slow)
    assert int((tmp_path / "fuse.count").read_text()) > reading
    assert state(model) == alone(parts)
    client.wait_for_workers(2, timeout=600)
    assert set(client.scheduler_info(n_workers=-1)["workers"]) != before


# -- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_failing_partition_raises_with_its_name_and_nothing_is_left(client, tmp_path):
    X, y = rows()
    model = together(client)
    with pytest.raises(partitions.PartitionError, match=r"partition '.*lost.csv'"):
        model.fit([*blocks(X, y), FilePartition(str(tmp_path / "lost.csv"))])

    def fail():
        raise OSError("the disk is gone")

    with pytest.raises(partitions.PartitionError, match="partition '4': the disk is gone"):
        model.fit([*map(dask.delayed, blocks(X, y)), dask.delayed(fail)()])
    assert not hasattr(model, "classes_")
    wait_until_nothing_is_left(client)


class Stopped(BaseException):
    pass


def test_cancelling_leaves_nothing_and_the_same_call_goes_on(client, tmp_path):
    X, y = rows()

    def stop(phase, done, of):
        if phase == "slopes" and done == 2 and (tmp_path / "rounds.npz").exists():
            raise Stopped

    with pytest.raises(Stopped):
        together(client, checkpoint=tmp_path).fit(blocks(X, y), tell=stop)
    wait_until_nothing_is_left(client)
    told = []
    model = together(client, checkpoint=tmp_path).fit(blocks(X, y), tell=lambda *now: told.append(now))
    assert state(model) == alone(blocks(X, y))
    assert "points" not in [phase for phase, _, _ in told]
    assert ("slopes", 4, 4) in told


def test_other_instruction_sets_are_refused(client):
    X, y = rows(100)
    other = "baseline" if onkel.isa != "baseline" else "x86-64-v3"
    with pytest.raises(partitions.PartitionError, match="instruction set"):
        onkel.dask.Cluster(client, level=other).total(*_sum(X, y), tell=lambda number: None)
    assert onkel.dask.Cluster(client, level=None).total(*_sum(X, y), tell=lambda number: None) == 100


def count_rows(number, partition, shared):
    return sum(len(chunk.y) for chunk in partition.chunks())


def add(left, right):
    return left + right


def _sum(X, y):
    return count_rows, partitions_of(blocks(X, y, 2)), None, add


def test_what_is_not_rows_is_refused(client):
    X, y = rows(100)
    model = together(client)
    with pytest.raises(ValueError, match="a list of partitions"):
        model.fit(X, y=None)
    with pytest.raises(ValueError, match="go with a collection"):
        model.fit([(X, y)], y)
    with pytest.raises(ValueError, match="expected an array or a data frame of Dask's, got a Bag"):
        model.fit(dask.bag.from_sequence(X.tolist()), dask.array.from_array(y))


# -- predicting ------------------------------------------------------------------------------------------------------


def test_predictions_are_lazy_and_of_the_right_kind(client):
    X, y = rows(600)
    labels = np.array(["low", "high"])[y]
    model = together(client).fit(blocks(X, labels, 2))
    local = model.to_local()
    assert type(local) is onkel.NewtonClassifier
    lazy = dask.array.from_array(X, chunks=(200, 3))
    for method in ("predict", "predict_proba", "decision_function"):
        made, expected = getattr(model, method)(lazy), getattr(local, method)(X)
        assert isinstance(made, dask.array.Array)
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        assert np.array_equal(made.compute(), expected)
        assert np.array_equal(getattr(model, method)(X), expected)
    frame = dask.dataframe.from_pandas(pandas.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    answers = model.predict(frame)
    assert answers.compute().tolist() == local.predict(X).tolist()
    assert answers._meta.dtype == answers.compute().dtype
    chances = model.predict_proba(frame)
    assert list(chances.columns) == ["probability_high", "probability_low"]
    assert np.array_equal(chances.compute().to_numpy(), local.predict_proba(X))
    table = onkel.dask.predict(model, frame, keep=["b"])
    assert table.columns.tolist() == table.compute().columns.tolist() == ["b", "prediction"]


def test_deviations_intervals_and_sets_are_lazy(client):
    X, y = rows(600)
    lazy = dask.array.from_array(X, chunks=(250, 3))
    model = onkel.dask.NewtonRegressor(**PARAMETERS, client=client).fit(blocks(X, np.sin(X[:, 0]), 3))
    local = model.to_local()
    for made, here, expected in zip(
        (*model.predict(lazy, return_std=True), model.predict_interval(lazy, 0.8)),
        (*model.predict(X, return_std=True), model.predict_interval(X, 0.8)),
        (*local.predict(X, return_std=True), local.predict_interval(X, 0.8)),
        strict=True,
    ):
        assert isinstance(made, dask.array.Array) and made.shape == expected.shape
        assert np.array_equal(made.compute(), expected) and np.array_equal(here, expected)
    frame = dask.dataframe.from_pandas(pandas.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    for ask in (model.predict_interval, lambda X: model.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="to_dask_array"):
            ask(frame)
    classifier = together(client).fit(blocks(X, y, 3))
    sets = classifier.predict_set(lazy, 0.8)
    assert sets.dtype == bool
    assert np.array_equal(sets.compute(), classifier.to_local().predict_set(X, 0.8))


def test_a_pickled_model_has_no_client(client):
    X, y = rows(300)
    model = together(client).fit(blocks(X, y, 2))
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_regressors_and_recipes(client):
    X, _ = rows(600)
    y = np.sin(X[:, 0])
    model = onkel.dask.NewtonRegressor(**PARAMETERS, client=client).fit(blocks(X, y, 3))
    local = partitions.fit(onkel.NewtonRegressor(**PARAMETERS), blocks(X, y, 3)).model
    assert state(model) == state(local)
    assert model.report_.converged
    recipe = onkel.recipes.OGD(eta=0.5)
    labels = (y > 0).astype(int)
    first = onkel.dask.KernelClassifier(recipe, budget=40, gamma=0.5, random_state=0, client=client)
    first.fit(blocks(X, labels, 3))
    expected = partitions.fit(
        onkel.KernelClassifier(recipe, budget=40, gamma=0.5, random_state=0), blocks(X, labels, 3)
    )
    assert state(first) == state(expected.model)
    assert first.report_.merges == expected.report.merges


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys, monkeypatch):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["onkel", *arguments])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return call


def test_the_command_works_on_a_cluster(client, tmp_path, run):
    X, y = rows(800)
    for i, (part, labels) in enumerate(blocks(X, y, 3)):
        frame = pandas.DataFrame(part, columns=["a", "b", "c"])
        towns = np.where(part[:, 2] > 0, "Bern", "Chur")
        frame.assign(town=towns, key=[f"{i}-{j}" for j in range(len(part))], label=labels).to_parquet(
            tmp_path / f"part-{i}.parquet"
        )
    files = sorted(tmp_path.glob("part-*.parquet"))
    address, pattern, output = client.scheduler.address, str(tmp_path / "part-*.parquet"), str(tmp_path / "model.onkel")
    options = ["-l", "newton", "--budget", "30", "--gamma", "0.5", "--set", "lam=0.1", "--id", "key"]
    code, _, said = run("fit", pattern, *options, "--cluster", address, "-o", output)
    assert code == 0, said
    assert "800 rows in 3 partitions" in said
    pipeline = onkel.make_stream_pipeline(onkel.NewtonClassifier(**PARAMETERS))
    sources = [FilePartition(str(file), {"drop": ["key"]}) for file in files]
    assert state(onkel.load(output)) == state(partitions.fit(pipeline, sources).model)
    code, printed, said = run("predict", output, pattern, "--id", "key", "--cluster", address)
    assert "right" in said
    assert printed.startswith("0-0 ")
    assert printed == "".join(run("predict", output, str(file), "--id", "key")[1] for file in files)
    code, _, said = run("fit", pattern, "--cluster", "local:no", "-o", output)
    assert code != 0
    assert "expected local:N" in said
    code, _, said = run("fit", str(tmp_path / "none-*"), "--cluster", address, "-o", output)
    assert code != 0
    assert "there is no file" in said


def where(x):
    return {"value": x, "process": os.getpid()}


def test_cells_run_on_a_cluster(client, tmp_path):
    with Lab(tmp_path, executor=client.get_executor(pure=False)) as lab:
        found = lab.run({x: Cell(where, {"x": x}) for x in range(4)})
    assert [found[x]["value"] for x in range(4)] == [0, 1, 2, 3]
    assert os.getpid() not in [found[x]["process"] for x in range(4)]


def test_importing_onkel_does_not_import_dask():
    code = "import sys, onkel, onkel.partitions; onkel.NewtonClassifier; assert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_clients_may_work_at_the_same_time(client):
    X, y = rows(600)
    models = [together(client, lam=lam) for lam in (0.1, 0.2)]
    threads = [threading.Thread(target=model.fit, args=(blocks(X, y, 3),)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        assert state(model) == alone(blocks(X, y, 3), lam=model.lam)


@pytest.mark.parametrize("n_partitions, workers", [(64, (3, 2, 1))] if WHOLE else [(5, (1,))])
def test_the_number_of_workers_changes_no_bit(n_partitions, workers):
    X, y = rows(200 * n_partitions)
    parts = blocks(X, y, n_partitions)
    expected = alone(parts)
    for n_workers in workers:
        with LocalProcesses(n_workers) as cluster, Client(cluster) as client:
            assert state(together(client).fit(parts)) == expected


def test_a_worker_that_dies_before_it_is_known_does_not_end_the_cluster(cluster):
    known = dict(cluster.scheduler_info["workers"])
    cluster._update_worker_status("remove", "tcp://127.0.0.1:1")
    assert cluster.scheduler_info["workers"] == known


def test_the_examples_of_the_page_run(cluster, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = rows(200)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for folder in ("data", "new"):
        (tmp_path / folder).mkdir()
    for part in range(2):
        rest = frame[part::2]
        for path in (f"part-{part}.parquet", f"data/{part}.parquet"):
            rest.assign(y=y[part::2]).to_parquet(path)
        rest.assign(id=rest.index).to_parquet(f"new/{part}.parquet")
    page = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        names = {}
        # processes of its own are what tests/test_partitions.py starts
        own = example.replace("n_jobs=2", "n_jobs=1").replace("tcp://scheduler:8786", cluster.scheduler_address)
        exec(own, names)
        if "client" in names:
            names["client"].close()
        assert onkel.load("model.onkel").score(frame, y) > 0.8
        os.remove("model.onkel")
    assert sorted(pandas.read_parquet("predictions")["id"]) == list(range(200))
