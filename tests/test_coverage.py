"""Intervals and sets cover what they say: any 5,000 rows of a stream that changes, and exchangeable rows."""

import contextlib
import copy
import functools
import sys
from collections import deque

import numpy as np
import pytest
from sklearn.datasets import make_moons

import onkel
from interrupting import interrupted_at, interrupted_choice
from onkel.coverage import Coverage

N = 20_000
SCALES = {
    "the same": lambda t, rng: np.ones(N),
    "wandering": lambda t, rng: np.exp(np.cumsum(0.02 * rng.normal(size=N))),
    "jumping": lambda t, rng: np.where((t // 3000) % 2, 5.0, 1.0),
    "growing": lambda t, rng: 1 + t / 300,
    "in waves": lambda t, rng: np.exp(2 * np.sin(t / 500)),
}


class Definition:
    """The plain reference: all scores so far, sorted anew for each row."""

    def __init__(self, level):
        self.level, self.scores, self.excess, self.covered = level, [], 0.0, deque(maxlen=5000)

    def threshold(self):
        latest = np.sort(self.scores[-1000:])
        if len(latest) == 0:
            return np.inf
        part = self.excess / 20
        missed = 1 - self.level - ((1 - self.level) * part**3 if part > 0 else self.level * part**5)
        place = int(np.ceil((1 - missed) * (len(latest) + 1) * (1 - 1e-12)))
        if place > len(latest):
            return latest[-1] * 2.0 ** min(64.0, max(1.0, self.excess - 20))
        return latest[place - 1] if place > 0 else 0.0

    def add(self, score):
        missed = score > self.threshold()
        self.covered.append(not missed)
        self.excess = max(-20.0, self.excess + missed - (1 - self.level))
        self.scores.append(score)


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_thresholds_are_those_of_the_definition(level):
    rng = np.random.default_rng(0)
    coverage, expected = Coverage([level]), Definition(level)
    for t in range(2500):
        score = abs(rng.normal()) * (1 + 20 * (t > 1500))
        assert np.isclose(coverage.threshold(level), expected.threshold())
        coverage.add(score)
        expected.add(score)
    assert coverage.recent[level] == np.mean(expected.covered)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", [0, 1])
def test_any_5000_rows_of_a_stream_are_covered(scale, seed):
    rng = np.random.default_rng(seed)
    scores = np.abs(rng.normal(size=N)) * SCALES[scale](np.arange(N), rng)
    coverage, covered = Coverage([0.9]), []
    for score in scores:
        covered.append(score <= coverage.threshold(0.9))
        coverage.add(score)
    sums = np.cumsum([0, *covered])
    means = (sums[5000:] - sums[:-5000]) / 5000
    assert means.min() >= 0.89
    assert means.max() <= 0.91
    assert coverage.recent[0.9] == means[-1]


def drifting(n, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.uniform(-3, 3, size=(n, 2)), np.arange(n)
    return X, np.sin(2 * X[:, 0] + t / 2000) + (0.1 + 0.4 * ((t // 2500) % 2)) * rng.normal(size=n)


REGRESSORS = [
    lambda: onkel.NewtonRegressor(budget=20, gamma=1.0, relevances=None, random_state=0, coverage=(0.9, 0.5)),
    lambda: onkel.OGDRegressor(gamma=1.0, budget=30, random_state=0, coverage=(0.9, 0.5)),
]


@pytest.mark.parametrize("make", REGRESSORS)
def test_intervals_of_a_stream_hold_what_they_should(make):
    X, y = drifting(8000)
    model, held = make(), []
    for i in range(len(y)):
        if i > 0:
            low, high = model.predict_interval(X[i : i + 1])[0]
            held.append(low <= y[i] <= high)
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    sums = np.cumsum([0, *held])
    means = (sums[5000:] - sums[:-5000]) / 5000
    assert means.min() > 0.885
    assert means.max() < 0.915
    assert abs(model.coverage_[0.9] - means[-1]) < 0.002
    assert abs(model.coverage_[0.5] - 0.5) < 0.02


@pytest.mark.parametrize("make", REGRESSORS)
def test_intervals_do_not_depend_on_how_rows_come(make, tmp_path):
    X, y = drifting(700)
    whole, pieces = make().partial_fit(X, y), make()
    for begin in range(0, 700, 70):
        pieces.partial_fit(X[begin : begin + 70], y[begin : begin + 70])
        if begin == 350:
            onkel.save(pieces, tmp_path / "model")
            pieces = copy.deepcopy(onkel.load(tmp_path / "model"))
    assert whole._fingerprint() == pieces._fingerprint()
    np.testing.assert_array_equal(whole.predict_interval(X), pieces.predict_interval(X))
    assert whole.coverage_ == pieces.coverage_
    plain = make().set_params(coverage=None).partial_fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), whole.predict(X))  # keeping account changes no prediction


@pytest.mark.parametrize("make", REGRESSORS)
def test_rows_of_an_interrupted_call_are_counted_once(make):
    X, y = drifting(400)
    whole, model = make().partial_fit(X, y), make()
    for call in range(300, 1500, 150):  # some of them between learning from a row and counting it
        begin = getattr(model, "t_", 0)
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(call):
            model.partial_fit(X[begin:399], y[begin:399])
    model.partial_fit(X[model.t_ :], y[model.t_ :])
    assert len(whole.coverage_history_[0]) >= 399  # of the first row nothing may have been predicted
    assert whole._fingerprint() == model._fingerprint()
    assert whole.coverage_ == model.coverage_


def test_what_an_interrupted_choice_has_left_is_done_before_the_next_row_is_predicted():
    X, y = drifting(100)
    new = functools.partial(onkel.NewtonRegressor, budget=40, lam=1.0, relevances=None, coverage=(0.9,), random_state=0)
    whole = new().partial_fit(X[:65], y[:65])
    while whole._choice.job is not None:
        whole.partial_fit(X[whole.t_ : whole.t_ + 1], y[whole.t_ : whole.t_ + 1])
    row = whole.t_  # after which what was found takes over

    model = new()
    with pytest.raises(KeyboardInterrupt), interrupted_choice(row):
        model.partial_fit(X[:row], y[:row])
    assert model.t_ == row > 65 and model._choice.job is not None
    for each in (whole, model):
        each.partial_fit(X[row:], y[row:])
    assert model._fingerprint() == whole._fingerprint()


@pytest.mark.parametrize("make", REGRESSORS)
def test_the_first_call_may_ask_for_predictions(make):
    X, y = drifting(100)
    np.testing.assert_array_equal(
        make().predict_then_learn(X, y), make().set_params(coverage=None).predict_then_learn(X, y)
    )


def test_intervals_of_exchangeable_rows_cover_new_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(8000, 2))
    y = np.sin(2 * X[:, 0]) + rng.normal(size=8000)
    model = onkel.NewtonRegressor(budget=40, gamma=0.5, relevances=None, random_state=0, coverage=(0.9,))
    model.fit(X[:4000], y[:4000])
    for level in (0.9, 0.5, 0.8):  # one that is tracked, and others
        low, high = model.predict_interval(X[4000:], level).T
        assert abs(np.mean((low <= y[4000:]) & (y[4000:] <= high)) - level) < 0.03


def test_a_model_of_deviations_has_intervals_without_account():
    X, y = drifting(2000)
    model = onkel.NewtonRegressor(budget=20, gamma=1.0, random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    low, high = model.predict_interval(X, 0.95).T
    np.testing.assert_allclose(high - mean, 1.959964 * std, rtol=1e-5)
    np.testing.assert_allclose(mean - low, high - mean)
    with pytest.raises(AttributeError, match="where coverage is given"):
        _ = model.coverage_


@pytest.mark.parametrize(
    "model",
    [
        onkel.NewtonClassifier(budget=20, gamma=1.0, random_state=0, coverage=(0.9,)),
        onkel.OGDClassifier(budget=20, gamma=1.0, random_state=0, coverage=(0.9,)),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_sets_hold_the_class_and_are_never_empty(model, classes):
    X, y = make_moons(6000, noise=0.5, random_state=0)
    if classes == 3:
        y = np.where(X[:, 0] > 1.2, 2, y)
    model.fit(X[:3000], y[:3000])
    sets = model.predict_set(X[3000:])
    assert sets.shape == (3000, classes)
    assert sets.any(axis=1).all()
    assert sets[np.arange(3000), model.predict(X[3000:])].all()
    assert sets[np.arange(3000), y[3000:]].mean() > 0.87
    assert 1.0 <= sets.sum(axis=1).mean() < 1.6


def test_sets_of_probabilities_need_no_account():
    X, y = make_moons(3000, noise=0.5, random_state=0)
    model = onkel.NewtonClassifier(budget=20, gamma=1.0, random_state=0).fit(X, y)
    sets = model.predict_set(X, 0.95)
    assert sets.any(axis=1).all()
    assert sets[np.arange(3000), y].mean() > 0.93
    for one, proba in zip(sets, model.predict_proba(X), strict=True):
        assert proba[one].sum() >= 0.95


@pytest.mark.parametrize("coverage", [(), "0.9", (0.9, 0.9), (1.0,), (0.0,), object()])
def test_levels_that_are_none_are_refused(coverage):
    with pytest.raises(ValueError, match="coverage"):
        onkel.NewtonRegressor(coverage=coverage).partial_fit([[0.0]], [1.0])


def test_models_that_know_nothing_say_what_they_need():
    X, y = drifting(50)
    with pytest.raises(ValueError, match=r"predict_interval needs coverage=\(0.9,\) in the constructor"):
        onkel.OGDRegressor(gamma=1.0).fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="predict_set needs coverage"):
        onkel.OGDClassifier(gamma=1.0, loss="hinge").fit(X, y > 0).predict_set(X)
    with pytest.raises(ValueError, match="coverage"):
        onkel.NewtonRegressor(gamma=1.0).fit(X, y).predict_interval(X, 1.5)


def test_pipelines_hand_deviations_intervals_and_sets_on():
    X, y = drifting(300)
    settings = {"budget": 20, "gamma": 1.0, "random_state": 0, "coverage": (0.9,)}
    pipeline = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.NewtonRegressor(**settings)).partial_fit(X, y)
    inside, rows = pipeline.estimator_, pipeline.transformers_[0].transform(X)
    np.testing.assert_array_equal(pipeline.predict(X, return_std=True), inside.predict(rows, return_std=True))
    np.testing.assert_array_equal(pipeline.predict_interval(X, 0.9), inside.predict_interval(rows, 0.9))
    assert not hasattr(pipeline, "predict_set")
    pipeline = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.NewtonClassifier(**settings))
    pipeline.partial_fit(X, y > 0)
    np.testing.assert_array_equal(pipeline.predict_set(X), pipeline.estimator_.predict_set(rows))


@pytest.mark.parametrize("asked", ["--std", "--interval"])
def test_the_command_prints_deviations_and_intervals(asked, tmp_path, capsys, monkeypatch):
    from onkel.cli import main

    X, y = drifting(100)
    model = onkel.NewtonRegressor(budget=20, gamma=1.0, random_state=0).fit(X, y)
    onkel.save(model, tmp_path / "model")
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
    words = [asked] if asked == "--std" else [asked, "0.9"]
    monkeypatch.setattr(sys, "argv", ["onkel", "predict", str(tmp_path / "model"), str(tmp_path / "rows.csv"), *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    printed = np.array([line.split() for line in capsys.readouterr().out.splitlines()], np.float64)
    expected = np.column_stack(model.predict(X, return_std=True)) if asked == "--std" else model.predict_interval(X)
    np.testing.assert_allclose(printed, expected, rtol=1e-9)
