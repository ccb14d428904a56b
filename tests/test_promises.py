"""Promises that were broken once: labels, tables, files, names, threads."""

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import subprocess
import sys
import threading
import types
import warnings
import zlib

import numpy as np
import pandas as pd
import pytest

import onkel
import onkel.cli
import onkel.settings
from looping import WHOLE, loop
from onkel.streams._text import TextStream
from onkel.utils.files import write_atomically

X = np.random.default_rng(0).normal(size=(40, 3))


def model(**settings):
    return onkel.OGDClassifier(gamma=0.5, random_state=0, **settings)


# -- labels

BIG = 2**60


@loop
@pytest.mark.parametrize("classes", [None, "given"])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (["a", "b"], [7]),
        ([1, 2], ["1"]),
        ([1, 2], [True]),
        ([True, False], [1]),
        (np.array(["a", "b"], object), np.array([7], object)),
        ([b"a", b"b"], ["a"]),
    ],
)
def test_a_label_of_another_kind_is_refused_and_changes_nothing(first, then, classes):
    m = model().partial_fit(X[:2], first, classes=None if classes is None else first)
    before, state = m.classes_, m._fingerprint()
    for learn in (m.partial_fit, m.predict_then_learn):
        with pytest.raises(ValueError, match="one kind"):
            learn(X[2:3], then)
    assert m.classes_ is before
    assert m._fingerprint() == state


@loop
@pytest.mark.parametrize("labels", [["a", 1], [True, 2], ["a", b"a"], np.array(["a", 1.0], object)])
def test_labels_of_several_kinds_are_refused(labels):
    for learn in (model().fit, model().partial_fit):
        with pytest.raises(ValueError, match=r"row 0 .* row 1.* one kind"):
            learn(X[:2], labels)
    with pytest.raises(ValueError, match="one kind"):
        model().partial_fit(X[:1], ["a"], classes=labels)


@loop
@pytest.mark.parametrize(
    ("first", "then", "dtype"),
    [
        (np.array([BIG, 3]), np.array([BIG + 1], np.uint64), np.int64),
        (np.array([BIG, 3]), np.array([2**63 + 1], np.uint64), np.uint64),
        (np.array([1.0, 2.0]), np.array([BIG + 1]), np.int64),
        (np.array([1, 2]), np.array([3.0]), np.int64),
        (np.array([1.0, 2.0]), np.array([3]), np.float64),
        (np.array([1, 2], np.int8), np.array([BIG + 1]), np.int64),
        ([2**63, 5], [7], np.uint64),
    ],
)
def test_integers_stay_integers_to_the_last_digit(first, then, dtype):
    m = model().partial_fit(X[:2], first).partial_fit(X[2:3], then)
    assert m.classes_.dtype == dtype
    assert m.classes_.tolist() == [int(label) for label in [*first, *then]]
    m.partial_fit(X[:2], first)  # the same labels as before are the same classes
    assert len(m.classes_) == 3
    closed = model().partial_fit(X[:2], first, classes=joined(first, then)).partial_fit(X[2:3], then)
    assert closed.classes_.tolist() == sorted(m.classes_.tolist())


def joined(first, then):
    return [int(label) for label in [*first, *then]]


def test_a_neighbour_beyond_what_doubles_tell_apart_is_a_stranger():
    m = model().partial_fit(X[:2], np.array([BIG, 3]), classes=np.array([BIG, 3]))
    with pytest.raises(ValueError, match=str(BIG + 1)):
        m.partial_fit(X[:1], np.array([BIG + 1], np.uint64))
    assert m.partial_fit(X[:1], [float(BIG)]).t_ == 3


def test_integers_that_no_type_holds_are_refused():
    m = model().partial_fit(X[:2], [-1, 3])
    with pytest.raises(ValueError, match="-1 to 18446744073709551615, which no 64-bit type"):
        m.partial_fit(X[:1], np.array([2**64 - 1], np.uint64))
    assert m.classes_.tolist() == [-1, 3]
    for labels in ([2**63, -1], [2**64, 1]):
        with pytest.raises(ValueError, match="no 64-bit type"):
            model().fit(X[:2], labels)


@loop
@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (["a", None], "None"),
        (np.array(["a", np.nan], object), "NaN"),
        (np.array([1, None], object), "None"),
        (pd.Series(["a", pd.NA], dtype="string"), "<NA>"),
        (np.array(["a", None], np.dtypes.StringDType(na_object=None)), "None"),
    ],
)
def test_a_missing_label_is_refused_with_its_row(labels, what):
    for learn in (model().fit, model().partial_fit):
        with pytest.raises(ValueError, match=f"{what} at row 1; expected a label"):
            learn(X[:2], labels)


