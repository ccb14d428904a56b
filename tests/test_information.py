"""What a second-order learner knows of its function: information adds up, fades, moves to other points, and lasts."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import onkel
from looping import loop
from onkel import recipes
from onkel.parts import RBF, Hedge, Laplacian
from states import state_of
from table import Case, cases

CONSTANT = 5 / 16
GAMMA = 0.5
LAM = 0.1
KEPT = 1 - 1e-14  # a memory that keeps its information and never gets to fade

ours = {"where": lambda case: case.named.recipe is recipes.Newton}


def waves(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


def kernel(X, Y):
    return np.exp(-GAMMA * ((X[:, None] - Y) ** 2).sum(axis=2))


def regression(forget=1.0, fit_intercept=True, budget=30, **settings):
    recipe = recipes.Newton(lam=LAM, loss="squared_error", forget=forget)
    return onkel.Learner(recipe, task="regression", gamma=GAMMA, budget=budget, fit_intercept=fit_intercept, **settings)


def at_points(learner, points, information=None, t=0):
    """The core of the learner on these points, with the function 0; nothing is known of it unless it is said."""
    core = learner.started_for(points)
    n, fixed = points.shape[0], 1 if learner.fit_intercept else 0
    nothing = np.zeros((1, n)), np.zeros(1), np.empty((1, 0))
    core.set_expansion(learner.as_core_rows(points), np.arange(n), nothing, nothing, n + t)
    core.set_information(np.zeros((n + fixed,) * 2) if information is None else information, 0.0, 0, np.empty(0))
    return core


def coordinates(X, points, fit_intercept=True):
    """Rows z = L^-1 k, the constant in front."""
    z = np.linalg.solve(np.linalg.cholesky(kernel(points, points)), kernel(points, X)).T
    return np.hstack([np.full((len(X), 1), CONSTANT), z]) if fit_intercept else z


def ridge(Z, y):
    return np.linalg.solve(Z.T @ Z + LAM * np.eye(Z.shape[1]), Z.T @ y)


def in_order_of_joining(learner):
    """The members' rows and coefficients as `information` has them."""
    births, information, *rest = learner._core.information()
    points, born = learner.support()
    order = [int(np.flatnonzero(born == b)[0]) for b in births]
    return points[order], learner.coefficients[:, order], births, information, *rest


@loop
@cases(dtypes=("float64",), outputs=(False,), **ours)
@pytest.mark.parametrize("forget", [1.0, 0.99, 0.9])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_information_is_that_of_the_definition(case: Case, forget, fit_intercept):
    X, y = case.data(240)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y))  # rows of weight 0 are no rows
    parameters = case.parameters | {"forget": forget}
    same = {"gamma": 0.7, "budget": 20, "seed": 5, "fit_intercept": fit_intercept, "n_classes": 3}
    learner, expected = case.learner(parameters, **same), case.reference(parameters, **same)
    learner.learn_rows(X, y, weight)
    expected.learn(X, y, weight)
    births, information, lam, noise, steps, _ = learner._core.information()
    assert lam == parameters["lam"]
    assert steps == expected.steps
    np.testing.assert_allclose(noise, expected.noise, rtol=1e-9)
    np.testing.assert_array_equal(births, [member.born for member in expected.order])
    np.testing.assert_allclose(information, expected.H, atol=1e-7 * np.abs(expected.H).max())
    np.testing.assert_array_equal(information, information.T)


@loop
@pytest.mark.parametrize("forget", [1.0, KEPT])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_on_given_points_it_is_ridge_regression(forget, fit_intercept):
    X, y = waves(200)
    points = waves(12, seed=3)[0]
    learner = regression(forget, fit_intercept, budget=12)
    core = at_points(learner, points)
    learner.learn_rows(X, y)
    Z = coordinates(X, points, fit_intercept)
    np.testing.assert_allclose(learner.score_rows(X)[:, 0], Z @ ridge(Z, y), atol=1e-9)
    np.testing.assert_allclose(core.information()[1], Z.T @ Z, atol=1e-8)


