"""The inverse Gram matrix of the projecting learners, read from their saved state."""

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import recipes
from onkel.parts import (
    FirstOrder,
    GradientStep,
    HingeLoss,
    OnGradient,
    PassiveAggressiveStep,
    ProjectCheapest,
    ProjectSmallest,
)
from states import state_of
from table import in_turn

PROJECTING = {
    "projectron": (recipes.Projectron(eta=0.01, aggressive=True), None),
    "projectron-budget": (recipes.Projectron(eta=0.01), 60),
    "cheapest": (FirstOrder(HingeLoss(), OnGradient(), PassiveAggressiveStep(), ProjectCheapest()), 100),
    "smallest": (FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5, lam=1e-3), ProjectSmallest()), 100),
    "komp": (recipes.POLK(eps=0.02), None),
    "komp-budget": (recipes.POLK(eps=1e-4), 60),
    # More rows a batch than changes of the inverse that may wait.
    "komp-batches": (recipes.POLK(eps=1e-4, batch_size=100), 60),
}
# |K P - I|, largest entry. In float32 the kernel values themselves are off by up to 1e-7, which P multiplies by 1e5.
BOUND = {"float64": 1e-3, "float32": 0.1}


def inverse(learner):
    """K of the members, computed anew in double, and the learner's P."""
    state = state_of(learner)
    slots = state["update.eviction.gram.slots"]
    P = np.zeros((len(slots), len(slots)))
    P[np.tril_indices(len(slots))] = state["update.eviction.gram.inverse"]
    P += np.tril(P, -1).T
    first = 16 if learner.fit_intercept else 0
    X = state["basis.points"][slots - first].astype(np.float64)
    return np.exp(-learner.kernel.gamma * ((X[:, None] - X) ** 2).sum(axis=2)), P


def near_duplicates(n, seed=0):
    """Rows in the plane, most of them within 1e-9 to 1e-2 of one of 300 centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(300, 2))
    spread = rng.choice([0, 1e-9, 1e-6, 1e-4, 1e-2, 1], size=(n, 1))
    X = centres[rng.integers(0, 300, n)] + spread * rng.normal(size=(n, 2))
    return X, (rng.random(n) < 0.5).astype(np.float64)


@in_turn({"dtype": ["float64", "float32"]}, name=PROJECTING)
def test_100_000_steps_amid_near_duplicates(name, dtype):
    recipe, budget = PROJECTING[name]
    learner = onkel.Learner(recipe, gamma=1.0, budget=budget, dtype=dtype)
    X, y = near_duplicates(100_000)
    for part in np.array_split(np.arange(len(X)), 10):
        learner.learn_rows(X[part].astype(dtype), y[part])
        K, P = inverse(learner)
        assert len(K) > 10 and len(K) == learner.n_support
        assert np.isfinite(P).all() and (P.diagonal() > 0).all()
        assert np.abs(K @ P - np.eye(len(K))).max() < BOUND[dtype]
        assert np.isfinite(learner.coefficients).all() and learner.norm < 100


@loop
@pytest.mark.parametrize("name", PROJECTING)
def test_the_inverse_is_that_of_a_dense_solve_on_well_separated_points(name):
    recipe, budget = PROJECTING[name]
    rng = np.random.default_rng(1)
    learner = onkel.Learner(recipe, gamma=0.2, budget=budget, fit_intercept=True)
    learner.learn_rows(rng.normal(size=(2000, 8)), (rng.random(2000) < 0.5).astype(np.float64))
    K, P = inverse(learner)
    np.testing.assert_allclose(P, np.linalg.inv(K), rtol=1e-8, atol=1e-8 * np.abs(P).max())


@loop
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["cheapest", "smallest", "komp-budget"])
def test_a_spoiled_inverse_is_built_again(name, dtype):
    # Its diagonal is sound, so that it can be loaded, but no inverse of a kernel matrix has P_ij^2 > P_ii P_jj: whoever
    # leaves makes a neighbour's value negative.
    recipe, budget = PROJECTING[name]
    learner = onkel.Learner(recipe, gamma=1.0, budget=budget, dtype=dtype)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1500, 4)).astype(dtype), (rng.random(1500) < 0.5).astype(np.float64)
    learner.learn_rows(X[:1000], y[:1000])
    state = state_of(learner)
    n = len(state["update.eviction.gram.slots"])
    diagonal = np.cumsum(np.arange(1, n + 1)) - 1
    spoiled = np.zeros_like(state["update.eviction.gram.inverse"])
    spoiled[diagonal] = state["update.eviction.gram.inverse"][diagonal]
    spoiled[diagonal[1:] - 1] = -2 * np.sqrt(spoiled[diagonal[1:]] * spoiled[diagonal[:-1]])
    learner._core.load({**state, "update.eviction.gram.inverse": spoiled})
    learner.learn_rows(X[1000:], y[1000:])
    K, P = inverse(learner)
    assert len(K) == learner.n_support == budget
    assert np.abs(K @ P - np.eye(len(K))).max() < BOUND[dtype]
    assert np.isfinite(learner.coefficients).all()


def test_a_state_whose_inverse_does_not_fit_is_refused():
    learner = onkel.Learner(recipes.POLK(), gamma=1.0)
    X, y = near_duplicates(200)
    learner.learn_rows(X, y)
    good = state_of(learner)
    for name, change in {
        "update.eviction.gram.inverse": lambda a: a[:-1],
        "update.eviction.gram.kappa": lambda a: a[:-1],
        "update.eviction.gram.slots": lambda a: a + 10_000,
    }.items():
        with pytest.raises(ValueError, match="inverse Gram matrix"):
            learner._core.load({**good, name: change(good[name])})
    spoiled = good["update.eviction.gram.inverse"].copy()
    spoiled[0] = np.nan
    with pytest.raises(ValueError, match="inverse"):
        learner._core.load({**good, "update.eviction.gram.inverse": spoiled})
    assert state_of(learner).keys() == good.keys()
