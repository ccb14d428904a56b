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
from onkel.choice.competition import FARTHEST, lam_at
from onkel.choice.kernels import KernelQuestion
from onkel.choice.rows import Rows
from onkel.choice.screen import feature_columns, selected
from onkel.choice.search import Problem, categories
from onkel.choice.steps import at_once
from onkel.parts import RBF, Laplacian
from onkel.utils.threads import results_of
from reference.relevances import LEAST_LAM, validation_loss
from reference.screen import effects

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
    alone = _core.Search(X, TARGETS[task], WEIGHT, at=AT.tolist(), **given)
    assert alone.go_on(np.inf)
    assert alone.value == pytest.approx(value, rel=1e-3)  # which goes on to the limit of Newton's method
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
    assert lam_at(-FARTHEST) == pytest.approx(LEAST_LAM)


def test_a_feature_that_says_nothing_loses_its_scale():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 4))
    y = np.sin(3 * rows[:, 0]) + 0.1 * rng.normal(size=600)
    start = [-1.0] * 4 + [np.log(0.1)]
    search = _core.Search(
        rows, y, np.ones(600), task="regression", classes=1, kernel="rbf", max_points=100, at=start,
        centre=[0.0] * 4, groups=[0, 1, 2, 3], spread=0.3, evaluations=20,
    )  # fmt: skip
    assert search.go_on(np.inf)
    assert search.value < np.log(
        validation_loss(rows, y, np.ones(600), np.array(start), task="regression", max_points=100)
    )
    assert search.at[0] > max(search.at[1:4]) + 1


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


def test_what_is_no_category():
    rng = np.random.default_rng(3)
    two = rng.integers(2, size=(50, 2)).astype(float)
    assert categories(two).tolist() == [0, 1]  # some rows have both
    some = np.eye(3)[rng.integers(3, size=50)]
    some[7] = 0.0
    assert categories(some).tolist() == [0, 1, 2]  # a row has none
    assert categories(np.ones((5, 3))).tolist() == [0, 1, 2]
    assert categories(rng.normal(size=(50, 3))).tolist() == [0, 1, 2]


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
        results_of([lambda: learner.learn_rows(rows, np.float64(rows[:, 0] > 0)), fails], 2)
    assert 0 < learner.t < len(rows)


# -- the screen