def test_text_of_any_type_is_text():
    for words in (
        np.array(["a", "bc"], np.dtypes.StringDType()),
        np.array(["a", "bc"], object),
        pd.Series(["a", "bc"], dtype="string"),
        pd.Series(["a", "bc"], dtype="category"),
    ):
        m = model().fit(X[:2], words)
        assert m.classes_.tolist() == ["a", "bc"]
        assert m.classes_.dtype.kind == "U"


def test_what_is_no_label_is_refused():
    with pytest.raises(ValueError, match="expected numbers, text or booleans"):
        model().fit(X[:2], np.array(["2020-01-01", "2020-01-02"], "M8[D]"))


def test_a_class_weight_that_is_zero_for_all_is_refused():
    y = np.arange(40) % 2
    m = model(class_weight={0: 0, 1: 0.0})
    for learn in (lambda: m.fit(X, y), lambda: m.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(ValueError, match="class_weight is zero for every class"):
            learn()
        assert not hasattr(m, "classes_")


# -- threads


def side_by_side(*calls):
    """Run calls in threads; what they raise is raised here."""
    failures = []

    def run(call):
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@loop
@pytest.mark.parametrize("kind", ["estimator", "pipeline", "platt"])
def test_threads_that_bring_new_labels_lose_none(kind):
    n = 30
    m = model(budget=20)
    if kind == "pipeline":
        m = onkel.StreamPipeline(onkel.StreamStandardScaler(), m)
    if kind == "platt":
        m = onkel.PlattClassifier(m)

    def learn(name):
        for i in range(n):
            m.partial_fit(X, [f"{name}{i}"] * len(X))

    side_by_side(*(lambda name=name: learn(name) for name in "abc"))
    assert sorted(m.classes_) == sorted(f"{name}{i}" for name in "abc" for i in range(n))
    assert m.t_ == 3 * n * len(X)
    assert m.decision_function(X).shape == (len(X), 3 * n)
    if kind == "pipeline":
        assert m.transformers_[0].n_samples_seen_ == m.t_


def beside_learning(model, monkeypatch, call):
    """Call; as soon as it copies or saves the learner, another thread learns of a new class, if it may."""
    learning = threading.Thread(target=model.partial_fit, args=(X, ["b"] * 40))

    def slow(method):
        def slowly(self):
            if threading.current_thread() is not learning and learning.ident is None:
                learning.start()
                learning.join(0.5)
            return method(self)

        return slowly

    for name in ("clone", "_saved_fields"):
        monkeypatch.setattr(onkel.Learner, name, slow(getattr(onkel.Learner, name)))
    made = call(model)
    assert learning.ident is not None
    learning.join()
    return made


def of_kind(kind):
    made = onkel.OGDClassifier(gamma="stream" if kind == "chosen" else 0.5, random_state=0, budget=20)
    if kind == "pipeline":
        made = onkel.StreamPipeline(onkel.StreamStandardScaler(), made)
    if kind == "platt":
        made = onkel.PlattClassifier(made)
    return made.partial_fit(X, np.resize(["a", "c"], 40))


@loop
@pytest.mark.parametrize("kind", ["estimator", "chosen", "pipeline", "platt"])
def test_what_is_saved_beside_a_learning_thread_is_of_one_moment(kind, tmp_path, monkeypatch):
    m = of_kind(kind)
    beside_learning(m, monkeypatch, lambda m: onkel.save(m, tmp_path / "m"))
    saved = onkel.load(tmp_path / "m")
    assert saved.t_ == 40
    assert saved.classes_.tolist() == ["a", "c"]
    saved.partial_fit(X, ["b"] * 40)
    np.testing.assert_array_equal(saved.decision_function(X), m.decision_function(X))


@loop
@pytest.mark.parametrize("kind", ["estimator", "chosen", "pipeline"])
@pytest.mark.parametrize(
    "call",
    [
        lambda m: onkel.compress(m, n_support=5).model,
        lambda m: onkel.merge([m]).model,
        lambda m: onkel.merge([m], weights=[2.0]).model,
        lambda m: json.loads(onkel.export.to_json(m)),
    ],
    ids=["compress", "merge", "weighted", "export"],
)
def test_what_is_made_beside_a_learning_thread_is_of_one_moment(kind, call, monkeypatch):
    made = beside_learning(of_kind(kind), monkeypatch, call)
    if isinstance(made, dict):
        assert len(made["classes"]) == len(made["functions"][0]["coefficients"])
    else:
        assert made.decision_function(X).shape[1] == len(made.classes_)
        assert made.t_ == 40 * (len(made.classes_) - 1)


def test_rows_of_the_first_call_are_not_lost_to_a_prediction_beside_it(monkeypatch):
    """The prediction is the first to find that there is no core, and the last to have made one."""
    learner = onkel.Learner(onkel.recipes.OGD())
    make = onkel.settings._core.Learner
    learning = threading.Thread(target=learner.learn_rows, args=(X, np.arange(40.0) % 2))

    def slowly(**settings):
        if threading.current_thread() is not learning:
            learning.start()
            learning.join(0.5)  # who learns may go first, or wait for this one
        return make(**settings)

    monkeypatch.setattr(onkel.settings, "_core", types.SimpleNamespace(Learner=slowly))
    learner.score_rows(X)
    learning.join()
    assert learner.t == 40


@loop
@pytest.mark.parametrize("when", ["_checked_rows", "_checked_targets", "_start"])
def test_who_predicts_beside_another_fit_has_a_fitted_model(monkeypatch, when):
    m = model().fit(X, np.arange(40) % 2)
    before, seen = m.decision_function(X), []
    check = getattr(onkel.OGDClassifier, when)

    def look(self, *args, **kwargs):
        made = check(self, *args, **kwargs)
        seen.append(m.decision_function(X))
        return made

    monkeypatch.setattr(onkel.OGDClassifier, when, look)
    m.fit(X[:, ::-1], np.arange(40) % 2)
    np.testing.assert_array_equal(seen[0], before)
    assert (m.decision_function(X) != before).any()


# -- Platt's sigmoids


class Interruption(Exception):
    """Stands for Ctrl-C, which pytest would take for itself."""


class FailingKernel:
    """The gaussian kernel; a given number of calls from now it raises."""

    calls_left = None

    def __call__(self, x, points):
        if FailingKernel.calls_left is not None:
            FailingKernel.calls_left -= 1
            if FailingKernel.calls_left < 0:
                raise Interruption
        return np.exp(-((x - points) ** 2).sum(axis=1))


@loop
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("where", ["estimator", "sigmoids"])
def test_an_interruption_keeps_estimator_and_sigmoids_in_step(monkeypatch, where, opened):
    y = np.random.default_rng(1).integers(0, 3, 40)
    kernel = FailingKernel() if where == "estimator" else "rbf"
    classes = None if opened else [0, 1, 2]
    m = onkel.PlattClassifier(onkel.PerceptronClassifier(kernel=kernel, gamma=1.0, random_state=0))
    whole = onkel.PlattClassifier(onkel.PerceptronClassifier(kernel=kernel, gamma=1.0, random_state=0))
    whole.partial_fit(X, y, classes)
    m.partial_fit(X[:10], y[:10], classes)
    if where == "estimator":
        monkeypatch.setattr(FailingKernel, "calls_left", 12)
    else:
        monkeypatch.setattr(onkel.estimators.sigmoids, "_step", failing(onkel.estimators.sigmoids._step, after=30))
    with pytest.raises(Interruption):
        m.partial_fit(X[10:], y[10:])
    monkeypatch.undo()
    assert m.t_ == m._sigmoids.rows
    m.partial_fit(X[m.t_ :], y[m.t_ :])
    np.testing.assert_array_equal(m.predict_proba(X), whole.predict_proba(X))


def failing(function, after):
    calls = iter(range(after))

    def call(*args):
        if next(calls, None) is None:
            raise Interruption
        return function(*args)

    return call


def test_an_interruption_after_the_only_row(monkeypatch):
    y = np.arange(40) % 2
    m, whole = (onkel.PlattClassifier(model()) for _ in range(2))
    for each in (m, whole):
        each.partial_fit(X[:20], y[:20], [0, 1])
    learn = onkel.OGDClassifier.partial_fit

    def learn_and_stop(self, *args, **kwargs):
        learn(self, *args, **kwargs)
        raise Interruption

    monkeypatch.setattr(onkel.OGDClassifier, "partial_fit", learn_and_stop)
    with pytest.raises(Interruption):
        m.partial_fit(X[20:21], y[20:21])
    monkeypatch.undo()
    whole.partial_fit(X[20:21], y[20:21])
    assert m.t_ == m._sigmoids.rows == 21
    np.testing.assert_array_equal(m._sigmoids.array(), whole._sigmoids.array())


@loop
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("opened", [False, True])
def test_a_row_at_a_time_is_the_same_to_the_bit(scaled, opened):
    y = np.random.default_rng(1).integers(0, 3, 40)
    inner = onkel.StreamPipeline(onkel.StreamStandardScaler(), model()) if scaled else model()
    classes = None if opened else [0, 1, 2]
    whole, one_by_one = onkel.PlattClassifier(inner), onkel.PlattClassifier(inner)
    made = whole.predict_then_learn(X, y, classes)
    for i in range(40):
        part = one_by_one.predict_then_learn(X[i : i + 1], y[i : i + 1], classes)
        np.testing.assert_array_equal(made[i, : part.shape[1]], part[0])
    np.testing.assert_array_equal(one_by_one._sigmoids.array(), whole._sigmoids.array())
    np.testing.assert_array_equal(one_by_one.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("rows", [1, 4])
def test_predictions_beside_a_learning_thread_have_their_shape(rows):
    m = onkel.PlattClassifier(model(budget=20)).partial_fit(X[:2], ["a", "b"])
    done = threading.Event()

    def learn():
        try:
            for i in range(60):
                m.partial_fit(X[:rows], [f"{i}"] * rows)
        finally:
            done.set()

    def predict():
        while not done.is_set():
            probabilities = m.predict_proba(X[:5])
            np.testing.assert_allclose(probabilities.sum(axis=1), 1)
            assert set(m.predict(X[:5])) <= {"a", "b", *map(str, range(60))}

    side_by_side(learn, predict)
    assert m.decision_function(X).shape == (40, 62)


def test_a_row_costs_no_norm(monkeypatch):
    """The norm takes as many kernel values as there are pairs of support vectors."""
    m = onkel.PlattClassifier(model()).partial_fit(X[:20], np.arange(20) % 2, [0, 1])
    monkeypatch.setattr(onkel.Learner, "norm", property(lambda self: pytest.fail("the norm was asked for")))
    m.partial_fit(X[20:21], [0])
    m.predict_then_learn(X[21:], np.arange(19) % 2)
    m.predict_proba(X)


# -- files


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Calls the command in a folder of its own; returns its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["onkel", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            onkel.cli.main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


def libsvm(labels):
    rows = (" ".join(f"{i + 1}:{v:.6g}" for i, v in enumerate(x)) for x in X)
    return "".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True))


def fitted():
    return model().fit(X, np.arange(40) % 2)


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path, run):
    (tmp_path / "d.txt").write_text(libsvm(np.arange(40) % 2))
    onkel.save(fitted(), tmp_path / "m.onkel")
    content = (tmp_path / "m.onkel").read_bytes()
    os.mkfifo(tmp_path / "pipe")

    def through_the_pipe(write):
        received = []
        side_by_side(lambda: received.append((tmp_path / "pipe").read_bytes()), write)
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        assert set(tmp_path.iterdir()) == {tmp_path / name for name in ("d.txt", "m.onkel", "pipe")}
        return received[0]

    assert through_the_pipe(lambda: onkel.save(fitted(), tmp_path / "pipe")) == content
    for words, begins in (
        (("fit", "d.txt", "-o", "pipe"), content[8:40]),
        (("export", "m.onkel", "--to", "json", "-o", "pipe"), b"{"),
        (("evaluate", "d.txt", "--report", "pipe"), b"<!doctype html>"),
    ):
        made = through_the_pipe(lambda words=words: run(*words))
        assert begins in made[:60].replace(b"DOCTYPE", b"doctype")