@loop
@pytest.mark.parametrize("forget", [1.0, KEPT])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_two_learners_on_the_same_points_add_up_to_the_learner_of_both(forget, container):
    X, y = waves(300)
    points = container(waves(15, seed=3)[0])
    parts, whole = [regression(forget, budget=15) for _ in range(2)], regression(forget, budget=15)
    for learner, rows in [(parts[0], slice(0, 100)), (parts[1], slice(100, 300)), (whole, slice(0, 300))]:
        at_points(learner, points)
        learner.learn_rows(container(X[rows]), y[rows])
    total = regression(forget, budget=15)
    core = at_points(total, points, t=300)
    for part in parts:
        rows, a, births, information, _, noise, steps, known = in_order_of_joining(part)
        core.add_information(
            part.as_core_rows(rows),
            births,
            (a, part.constants, np.empty((1, 0))),
            information,
            noise,
            steps,
            known,
            1.0,
        )
    np.testing.assert_allclose(core.information()[1], whole._core.information()[1], atol=1e-7)
    np.testing.assert_allclose(total.score_rows(container(X)), whole.score_rows(container(X)), atol=1e-8)
    assert core.information()[4] == whole._core.information()[4] == 300
    # and it goes on as one
    more, targets = waves(50, seed=9)
    for learner in (total, whole):
        learner.learn_rows(container(more), targets)
    np.testing.assert_allclose(total.score_rows(container(X)), whole.score_rows(container(X)), atol=1e-8)


def test_weights_scale_information():
    X, y = waves(100)
    points = waves(10, seed=3)[0]
    part, weighted = regression(budget=10), regression(budget=10)
    for learner, weight in ((part, None), (weighted, np.full(100, 2.5))):
        at_points(learner, points)
        learner.learn_rows(X, y, weight)
    total = regression(budget=10)
    core = at_points(total, points, t=300)
    rows, a, births, information, _, noise, steps, known = in_order_of_joining(part)
    core.add_information(rows, births, (a, part.constants, np.empty((1, 0))), information, noise, steps, known, 2.5)
    np.testing.assert_allclose(total.score_rows(X), weighted.score_rows(X), atol=1e-8)


@pytest.mark.parametrize("forget", [1.0, 0.9])
def test_information_of_other_points_is_projected(forget):
    X, y = waves(120)
    old, new = waves(8, seed=3)[0], waves(11, seed=4)[0]
    source, target = regression(forget, budget=8), regression(forget, budget=11)
    at_points(source, old)
    source.learn_rows(X, y)
    core = at_points(target, new, t=200)
    rows, a, births, H, _, noise, steps, known = in_order_of_joining(source)
    core.add_information(rows, births, (a, source.constants, np.empty((1, 0))), H, noise, steps, known, 1.0)
    L_old, L_new = (np.linalg.cholesky(kernel(p, p)) for p in (old, new))
    M = np.eye(12, 9)
    M[1:, 1:] = np.linalg.solve(L_new, kernel(new, old)) @ np.linalg.inv(L_old).T
    np.testing.assert_allclose(core.information()[1], M @ H @ M.T, atol=1e-7)
    w_old = np.concatenate([source.constants / CONSTANT, L_old.T @ a[0]])
    w = np.linalg.solve(LAM * np.eye(12) + M @ H @ M.T, M @ (LAM * w_old + H @ w_old))
    np.testing.assert_allclose(target.score_rows(X)[:, 0], coordinates(X, new) @ w, atol=1e-7)


def test_nothing_is_lost_on_a_span_that_holds_the_old_one():
    X, y = waves(120)
    old, more = waves(8, seed=3)[0], waves(6, seed=4)[0]
    source, target = regression(budget=8), regression(budget=14)
    at_points(source, old)
    source.learn_rows(X, y)
    core = at_points(target, np.vstack([more, old]), t=200)
    rows, a, births, H, _, noise, steps, known = in_order_of_joining(source)
    core.add_information(rows, births, (a, source.constants, np.empty((1, 0))), H, noise, steps, known, 1.0)
    np.testing.assert_allclose(target.score_rows(X), source.score_rows(X), atol=1e-8)


@pytest.mark.parametrize("gamma", [0.5, 0.05])
def test_information_derived_from_the_covariance_has_digits(gamma):
    X, y = waves(4000)
    labels = (y > 0).astype(float)
    derived, kept = (
        onkel.Learner(recipes.Newton(forget=forget), gamma=gamma, budget=100, fit_intercept=True)
        for forget in (1.0, KEPT)
    )
    for learner in (derived, kept):
        learner.learn_rows(X, labels)
    np.testing.assert_array_equal(derived.coefficients, kept.coefficients)
    lam = derived._core.information()[2]
    one, other = (lam * np.eye(len(H)) + H for H in (learner._core.information()[1] for learner in (derived, kept)))
    inverse = np.linalg.inv(np.linalg.cholesky(other))
    np.testing.assert_allclose(np.linalg.eigvalsh(inverse @ one @ inverse.T), 1.0, atol=1e-3)