def two_of_many(n, d, seed, pattern=lambda a, b: np.sin(2 * a) * np.sin(2 * b)):
    """Normal features of which two matter, with as much noise as the prototype's; rows, targets, and those features."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    first, second = rng.permutation(d)[:2]
    f = pattern(rows[:, first], rows[:, second])
    return rows, f / f.std() + 0.45 * rng.normal(size=n), {first, second}


def test_effects_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    category = np.eye(3)[rng.integers(3, size=200)]
    rows = np.hstack([rng.normal(size=(200, 2)).round(1), category, rng.random((200, 1)) > 0.3, np.ones((200, 1))])
    columns, owners = at_once(feature_columns(rows, categories(rows)))
    np.testing.assert_allclose(columns.T @ columns / 200, np.diag(np.diag(columns.T @ columns / 200)), atol=1)
    wanted, of = effects(rows, categories(rows))
    assert owners.tolist() == of.tolist()
    assert [int((owners == unit).sum()) for unit in np.unique(owners)] == [4, 4, 2, 1]
    residuals = rng.normal(size=(200, 2))
    products = np.einsum("ia,ib,it->abt", wanted, wanted, residuals) / 200
    # Orthonormal columns are determined up to their signs, which the squares do not show.
    wanted_sums, width = (products**2).sum(axis=2), columns.shape[1]
    for first, last in ((0, width), (3, 9)):
        sums = _core.pair_effects(columns, residuals, first, last)
        np.testing.assert_allclose(sums, np.triu(wanted_sums)[first:last], atol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(1000, 32), (2000, 100)])
def test_two_features_that_matter_together_are_selected(n, d):
    found = 0
    for seed in range(10):
        rows, y, matter = two_of_many(n, d, seed)
        found += matter <= set(np.flatnonzero(at_once(selected(rows, np.arange(d), y[:, None], np.ones(n)))))
    assert found >= 9


def test_a_feature_that_matters_alone_hides_no_pair():
    rows, y, matter = two_of_many(1000, 20, 0)
    other = next(j for j in range(20) if j not in matter)
    y = y + 15 * np.cos(rows[:, other])
    chosen = at_once(selected(rows, np.arange(20), y[:, None], np.ones(1000)))
    assert matter | {other} <= set(np.flatnonzero(chosen))


def test_noise_selects_something_once_in_fifty_times():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(50):
        classes = np.eye(3)[rng.integers(3, size=500)]
        found += at_once(selected(rng.normal(size=(500, 10)), np.arange(10), classes, np.ones(500))).any()
    assert found <= 4


def test_a_category_is_selected_as_one_feature():
    others = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values = rng.integers(6, size=600)
        rows = np.hstack([rng.normal(size=(600, 3)), np.eye(6)[values], rng.normal(size=(600, 3))])
        y = np.where(values == 2, 1.0, 0.0) + 0.5 * rng.normal(size=600)
        chosen = at_once(selected(rows, categories(rows), y[:, None], np.ones(600)))
        assert chosen[3:9].all()
        others += chosen.sum() > 6
    assert others <= 2


# -- what is found


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_few_of_many_features_are_found(task):
    found = 0
    for seed in range(10):
        rows, y, matter = two_of_many(1200, 24, seed)
        y = y if task == "regression" else np.float64(y > 0)
        question = KernelQuestion(Rows(rows, y, np.ones(len(y))), task, 1, ["gamma", "relevances"], 1)
        kernel = at_once(question.answer()).kernels[0]
        found += set(np.argsort(-kernel.relevances_of(24))[:2]) == matter
    assert found >= 9


def test_relevances_that_gain_nothing_are_no_kernel_of_their_own():
    for seed in range(5, 10):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(2000, 4))
        y = np.sin(rows).sum(axis=1) + 0.5 * rng.normal(size=2000)
        question = KernelQuestion(Rows(rows, y, np.ones(2000)), "regression", 1, ["gamma", "relevances"], 1)
        chosen = at_once(question.answer())
        assert len(chosen.kernels) == 1 and chosen.kernels[0].relevances == ()


def test_ranks_are_left_out_where_they_do_harm():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 3))
    rows[:, 0] = np.exp(3 * rows[:, 0])
    given = {"task": "regression", "n_classes": 1, "chosen": ["gamma", "relevances", "ranks"], "n_threads": 1}
    smooth, ranked = np.sin(2 * rows[:, 1:]).sum(axis=1), np.sin(2 * np.log(rows[:, 0]))
    for y, with_ranks in ((smooth + 0.01 * rows[:, 0] ** 0.3, None), (ranked, True)):
        kernel = at_once(KernelQuestion(Rows(rows, y, np.ones(2000)), **given).answer()).kernels[0]
        assert with_ranks is None or bool(kernel.ranks) is with_ranks


@loop
@pytest.mark.parametrize("kernel", [RBF(0.5, (2.0, 1.0, 0.0)), Laplacian(0.3, (0.5, 0.5, 2.0)), RBF(2.0)])
def test_a_kernel_and_its_point_are_the_same(kernel):
    problem = Problem(Rows(X, TARGETS["regression"], WEIGHT), (), "regression", 1)
    again = problem.kernel_of(problem.point_of(kernel))
    assert type(again) is type(kernel)
    np.testing.assert_allclose(again.gamma * again.relevances_of(3), kernel.gamma * kernel.relevances_of(3), atol=1e-9)


def test_the_laplacian_kernel_starts_as_wide_as_the_gaussian():
    problem = Problem(Rows(X, TARGETS["regression"], WEIGHT), (), "regression", 1)
    gaussian = RBF(0.4, (2.0, 1.0, 0.5))
    laplacian = problem.kernel_of(problem.as_laplacian(problem.point_of(gaussian)))
    exponents = [-np.log(kernel.matrix(X[:30], X[30:]).diagonal()) for kernel in (gaussian, laplacian)]
    assert np.median(exponents[0]) == pytest.approx(np.median(exponents[1]), rel=1e-6)


def test_threads_change_nothing():
    rows, y, _ = two_of_many(600, 12, 3)
    given = Rows(rows, y, np.ones(600)), "regression", 1, ["gamma", "relevances", "ranks", "kernel"]
    assert at_once(KernelQuestion(*given, 1).answer()) == at_once(KernelQuestion(*given, 2).answer())
