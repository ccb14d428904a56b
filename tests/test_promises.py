"""Promises that were broken once: labels, tables, files, names, threads."""

import os
import stat
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import onkel
import onkel.cli
from onkel.utils.files import write_atomically

X = np.random.default_rng(0).normal(size=(40, 3))


def model(**settings):
    return onkel.OGDClassifier(gamma=0.5, random_state=0, **settings)


# -- labels

BIG = 2**60


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
    before, state = m.classes_, m._learner.fingerprint()
    for learn in (m.partial_fit, m.predict_then_learn):
        with pytest.raises(ValueError, match="one kind"):
            learn(X[2:3], then)
    assert m.classes_ is before
    assert m._learner.fingerprint() == state


@pytest.mark.parametrize("labels", [["a", 1], [True, 2], ["a", b"a"], np.array(["a", 1.0], object)])
def test_labels_of_several_kinds_are_refused(labels):
    for learn in (model().fit, model().partial_fit):
        with pytest.raises(ValueError, match="row 0 .* row 1.* one kind"):
            learn(X[:2], labels)
    with pytest.raises(ValueError, match="one kind"):
        model().partial_fit(X[:1], ["a"], classes=labels)


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
    with pytest.raises(ValueError, match="-1 to 18446744073709551615, which no type of 64 bits"):
        m.partial_fit(X[:1], np.array([2**64 - 1], np.uint64))
    assert m.classes_.tolist() == [-1, 3]
    for labels in ([2**63, -1], [2**64, 1]):
        with pytest.raises(ValueError, match="no type of 64 bits"):
            model().fit(X[:2], labels)


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
        assert m.scaler_.n_samples_seen_ == m.t_


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
    except PermissionError:
        pytest.skip("only root may make a device here")
    onkel.save(fitted(), device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


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
        assert "is what is read: writing there would overwrite it" in err
    assert before == (data.read_bytes(), (tmp_path / "m.onkel").read_bytes())


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
