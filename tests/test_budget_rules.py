"""What the papers promise of each eviction, beyond what every learner promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import onkel
from inside import NEEDS_COMPILER, best_merge, forgetron_factor, water_level
from looping import loop
from onkel import _core, recipes
from onkel.parts import (
    Polynomial,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    ResampleByWeight,
    ResampleUniformly,
    ShrinkAndRemoveOldest,
)
from reference.bogd import BOGD, leaving_probabilities
from reference.bsgd import best_h
from states import state_of


def rows(n, d=3, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 0] + 0.3 * rng.normal(size=n)
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.digitize(score, cuts).astype(float)


def gaussian(A, B, gamma=1.0):
    return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))


def model(learner):
    """Points by their birth, with their coefficients."""
    points, births = learner.support()
    return {b: (x, a) for b, x, a in zip(births, points, learner.coefficients.T, strict=True)}


# -- Forgetron --------------------------------------------------------------------------------------------------------


@NEEDS_COMPILER
@given(sigma=st.floats(0.01, 3), mu=st.floats(-5, 5), c=st.floats(0.01, 5))
def test_forgetron_factor_is_the_largest_admissible(sigma, mu, c):
    a, b = sigma**2 - 2 * sigma * mu, 2 * sigma
    phi = forgetron_factor(a, b, c)
    grid = np.linspace(0, 1, 20_001)[1:]
    admissible = grid[a * grid**2 + b * grid <= c]
    assert 0 < phi <= 1
    assert a * phi**2 + b * phi <= c * (1 + 1e-9)
    assert phi >= admissible.max(initial=0.0) - 1e-9
    assert phi <= admissible.max(initial=0.0) + 1e-4


def test_forgetron_keeps_its_damage_below_the_mistakes():
    X, y = rows(2000)
    learner = onkel.Learner(recipes.Forgetron(), budget=15)
    for i in range(0, 2000, 50):
        learner.learn_rows(X[i : i + 50], y[i : i + 50])
        state = state_of(learner)
        assert state["update.eviction.damage"][0] <= 15 / 32 * state["update.eviction.mistakes"][0] * (1 + 1e-12)
    assert learner.n_support == 15


# -- BPA --------------------------------------------------------------------------------------------------------------


def test_bpa_lets_the_point_go_whose_projection_costs_least_whatever_its_length():
    X, y = rows(200)
    learner = onkel.Learner(recipes.BPA(), kernel="linear", budget=20)
    checked = 0
    for i in range(200):
        before = model(learner)
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        gone = set(before) - set(model(learner))
        if not gone:
            continue
        cost = {b: (a @ a) * (x @ x - (x @ X[i]) ** 2 / (X[i] @ X[i])) for b, (x, a) in before.items()}
        assert cost[gone.pop()] == pytest.approx(min(cost.values()), rel=1e-9, abs=1e-15)
        checked += 1
    assert checked > 50


# -- NORMA ------------------------------------------------------------------------------------------------------------


def test_norma_s_oldest_point_is_the_smallest_with_the_hinge():
    X, y = rows(400)
    norma = recipes.NORMA(eta=0.3, lam=0.01)
    learners = [onkel.Learner(replace(norma, eviction=rule), budget=20) for rule in (RemoveOldest(), RemoveSmallest())]
    for learner in learners:
        learner.learn_rows(X, y)
    np.testing.assert_array_equal(learners[0].support()[1], learners[1].support()[1])
    np.testing.assert_array_equal(learners[0].coefficients, learners[1].coefficients)


# -- BOGD -------------------------------------------------------------------------------------------------------------

weights = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e3)), min_size=1, max_size=12)


def probabilities(weights):
    """With what probability each leaves, as the rule makes them of its water level."""
    w, level = np.array(weights), water_level(weights)
    return np.maximum(0, 1 - w / level) if level > 0 else (w == 0) / (w == 0).sum()


@NEEDS_COMPILER
@given(weights=weights)
def test_bogd_probabilities(weights):
    p = probabilities(weights)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(p, leaving_probabilities(weights), atol=1e-12)
    w = np.array(weights)
    paper = 1 - (len(w) - 1) * w / w.sum() if w.sum() > 0 else -np.ones(len(w))
    if len(w) > 1 and (w > 0).all() and (paper >= 0).all():
        np.testing.assert_allclose(p, paper, atol=1e-12)


@NEEDS_COMPILER
@given(weights=st.lists(st.floats(0.01, 100), min_size=2, max_size=12))
def test_bogd_is_unbiased_over_the_draw(weights):
    # before the cap: sum over who leaves of p_i * (what the others become) is what they were
    w, stay = np.array(weights), 1 - probabilities(weights)
    after = sum((1 - stay[i]) * np.where(np.arange(len(w)) == i, 0, w / stay) for i in range(len(w)))
    np.testing.assert_allclose(after, w, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bogd_draws_among_many_points_as_among_few(kernel):
    """The core skips whole groups of points; the one that leaves is where the probabilities add up to the draw."""
    X, y = rows(900)
    recipe = recipes.BOGD(eta=0.4, lam=0.01, cap=5, sampling="weighted")
    learner = onkel.Learner(recipe, kernel=kernel, budget=300, seed=2)
    learner.learn_rows(X[:500], y[:500])
    left = []
    for i in range(500, 900):
        (points, births), w = learner.support(), np.abs(learner.coefficients[0])
        if kernel == "linear":
            w *= np.linalg.norm(points, axis=1)
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        gone = set(births) - set(learner.support()[1])
        edges, u = np.cumsum(leaving_probabilities(w)), _core.uniform(2, 0, i + 1, 1, 0)
        if gone and np.abs(edges - u).min() > 1e-9:
            left.append(int(np.searchsorted(edges, u, side="right")))
            assert gone == {births[left[-1]]}
    assert len(left) > 100
    assert min(left) < 30
    assert max(left) > 270


@loop
@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_bogd_weights_never_exceed_the_cap_and_are_those_of_equation_10(sampling, n_classes):
    X, y = rows(300, n_classes=n_classes)
    recipe = recipes.BOGD(eta=0.4, lam=0.01, cap=1.5, sampling=sampling)
    task = "binary" if n_classes == 2 else "multiclass"
    learner = onkel.Learner(recipe, task=task, n_classes=n_classes, budget=10, seed=2)
    checked = 0
    for i in range(300):
        before = model(learner)
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        after = model(learner)
        gone = set(before) - set(after)
        if not gone:
            continue
        assert len(gone) == 1
        old = sorted(before, key=lambda b: before[b][1] @ before[b][1])
        w = np.array([np.linalg.norm(before[b][1]) for b in old])
        p = np.full(10, 0.1) if sampling == "uniform" else leaving_probabilities(w)
        for b, length, leaving in zip(old, w, p, strict=True):
            if b not in gone:
                expected = min((1 - 0.4 * 0.01) / (1 - leaving) * length, 1.5 * 0.4)
                assert np.linalg.norm(after[b][1]) == pytest.approx(expected, rel=1e-9)
                checked += 1
        assert max(np.linalg.norm(a) for _, a in after.values()) <= 1.5 * 0.4 * (1 + 1e-12)
    assert checked > 100


@loop
@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_bogd_is_the_papers_where_points_have_lengths_of_their_own(sampling):
    """Equation (16) weighs by alpha_i sqrt(k(x_i, x_i)), and the cap is on alpha_i alone."""
    parameters = {"eta": 0.1, "lam": 0.02, "cap": 3.0, "sampling": sampling}
    X, y = rows(300)

    def reference():
        return BOGD(task="binary", kernel_function=lambda points, x: (points @ x) ** 2, budget=12, seed=4, **parameters)

    n = reference().learn(X, y).clear_rows(1e-8)
    expected = reference().learn(X[:n], y[:n])
    learner = onkel.Learner(recipes.BOGD(**parameters), kernel=Polynomial(degree=2), budget=12, seed=4)
    learner.learn_rows(X[:n], y[:n])
    found = {born: coefficient for born, (_, coefficient) in model(learner).items()}
    assert n > 200 and sorted(found) == sorted(expected.support)
    for born, wanted in zip(expected.support, expected.f[1:], strict=True):
        assert found[born] == pytest.approx(wanted, rel=1e-7)


@loop
@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_bogd_makes_up_for_what_leaves_at_its_defaults(sampling):
    """Over the draws, points that are too young for the cap keep the weight that they would have without a budget.

    Rows are far from one another, so that each has a slope of 1 whatever left. With uniform draws a point grows to the
    cap in B ln(cap) = 139 evictions, which one point in `cap` lives to see; with weighted draws none comes near it.
    """
    budget, n_rows, n_draws = 50, 200, 1000
    recipe = recipes.BOGD(sampling=sampling)
    young = 120 if sampling == "uniform" else n_rows
    X, y = 100.0 * np.arange(n_rows)[:, None], (np.arange(n_rows) % 3 == 0).astype(float)
    held, capped = np.zeros(n_draws), 0
    for seed in range(n_draws):
        learner = onkel.Learner(recipe, gamma=1.0, budget=budget, seed=seed)
        learner.learn_rows(X, y)
        weight = np.abs(learner.coefficients[0])
        held[seed] = weight[n_rows - 1 - learner.support()[1] < young].sum()
        capped += np.count_nonzero(weight >= recipe.eviction.cap * (1 - 1e-9))
    wanted = (recipe.step.eta * (1 - recipe.step.eta * recipe.step.lam) ** np.arange(young)).sum()
    error = held.std() / np.sqrt(n_draws)
    assert abs(held.mean() - wanted) < 3.5 * error + 1e-9
    assert error < 0.02 * wanted
    assert capped / (n_draws * budget) < 1 / 12


def test_bogd_budget_of_one_replaces():
    X, y = rows(60)
    learner = onkel.Learner(recipes.BOGD(sampling="weighted"), budget=1)
    for i in range(60):
        before = learner.support()[1].tolist()
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        assert learner.support()[1].tolist() in (before, [i])


# -- BPA --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["simple", "nearest"])
def test_bpa_minimises_the_papers_objective(variant):
    """|f - f_t|^2 / 2 + C hinge over who leaves and the coefficients of those it may change, by a numeric optimiser."""
    X, y = rows(40, d=2, seed=3)
    C, B, full = 0.6, 4, 0
    learner = onkel.Learner(recipes.BPA(C=C, variant=variant), budget=B)
    for i in range(40):
        before = model(learner)
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        after = model(learner)
        if i not in after or len(before) < B:
            continue
        full += 1
        births = [*before, i]
        points = X[births]
        K = gaussian(points, points)
        a = np.array([before[b][1][0] for b in before] + [0.0])
        sign = 2 * y[i] - 1

        def objective(change, K=K, a=a, sign=sign):
            return change @ K @ change / 2 + C * max(0.0, 1 - sign * (K[-1] @ (a + change)))

        new = np.array([after[b][1][0] if b in after else 0.0 for b in births])
        reached = objective(new - a)
        for r in range(B):
            free = [B]
            if variant == "nearest":
                free.append(int(np.argmax(np.where(np.arange(B) == r, -1, K[r, :B]))))

            def restricted(z, r=r, free=tuple(free), a=a, objective=objective):
                change = np.zeros(B + 1)
                change[list(free)] = z
                change[r] = -a[r]
                return objective(change)

            starts = [np.zeros(len(free)), (new - a)[free]]
            best = min(minimize(restricted, z, method="Nelder-Mead", tol=1e-12).fun for z in starts)
            assert reached <= best + 1e-7
    assert full > 10


# -- BSGD, NPBSGD, DualSGD --------------------------------------------------------------------------------------------


@NEEDS_COMPILER
@given(L=st.floats(1e-6, 20), r=st.floats(0.01, 1), c=st.floats(0.01, 1))
def test_merging_finds_the_best_place(L, r, c):
    h, loss = best_merge(L, r * r, 1.0, c * r)
    grid = np.linspace(0, 1, 10_001)
    m, n = np.exp(-L * (1 - grid) ** 2), np.exp(-L * grid**2)
    losses = r * r + 1 + 2 * np.exp(-L) * c * r - (r * r * m * m + 2 * c * r * m * n + n * n)
    assert 0 <= h <= 0.5
    assert loss <= losses.min() + 1e-9
    assert loss == pytest.approx(losses.min(), abs=1e-6)
    if min(L, r, c) > 0.1 and (abs(L - 2) > 0.1 or r < 0.9):  # where the place is well determined
        assert h == pytest.approx(best_h(L, r * r, 1.0, c * r), abs=1e-10)
    # What the search for a partner relies on: none as far apart loses less than equals do, and farther ones lose more.
    equals, farther = (best_merge(each, 1.0, 1.0, 1.0)[1] for each in (L, 1.01 * L))
    assert loss >= equals * r * r - 1e-12
    assert farther >= equals - 1e-12


def test_merging_needs_the_gaussian_kernel():
    with pytest.raises(ValueError, match="Merge needs the gaussian kernel"):
        onkel.Learner(recipes.BSGD(maintenance="merge"), kernel="linear")


def test_npbsgd_grows_by_its_own_law():
    X, y = rows(3000)
    learner = onkel.Learner(recipes.NPBSGD(lam=0.01, beta=0.5, horizon=3000), budget=20, seed=1)
    learner.learn_rows(X[:1500], y[:1500])
    assert learner.n_support == 20
    learner.learn_rows(X[1500:], y[1500:])
    grown = state_of(learner)["update.eviction.size"][0]
    assert 20 < learner.n_support == grown < 1500


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_random_features_stand_for_the_kernel(dtype):
    # k = 1, B = 1: all points but one live in the features; with many of them they give the kernel's own scores
    from scipy.sparse import csr_array

    X, y = rows(60)
    X = X.astype(dtype)
    recipe = replace(recipes.OGD(eta=0.3), eviction=recipes.DualSGD(n_components=20_000, k=1).eviction)
    exact = onkel.Learner(recipes.OGD(eta=0.3), dtype=dtype)
    exact.learn_rows(X, y)
    for container in (np.asarray, csr_array):
        learner = onkel.Learner(recipe, budget=1, seed=4, dtype=dtype)
        learner.learn_rows(container(X), y)
        assert learner.n_support == 1
        np.testing.assert_allclose(learner.score_rows(container(X)), exact.score_rows(X), atol=0.4)


# -- sampling with a budget -------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("rule", [RemoveRandom(), ResampleUniformly(cap=1.0), ResampleByWeight(cap=1.0)])
@pytest.mark.parametrize("recipe", [recipes.OSKL(G=2), recipes.SPA(beta=2.0), recipes.KLR()])
def test_sampling_with_a_budget_rule(recipe, rule):
    X, y = rows(1500)
    recipe = replace(recipe, eviction=rule, average=False)
    bounded = onkel.KernelClassifier(recipe, budget=40, gamma=1.0, random_state=0).fit(X, y)
    assert bounded.n_support_ == 40
    assert bounded.score(X, y) > 0.7
    # new points still come in when the set is full
    assert bounded.support_.max() > 1000


@pytest.mark.parametrize("rule", [ResampleUniformly(cap=1.0), recipes.BSGD(maintenance="merge").eviction])
def test_a_ball_is_refused_where_the_norm_is_not_kept(rule):
    with pytest.raises(ValueError, match="a ball needs the function's norm"):
        replace(recipes.OSKL(R=2.0), eviction=rule)


@loop
@pytest.mark.parametrize("rule", [RemoveRandom(), RemoveOldest(), RemoveSmallest(), ShrinkAndRemoveOldest()])
def test_the_tracked_norm_of_an_evicting_learner_with_a_ball(rule):
    X, y = rows(400)
    learner = onkel.Learner(replace(recipes.OSKL(R=1.5), eviction=rule), budget=15, average=False)
    learner.learn_rows(X, y)
    assert state_of(learner)["update.norm_squared"][0] == pytest.approx(learner.norm**2, rel=1e-9)
    assert learner.norm <= 1.5 * (1 + 1e-9)