def test_a_device_is_written_into_and_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
        device.write_bytes(b"")
    except PermissionError:  # only root may make a device; anybody may make a link to one
        device.unlink(missing_ok=True)
        device.symlink_to("/dev/null")
    onkel.save(fitted(), device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


@loop
@pytest.mark.parametrize("where", ["d.txt", "./d.txt", "link.txt", "hard.txt"])
def test_what_is_read_is_not_overwritten(tmp_path, run, where):
    data = tmp_path / "d.txt"
    data.write_text(libsvm(np.arange(40) % 2))
    (tmp_path / "link.txt").symlink_to("d.txt")
    (tmp_path / "hard.txt").hardlink_to(data)
    onkel.save(fitted(), tmp_path / "m.onkel")
    before = data.read_bytes(), (tmp_path / "m.onkel").read_bytes()
    for words in (
        ("fit", "d.txt", "-o", where),
        ("evaluate", "d.txt", "--report", where),
        ("export", "m.onkel", "--to", "json", "-o", "m.onkel"),
    ):
        code, _, err = run(*words)
        assert code == 1
        assert "is a file being read: writing to it would destroy it" in err
    assert before == (data.read_bytes(), (tmp_path / "m.onkel").read_bytes())


@loop
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "m.onkel"
    path.touch(mode)
    path.chmod(mode)
    seen = set()

    def pieces():
        seen.update(stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir())
        yield b"new"

    write_atomically(path, pieces())
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert seen == {mode}  # at no time more may read it


def test_a_name_as_long_as_the_system_allows(tmp_path):
    for name in ("é" * 127, "x" * 255, "a" + "語" * 84):
        onkel.save(fitted(), tmp_path / name)
        assert onkel.load(tmp_path / name).t_ == 40


# -- CSV


def csv_rows(path, text, **options):
    path.write_bytes(text)
    with onkel.streams.open(path, **options) as stream:
        chunks = list(stream)
        return np.concatenate([x for x, _ in chunks]).tolist(), [label for _, y in chunks for label in y.tolist()]


every_cut = pytest.mark.parametrize("chunk_rows", [1, 2, 3, 4096])


@loop
@every_cut
@pytest.mark.parametrize("wrong", [b"", b"x,9,up\n"])  # a wrong row among them is what Python reads line by line
def test_text_targets_lose_the_blanks_around_them(tmp_path, chunk_rows, wrong):
    text = b'a,b,sign\n1,2, up\n3,4,down \n5,6,"  up and down "\n' + wrong + b"7,8,up\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = csv_rows(tmp_path / "x.csv", text, chunk_rows=chunk_rows, on_error="skip")
    assert made == ([[1, 2], [3, 4], [5, 6], [7, 8]], ["up", "down", "up and down", "up"])


@loop
@every_cut
@pytest.mark.parametrize("blank", [b"", b"  ", b'""'])
@pytest.mark.parametrize(
    ("head", "labels"), [(b"1,2,up\n3,4,", ["up", "down"]), (b"3,4,", ["down"]), (b"1,2,7\n3,4,", None)]
)
def test_an_empty_target_is_refused_with_its_place(tmp_path, chunk_rows, blank, head, labels):
    rest = b"\n5,6,down\n" if labels else b"\n5,6,8\n"
    text = b"a,b,sign\n" + head + blank + rest
    line = 1 + (head + blank).count(b"\n") + 1
    with pytest.raises(ValueError, match=rf"x.csv, line {line}, column 3 \('sign'\): expected a .*target, got ''"):
        csv_rows(tmp_path / "x.csv", text, chunk_rows=chunk_rows)
    with pytest.warns(RuntimeWarning, match="1 rows"):
        made = csv_rows(tmp_path / "x.csv", text, chunk_rows=chunk_rows, on_error="skip")[1]
    assert made == (labels or [7, 8])


@loop
@every_cut
def test_a_line_end_within_quotes_is_refused_wherever_it_falls(tmp_path, chunk_rows):
    text = b'a,b,sign\n1,2,up\n3,4,"do\nwn"\n5,6,up\n'
    with pytest.raises(ValueError, match=r"line 3: expected a quote at the end of a field .*must not hold line ends"):
        csv_rows(tmp_path / "x.csv", text, chunk_rows=chunk_rows)
    whole = b'a,b,sign\n1,2,"up, or ""high"""\n3,4,5" pipe\n5,6,up\n'
    assert csv_rows(tmp_path / "x.csv", whole, chunk_rows=chunk_rows)[1] == ['up, or "high"', '5" pipe', "up"]


@loop
@every_cut
@pytest.mark.parametrize("fraction", [False, True])
def test_integer_targets_to_the_last_digit(tmp_path, chunk_rows, fraction):
    numbers = [1, BIG, BIG + 1, -BIG - 1, 2**53 + 1]
    lines = [f"{i},{2 * i},{n}\n" for i, n in enumerate(numbers)]
    if fraction:
        lines.append("7,8,0.5\n")  # a number among others: no labels
    made = csv_rows(tmp_path / "x.csv", "".join(lines).encode(), chunk_rows=chunk_rows)[1]
    if not fraction:
        assert made == numbers
        with onkel.streams.open(tmp_path / "x.csv", chunk_rows=chunk_rows) as stream:
            m = model()
            for rows, y in stream:
                m.partial_fit(rows, y)
        assert m.classes_.tolist() == numbers
        assert m.classes_.dtype == np.int64
    assert np.allclose(np.array(made, float)[: len(numbers)], np.array(numbers, float))


def test_integer_targets_beyond_64_bits_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x.csv.*no 64-bit type"):
        csv_rows(tmp_path / "x.csv", b"1,2,123456789012345678901\n")
    assert csv_rows(tmp_path / "x.csv", b"1,2,1e21\n")[1] == [1e21]


@loop
@every_cut
def test_integer_targets_of_a_table_with_missing_ones(tmp_path, chunk_rows):
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": pa.array([BIG + 1, None, BIG], pa.int64())})
    parquet.write_table(table, tmp_path / "x.parquet")
    with (
        pytest.warns(RuntimeWarning, match="1 rows"),
        onkel.streams.open(tmp_path / "x.parquet", on_error="skip", chunk_rows=chunk_rows) as stream,
    ):
        assert [label for _, y in stream for label in y.tolist()] == [BIG + 1, BIG]


@loop
@pytest.mark.parametrize("text", [b"a,b,y\r1,2,0\r3,4,1\r", b"1,2,0\r3,4,1\r", b"1,2,0\n3,4,1\r5,6,0\n7,8,1\n"])
@every_cut
def test_carriage_returns_alone_are_no_line_ends(tmp_path, text, chunk_rows):
    with pytest.raises(ValueError, match=r"x.csv, line \d: expected lines that end in"):
        csv_rows(tmp_path / "x.csv", text, chunk_rows=chunk_rows)
    windows = text.replace(b"\n", b"\r").replace(b"\r", b"\r\n")
    assert csv_rows(tmp_path / "x.csv", windows, chunk_rows=chunk_rows)[1][:2] == [0, 1]


def test_large_labels_through_the_command(run, tmp_path):
    rows = [f"{x[0]:.3f},{x[1]:.3f},{BIG + int(x[0] > 0)}\n" for x in X]
    (tmp_path / "x.csv").write_text("a,b,y\n" + "".join(rows))
    assert run("fit", "x.csv", "--task", "classification", "-o", "m")[0] == 0
    assert onkel.load("m").classes_.tolist() == [BIG, BIG + 1]
    code, out, err = run("predict", "m", "x.csv")
    assert code == 0
    assert set(out.split()) == {str(BIG), str(BIG + 1)}
    right = np.mean([p == row.strip().split(",")[2] for p, row in zip(out.split(), rows, strict=True)])
    assert f"{right:.2%}".replace("%", " %") in err
    code, _, err = run("fit", "x.csv", "--classes", f"{BIG},{BIG + 1}", "--task", "classification", "-o", "m")
    assert code == 0, err


# -- compressed files and long lines


@loop
@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("kind", ["libsvm", "csv"])
def test_a_file_cut_short_gives_its_rows_and_then_the_sentence(tmp_path, suffix, kind):
    rng = np.random.default_rng(0)
    line = "{} 1:{}\n" if kind == "libsvm" else "{1},{0}\n"
    content = "".join(line.format(i % 2, v) for i, v in enumerate(rng.random(30_000))).encode()
    whole, pieces = compressed(content, suffix), []
    path = tmp_path / f"x.{kind}.{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    decompress = {"gz": lambda: zlib.decompressobj(31), "bz2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor}
    stream = onkel.streams.open(path, chunk_rows=700)
    with stream, pytest.raises(ValueError, match=rf"x.{kind}.{suffix} is broken after byte \d+"):
        for rows, _ in stream:
            pieces.append(rows.toarray() if kind == "libsvm" else rows)
    found = np.concatenate(pieces)
    np.testing.assert_array_equal(found.ravel(), rng_numbers(len(found)))
    if suffix in decompress:  # all that there is, to the last whole line
        there = decompress[suffix]().decompress(path.read_bytes())
        assert len(found) == there.count(b"\n")
    assert len(found) > 1000


