"""The loss by which relevances are found, its gradient, and its minimiser."""

from __future__ import annotations

import threading
import time
import warnings

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import _core
from onkel.choice.competition import LAMS, Competition, Entry, lam_at
from onkel.choice.relevances import categories, first_searched, searches
from onkel.choice.rows import Rows
from onkel.parts import RBF
from onkel.utils.threads import together
from reference.relevances import LEAST_LAM, validation_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TARGETS = {
    "regression": np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 5,
    "binary": np.sign(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * RNG.normal(size=60)),
    "multiclass": np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5]).astype(float),
}
WEIGHT = RNG.uniform(0.5, 2.0, size=60)
AT = np.array([-0.3, 0.2, -1.0, np.log(0.1)])


@loop
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("task", TARGETS)
def test_loss_is_the_definition_s_and_its_gradient_is_exact(task, kernel):
    given = {"task": task, "classes": 3, "kernel": kernel, "max_points": 20}
    value, gradient = _core.validation_loss(X, TARGETS[task], WEIGHT, at=AT.tolist(), **given)

    def loss(at):
        return validation_loss(X, TARGETS[task], WEIGHT, at, **given)

    assert value == pytest.approx(loss(AT), rel=1e-5)
    steps = 1e-5 * np.eye(len(AT))
    slopes = [(loss(AT + step) - loss(AT - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=2e-4, atol=1e-6 * value)


@pytest.mark.parametrize("far", [1e5, 1e12, 1e200])
def test_an_outlier_leaves_the_gradient_exact(far):
    rows = X.copy()
    rows[0, 0] = far
    given = {"task": "binary", "classes": 1, "kernel": "rbf", "max_points": 60}
    y = TARGETS["binary"]
    _, gradient = _core.validation_loss(rows, y, WEIGHT, at=AT.tolist(), **given)
    steps = 1e-4 * np.eye(len(AT))
    values = [_core.validation_loss(rows, y, WEIGHT, at=(AT + sign * step).tolist(), **given)[0]
              for step in steps for sign in (1, -1)]  # fmt: skip
    np.testing.assert_allclose(gradient, np.subtract(values[::2], values[1::2]) / 2e-4, rtol=1e-3, atol=1e-6)


def test_a_smaller_lambda_than_learners_have_changes_nothing():
    given = {"task": "binary", "classes": 1, "kernel": "rbf", "max_points": 20}
    least, less = (
        _core.validation_loss(X, TARGETS["binary"], WEIGHT, at=[*AT[:-1], np.log(lam)], **given)
        for lam in (0.9 * LEAST_LAM, 1e-9)
    )
    assert less[0] == least[0] and np.array_equal(less[1], least[1]) and less[1][-1] == 0
    assert lam_at(-LAMS) == pytest.approx(LEAST_LAM)


def test_a_feature_that_says_nothing_loses_its_scale():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 4))
    y = np.sin(3 * rows[:, 0]) + 0.1 * rng.normal(size=600)
    start = [-1.0] * 4 + [np.log(0.1)]
    value, at = _core.learn_scales(
        rows, y, np.ones(600), task="regression", classes=1, kernel="rbf", max_points=100, at=start,
        centre=[0.0] * 4, groups=[0, 1, 2, 3], spread=0.3, evaluations=20,
    )  # fmt: skip
    assert value < np.log(validation_loss(rows, y, np.ones(600), np.array(start), task="regression", max_points=100))
    assert at[0] > max(at[1:4]) + 1


def test_columns_of_one_category_share_a_relevance():
    rng = np.random.default_rng(2)
    n = 600
    first, second = rng.integers(5, size=n), rng.integers(3, size=n)
    rows = np.hstack([rng.normal(size=(n, 1)), np.eye(6)[first], 2 * np.eye(3)[second] - 1])  # nobody is in the sixth
    y = first + 0.1 * rng.normal(size=n)
    assert categories(rows).tolist() == [0, 1, 1, 1, 1, 1, 6, 7, 7, 7]
    newton = onkel.NewtonRegressor(budget=40, kernel="rbf", random_state=0).fit(np.tile(rows, (2, 1)), np.tile(y, 2))
    relevances = newton.relevances_
    assert len(set(relevances[1:6])) == 1 and len(set(relevances[7:])) == 1
    assert relevances[1] > 2 * relevances[7]


def test_few_rows_need_a_search_that_holds_scales_together():
    assert [search.spread for search in searches("binary", None, 2047)] == [0.3, np.inf]
    assert [search.spread for search in searches("multiclass", RBF, 2048)] == [np.inf]
    assert [search.kernel.name for search in searches("regression", None, 2048)] == ["rbf", "laplacian"]


@pytest.mark.parametrize(("n_features", "n_rows"), [(3, 512), (40, 640), (100, 1024)])
def test_the_first_searches_look_at_more_rows_for_many_features(n_features, n_rows):
    rng = np.random.default_rng(7)
    category = np.eye(50)[rng.integers(50, size=1024)]  # one scale of those that are to be found
    numbers = rng.normal(size=(1024, n_features - 1))
    rows = Rows(np.hstack([category, numbers, np.ones((1024, 50))]), np.arange(1024.0), np.ones(1024))
    assert first_searched(rows).y.tolist() == list(range(n_rows))


