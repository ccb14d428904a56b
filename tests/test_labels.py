"""Labels: closed sets refuse strangers, open sets grow in order of appearance, a score of 0 has a meaning."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onkel
from interrupting import interrupted_midway
from looping import loop
from onkel.utils.labels import as_labels

X = np.random.default_rng(0).normal(size=(12, 3))
WORDS = np.array(["pear", "apple", "pear", "fig", "apple", "fig"] * 2)


def model(**settings):
    return onkel.OGDClassifier(gamma=0.5, **settings)


def test_open_set_keeps_the_order_of_appearance():
    m = model().partial_fit(X[:2], WORDS[:2])
    assert m.classes_.tolist() == ["pear", "apple"]
    m.partial_fit(X[2:], WORDS[2:])
    assert m.classes_.tolist() == ["pear", "apple", "fig"]
    assert m.decision_function(X).shape == (12, 3)
    assert set(m.predict(X)) <= set(WORDS)


def test_scores_have_the_final_width_and_zeros_before_a_class_is_known():
    scores = model().predict_then_learn(X, WORDS)
    assert scores.shape == (12, 3)
    assert not scores[:1].any()
    assert not scores[:3, 2].any()  # "fig" is first seen at row 3
    assert scores[4:, 2].any()


def test_open_set_equals_the_closed_one_from_where_all_are_known():
    # with all classes told at the start, rows before their first example may push them down: only scores with the
    # same known classes agree
    one, other = model(), model()
    one.partial_fit(X, WORDS)
    for i in range(12):
        other.partial_fit(X[i : i + 1], WORDS[i : i + 1])
    assert one._fingerprint() == other._fingerprint()
    assert one.classes_.tolist() == other.classes_.tolist()


def test_one_known_class_teaches_nothing():
    m = model().partial_fit(X[:3], ["a"] * 3)
    assert m.n_support_ == 0
    assert m.t_ == 3
    assert m.predict(X[:2]).tolist() == ["a", "a"]
    assert m.decision_function(X[:2]).shape == (2, 1)


def test_two_open_classes_stay_multiclass():
    m = model().partial_fit(X, WORDS == "fig")
    assert m.decision_function(X).shape == (12, 2)
    assert m.predict_then_learn(X, WORDS == "fig").shape == (12, 2)
    assert m.dual_coef_.shape[0] == 2
    assert m.predict(X).dtype == bool


def test_two_closed_classes_are_binary():
    m = model().partial_fit(X, WORDS == "fig", classes=[False, True])
    assert m.decision_function(X).shape == (12,)
    assert m.dual_coef_.shape[0] == 1


@pytest.mark.parametrize("classes", [["apple", "fig"], ["apple", "fig", "kiwi"]])
def test_closed_set_refuses_a_stranger(classes):
    m = model()
    with pytest.raises(ValueError, match="'pear' at row 0"):
        m.partial_fit(X, WORDS, classes=classes)
    m.partial_fit(X[1:2], WORDS[1:2], classes=classes)
    assert m.classes_.tolist() == sorted(classes)
    with pytest.raises(ValueError, match="'pear' at row 1"):
        m.partial_fit(X[1:3], WORDS[1:3])


def test_labels_of_rows_without_weight_do_not_count():
    weight = (WORDS != "fig").astype(float)
    m = model().partial_fit(X, WORDS, sample_weight=weight)
    assert m.classes_.tolist() == ["pear", "apple"]
    closed = model().partial_fit(X, WORDS, classes=["apple", "pear"], sample_weight=weight)
    assert closed.t_ == 8
    assert model().fit(X, WORDS, sample_weight=weight).classes_.tolist() == ["apple", "pear"]


@loop
@pytest.mark.parametrize("labels", [[3, -1, 7], ["x", "yy", "zzz"], [True, False, True], [0.0, 1.0, 2.0]])
def test_kinds_of_labels(labels):
    y = np.array(labels * 4)
    fitted = model(random_state=0).fit(X, y)
    assert fitted.classes_.tolist() == sorted(set(labels))
    assert fitted.predict(X).dtype == y.dtype
    assert set(fitted.predict(X)) <= set(labels)


def test_longer_words_that_come_later_are_not_cut():
    m = model().partial_fit(X[:2], np.array(["a", "b"])).partial_fit(X[2:4], np.array(["watermelon", "a"]))
    assert m.classes_.tolist() == ["a", "b", "watermelon"]


def test_a_score_of_exactly_zero():
    # for the update it is a mistake (z <= 0), for predict it is the first class
    m = onkel.PerceptronClassifier(gamma=1.0)
    m.partial_fit(X[:1], [1], classes=[0, 1])
    assert m.support_.tolist() == [0]
    far = X[:1] + 1e6
    assert m.decision_function(far) == 0
    assert m.predict(far) == 0


def test_interrupted_before_a_class_was_met():
    m = None

    def learn(n):
        nonlocal m
        rows = np.random.default_rng(0).normal(size=(n, 4))
        labels = np.arange(n) % 2
        labels[-1] = 2
        m = model(budget=100).partial_fit(rows[:10], labels[:10])
        return lambda: m.partial_fit(rows, labels), lambda: m.t_ - 10

    interrupted_midway(learn)
    assert m.classes_.tolist() == [0, 1]
    assert m.decision_function(np.ones((3, 4))).shape == (3, 2)


def test_rows_without_weight_do_not_count_for_balanced_weights_of_fit():
    X, y, keep = np.arange(40.0)[:, None] / 10, np.arange(40) % 4 == 0, np.arange(40) % 3 > 0
    learners = [onkel.OGDClassifier(gamma=1.0, class_weight="balanced", shuffle=False, random_state=0) for _ in "ab"]
    learners[0].fit(X, y, sample_weight=keep.astype(float))
    learners[1].fit(X[keep], y[keep])
    assert (learners[0].dual_coef_ == learners[1].dual_coef_).all()


def test_one_lookup_serves_all_labels_that_are_classes(monkeypatch):
    from onkel.estimators import targets

    looked_up = []
    original = targets.places
    monkeypatch.setattr(targets, "places", lambda *args: looked_up.append(len(args[1])) or original(*args))
    monkeypatch.setattr(targets, "check_finite", None)  # a class is a valid label
    y = np.array([3.0, 5.0, 3.0, 7.0])
    model = onkel.OGDClassifier(gamma=1.0, class_weight={3: 2.0})
    model.partial_fit(np.zeros((4, 1)), y, classes=np.array([3, 5, 7]))
    model.partial_fit(np.zeros((3, 1)), y[:3])
    assert looked_up == [4, 3]
    fresh = onkel.OGDClassifier(gamma=1.0).partial_fit(np.zeros((4, 1)), y.astype(int))
    assert fresh.classes_.tolist() == [3, 5, 7]
    assert looked_up == [4, 3, 4]


IDS = np.array([2**60, 2**60 + 1, 5])


@pytest.mark.parametrize(
    "column",
    [
        lambda ids: pd.Series(ids, dtype="Int64"),
        lambda ids: pd.Series(ids, dtype="UInt64"),
        lambda ids: pd.Series(ids, dtype="int64[pyarrow]"),
        pl.Series,
        pa.array,
        lambda ids: pa.chunked_array([ids]),
    ],
)
def test_integers_of_every_library_keep_their_digits(column):
    labels = IDS[np.arange(12) % 3]
    assert sorted(model().partial_fit(X, column(labels)).classes_.tolist()) == sorted(IDS.tolist())
    assert model().fit(X, column(labels)).classes_.tolist() == sorted(IDS.tolist())


@pytest.mark.parametrize("column", [list, pd.Series, pl.Series, pa.array, lambda words: np.array(words, object)])
def test_text_keeps_every_character(column, tmp_path):
    words = ["a", "a\0", "b" * 200] * 4
    whole = model().partial_fit(X, column(words))
    assert whole.classes_.tolist() == ["a", "a\0", "b" * 200]
    cut = model().partial_fit(X[:1], words[:1]).partial_fit(X[1:], column(words[1:]))
    assert cut.classes_.tolist() == whole.classes_.tolist()
    onkel.save(cut, tmp_path / "m.onkel")
    loaded = onkel.load(tmp_path / "m.onkel")
    assert loaded.predict(X).tolist() == whole.predict(X).tolist()
    loaded.partial_fit(X, column(words))
    assert loaded.classes_.tolist() == whole.classes_.tolist()
    assert model().fit(X, column(words)).score(X, np.array(words, object)) > 0.3


def test_one_long_label_does_not_widen_all_others():
    labels = as_labels(["a"] * 10_000 + ["x" * 100_000])
    assert labels.dtype == object and labels.nbytes < 10**6
    assert as_labels(["a", "b" * 64]).dtype == "<U64"


@pytest.mark.parametrize("y", [[0.5, 10**400, 1.0], [1, 10**400, 2], [float("inf"), 10**400, 2]])
@pytest.mark.parametrize("learner", [onkel.NewtonRegressor, onkel.OGDClassifier])
def test_numbers_beyond_those_of_a_float_are_refused(y, learner):
    with pytest.raises(ValueError, match=r"^y (contains|must be numbers)"):
        learner().partial_fit([[0.0], [1.0], [2.0]], y)