def rng_numbers(n):
    return [float(str(v)) for v in np.random.default_rng(0).random(30_000)[:n]]


def compressed(content, suffix):
    if suffix == "zst":
        return pytest.importorskip("pyarrow").compress(content, "zstd", asbytes=True)
    return {"gz": gzip.compress, "bz2": lambda c: bz2.compress(c, 1), "xz": lzma.compress}[suffix](content)


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    name = "a trickle"

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def readable(self):
        return True

    def read1(self, n):
        return self.content.read(min(n, 1000))


def test_a_long_line_is_put_together_once(monkeypatch):
    """However many pieces a pipe gives: the bytes put into the buffer are those of the file, not their square."""
    put = []
    monkeypatch.setattr(
        TextStream,
        "_text",
        property(
            lambda self: vars(self)["text"], lambda self, text: put.append(len(text)) or vars(self).update(text=text)
        ),
        raising=False,
    )
    content = b"1 " + b" ".join(b"%d:1" % i for i in range(1, 200_000)) + b"\n-1 1:1\n"
    (rows, y), (more, _) = list(onkel.streams.open(Trickle(content), n_features=200_000, chunk_rows=1))
    assert rows.nnz == 199_999
    assert y.tolist() == [1]
    assert more.nnz == 1
    assert sum(put) < 3 * len(content)