# -- forgetting


def test_information_fades_every_fifth_of_the_memory_counted_from_the_start_of_the_stream():
    X, y = waves(35)
    points = waves(10, seed=3)[0]
    learner = regression(0.98, budget=10)  # fades every 10 rows by 0.98^10
    core = at_points(learner, points)  # the 10 rows behind the points are the first of the stream
    Z = coordinates(X, points)
    H = np.zeros((11, 11))
    for i in range(35):
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        H += np.outer(Z[i], Z[i])
        if (10 + i + 1) % 10 == 0:
            H *= 0.98**10
        np.testing.assert_allclose(core.information()[1], H, atol=1e-9)


def test_forgetting_leaves_the_function_alone():
    X, y = waves(200)
    once, never = regression(0.9, budget=20), regression(KEPT, budget=20)
    for learner in (once, never):
        at_points(learner, waves(20, seed=3)[0])
    once.learn_rows(X[:1], y[:1])  # forgets after its first row
    never.learn_rows(X[:1], y[:1])
    np.testing.assert_allclose(once.coefficients, never.coefficients, rtol=1e-11)
    assert (once.variance_rows(X)[0] >= never.variance_rows(X)[0] * (1 - 1e-12)).all()


@loop
@pytest.mark.parametrize("forget", [0.9995, 0.99, 0.9, 0.5])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_forgetting_is_the_same_for_any_cut_and_through_files(task, forget):
    X, y = waves(700)
    targets = {"regression": y, "binary": (y > 0) * 1.0, "multiclass": np.digitize(y, [-0.5, 0.5]) * 1.0}[task]
    loss = "squared_error" if task == "regression" else "log_loss"

    def fresh():
        recipe = recipes.Newton(spread=1.0, forget=forget, loss=loss)
        return onkel.Learner(recipe, task=task, gamma=3.0, budget=50, fit_intercept=True, n_classes=2)

    states = set()
    for cuts in ([], [1, 2, 3, 350], list(range(0, 700, 97))):
        learner = fresh()
        for begin, end in zip([0, *cuts], [*cuts, 700], strict=True):
            learner.learn_rows(X[begin:end], targets[begin:end])
            again = fresh()
            again.started(2).load(state_of(learner))
            assert again.fingerprint() == learner.fingerprint()
            learner = again
        states.add(learner.fingerprint())
    assert len(states) == 1


def test_asking_for_information_changes_nothing():
    X, y = waves(400)
    asked, silent = regression(0.99), regression(0.99)
    for i in range(0, 400, 7):
        asked.learn_rows(X[i : i + 7], y[i : i + 7])
        asked._core.information()
        silent.learn_rows(X[i : i + 7], y[i : i + 7])
    assert asked.fingerprint() == silent.fingerprint()


