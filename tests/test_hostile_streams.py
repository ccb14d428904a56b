"""Hostile streams: every learner stays finite, or says which row it cannot learn from and keeps what it had."""

import itertools

import numpy as np
import pytest

import onkel
from looping import WHOLE, loop
from onkel.parts import RBF, FirstOrder, Polynomial
from table import SMALL, TABLE, Case, cases, loop_by_learner

N = 300


def constant(case, rng):
    return np.ones((N, 3))


def zero(case, rng):
    return np.zeros((N, 3))


def duplicates(case, rng):
    return np.repeat(rng.normal(size=(3, 3)), N // 3, axis=0)


def huge(case, rng):
    most = np.finfo(case.dtype).max
    return rng.choice([most, -most, most / 4, 1e30, 1.0, 0.0], size=(N, 3))


def mixed(case, rng):
    wild = [1e-300, 1e-40, 1e-5, 1.0, -1.0, 1e5, 1e18, -1e30]
    return rng.choice(wild, size=(N, 3))


def denormal(case, rng):
    return rng.choice([5e-324, 1e-310, -1e-315, 1e-45, -1e-40, 0.0], size=(N, 3))


ROWS = {make.__name__: make for make in (constant, zero, duplicates, huge, mixed, denormal)}


def alternating(case, rng):
    targets = np.arange(N) % (3 if case.task == "multiclass" else 2)
    return targets * (1e3 if case.task == "regression" else 1.0)


def wild(case, rng):
    if case.task != "regression":
        return rng.integers(0, 3 if case.task == "multiclass" else 2, N).astype(float)
    return rng.choice([1e300, -1e300, 1e-300, 1.0, -1e30, 0.0], size=N)


LABELS = {make.__name__: make for make in (alternating, wild)}


def learner_of(case: Case, kernel):
    # with a constant term a row of zeros is worth a step, though its kernel with itself is 0
    return case.learner(kernel=kernel, fit_intercept=kernel != RBF(0.5), budget=SMALL, n_classes=2, seed=1)


def kernels(case: Case):
    poly = Polynomial(degree=2)
    recipe = case.named.recipe(**case.parameters)
    gaussian = isinstance(recipe, FirstOrder) and recipe.eviction.needs_gaussian
    return [RBF(0.5)] if gaussian else [RBF(0.5), poly]


@loop_by_learner
@pytest.mark.filterwarnings("ignore")
@cases(one_task=True, rows=ROWS)
def test_finite_or_a_sentence_and_the_last_good_state(case, rows):
    for labels, kernel in itertools.product(LABELS.values(), kernels(case)):
        rng = np.random.default_rng(5)
        with np.errstate(over="ignore", under="ignore"):
            X = ROWS[rows](case, rng).astype(case.dtype)
        y = labels(case, rng)
        learner = learner_of(case, kernel)
        try:
            learner.learn_rows(X, y)
        except FloatingPointError as error:
            assert f"row {learner.t} of the stream" in str(error)
            assert "\n" not in str(error)
            again = learner_of(case, kernel)
            again.learn_rows(X[: learner.t], y[: learner.t])
            # a class that the refused row brought stays known
            if again.n_outputs == learner.n_outputs:
                assert again.fingerprint() == learner.fingerprint()
        assert np.isfinite(learner.coefficients).all()
        assert np.isfinite(learner.constants).all()
        assert np.isfinite(learner.score_rows(np.zeros((1, 3), case.dtype))).all()


def test_a_row_whose_kernel_with_itself_overflows_is_no_point():
    learner = onkel.Learner(onkel.recipes.OGD(), kernel=Polynomial(degree=2))
    with pytest.raises(FloatingPointError, match="kernel value of row 0"):
        learner.learn([1e200, 0.0], 1)
    assert (learner.t, learner.n_support) == (0, 0)
    learner.learn([1.0, 0.0], 1)
    assert (learner.t, learner.n_support) == (1, 1)


@loop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("named", TABLE, ids=lambda named: named.name)
def test_one_class_for_long_then_the_other(named):
    case = Case(named, named.tasks[0], "float64", average=False)
    n = 100_000 if WHOLE else 20_000
    X = np.random.default_rng(3).normal(size=(n, 2))
    learner = learner_of(case, RBF(1.0))
    learner.learn_rows(X, np.ones(n))
    assert np.isfinite(learner.score_rows(X[:50])).all()
    learner.learn_rows(X[:2000], np.zeros(2000))
    scores = learner.score_rows(X[:50])
    assert np.isfinite(scores).all()
    assert np.isfinite(learner.coefficients).all()