def test_a_line_too_long_for_memory_is_refused(monkeypatch):
    monkeypatch.setattr(onkel.streams._text, "MOST_LINE_BYTES", 10_000)
    content = b"1 1:1\n-1 1:" + b"1" * 3_000_000 + b"\n"
    stream = onkel.streams.open(Trickle(content), n_features=1)
    assert next(stream)[1].tolist() == [1]
    with pytest.raises(ValueError, match="a trickle, line 2: longer than 10000 bytes"):
        next(stream)
    assert stream._bytes.at < 100_000  # and not read to its end


# -- names of columns


def table(path, order="abcy", rename=None):
    y = np.where(X[:, 0] - X[:, 1] > 0, "up", "down")
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}
    frame = pd.DataFrame({(rename or {}).get(name, name): columns[name] for name in order})
    frame.to_csv(path, index=False)
    return frame


@loop
@pytest.mark.parametrize("scale", ["none", "standard", None])
def test_columns_are_found_by_their_names(run, tmp_path, scale):
    table("x.csv")
    table("turned.csv", "cbay")
    table("other.csv", rename={"b": "height"})
    table("wide.csv", "abcy")
    pd.read_csv("wide.csv").assign(d=1.0)[["a", "d", "b", "c", "y"]].to_csv("wide.csv", index=False)
    pd.read_csv("x.csv").to_csv("unnamed.csv", index=False, header=False)
    assert run("fit", "x.csv", "-l", "spa", "-o", "m", *([] if scale is None else ["--scale", scale]))[0] == 0
    assert list(onkel.load("m").feature_names_in_) == ["a", "b", "c"]
    code, straight, err = run("predict", "m", "x.csv", "--scores")
    assert code == 0
    assert "warning" not in err
    assert run("predict", "m", "turned.csv", "--scores") == (0, straight, err)
    assert run("predict", "m", "unnamed.csv", "--scores") == (0, straight, err)  # nothing to compare
    for data, words in (
        ("other.csv", "has no column 'b': the model's columns are 'a', 'b', 'c'"),
        ("wide.csv", "has a column 'd' too many: the model's columns are 'a', 'b', 'c'"),
    ):
        code, out, err = run("predict", "m", data)
        assert (code, out) == (1, "")
        assert f"{data} {words}" in err
    code, _, err = run("predict", "m", "x.csv", "--no-target")
    assert code == 1
    assert "'y'" in err