def test_what_is_no_category():
    rng = np.random.default_rng(3)
    two = rng.integers(2, size=(50, 2)).astype(float)
    assert categories(two).tolist() == [0, 1]  # some rows have both
    some = np.eye(3)[rng.integers(3, size=50)]
    some[7] = 0.0
    assert categories(some).tolist() == [0, 1, 2]  # a row has none
    assert categories(np.ones((5, 3))).tolist() == [0, 1, 2]
    assert categories(rng.normal(size=(50, 3))).tolist() == [0, 1, 2]


@loop
@pytest.mark.parametrize("task", TARGETS)
def test_a_kernel_that_is_no_better_than_a_constant_says_nothing_about_where_to_start(task):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(512, 2))
    y = {"regression": rows[:, 0], "binary": np.float64(rows[:, 0] > 0)}.get(task, np.digitize(rows[:, 0], [-1.0, 1.0]))
    recipe = onkel.recipes.Newton(loss="squared_error" if task == "regression" else "log_loss")
    learner = onkel.Learner(recipe, task=task, budget=20, fit_intercept=True)
    for labels, says in ((np.float64(y), True), (rng.permutation(np.float64(y)), False)):
        competition = Competition(learner, Rows(rows, labels, np.ones(512)), 3 if task == "multiclass" else 1)
        assert competition.says_something(RBF(0.5), 0.01) is says


def competition(rows, y, n_jobs=1, **settings):
    learner = onkel.Learner(onkel.recipes.Newton(), budget=30, fit_intercept=True, n_jobs=n_jobs)
    return Competition(learner, Rows(rows, y, np.ones(len(y))), 1, **settings)


@pytest.mark.parametrize("gamma", [0.02, 0.5, 20.0])
def test_competitors_that_run_side_by_side_change_nothing(gamma):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(512, 2))
    y = np.float64(np.sin(3 * rows[:, 0]) > rows[:, 1])
    one, two = (competition(rows, y, n_jobs) for n_jobs in (1, 2))
    for each in (one, two):
        each.found = each.better_width(RBF(gamma), 0.01, 1, False), each.better_lam(RBF(gamma), 0.01, 1)
    assert one.found == two.found
    assert one.learned_from == two.learned_from


def test_a_neighbour_that_diverges_matters_only_if_it_is_asked_for(monkeypatch):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(512, 2))
    found = competition(rows, np.float64(rows[:, 0] > 0), n_jobs=2)
    run_one = Competition._run_one
    start, narrow, wide = (Entry(RBF(gamma), 0.01, 1) for gamma in (1.0, 2.0, 0.5))

    def diverging(self, entry, *rest):
        if entry == wide:
            raise FloatingPointError("diverged")
        return run_one(self, entry, *rest)

    monkeypatch.setattr(Competition, "_run_one", diverging)
    found._look_ahead([narrow, wide], start)
    assert len(found.losses_of(*narrow)) == 256
    with pytest.raises(FloatingPointError, match="diverged"):
        found.losses_of(*wide)


def test_a_kernel_of_one_s_own_is_called_by_one_thread_at_a_time():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 2))
    turn = threading.Lock()

    def kernel(x, points):
        assert turn.acquire(blocking=False)
        time.sleep(0)  # lets another thread in, if there is one
        values = np.exp(-((x[:, None] - points[None]) ** 2).sum(axis=2))
        turn.release()
        return values

    model = onkel.NewtonClassifier(kernel=kernel, budget=10, n_jobs=2, random_state=0).fit(X, X[:, 0] > 0)
    assert model.lam_ > 0


def test_targets_of_any_size_are_learned_without_a_warning():
    X = np.random.default_rng(9).normal(size=(300, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = onkel.NewtonRegressor(budget=10, random_state=0).fit(X, 1e80 * X[:, 0])
    assert np.isfinite(model.predict(X)).all()


def test_a_call_that_runs_beside_one_that_fails_is_stopped():
    rows = np.random.default_rng(10).normal(size=(100_000, 20))
    learner = onkel.Learner(onkel.recipes.Newton(), budget=1000, fit_intercept=True)

    def fails():
        while learner.t == 0:
            time.sleep(0.001)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together([lambda: learner.learn_rows(rows, np.float64(rows[:, 0] > 0)), fails], 2)
    assert 0 < learner.t < len(rows)


def test_a_competitor_that_has_lost_learns_from_no_further_row():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(1024, 2))
    y = np.float64(np.sin(3 * rows[:, 0]) > rows[:, 1])
    found = competition(rows, y)
    good, bad = Entry(RBF(1.0), 0.01, 1), Entry(RBF(1e-4), 0.01, 1)
    best = found.losses_of(*good)
    _, losses, n_rows = found._run_one(bad, best, 1)
    assert 512 < n_rows < 1024 and len(losses) == len(best)
    assert np.mean(losses[n_rows - 512 :] - best[n_rows - 512 :]) == pytest.approx(
        np.mean(losses[: n_rows - 512] - best[: n_rows - 512])
    )
    assert found._run_one(good, best, 1)[2] == 1024
    # The best one may have no loss at all.
    assert np.isfinite(found._run_one(bad, np.zeros(512), 1)[1]).all()