@st.composite
def hostile_streams(draw):
    n, seed = draw(st.sampled_from([50, 400])), draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    make = {
        "duplicates": lambda: rng.normal(size=(3, 3))[rng.integers(0, 3, n)],
        "near duplicates": lambda: rng.normal(size=(n, 3)).round(1) + 1e-9 * rng.normal(size=(n, 3)),
        "constant features": lambda: np.hstack([np.ones((n, 2)), rng.normal(size=(n, 1))]),
        "tiny": lambda: 1e-8 * rng.normal(size=(n, 3)),
        "huge": lambda: rng.choice([1e300, -1e300, 1e30, 1.0, 0.0], size=(n, 3)),
        "all scales": lambda: rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-8, 8, size=(n, 1)),
        "walking": lambda: np.cumsum(rng.normal(scale=0.3, size=(n, 2)), axis=0),
    }
    X = make[draw(st.sampled_from(sorted(make)))]()
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    if task == "regression":
        y = draw(
            st.sampled_from(
                [
                    rng.choice([1e30, -1e30, 1e-30, 1.0, 0.0], n),
                    rng.normal(size=n),
                    np.where(np.arange(n) // 40 % 2, 1.0, -1.0) * np.sin(np.clip(X, -9, 9).sum(axis=1)),
                ]
            )
        )
    else:  # long runs of one class, and labels that flip
        y = np.where(np.arange(n) // 60 % 2, 1, rng.integers(0, 2 if task == "binary" else 4, n)).astype(float)
    weight = draw(
        st.sampled_from(
            [
                None,
                rng.choice([0, 1e-300, 1e-10, 1.0, 1e10, 1e60], n),
                10.0 ** rng.uniform(-3, 3, n),
                10.0 ** rng.uniform(-12, 14, n),
                np.full(n, 1e60),
            ]
        )
    )
    return X, y, weight, task


@settings(deadline=None)
@given(
    stream=hostile_streams(),
    forget=st.sampled_from(["stream", 1.0, 0.9995, 0.99, 0.9, 0.5, 0.01]),
    budget=st.sampled_from([1, 2, 5, 20, 40, 60]),
    lam=st.sampled_from([1e-6, 0.01, 10.0]),
    gamma=st.sampled_from([0.01, 0.5, 5.0]),
    kernel=st.sampled_from(["rbf", "laplacian"]),
    hinge=st.booleans(),
    fit_intercept=st.booleans(),
)
def test_with_a_bounded_kernel_it_never_diverges(stream, forget, budget, lam, gamma, kernel, hinge, fit_intercept):
    X, y, weight, task = stream
    loss = "squared_error" if task == "regression" else "squared_hinge" if hinge else "log_loss"
    recipe = recipes.Newton(lam=lam, loss=loss, spread=1.0, forget=forget)
    learner = onkel.Learner(recipe, task=task, kernel=kernel, gamma=gamma, budget=budget, fit_intercept=fit_intercept)
    scores = learner.learn_rows(X, y, weight, scores=True)
    variance, noise = learner.variance_rows(X)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() < 1e12 * max(1.0, np.abs(y).max())
    assert np.isfinite(variance).all()
    if forget != "stream":  # else memories that disagree add to it
        assert (variance <= (1 + 1e-6) * (1 + CONSTANT**2) / lam).all()
    assert np.isfinite(noise).all()
    assert all(np.isfinite(values).all() for values in state_of(learner).values())


def turning(task, seed, n=600, period=50):
    """A function of two features that turns into its opposite again and again: points leave for newer ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.where(np.arange(n) // period % 2, 1.0, -1.0) * np.sin(2 * X @ rng.normal(size=2))
    if task == "regression":
        return X, f
    if task == "binary":
        return X, (f > 0).astype(float)
    return X, (np.digitize(f, [-0.5, 0, 0.5]) + np.arange(n) // period) % 4 * 1.0


def heavy(task, seed, *, lam, gamma, budget, forget="stream", kernels=1, rows=slice(None), **turns):
    """A learner of such rows, each of which outweighs the prior by as much as a row may."""
    X, y = turning(task, seed, **turns)
    kernel = RBF(gamma)
    if kernels > 1:
        kernel = Hedge((kernel, RBF(8 * gamma), Laplacian(gamma)), "sum")
    loss = "squared_error" if task == "regression" else "squared_hinge"
    learner = onkel.Learner(
        recipes.Newton(lam=lam, loss=loss, spread=1.0, forget=forget),
        task=task,
        kernel=kernel,
        budget=budget,
        fit_intercept=True,
    )
    scores = learner.learn_rows(X[rows], y[rows], np.full(len(y[rows]), 1e60), scores=True)
    return learner, X, scores


@pytest.mark.parametrize(
    ("task", "seed", "budget", "gamma", "lam"),
    [("regression", 0, 10, 0.03, 0.01), ("binary", 1, 20, 0.5, 0.01), ("regression", 2, 20, 0.1, 10.0)],
)
def test_points_leave_where_the_covariance_has_no_digits_left(task, seed, budget, gamma, lam):
    learner, X, scores = heavy(task, seed, lam=lam, gamma=gamma, budget=budget)
    assert (learner.support()[1] > 2 * budget).any()  # points have left
    assert np.abs(scores).max() < 1e6
    assert np.isfinite(learner.variance_rows(X)[0]).all()


@pytest.mark.parametrize(
    ("task", "seed", "budget", "gamma", "lam"),
    [
        ("regression", 0, 12, 0.003, 0.01),
        ("regression", 1, 60, 0.1, 0.01),
        ("binary", 0, 60, 0.1, 10.0),
        ("binary", 1, 40, 0.1, 10.0),
        ("multiclass", 1, 40, 0.1, 0.01),
    ],
)
def test_sums_share_their_budget_where_the_covariance_has_no_digits_left(task, seed, budget, gamma, lam):
    _, _, scores = heavy(task, seed, lam=lam, gamma=gamma, budget=budget, kernels=3)
    assert np.abs(scores).max() < 1e6


@pytest.mark.parametrize("forget", [1.0, 0.99, "stream"])
@pytest.mark.parametrize(("gamma", "lam"), [(0.003, 0.01), (0.1, 10.0)])
@pytest.mark.parametrize("budget", [10, 20, 40])
def test_compress_and_merge_where_the_covariance_has_no_digits_left(forget, gamma, lam, budget):
    settings = {"lam": lam, "gamma": gamma, "budget": budget, "forget": forget}
    one, X, _ = heavy("regression", 0, **settings, rows=slice(0, 300))
    other, _, _ = heavy("regression", 0, **settings, rows=slice(300, 600))
    size = max(np.abs(one.score_rows(X)).max(), np.abs(other.score_rows(X)).max())
    for made in (onkel.compress(one, n_support=budget // 2), onkel.merge([one, other])):
        assert np.abs(made.model.score_rows(X)).max() < 100 * size
        assert np.isfinite(made.model.variance_rows(X)[0]).all()
        made.model.learn_rows(X, np.sin(X[:, 0]), np.full(len(X), 1e60))
        assert np.abs(made.model.score_rows(X)).max() < 100 * size


@pytest.mark.parametrize(("lam", "weight"), [(1e-6, 1.0), (0.01, 1e60)])
def test_rows_of_contrary_classes_do_not_throw_each_other_ever_further(lam, weight):
    # ten classes at six places
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 1))[rng.integers(0, 6, 2000)], rng.integers(0, 10, 2000).astype(float)
    recipe = recipes.Newton(lam=lam, loss="squared_hinge", forget=0.5)
    learner = onkel.Learner(recipe, task="multiclass", gamma=GAMMA, budget=5)
    assert np.abs(learner.learn_rows(X, y, np.full(2000, weight), scores=True)).max() < 1e5


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("gamma", [0.01, 0.5])
def test_scores_of_classes_that_a_row_does_not_tell_of_are_not_held_on_to(seed, gamma):
    _, _, scores = heavy("multiclass", seed, lam=0.01, gamma=gamma, budget=20, forget=0.5, n=1500, period=20)
    assert np.abs(scores).max() < 1e8


@pytest.mark.parametrize(("forget", "features"), [(0.9, 1), (1.0, 2), (1.0, 3)])
def test_where_nothing_is_left_to_learn_rounding_is_not_learned_from(forget, features):
    # each row is worth more than the prior by 1e10: soon every variance is far below the rounding of its terms
    rng = np.random.default_rng(0)
    X, y = np.ones((4000, 3)), rng.normal(size=4000)
    X[:, :features] = rng.normal(size=(4000, features))
    learner = onkel.Learner(
        recipes.Newton(lam=0.01, loss="squared_error", spread=1.0, forget=forget),
        task="regression",
        gamma=GAMMA,
        budget=60,
        fit_intercept=True,
    )
    scores = learner.learn_rows(X, y, np.full(4000, 1e60), scores=True)
    assert np.abs(scores[1000:]).max() < 1e5


@loop
@pytest.mark.parametrize("size", [2.0**40, 2.0**100, 2.0**300])
def test_information_of_any_size_has_a_covariance(size):
    # The prior is lost in the rounding of the information, which is singular: of three rows, or of one that has
    # equal coordinates, where every pivot but the first is 0 to the last bit.
    X, y = waves(100)
    points = waves(16, seed=3)[0]
    for Z in (coordinates(X[:3], points), np.ones((1, 17))):
        learner = regression(KEPT)
        at_points(learner, points, information=size * Z.T @ Z)
        variance, _ = learner.variance_rows(X)
        assert (variance >= 0).all()
        assert (variance <= 1.001 * (1 + CONSTANT**2) / LAM).all()
        learner.learn_rows(X, y)
        assert 0.1 < np.abs(learner.score_rows(X)).max() < 1e3  # the other rows have been learned from


# -- fewer points


def eliminated(A, a, kernel_matrix, n, fixed):
    """Condition on a_j = 0 for the cheapest j until n are left: positions, coefficients, squared distances."""
    left, start, data = list(range(len(A))), a.copy(), 0.0
    while len(left) - fixed > n:
        costs = [(a[:, j] ** 2).sum() / A[j, j] if j in left[fixed:] else np.inf for j in range(len(A))]
        j = int(np.argmin(costs))
        data += costs[j]
        a = a - np.outer(a[:, j], A[j]) / A[j, j]
        A = A - np.outer(A[j], A[j]) / A[j, j]
        left.remove(j)
        others = [i for i in range(len(A)) if i not in left]
        a[:, others], A[others], A[:, others] = 0, 0, 0
    moved = a - start
    return left, a[:, left], A[np.ix_(left, left)], data, np.einsum("oi,ij,oj", moved, kernel_matrix, moved)


@loop
@cases(dtypes=("float64",), outputs=(False,), **ours)
@pytest.mark.parametrize("forget", [1.0, 0.98])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_points_leave_by_conditioning(case: Case, forget, fit_intercept):
    X, y = case.data(250)
    same = {"gamma": GAMMA, "budget": 25, "seed": 5, "fit_intercept": fit_intercept, "n_classes": 3}
    learner = case.learner(case.parameters | {"forget": forget}, **same)
    learner.learn_rows(X, y)
    points, a, births, H, lam, *_ = in_order_of_joining(learner)
    fixed, n = int(fit_intercept), len(points)
    L = np.eye(n + fixed)
    L[fixed:, fixed:] = np.linalg.cholesky(kernel(points, points))
    inverse = np.linalg.inv(L)
    A = inverse.T @ np.linalg.inv(lam * np.eye(n + fixed) + H) @ inverse
    a = np.hstack([learner.constants[:, None] / CONSTANT, a]) if fit_intercept else a
    left, a, A, data, rkhs = eliminated(A, a, L @ L.T, 9, fixed)
    distances = learner._core.eliminate(0.0, 9)
    rows, found, born, H_found, *_ = in_order_of_joining(learner)
    np.testing.assert_array_equal(born, births[[j - fixed for j in left[fixed:]]])
    np.testing.assert_allclose(found, a[:, fixed:], atol=1e-6 * np.abs(a).max())
    np.testing.assert_allclose(distances, np.sqrt([data, rkhs]), rtol=1e-6)
    K = np.eye(9 + fixed)
    K[fixed:, fixed:] = np.linalg.cholesky(kernel(rows, rows))
    precision = np.linalg.inv(K) @ np.linalg.inv(A) @ np.linalg.inv(K).T
    np.testing.assert_allclose(H_found + lam * np.eye(9 + fixed), precision, atol=1e-6 * np.abs(precision).max())
    # the matrix that the next step is taken with is of the same
    z = np.linalg.solve(K, np.vstack([np.full((fixed, 40), CONSTANT), kernel(rows, X[:40])]))
    inside = np.einsum("ij,ij->j", z, np.linalg.solve(precision, z))
    outside = (1 - (z[fixed:] ** 2).sum(axis=0)) / lam
    np.testing.assert_allclose(learner.variance_rows(X[:40])[0], inside + outside, rtol=1e-6)
    learner.learn_rows(X[:100], y[:100])
    assert np.isfinite(learner.coefficients).all()


def test_points_leave_only_within_the_distance_allowed():
    X, y = waves(500)
    for eps in (0.0, 1e-3, 0.1, 1.0):
        learner = regression(budget=40)
        learner.learn_rows(X, y)
        points, born = learner.support()
        before = dict(zip(born, learner.coefficients[0], strict=True))
        constant = learner.constants[0]
        _, rkhs = learner._core.eliminate(eps, 2**62)
        after = dict(zip(learner.support()[1], learner.coefficients[0], strict=True))
        moved = np.array([after.get(b, 0.0) - before[b] for b in born])
        distance = np.sqrt(moved @ kernel(points, points) @ moved + ((learner.constants[0] - constant) / CONSTANT) ** 2)
        np.testing.assert_allclose(rkhs, distance, atol=1e-6)
        assert rkhs <= eps + 1e-9


def test_points_in_the_span_of_others_count_for_the_distance():
    points, _ = waves(6)
    points = np.vstack([points, points[:2] + 1e-4])
    a = np.linspace(50, -60, 8)[None]
    for eps, n_support in ((1e-6, 8), (1.0, 6)):
        learner = regression(budget=8)
        core = learner.started(2)
        function = a, np.zeros(1), np.empty((1, 0))
        core.set_expansion(points, np.arange(8), function, function, 100)
        with pytest.raises(ValueError, match="every point must add one"):
            core.set_information(np.zeros((9, 9)), 0.0, 0, np.empty(0))
        _, rkhs = core.eliminate(eps, 2**62)
        assert core.n_support == n_support
        assert rkhs <= eps
        after = np.zeros(8)
        after[learner.support()[1]] = learner.coefficients[0]
        moved = after - a[0]
        np.testing.assert_allclose(rkhs, np.sqrt(moved @ kernel(points, points) @ moved), rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("forget", [1.0, 0.999, "stream"])
def test_with_a_smaller_budget_points_leave_and_memories_go_on(forget):
    X, y = waves(1500)
    y[1200:] = -y[1200:]
    learner = regression(forget)
    learner.learn_rows(X[:1000], y[:1000])
    before, small = learner.fingerprint(), learner.with_budget(20)
    assert learner.fingerprint() == before and learner.n_support == 30
    assert small.n_support == small.budget == small._core.budget == 20
    assert small.memory_weights == learner.memory_weights
    if forget != "stream":
        other = learner.clone()
        other.compress(0.0, 20)
        assert small.score_rows(X).tobytes() == other.score_rows(X).tobytes()
    assert np.std(small.score_rows(X) - learner.score_rows(X)) < 0.5 * np.std(learner.score_rows(X))
    assert regression(forget, budget=30).with_budget(20).budget == 20
    copy = pickle.loads(pickle.dumps(small))
    for each in (small, copy):
        each.learn_rows(X[1000:], y[1000:])
        assert each.n_support == 20
    assert copy.fingerprint() == small.fingerprint()


def test_eliminated_points_cost_less_than_points_never_had():
    X, _y = waves(3000)
    labels = (np.sin(3 * X[:, 0]) * X[:, 1] > 0).astype(float)
    large, small = (onkel.Learner(recipes.Newton(), gamma=1.0, budget=budget) for budget in (200, 25))
    for learner in (large, small):
        learner.learn_rows(X, labels)
    large._core.eliminate(0.0, 25)
    assert large.n_support == 25
    errors = [np.mean((learner.score_rows(X)[:, 0] > 0) != labels) for learner in (large, small)]
    assert errors[0] <= errors[1]


# -- what is refused


@loop
@pytest.mark.parametrize(
    ("information", "noise", "steps", "says"),
    [
        (np.zeros((3, 3)), 0.0, 0, "6 coordinates"),
        (np.zeros((6, 5)), 0.0, 0, "square"),
        (np.full((6, 6), np.nan), 0.0, 0, "finite .* lost to rounding: scale the rows"),
        (np.zeros((6, 6)), -1.0, 0, "noise"),
        (np.zeros((6, 6)), 0.0, 10**9, "rows so far"),
    ],
)
def test_information_that_cannot_be_is_refused(information, noise, steps, says):
    learner = regression(budget=5)
    core = at_points(learner, waves(5)[0])
    before = learner.fingerprint()
    with pytest.raises(ValueError, match=says) as caught:
        core.set_information(information, noise, steps, np.empty(0))
    assert "\n" not in str(caught.value)
    assert learner.fingerprint() == before


def test_learners_that_take_first_order_steps_have_no_information():
    learner = onkel.Learner(recipes.OGD())
    learner.learn([0.0], 1)
    for ask in (lambda: learner._core.information(), lambda: learner._core.eliminate(0.0, 1)):
        with pytest.raises(ValueError, match="no information"):
            ask()


def test_a_state_with_information_of_another_size_is_refused():
    X, y = waves(100)
    learner = regression(0.9)
    learner.learn_rows(X, y)
    state = state_of(learner)
    state["update.information.matrix"] = state["update.information.matrix"][:-1]
    with pytest.raises(ValueError, match="information"):
        learner._core.load(state)