def test_a_run_goes_on_with_the_same_columns_only(run, tmp_path):
    words = ("fit", "x.csv", "-o", "m", "--gamma", "1", "--checkpoint", "run", "--every", "10")
    table("x.csv")
    assert run(*words)[0] == 0
    (tmp_path / "run" / "rows-000000000040.onkel").unlink()  # as if it had been interrupted
    table("x.csv", "bacy")
    code, _, err = run(*words)
    assert code == 1
    assert "x.csv has the columns 'b', 'a', 'c', and the checkpoint's model has 'a', 'b', 'c'" in err
    table("x.csv")
    assert run(*words)[0] == 0
    assert onkel.load("m").t_ == 40


def test_shuffled_columns_keep_their_names(run, tmp_path):
    table("x.csv")
    assert run("fit", "x.csv", "-o", "m", "--shuffle")[0] == 0
    assert list(onkel.load("m").feature_names_in_) == ["a", "b", "c"]


@loop
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda m: m,
        lambda m: onkel.StreamPipeline(onkel.StreamStandardScaler(), m),
        onkel.PlattClassifier,
        lambda m: onkel.PlattClassifier(onkel.StreamPipeline(onkel.StreamMinMaxScaler(), m)),
    ],
    ids=["estimator", "pipeline", "platt", "both"],
)
def test_models_refuse_a_frame_of_other_columns(tmp_path, wrapped):
    frame = table(tmp_path / "x.csv")
    rows, y = frame[["a", "b", "c"]], frame["y"]
    for m in (wrapped(model()).fit(rows, y), wrapped(model()).partial_fit(rows, y)):
        onkel.save(m, tmp_path / "m")
        for each in (m, onkel.load(tmp_path / "m")):
            np.testing.assert_array_equal(each.predict(rows[["c", "b", "a"]]), each.predict(rows))  # found by name
        for other in (rows.rename(columns={"b": "height"}), rows[["a", "b"]]):
            for each in (m, onkel.load(tmp_path / "m")):
                with pytest.raises(ValueError, match=r"(?s)feature names|features"):
                    each.predict(other)
                with pytest.raises(ValueError, match=r"(?s)feature names|features"):
                    each.partial_fit(other, y)
                assert each.t_ == 40


