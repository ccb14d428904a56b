"""Projection, KOMP and POLK as geometry; compress and merge."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC

import onkel
from functions import function_of
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
from onkel.streams.generators import mixture
from reference.polk import POLK
from reference.project_leaver import BPAProject, BSGDProject
from table import Case, Named, in_turn
from test_differential import compare


def kernel(A, B, gamma):
    return np.exp(-gamma * ((A[:, None].astype(float) - B) ** 2).sum(axis=2))


def expansion(learner):
    """Points, last coefficients as (n, outputs), constants as coordinates, of a learner without average."""
    points = learner.support()[0]
    points = points.toarray() if learner.sparse else points
    return points, learner.coefficients.T, learner.constants / (5 / 16)


def distance(one, other, gamma):
    """RKHS distance of two expansions."""
    X = np.vstack([one[0], other[0]])
    a = np.vstack([one[1], -other[1]])
    return np.sqrt(max(0.0, np.sum(a * (kernel(X, X, gamma) @ a)) + np.sum((one[2] - other[2]) ** 2)))


# -- BPA and BSGD with projection -------------------------------------------------------------------------------------


def bpa(C=0.7):
    return FirstOrder(HingeLoss(), OnGradient(), PassiveAggressiveStep(C=C), ProjectCheapest())


def bsgd(eta=0.4, lam=0.05):
    return FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=eta, lam=lam), ProjectSmallest())


PAPERS = {bpa: (BPAProject, {"C": 0.7}), bsgd: (BSGDProject, {"eta": 0.4, "lam": 0.05})}


@loop
@in_turn(
    {"fit_intercept": [False, True], "average": [False, True]},
    recipe=PAPERS,
    task=["binary", "multiclass"],
    dtype=["float64", "float32"],
)
def test_one_leaves_as_in_the_papers(recipe, task, dtype, fit_intercept, average):
    reference, parameters = PAPERS[recipe]
    case = Case(Named(recipe, reference, onkel.KernelClassifier, row_by_row=True), task, dtype, average)
    X, y = case.data(200, seed=1)  # rows without an early close call, so that nearly all of them are compared
    settings = {"gamma": 0.7, "budget": 15, "fit_intercept": fit_intercept, "batch_size": 1, "seed": 11}
    n = compare(case, X, y, None, parameters, {**settings, "n_classes": 3 if task == "multiclass" else 1})
    assert n == 200 if dtype == "float64" else n > 150


# -- KOMP -------------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_support", [1, 7, 30])
def test_komp_is_the_orthogonal_projection_and_reports_its_distance(n_support, n_outputs, sparse):
    rng = np.random.default_rng(n_support)
    X, a = rng.normal(size=(60, 3)), rng.normal(size=(n_outputs, 60))
    task = "multiclass" if n_outputs > 1 else "binary"
    learner = onkel.Learner(recipes.OGD(), task=task, gamma=0.5)
    points = csr_array(X) if sparse else X
    learner.set_expansion(function_of(learner.kernel, points, np.arange(60), a, np.zeros(n_outputs), 60))
    before = expansion(learner)
    moved, _ = learner.compress(0.0, n_support)
    points, coefficients, _ = expansion(learner)
    assert len(points) == n_support
    # the best coefficients on the points that stayed
    best = np.linalg.solve(kernel(points, points, 0.5), kernel(points, X, 0.5) @ a.T)
    np.testing.assert_allclose(coefficients, best, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(moved, distance(before, expansion(learner), 0.5), rtol=1e-8)


def test_komp_drops_the_cheapest_first_and_stops_exactly_at_eps():
    rng = np.random.default_rng(3)
    X, a = rng.normal(size=(40, 3)), rng.normal(size=(1, 40))
    start = X, a.T, np.zeros(1)
    path = []  # by dense solves: always the point without which the projection is nearest
    stay = list(range(40))
    while len(stay) > 1:

        def without(j, stay=stay):
            rest = [i for i in stay if i != j]
            c = np.linalg.solve(kernel(X[rest], X[rest], 0.5), kernel(X[rest], X, 0.5) @ a.T)
            return distance(start, (X[rest], c, np.zeros(1)), 0.5), rest

        cost, stay = min((without(j) for j in stay), key=lambda pair: pair[0])
        path.append((cost, sorted(stay)))
    for cost, stay in path[::5]:
        for eps, n in ((cost * (1 + 1e-6), len(stay)), (cost * (1 - 1e-6), len(stay) + 1)):
            learner = onkel.Learner(recipes.OGD(), gamma=0.5)
            learner.set_expansion(function_of(learner.kernel, X, np.arange(40), a, np.zeros(1), 40))
            assert learner.compress(eps, 2**62)[0] <= eps
            assert learner.n_support == n
            if n == len(stay):
                assert sorted(learner.support()[1]) == stay


# -- POLK -------------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("batch_size", [1, 8])
@pytest.mark.parametrize("prune", ["komp", "random"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_polk_stays_within_eps_of_its_step(task, prune, batch_size):
    eta, lam, eps, gamma = 0.4, 0.05, 0.15, 0.7
    loss = "squared_error" if task == "regression" else "hinge"
    case = Case(Named(recipes.POLK, POLK, onkel.POLKClassifier), task, "float64", False)
    X, y = case.data(240)
    settings = {"task": task, "gamma": gamma, "n_classes": 3 if task == "multiclass" else 1}
    recipe = recipes.POLK(eta=eta, lam=lam, eps=eps, prune=prune, batch_size=batch_size, loss=loss)
    learner = onkel.Learner(recipe, fit_intercept=True, **settings)
    pruned = 0
    for i in range(0, 240, batch_size):
        rows = slice(i, i + batch_size)
        # the step without pruning, from the same function
        plain = onkel.Learner(recipes.OGD(eta=eta, lam=lam, loss=loss), fit_intercept=True, **settings)
        plain = plain.blank(recipe=onkel.parts.FirstOrder(**{**vars(plain.recipe), "batch_size": batch_size}))
        if i:
            points, births = learner.support()
            plain.set_expansion(
                function_of(learner.kernel, points, births, learner.coefficients, learner.constants, learner.t)
            )
        plain.learn_rows(X[rows], y[rows])
        learner.learn_rows(X[rows], y[rows])
        assert distance(expansion(plain), expansion(learner), gamma) <= eps * (1 + 1e-9)
        pruned += plain.n_support > learner.n_support
    assert pruned > 10


LIPSCHITZ = [  # loss, its constant C: the largest |dl/df|, and whether it keeps that slope on the stream below
    ("binary", "hinge", 1.0, True),
    ("binary", "log_loss", 1.0, False),
    ("multiclass", "hinge", np.sqrt(2), True),
    ("multiclass", "log_loss", np.sqrt(2), False),
    ("regression", "epsilon_insensitive", 1.0, True),
    ("regression", "huber", 0.4, True),
]


@loop
@pytest.mark.parametrize("batch_size", [1, 8])
@pytest.mark.parametrize(("task", "loss", "C", "steep"), LIPSCHITZ, ids=[f"{c[0]}-{c[1]}" for c in LIPSCHITZ])
def test_polk_stays_within_its_ball(task, loss, C, steep, batch_size):
    # Proposition 7: |f| <= C X / lam, X being the largest length of a row in the feature space
    lam, X_length = 3.0, np.sqrt(1 + (5 / 16) ** 2)
    case = Case(Named(recipes.POLK, POLK, onkel.POLKClassifier), task, "float64", False)
    rows, labels = case.data(200)
    recipe = recipes.POLK(eta=0.2, lam=lam, eps=0.005, batch_size=batch_size, loss=loss, epsilon=0.4)
    largest = []
    # as they come, and all alike with one far target: then every step pulls in one direction
    for X, y in [(rows, labels), (1e-2 * rows, np.full(200, 50.0 if task == "regression" else 1.0))]:
        learner = onkel.Learner(recipe, task=task, gamma=0.7, fit_intercept=True, n_classes=3 if C > 1 else 1)
        largest.append(0.0)
        for i in range(0, 200, batch_size):
            learner.learn_rows(X[i : i + batch_size], y[i : i + batch_size])
            assert learner.norm <= C * X_length / lam * (1 + 1e-12)
            largest[-1] = max(largest[-1], learner.norm)
    assert largest[0] > 0.1 * C * X_length / lam
    if steep:  # then the bound is the limit
        assert largest[1] > 0.85 * C * X_length / lam


def test_polk_with_diminishing_steps_converges_to_the_minimum():
    """Theorem 2: ``|f_t - f*|`` goes to 0; with constant steps and the same first ε it does not."""
    rng = np.random.default_rng(0)
    points = np.linspace(-2, 2, 12)[:, None]
    labels = (np.sin(3 * points[:, 0]) > 0).astype(np.float64)
    lam, gamma = 0.05, 2.0
    K = np.exp(-gamma * (points - points.T) ** 2)
    a = np.zeros(len(points))  # of the minimum of the mean log loss plus lam/2 |f|^2: lam a = -g(Ka)/n
    signs = 2 * labels - 1
    for _ in range(50):
        p = 1 / (1 + np.exp(signs * (K @ a)))
        residual = lam * a - signs * p / len(a)
        a -= np.linalg.solve(lam * np.eye(len(a)) + (p * (1 - p) / len(a))[:, None] * K, residual)
    rows = rng.integers(0, len(points), 40_000)

    def distances(schedule):
        est = onkel.POLKClassifier(eta=2.0, lam=lam, eps=0.4, schedule=schedule, loss="log_loss", gamma=gamma)
        found = []
        for begin, end in ((0, 400), (400, 4_000), (4_000, 40_000)):
            est.partial_fit(points[rows[begin:end]], labels[rows[begin:end]], classes=[0.0, 1.0])
            kept, own = est.support_vectors_, est.dual_coef_[0]
            cross = np.exp(-gamma * (kept - points.T) ** 2)
            inner = own @ np.exp(-gamma * (kept - kept.T) ** 2) @ own
            found.append(np.sqrt(max(0.0, inner - 2 * own @ cross @ a + a @ K @ a)))
        return np.array(found) / np.sqrt(a @ K @ a)

    diminishing, constant = distances("inverse"), distances("constant")
    assert (np.diff(diminishing) < 0).all() and diminishing[-1] < 0.03
    assert constant[-1] > 0.2


def test_polk_prunes_to_its_budget_at_every_mini_batch():
    X, y = Case(Named(recipes.POLK, POLK, onkel.POLKClassifier), "binary", "float64", False).data(300)
    for prune in ("komp", "random"):
        recipe = recipes.POLK(eps=1e-3, prune=prune, batch_size=5)
        learner = onkel.Learner(recipe, gamma=0.7, budget=12)
        for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
            learner.learn(x, label)
            assert learner.n_support <= 12 + t % 5


def test_polk_refuses_steps_that_do_not_shrink():
    with pytest.raises(ValueError, match="eta \\* lam must be less than 1"):
        recipes.POLK(eta=2.0, lam=0.5)
    with pytest.raises(ValueError, match="eta \\* lam"):
        onkel.POLKClassifier(eta=2.0, lam=0.5).fit([[0.0], [1.0]], [0, 1])


# The first seeds whose mixture has a Bayes error of about 4 % or less, as the paper's must have had: 3.2, 2.5, 2.0,
# 4.1, 1.9, 2.0 and 3.7 %. POLK comes -0.3 to 0.4 points behind the batch machine. With the four that go on to 4.7 %
# (18, 20, 23, 29) it is 1.4, 0.9, 1.2 and 0.1: where modes overlap more, 16 points are not quite enough.
@loop
@pytest.mark.parametrize("task_seed", [5, 9, 17, 19, 33, 35, 44])
def test_polk_finds_the_modes_of_its_papers_mixture(task_seed):
    X, y = next(mixture(5000, seed=2, task_seed=task_seed, chunk_rows=5000))
    X_test, y_test = next(mixture(2500, seed=3, task_seed=task_seed))
    gamma = 1 / (2 * 0.6**2)
    svc = SVC(gamma=gamma, C=100).fit(X, y)
    model = onkel.POLKClassifier(eta=6.0, lam=1e-6, parsimony=0.04, batch_size=32, gamma=gamma)
    sizes, scores = [], []
    for i in range(0, 4992, 32):
        model.partial_fit(X[i : i + 32], y[i : i + 32], classes=range(5))
        sizes.append(model.n_support_)
        if i >= 4750:  # the last 5 % of rows
            scores.append(model.score(X_test, y_test))
    assert np.mean(scores) > svc.score(X_test, y_test) - 0.01
    assert 12 <= sizes[-1] <= 18
    assert max(sizes[-100:]) <= max(sizes[:-100])  # the model order stops growing
    assert svc.n_support_.sum() > 10 * sizes[-1]


# -- compress and merge -----------------------------------------------------------------------------------------------


def moons(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(np.sin(2 * X[:, 0]) + X[:, 1], [-0.5, 0.5])


MODELS = [
    lambda: onkel.OGDClassifier(gamma=0.5, eta=0.3, lam=0.01, random_state=0),
    lambda: onkel.SPAClassifier(gamma=0.5, random_state=0, fit_intercept=True),  # predicts with the average
    lambda: onkel.POLKClassifier(gamma=0.5, eps=0.01, random_state=0),
    lambda: onkel.ProjectronClassifier(gamma=0.5, random_state=0, average=True),
    lambda: onkel.OGDRegressor(gamma=0.5, eta=0.3, lam=0.01, random_state=0),
]


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def model_distance(one, other):
    def parts(model):
        points = model.support_vectors_
        points = points.toarray() if hasattr(points, "toarray") else points
        return points, model.dual_coef_.T, model.intercept_ / (5 / 16)

    return distance(parts(one), parts(other), one.gamma_)


@loop
@pytest.mark.parametrize("convert", [np.asarray, lambda X: X.astype(np.float32), csr_array])
@pytest.mark.parametrize("make", MODELS)
def test_compress(make, convert):
    X, y = moons()
    X = convert(X)
    model = make().fit(X, y)
    before = scores_of(model, X)
    small, moved, *_ = onkel.compress(model, n_support=10)
    assert small.n_support_ == 10 and set(small.support_) <= set(model.support_)
    np.testing.assert_allclose(moved, model_distance(model, small), rtol=1e-3)
    np.testing.assert_array_equal(scores_of(model, X), before)  # stays as it is
    assert small.t_ == model.t_
    assert small.get_params() == model.get_params() | {"budget": None if model.budget is None else 10}
    # |f(x) - g(x)| <= |f - g| sqrt(k(x, x))
    assert np.abs(scores_of(small, X) - before).max() <= moved * 1.05 + 1e-5

    near, moved, *_ = onkel.compress(model, eps=moved / 2)
    assert 10 < near.n_support_ <= model.n_support_
    assert near.n_support_ == model.n_support_ or moved > 0
    np.testing.assert_allclose(moved, model_distance(model, near), rtol=1e-3, atol=1e-3)
    more = near.partial_fit(X, y)
    assert more.t_ == 2 * model.t_
    if hasattr(model, "classes_"):
        assert more.score(X, y) > 0.6


@loop
@pytest.mark.parametrize("make", MODELS)
def test_merge(make):
    X, y = moons()
    a, b, c = (make().fit(X[i::3], y[i::3]) for i in range(3))
    same, moved, *_ = onkel.merge([a])
    assert moved == 0.0 and same is not a
    assert same._fingerprint() == a._fingerprint()

    both, moved, *_ = onkel.merge([a, b], weights=[0.25, 2.0])
    assert moved == 0.0 and both.n_support_ == a.n_support_ + b.n_support_ and both.t_ == a.t_ + b.t_
    expected = 0.25 * scores_of(a, X) + 2.0 * scores_of(b, X)
    np.testing.assert_allclose(scores_of(both, X), expected, rtol=1e-9, atol=1e-11)
    assert len(set(both.support_)) == both.n_support_

    left = onkel.merge([onkel.merge([a, b])[0], c])[0]
    right = onkel.merge([a, onkel.merge([b, c])[0]])[0]
    np.testing.assert_allclose(scores_of(left, X), scores_of(right, X), rtol=1e-9, atol=1e-11)

    small, moved, *_ = onkel.merge([a, b, c], budget=20)
    assert small.n_support_ <= 20 and small.budget == 20
    np.testing.assert_allclose(moved, model_distance(left, small), rtol=1e-6)
    small.partial_fit(X, y)
    assert small.t_ == 2 * left.t_


def test_refusals_are_sentences():
    X, y = moons(60)
    model = onkel.OGDClassifier(gamma=0.5).fit(X, y)
    for other, what in [
        (onkel.OGDClassifier(gamma=0.7).fit(X, y), "kernels"),
        (onkel.OGDClassifier(gamma=0.5).fit(X, y + 1), "labels"),
        (onkel.OGDClassifier(gamma=0.5).fit(X[:, :2], y), "widths"),
        (onkel.OGDClassifier(gamma=0.5).fit(X.astype(np.float32), y), "dtypes"),
        (onkel.OGDClassifier(gamma=0.5, fit_intercept=True).fit(X, y), "constant terms"),
        (onkel.PAClassifier(gamma=0.5).fit(X, y), "classes"),
    ]:
        with pytest.raises(ValueError, match=f"models with different {what} cannot be merged"):
            onkel.merge([model, other])
    with pytest.raises(ValueError, match="compress needs eps"):
        onkel.compress(model)
    with pytest.raises(ValueError, match="at least one model"):
        onkel.merge([])
    with pytest.raises(ValueError, match="one weight for each"):
        onkel.merge([model], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="batch_size must be 1"):
        onkel.parts.FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=1.0), ProjectSmallest(), batch_size=2)
    with pytest.raises(ValueError, match="needs the hinge loss"):
        FirstOrder(onkel.parts.LogLoss(), OnGradient(), GradientStep(eta=1.0), onkel.parts.AggressiveProjection())
