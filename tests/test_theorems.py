"""The papers' theorems as properties of streams: they hold for every comparator, so any failure is an error here.

Expectations are means over fixed seeds; the slack is stated where one is needed.
"""

import functools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC

import onkel
from table import CASES, VARIANTS

GAMMA = 0.5


def gram(X, S):
    return np.exp(-GAMMA * ((X[:, None] - S) ** 2).sum(axis=2))


def stream(n, seed, noise=0.1):
    """Two classes (as 0 and 1) that a gaussian kernel tells apart, up to flipped labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0) ^ (rng.random(n) < noise)
    return X, y.astype(float)


def log_loss(z):
    return np.logaddexp(0, -z)


def svm(X, y, C):
    """A comparator: its values on X and its squared norm."""
    machine = SVC(C=C, gamma=GAMMA).fit(X, y)
    points, a = machine.support_vectors_, machine.dual_coef_[0]
    # the theorems' functions have no constant term
    return gram(X, points) @ a, a @ gram(points, points) @ a


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


# -- SPA --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    ("alpha", "beta", "eta"), [(1.0, 1.0, 1.0), (1.0, 4.0, 0.25), (0.5, 5.0, 0.1), (1.0, 4.0, 1.0), (0.5, 1.0, 0.05)]
)
def test_spa_mistakes_and_support_vectors(alpha, beta, eta, noise):
    # Theorem 5.1: E[mistakes] <= max(1/eta, beta/alpha) (2 eta sum l_t(f) + |f|^2) for any f.
    # Theorem 5.2: E[support vectors] <= alpha T / beta.
    T = 400
    X, y = stream(T, seed=1, noise=noise)
    mistakes, sizes = [], []
    for seed in range(60):
        learner = onkel.Learner(
            onkel.recipes.SPA(eta=eta, alpha=alpha, beta=beta), gamma=GAMMA, average=False, seed=seed
        )
        scores = learner.learn_rows(X, y, scores=True)[:, 0]
        mistakes.append(((2 * y - 1) * scores <= 0).sum())
        sizes.append(learner.n_support)
    bounds = [T * 2 * eta]  # of f = 0, whose loss is 1 everywhere
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        values, norm_squared = svm(X, y, C)
        loss = np.maximum(0, 1 - (2 * y - 1) * values).sum()
        bounds.append(2 * eta * loss + norm_squared)
    bound = max(1 / eta, beta / alpha) * min(bounds)
    mean, error = mean_and_error(mistakes)
    assert mean <= bound + 3 * error
    mean, error = mean_and_error(sizes)
    assert mean <= alpha * T / beta + 3 * error
    if noise == 0.5 and beta > alpha:  # and it comes near the bound where there is nothing to learn
        assert mean > 0.4 * alpha * T / beta


def test_spa_with_a_horizon_and_a_budget():
    X, y = stream(2000, seed=2, noise=0.3)
    sizes = []
    for seed in range(20):
        recipe = onkel.recipes.SPA(horizon=2000, budget=100)
        learner = onkel.Learner(recipe, gamma=GAMMA, seed=seed)  # no hard cap
        learner.learn_rows(X, y)
        sizes.append(learner.n_support)
    mean, error = mean_and_error(sizes)
    assert mean <= 100 + 3 * error


# -- OSKL -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("G", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("R", [None, 5.0])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_oskl_support_vectors_and_loss(G, R, noise):
    # Theorem 1: with probability 1 - 2 delta, #SV <= 3L/(2G) sum l_t(f_t) + c and the regret bound (2); log loss has
    # L = G_1 = 1. Out of 40 runs with delta = 0.05 at most 4 may break (3) in the mean; none of these does.
    T, delta, share = 500, 0.05, 0.9
    X, y = stream(T, seed=3, noise=noise)
    sign = 2 * y - 1
    m = np.ceil(np.log2(T**2))
    c = max(2.0, 0.5 + 16 * np.log(m / delta), 8 / 3 * np.log(m / delta) + 19 / 18 * np.log(1 / delta))
    eta = share / G
    sizes, losses = [], []
    for seed in range(40):
        learner = onkel.Learner(onkel.recipes.OSKL(G=G, R=R), gamma=GAMMA, average=False, seed=seed)
        scores = learner.learn_rows(X, y, scores=True)[:, 0]
        losses.append(log_loss(sign * scores).sum())
        sizes.append(learner.n_support)
    assert (np.array(sizes) <= 1.5 / G * np.array(losses) + c).all()
    # sharper, and in the mean: E[#SV] = sum |l'|/G <= sum l/G
    mean, error = mean_and_error(np.array(sizes) - np.array(losses) / G)
    assert mean <= 3 * error
    if R is None:
        return
    for C in (0.1, 1.0, 10.0):
        values, norm_squared = svm(X, y, C)
        inside = min(1.0, R / np.sqrt(norm_squared))
        best = log_loss(sign * values * inside).sum()
        bound = (best + (eta * G**2 + R**2 / eta + R * G) * c) / (1 - share) + R * c
        assert (np.array(losses) <= bound).all()


# -- KLR --------------------------------------------------------------------------------------------------------------

RADIUS, ROWS = 5.0, 400
LN = np.log


def klr_bound(eta, h=log_loss, slope=1.0):
    """Theorem 1 (and 4, with h above the loss): risk of h + R^2 / (2 eta T) + eta M^2 / 2."""
    return lambda z: h(z).mean() + RADIUS**2 / (2 * eta * ROWS) + eta * slope**2 / 2


def klr_fast_bound(eta):
    """Theorems 2 and 3: 2 / (2 - eta) risk + R^2 / (eta (2 - eta) T)."""
    return lambda z: 2 / (2 - eta) * log_loss(z).mean() + RADIUS**2 / (eta * (2 - eta) * ROWS)


PAPER = RADIUS / np.sqrt(ROWS)
KLR_THEOREMS = [
    ("1", {"sampling": "none"}, PAPER, klr_bound(PAPER)),
    ("2", {"sampling": "none", "eta": 1.0}, 1.0, klr_fast_bound(1.0)),
    ("2 at the paper's step", {"sampling": "none"}, PAPER, klr_fast_bound(PAPER)),
    ("3", {"sampling": "margin", "eta": 1.0}, 1.0, klr_fast_bound(1.0)),
    ("3 with a long step", {"sampling": "margin", "eta": 1.7}, 1.7, klr_fast_bound(1.7)),
    ("4 shift", {"auxiliary": "shift", "shape": 2.0}, PAPER, klr_bound(PAPER, lambda z: np.logaddexp(LN(2), -z))),
    ("4 scale", {"auxiliary": "scale", "shape": 4.0}, PAPER, klr_bound(PAPER, lambda z: np.logaddexp(0, LN(4) - z))),
    (
        "4 cut-off",
        {"auxiliary": "cutoff", "cutoff": 1.0},
        PAPER,
        klr_bound(PAPER, lambda z: np.maximum(log_loss(z), log_loss(1.0))),
    ),
]


@functools.cache
def fresh_rows(noise):
    """Rows of the same distribution, their signs, and the values of functions in the ball on them."""
    fresh, labels = stream(2000, seed=99, noise=noise)
    X, y = stream(600, seed=100, noise=noise)
    comparators = [np.zeros(len(fresh))]
    for C in (0.01, 0.1, 1.0, 10.0):
        machine = SVC(C=C, gamma=GAMMA).fit(X, y)
        points, a = machine.support_vectors_, machine.dual_coef_[0]
        on_the_wall = RADIUS / np.sqrt(a @ gram(points, points) @ a) * (gram(fresh, points) @ a)
        comparators += [0.3 * on_the_wall, on_the_wall]
    return fresh, 2 * labels - 1, comparators


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(("theorem", "parameters", "eta", "bound"), KLR_THEOREMS, ids=[t[0] for t in KLR_THEOREMS])
def test_klr_average_generalises(theorem, parameters, eta, bound, noise):
    # E over streams of the average's risk, on fresh rows, against every comparator in the ball. The paper's average is
    # of f_1 .. f_T; ours has f_{T+1} too, which weighs 1/(T+1).
    fresh, sign, comparators = fresh_rows(noise)
    risks = []
    for seed in range(15):
        X, y = stream(ROWS, seed=seed, noise=noise)
        recipe = onkel.recipes.KLR(R=RADIUS, horizon=ROWS, **parameters)
        assert recipe.step.eta == eta
        learner = onkel.Learner(recipe, gamma=GAMMA, seed=seed)
        learner.learn_rows(X, y)
        risks.append(log_loss(sign * learner.score_rows(fresh)[:, 0]).mean())
    mean, error = mean_and_error(risks)
    assert mean <= min(bound(sign * values) for values in comparators) + 3 * error
    assert mean < log_loss(0.0)  # the average has learned something, too


def test_klr_samples_fewer_support_vectors_the_larger_its_shape():
    X, y = stream(800, seed=5)
    sizes = []
    for shape in (1.0, 2.0, 10.0, 100.0):
        learner = onkel.Learner(onkel.recipes.KLR(shape=shape, eta=0.3), gamma=GAMMA)
        learner.learn_rows(X, y)
        sizes.append(learner.n_support)
    assert sizes[0] == 800
    assert (np.diff(sizes) < 0).all()


# -- the ball ---------------------------------------------------------------------------------------------------------

BALLS = [
    c
    for c in CASES + VARIANTS
    if (c.parameters.get("R") or c.parameters.get("project")) and c.dtype == "float64" and c.average
]


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("case", BALLS, ids=str)
def test_the_function_stays_in_its_ball(case, kernel):
    X, y = case.data(150)
    learner = case.learner(kernel=kernel, gamma=0.5, degree=2, fit_intercept=True, n_classes=3)
    reached = 0
    for i in range(len(X)):
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        assert learner.norm <= learner.recipe.ball * (1 + 1e-12)  # computed anew from all kernel values
        reached += learner.norm > learner.recipe.ball * (1 - 1e-9)
    assert reached > 0  # the ball was touched, so that its wall was tested


@pytest.mark.parametrize("container", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("recipe", "budget"),
    [
        (onkel.recipes.OSKL(G=40.0, eta=0.02, R=3.0), None),
        (onkel.recipes.OSKL(G=40.0, eta=0.02, R=1e6), None),
        (onkel.recipes.KLR(shape=1e12, eta=0.5, R=3.0), None),
        (onkel.recipes.Pegasos(lam=0.01, project=True), 300),
    ],
    ids=["inside", "far from the wall", "on the wall", "shrinking"],
)
def test_the_tracked_norm_does_not_drift(recipe, budget, dtype, container):
    # Coin flips as labels: the function never settles. A thousand insertions and projections in 100,000 rows, or a
    # shrink a row; the rows come from 50 distinct ones, so that old points are met again and again.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)).astype(dtype)[rng.integers(0, 50, 100_000)]
    y = rng.integers(0, 2, 100_000).astype(float)
    learner = onkel.Learner(recipe, gamma=GAMMA, budget=budget, dtype=dtype, average=False, fit_intercept=True)
    learner.learn_rows(container(X), y)
    assert learner.t == 100_000
    assert learner.n_support >= (budget or 800)
    tracked = np.sqrt(learner.state()["update.norm_squared"][0])
    # both are made of the same kernel values, whatever their type: only the sums differ
    np.testing.assert_allclose(tracked, learner.norm, rtol=1e-9)