# -- River


class Walked(dict):
    """A dict that counts how often all of it is gone through."""

    walks = 0

    def __iter__(self):
        Walked.walks += 1
        return super().__iter__()

    def keys(self):
        Walked.walks += 1
        return super().keys()

    def items(self):
        Walked.walks += 1
        return super().items()

    def copy(self):
        Walked.walks += 1
        return super().copy()


def river_model(**settings):
    river = pytest.importorskip("onkel.river")
    settings = {"recipe": onkel.recipes.OGD(loss="log_loss"), "budget": 10, "seed": 0} | settings
    return river.KernelClassifier(**settings)


def test_a_record_costs_its_own_names_and_not_all_there_were():
    m = river_model()
    m._columns.of = Walked({f"old {i}": i for i in range(1000)})
    for i in range(20):
        m.learn_one({f"new {i}": 1.0, "old 7": 2.0, "old 3": 1.0}, i % 2)
        m.predict_proba_one({f"unseen {i}": 1.0, "old 3": 1.0})
    assert Walked.walks == 0
    assert len(m._columns.of) == 1020
    assert m._columns.of["new 19"] == 1019


@loop
@pytest.mark.parametrize("recipe", [onkel.recipes.OGD(loss="log_loss"), onkel.recipes.Newton()])
@pytest.mark.parametrize("bad", [{"a": 1e200, "b": 1e200}, {"a": float("nan")}, {"a": 10**400}, {"a": [1.0]}])
def test_a_refused_record_makes_no_label_known(recipe, bad):
    m, twin = (river_model(recipe=recipe, kernel="poly") for _ in range(2))
    for i in range(20):
        for each in (m, twin):
            each.learn_one({"a": i % 3, "b": 1.0}, i % 2)
    with pytest.raises((ValueError, FloatingPointError)):
        m.learn_one(bad, "new")
    for each in (m, twin):
        each.learn_one({"a": 2.0}, 1)
    assert m.predict_proba_one({"a": 1.0}) == twin.predict_proba_one({"a": 1.0})
    assert set(m.predict_proba_one({"a": 1.0})) == {0, 1}
    m.learn_one({"a": 2.0}, "third")
    assert set(m.predict_proba_one({"a": 1.0})) == {0, 1, "third"}


def test_a_refused_frame_leaves_labels_and_scores_in_step():
    river = pytest.importorskip("onkel.river")
    m = river_model(kernel="poly")
    platt = river.PlattClassifier(river_model(kernel="poly"))
    frame = pd.DataFrame({"a": [1.0, 2.0, 1e200, 1.0], "b": [0.0, 1.0, 1e200, 1.0]})
    for each in (m, platt):
        with pytest.raises(FloatingPointError):
            each.learn_many(frame, pd.Series(["x", "y", "z", "w"]))
        each.learn_one({"a": 1.0, "b": 0.5}, "w")
        each.learn_one({"a": 1.0, "b": 1.5}, "v")
        assert sum(each.predict_proba_one({"a": 1.0}).values()) == pytest.approx(1)
    assert set(m.predict_proba_one({"a": 1.0})) >= {"x", "y", "w", "v"}
    assert platt._sigmoids.rows == platt.classifier._learner.t == 2


@pytest.mark.parametrize("huge", [10**400, -(10**400)])
def test_an_integer_beyond_all_floats_is_refused_in_a_sentence(huge):
    river = pytest.importorskip("onkel.river")
    m = river_model()
    regressor = river.KernelRegressor(onkel.recipes.OGD(loss="epsilon_insensitive"))
    frame = pd.DataFrame({"a": [1, huge]}, dtype=object)
    for call, what in (
        (lambda: m.learn_one({"a": 1, "b": huge}, 1), "feature 'b' is .*expected a finite number"),
        (lambda: regressor.predict_one({"b": huge}), "feature 'b' is .*expected a finite number"),
        (lambda: regressor.learn_one({"a": 1}, huge), "the target is .*expected a finite number"),
        (lambda: m.learn_one({"a": 1}, 1, w=abs(huge)), "w must be numbers"),
        (lambda: m.learn_many(frame, [0, 1]), "X must be numbers"),
        (lambda: regressor.learn_many(frame[:1], [huge]), "y must be numbers"),
    ):
        with pytest.raises(ValueError, match=what) as refusal:
            call()
        assert len(str(refusal.value)) < 150


# -- what the command prints


@pytest.mark.parametrize("words", [("compare", "mixture", "--rows", "300", "-l", "ogd,newton"), ("data", "list")])
def test_nothing_is_cut_off_in_a_narrow_terminal(run, monkeypatch, words):
    wide = run(*words)[1]
    for columns in (40, 50, 70):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = run(*words)
        assert "…" not in out
        if words[0] == "compare":  # the others' values are sentences, which the terminal breaks
            assert max(map(len, out.splitlines()[1:])) <= columns
        for word in ("newton", "accuracy", "support", "vectors") if words[0] == "compare" else ("cod-rna", "min-max"):
            assert word in wide
            assert word in out


def command(words, closed):
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {closed}', "-", sys.executable, "-m", "onkel", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_closed_output_gets_a_sentence(run, tmp_path):
    onkel.save(fitted(), tmp_path / "m")
    (tmp_path / "d.txt").write_text(libsvm(np.arange(40) % 2))
    printing = [("info", "m"), ("predict", "m", "d.txt"), ("evaluate", "d.txt", "-l", "ogd")]
    for words in printing if WHOLE else printing[1:2]:
        made = command(words, ">&-")
        assert (made.returncode, made.stderr) == (1, "onkel: standard output is closed\n")
    assert command(("info", "m"), ">&- 2>&-").returncode == 1
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-") if WHOLE else ("<&- >&- 2>&-",):  # none of which it misses
        (tmp_path / "new").unlink(missing_ok=True)
        assert command(("fit", "d.txt", "-l", "ogd", "-o", "new"), closed).returncode == 0
        assert onkel.load(tmp_path / "new").t_ == 40
