"""Several kernels at once: against a plain reference, and what it promises beyond the harness."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import onkel
from looping import WHOLE, loop
from onkel import recipes
from onkel.parts import RBF, Hedge, Laplacian, Linear, Polynomial
from reference.bogd import BOGD
from reference.bpa import BPA
from reference.forgetron import Forgetron
from reference.hedge import Hedge as ReferenceHedge
from reference.ogd import OGD
from reference.pa import PA
from reference.perceptron import Perceptron
from reference.rbp import RBP
from reference.spa import SPA
from table import CASES, Case, cases, in_turn, loop_by_learner

AT_ZERO, COMBINATIONS = onkel.parts.AT_ZERO, onkel.parts.COMBINATIONS
KERNELS = (RBF(0.1), RBF(0.3), RBF(0.8))
TOLERANCE = {"float64": 1e-9, "float32": 2e-5}
CLOSE = {"float64": 1e-6, "float32": 2e-4}

# recipe, its reference, parameters of both; the papers' components, and one for regression
COMPONENTS = {
    "Perceptron": (recipes.Perceptron, Perceptron, {}),
    "PA": (recipes.PA, PA, {"C": 0.1}),
    "OGD": (recipes.OGD, OGD, {"eta": 0.3, "lam": 0.01}),
    "SPA": (recipes.SPA, SPA, {"eta": 0.3, "alpha": 1.0, "beta": 3.0}),
    "RBP": (recipes.RBP, RBP, {}),
    "Forgetron": (recipes.Forgetron, Forgetron, {}),
    "BOGD": (recipes.BOGD, BOGD, {"eta": 0.3, "lam": 0.01}),
    "BPA": (recipes.BPA, BPA, {"C": 0.1}),
}
INSERT_ONLY = ("Perceptron", "PA", "OGD", "SPA")
REGRESSION = {"OGD": {"loss": "squared_error"}, "SPA": {"loss": "epsilon_insensitive"}}


def data(task, n, dtype="float64", seed=0, d=2):
    return Case(CASES[0].named, task, dtype, False).data(n, d, seed)


def both(
    name,
    combination,
    task,
    dtype,
    *,
    kernels=KERNELS,
    functions=None,
    budget=None,
    share=None,
    at_zero="mistake",
    **settings,
):
    """The core's learner and the reference, with equal settings."""
    recipe, reference, parameters = COMPONENTS[name]
    parameters = parameters | (REGRESSION[name] if task == "regression" else {})
    hedge = Hedge(kernels, combination, discount=0.9, smoothing=0.05, share=share, at_zero=at_zero)
    learner = onkel.Learner(recipe(**parameters), task=task, dtype=dtype, kernel=hedge, budget=budget, **settings)
    own_budget = budget // len(kernels) if budget is not None and not hedge.shares_budget else budget
    functions = [None] * len(kernels) if functions is None else functions
    learners = [
        reference(
            task=task,
            gamma=getattr(kernel, "gamma", 1.0),
            kernel_function=function,
            stream=i,
            budget=own_budget,
            **parameters,
            **settings,
        )
        for i, (kernel, function) in enumerate(zip(kernels, functions, strict=True))
    ]
    return learner, ReferenceHedge(learners, combination, 0.9, 0.05, budget, share, at_zero)


def compare(make, X, y, weight, dtype):
    """Compare up to the first close call; return the number of rows compared."""
    _, expected = make()
    n = expected.learn(X, y, weight).clear_rows(CLOSE[dtype])
    X, y, weight = X[:n], y[:n], None if weight is None else weight[:n]
    learner, expected = make()
    if n == 0:
        return 0
    expected.learn(X, y, weight)
    scores = learner.learn_rows(X, y, weight, scores=True)
    width = scores.shape[1]
    # a vote may weigh 1, a score of a regression as much as the targets
    close = {"rtol": 0, "atol": TOLERANCE[dtype] * (1 + np.abs(y).max()) * 10}
    before = np.array([np.pad(row, (0, width - len(row))) for row in expected.scores])
    np.testing.assert_allclose(scores, before, **close)
    np.testing.assert_allclose(learner.kernel_weights, expected.weights, rtol=1e-4 if dtype == "float32" else 1e-9)
    births = learner.support()[1]
    coefficients = learner.coefficients.reshape(len(expected.learners), width, -1)
    constants = learner.constants.reshape(-1, width)
    assert sorted(births) == sorted({born for one in expected.learners for born in one.support})
    for i, one in enumerate(expected.learners):
        predicting = one.predicting()
        own = dict(zip(one.support, predicting[1:], strict=True))
        wanted = np.array([own.get(born, np.zeros(width)) for born in births]).reshape(-1, width)
        np.testing.assert_allclose(coefficients[i], wanted.T, **close)
        if learner.fit_intercept:
            np.testing.assert_allclose(constants[i], predicting[0] * 5 / 16, **close)
        assert learner.n_support_per_kernel[i] == len(one.support)
    clear = X[[expected.vote_gap(x) > CLOSE[dtype] for x in X.astype(np.float64)]]
    wanted = [expected.vote(x) for x in clear.astype(np.float64)]
    np.testing.assert_allclose(learner.score_rows(clear), np.reshape(wanted, (-1, width)), **close)
    return n


@in_turn({"dtype": ["float64", "float32"]}, combination=COMBINATIONS, name=COMPONENTS)
@settings(max_examples=8)  # of each of so many kinds
@given(draws=st.data())
def test_same_as_the_paper(combination, name, dtype, draws):
    task = draws.draw(st.sampled_from(["binary", "multiclass"] + ["regression"] * (name in REGRESSION)))
    X, y = data(task, draws.draw(st.integers(1, 40)), dtype, seed=draws.draw(st.integers(0, 2**16)))
    rng = np.random.default_rng(len(X))
    if draws.draw(st.booleans()):
        X[rng.integers(0, len(X), len(X) // 3)] = X[0]
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(X)) if draws.draw(st.booleans()) else None
    chosen = {
        "budget": draws.draw(st.sampled_from([3, 7, 20, *([None] if name in INSERT_ONLY else [])])),
        "fit_intercept": draws.draw(st.booleans()),
        "average": draws.draw(st.booleans()),
        "share": draws.draw(st.sampled_from([None, 0.0, 0.05])),
        "at_zero": draws.draw(st.sampled_from(AT_ZERO)),
        "seed": draws.draw(st.integers(0, 2**64 - 1)),
        "n_classes": draws.draw(st.sampled_from([1, 3])) if task == "multiclass" else 1,
    }
    compare(lambda: both(name, combination, task, dtype, **chosen), X, y, weight, dtype)


@in_turn({"task": ["binary", "multiclass"]}, combination=COMBINATIONS, name=COMPONENTS)
def test_same_as_the_paper_over_a_longer_stream(combination, name, task):
    compare_longer_stream(combination, name, task)


@loop
@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_regression_is_the_papers_over_a_longer_stream(combination, name):
    compare_longer_stream(combination, name, "regression")


def compare_longer_stream(combination, name, task):
    X, y = data(task, 150)
    budget = None if name in INSERT_ONLY else 21
    settings = {"budget": budget, "seed": 5, "n_classes": 3 if task == "multiclass" else 1}
    # most go through all rows; a few come to a close call before
    assert compare(lambda: both(name, combination, task, "float64", **settings), X, y, None, "float64") > 40


def test_a_kernel_that_says_nothing_is_wrong_or_votes_for_the_first_class():
    X = np.random.default_rng(0).normal(size=(400, 2)) * 100  # where a narrow kernel reaches no other row
    y = (X[:, 0] > 0).astype(np.float64)
    weights, votes = {}, {}
    for at_zero in AT_ZERO:
        est = onkel.MultiKernelClassifier(
            recipes.Perceptron(),
            kernels=[RBF(1e4), RBF(1e-4)],
            combination="deterministic",
            discount=0.9,
            at_zero=at_zero,
            random_state=1,
        )
        votes[at_zero] = est.predict_then_learn(X, y, classes=[0, 1])
        weights[at_zero] = est.kernel_weights_[0]
    assert weights["mistake"] < 0.1 and weights["vote"] > 0.9
    assert [votes[at_zero][0] for at_zero in AT_ZERO] == [0, -1]  # nobody knows anything of the first row


@pytest.mark.parametrize("combination", ["deterministic", "spa"])
def test_with_a_share_the_best_kernel_may_change(combination):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = (np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) > 0).astype(np.float64)
    X[1500:] *= 30
    y[1500:] = X[1500:, 0] > 0

    def weights_of_the_wide_kernel(share):
        hedge = Hedge((RBF(10.0), RBF(0.01)), combination, discount=0.9, smoothing=0.05, share=share)
        learner = onkel.Learner(recipes.Perceptron(), kernel=hedge, seed=1)
        learner.learn_rows(X, y)
        rows, weights = learner.kernel_weights_history
        assert weights[rows <= 1500][-1, 0] > 0.9, "the narrow kernel is the best at first"
        return weights[rows > 1500][:, 1]

    assert weights_of_the_wide_kernel(0.001)[-1] > 0.5
    assert weights_of_the_wide_kernel(0.0).max() < 0.01


@loop
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("name", INSERT_ONLY)
def test_kernels_of_every_kind_share_their_points(name, combination):
    def dot(points, x):
        return points @ x

    def city_block(points, x):
        return np.abs(points - x).sum(axis=1)

    def distance(points, x):
        return ((points - x) ** 2).sum(axis=1)

    kernels = {
        Polynomial(degree=2): lambda p, x: dot(p, x) ** 2,
        Linear(): dot,
        Laplacian(0.5): lambda p, x: np.exp(-0.5 * city_block(p, x)),
        RBF(0.5) + 0.5 * Polynomial(coef0=1.0): lambda p, x: np.exp(-0.5 * distance(p, x)) + 0.5 * (dot(p, x) + 1) ** 3,
        RBF(0.7): None,
        onkel.parts.CallableKernel(lambda x, S: np.exp(-((x - S) ** 2).sum(axis=1))): lambda p, x: np.exp(
            -distance(p, x)
        ),
    }
    X, y = data("binary", 120)
    settings = {"kernels": tuple(kernels), "functions": list(kernels.values()), "budget": 200, "seed": 1}
    assert compare(lambda: both(name, combination, "binary", "float64", **settings), X, y, None, "float64") == 120


# -- a hedge over one kernel is that kernel's learner, to the bit ------------------------------------------------------


@loop_by_learner
@cases(where=lambda case: case.named.name != "DualSGD")
def test_one_kernel_is_a_learner_as_ever(case):
    X, y = case.data(200)
    settings = {"fit_intercept": True, "seed": 9, "n_classes": 3 if case.task == "multiclass" else 1}
    one = case.learner(gamma=0.7, batch_size=3, **settings)
    several = case.learner(kernel=Hedge((RBF(0.7),)), batch_size=3, **settings)
    for form in (np.asarray, csr_array):
        one, several = one.blank(), several.blank()
        scores = one.learn_rows(form(X), y, scores=True)
        votes = several.learn_rows(form(X), y, scores=True)
        # a merged point has a place of its own among the points of all kernels
        order, pooled = np.argsort(one.support()[1], kind="stable"), np.argsort(several.support()[1], kind="stable")
        np.testing.assert_array_equal(several.support()[1][pooled], one.support()[1][order])
        np.testing.assert_array_equal(several.coefficients[:, pooled], one.coefficients[:, order])
        np.testing.assert_array_equal(several.constants, one.constants)
        assert several.norm == one.norm
        assert (
            votes.tolist()
            == (
                scores if case.task == "regression" else np.sign(scores) if case.task == "binary" else chosen(scores)
            ).tolist()
        )


def chosen(scores):
    return np.eye(scores.shape[1])[scores.argmax(axis=1)] * scores.any(axis=1, keepdims=True)


# -- exactness ---------------------------------------------------------------------------------------------------------


def made(combination="spa", task="binary", recipe=None, dtype="float64", **settings):
    recipe = recipe or (recipes.SPA(eta=0.3, beta=2.0, loss="epsilon_insensitive" if task == "regression" else "hinge"))
    settings = {"kernel": Hedge((*KERNELS, Polynomial(degree=2)), combination, discount=0.9), "seed": 3, **settings}
    return onkel.Learner(recipe, task=task, dtype=dtype, **settings)


VARIED = {
    "SPA": {},
    "RBP": {"recipe": recipes.RBP(), "budget": 21},
    "BSGD-merge": {"recipe": recipes.BSGD(lam=0.1, maintenance="merge"), "budget": 21, "kernel": KERNELS},
    "POLK": {"recipe": replace(recipes.POLK(eta=0.5, lam=0.01, parsimony=0.5), batch_size=4), "budget": 60},
    "NPBSGD": {"recipe": recipes.NPBSGD(lam=0.1, beta=0.1, horizon=100), "budget": 21},
    "Projectron": {"recipe": recipes.Projectron(), "budget": 21},
}


def varied(name, combination, dtype="float64"):
    settings = dict(VARIED[name])
    if "kernel" in settings:
        settings["kernel"] = Hedge(settings["kernel"], combination, discount=0.9)
    return made(combination, dtype=dtype, **settings)


@loop
@in_turn({"dtype": ["float64", "float32"], "form": [np.asarray, csr_array]}, combination=COMBINATIONS, name=VARIED)
def test_cuts_threads_and_pauses_change_no_bit(combination, name, dtype, form):
    X, y = data("binary", 260, dtype)
    whole = varied(name, combination, dtype)
    expected = whole.learn_rows(form(X), y, scores=True)
    for cuts, n_jobs, block in (([], 2, 48), ([1, 2, 3, 50, 51, 200], 1, 7), (list(range(1, 260, 9)), 1, 1)):
        learner = varied(name, combination, dtype)
        learner.n_jobs = n_jobs
        scores = []
        for rows, targets in zip(np.split(X, cuts), np.split(y, cuts), strict=True):
            scores.append(learner.learn_rows(form(rows), targets, scores=True, block_rows=block))
            learner = pickle.loads(pickle.dumps(learner))
            learner.n_jobs = n_jobs
        np.testing.assert_array_equal(np.concatenate(scores), expected)
        assert learner.fingerprint() == whole.fingerprint()
    np.testing.assert_array_equal(whole.score_rows(form(X), block_rows=5), whole.score_rows(form(X)))


def test_asking_for_scores_changes_nothing():
    X, y = data("binary", 300)
    for combination in COMBINATIONS:
        asked, quiet = made(combination), made(combination)
        asked.learn_rows(X, y, scores=True)
        quiet.learn_rows(X, y)
        assert asked.fingerprint() == quiet.fingerprint()


# -- budgets -----------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("name", ["Perceptron", "SPA", "RBP", "Forgetron", "BOGD", "BPA"])
def test_never_above_the_budget(name, combination):
    X, y = data("binary", 400)
    learner, _ = both(name, combination, "binary", "float64", budget=12, seed=2)
    full = 0
    for row in range(len(X)):
        learner.learn_rows(X[row : row + 1], y[row : row + 1])
        counts = learner.n_support_per_kernel
        assert counts.sum() <= 12
        assert learner.n_support <= counts.sum()
        if combination in ("uniform", "deterministic"):
            assert counts.max() <= 4
        full += counts.sum() == 12
    assert full > 100


def test_a_kernel_without_points_of_its_own_skips_the_update_at_a_full_budget():
    # The first rows' points are all the first kernel's; the second finds the budget taken and has none to give.
    kernels = (RBF(1.0), RBF(2.0))
    learner = onkel.Learner(recipes.RBP(), kernel=Hedge(kernels, "spa"), budget=1, seed=0)
    learner.learn_rows(np.array([[0.0], [5.0], [9.0]]), np.array([1.0, 0.0, 1.0]))
    assert learner.n_support_per_kernel.tolist() == [1, 0]


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_weights_stay_weights_over_many_rows(combination):
    n = 1_000_000 if WHOLE else 200_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1)).astype(np.float32)
    y = (np.sin(3 * X[:, 0]) > 0).astype(np.float64)
    # a discount that takes the weights of poor kernels far below the smallest number
    kernels = (Linear(), RBF(1e-6), RBF(2.0))
    hedge = Hedge(kernels, combination, discount=0.5)
    learner = onkel.Learner(recipes.RBP(), kernel=hedge, budget=12, dtype="float32")
    learner.learn_rows(X, y)
    weights = learner.kernel_weights
    assert np.isfinite(weights).all() and (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    # (a kernel that "stochastic" seldom visits keeps its weight)
    assert combination in ("uniform", "stochastic") or weights.argmax() == 2
    rows, history = learner.kernel_weights_history
    assert len(rows) < 256 and rows[-1] <= n and len(rows) >= 127
    np.testing.assert_allclose(history.sum(axis=1), 1)
    assert learner.nbytes < 20_000


def made_for(best):
    """A stream whose labels one of (Linear, wide, narrow) learns much better than the others."""
    rng = np.random.default_rng(1)
    if best == 0:  # a hyperplane in 20 dimensions
        X = rng.normal(size=(2000, 20))
        return X, (X.sum(axis=1) > 0).astype(np.float64)
    if best == 1:  # a ball in 6 dimensions
        X = rng.normal(size=(2000, 6))
        return X, ((X**2).sum(axis=1) > 5.3).astype(np.float64)
    X = rng.uniform(-2, 2, size=(2000, 1))  # stripes
    return X, (np.sin(20 * X[:, 0]) > 0).astype(np.float64)


@loop
@pytest.mark.parametrize("combination", ["deterministic", "stochastic", "spa"])
@pytest.mark.parametrize("best", range(3))
def test_the_best_kernel_is_found(combination, best):
    X, y = made_for(best)
    kernels = (Linear(), RBF(0.05), RBF(50.0))
    model = onkel.MultiKernelClassifier(recipes.PA(), kernels=kernels, combination=combination, random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    alone = [onkel.PAClassifier(kernel=kernel).predict_then_learn(X, y, classes=[0, 1]) > 0 for kernel in kernels]
    assert np.argmin([(made != y).sum() for made in alone]) == best
    assert model.kernel_weights_.argmax() == best


def test_history_holds_the_weights_after_every_so_many_rows():
    X, y = data("binary", 700)
    learner, expected = both("PA", "deterministic", "binary", "float64", seed=0)
    learner.learn_rows(X, y)
    expected.learn(X, y)
    rows, weights = learner.kernel_weights_history
    assert rows.tolist() == list(range(4, 701, 4))  # 1, 2, ... until 256 are too many, then every other
    np.testing.assert_allclose(weights, np.array(expected.history)[rows - 1], rtol=1e-9)


# -- Theorem 5.3 -------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("seed", range(3))
def test_theorem_5_3(seed):
    # E[mistakes] <= min_i (2 ln m - 2 ln(gamma) max(1/(eta delta), beta/(alpha delta)) (2 eta sum l(f_i) + |f_i|^2)) /
    # (1 - gamma) for any f_i of kernel i; the competitors are batch solutions. Kernels with k(x, x) = 1.
    gamma, delta, eta, alpha, beta, T = 0.9, 0.5, 0.5, 1.0, 2.0, 300
    X, y = data("binary", T, seed=seed)
    sign = 2 * y - 1
    bounds = []
    for kernel in KERNELS:
        K = np.exp(-kernel.gamma * ((X[:, None] - X) ** 2).sum(axis=2))
        for ridge in (1.0, 10.0, 100.0):
            a = np.linalg.solve(K + ridge * np.eye(T), sign)
            loss = np.maximum(0, 1 - sign * (K @ a)).sum()
            reach = max(1 / (eta * delta), beta / (alpha * delta)) * (2 * eta * loss + a @ K @ a)
            bounds.append((2 * np.log(3) - 2 * np.log(gamma) * reach) / (1 - gamma))
    mistakes = []
    for run in range(20):
        hedge = Hedge(KERNELS, "spa", discount=gamma, smoothing=delta)
        learner = onkel.Learner(recipes.SPA(eta=eta, alpha=alpha, beta=beta), kernel=hedge, seed=run)
        votes = learner.learn_rows(X, y, scores=True)[:, 0]
        mistakes.append((votes * sign <= 0).sum())
    assert np.mean(mistakes) <= min(bounds)


def test_hedge_bound_of_the_proof():
    # Equation (5): mistakes of the vote <= (2 ln m - 2 ln(gamma) mistakes of kernel i) / (1 - gamma), on every stream.
    for seed in range(10):
        X, y = data("binary", 400, seed=seed)
        hedge = Hedge(KERNELS, "deterministic", discount=0.7)
        learner = onkel.Learner(recipes.PA(C=1.0), kernel=hedge, seed=0)
        sign = 2 * y - 1
        wrong, wrong_votes = np.zeros(3), 0
        for row in range(len(X)):
            each = np.zeros(3) if row == 0 else learner.score_rows(X[row : row + 1], each=True)[0]
            vote = learner.learn_rows(X[row : row + 1], y[row : row + 1], scores=True)[0, 0]
            wrong += sign[row] * each < 0
            wrong_votes += sign[row] * vote < 0
        assert wrong_votes <= (2 * np.log(3) - 2 * np.log(0.7) * wrong.min()) / 0.3


# -- the estimators ----------------------------------------------------------------------------------------------------


def fitted(task="binary", combination="deterministic", **settings):
    X, y = data(task, 400)
    if task == "regression":
        recipe, cls = recipes.OGD(eta=0.2, loss="squared_error"), onkel.MultiKernelRegressor
    else:
        recipe, cls = recipes.PA(C=0.5), onkel.MultiKernelClassifier
    return cls(recipe, combination=combination, random_state=0, **settings).fit(X, y), X, y


def test_the_papers_pool_is_the_default():
    model, _, _ = fitted()
    assert [kernel.name for kernel in model.kernels_] == ["poly"] * 3 + ["rbf"] * 13
    widths = [np.sqrt(1 / (2 * kernel.gamma)) for kernel in model.kernels_[3:]]
    np.testing.assert_allclose(widths, 2.0 ** np.arange(-6, 7))
    assert all(kernel.coef0 == 0 and kernel.gamma == 1 for kernel in model.kernels_[:3])
    assert [kernel.degree for kernel in model.kernels_[:3]] == [1, 2, 3]


@loop
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_scores_votes_and_coefficients_agree(task):
    model, X, _ = fitted(task)
    own, theta = model.scores_per_kernel(X), model.kernel_weights_
    assert own.shape == (400, 16) + ((3,) if task == "multiclass" else ())
    np.testing.assert_allclose(model.weighted_score(X), np.tensordot(own, theta, axes=([1], [0])))
    if task == "regression":
        np.testing.assert_allclose(model.predict(X), model.weighted_score(X), rtol=1e-9)
    elif task == "binary":
        np.testing.assert_allclose(model.decision_function(X), np.sign(own) @ theta, atol=1e-12)
    else:
        votes = np.eye(3)[own.argmax(axis=2)]
        np.testing.assert_allclose(model.decision_function(X), np.tensordot(votes, theta, axes=([1], [0])), atol=1e-12)
    # one kernel's function from the model's own attributes
    i = 8
    K = np.exp(-model.kernels_[i].gamma * ((X[:, None] - model.support_vectors_) ** 2).sum(axis=2))
    f = K @ model.dual_coef_[i].T + model.intercept_[i]
    np.testing.assert_allclose(f.reshape(own[:, i].shape), own[:, i], atol=1e-9)
    assert model.dual_coef_.shape == (16, 3 if task == "multiclass" else 1, model.n_support_)
    assert model.n_support_per_kernel_.tolist() == (model.dual_coef_ != 0).any(axis=1).sum(axis=1).tolist()
    assert model.n_support_total_ == model.n_support_per_kernel_.sum()
    squares = [
        np.sum(
            a * (a @ np.exp(-k.gamma * ((model.support_vectors_[:, None] - model.support_vectors_) ** 2).sum(axis=2)))
        )
        if k.name == "rbf"
        else np.sum(a * (a @ (model.support_vectors_ @ model.support_vectors_.T) ** k.degree))
        for k, a in zip(model.kernels_, model.dual_coef_, strict=True)
    ]
    constants = ((model.intercept_ / (5 / 16)) ** 2).sum(axis=1)
    assert model.norm_ == pytest.approx(np.sqrt(theta**2 @ (np.array(squares) + constants)), rel=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_dropping_kernels_moves_votes_no_more_than_stated(task):
    model, X, y = fitted(task, discount=0.8)
    before, theta = model.decision_function(X), model.kernel_weights_
    kept = theta >= 0.05
    assert 1 <= kept.sum() < 16
    moved = model.drop_kernels(below=0.05)
    w = theta[~kept].sum()
    assert moved == pytest.approx(2 * w / (1 - w))
    assert np.abs(model.decision_function(X) - before).max() <= moved + 1e-12
    assert len(model.kernels_) == kept.sum()
    np.testing.assert_allclose(model.kernel_weights_, theta[kept] / theta[kept].sum())
    assert model.n_support_ == (model.dual_coef_ != 0).any(axis=(0, 1)).sum()
    again = pickle.loads(pickle.dumps(model))
    for learning in (model, again):
        learning.partial_fit(X, y)
    assert model._fingerprint() == again._fingerprint()
    assert model.kernel_weights_history_[1].shape[1] == kept.sum()
    assert model.drop_kernels(below=0) == 0


def test_a_dropped_kernel_does_not_change_what_the_others_learn():
    X, y = data("binary", 300)
    one, other = made("deterministic", recipe=recipes.OSKL(G=2.0)), made("deterministic", recipe=recipes.OSKL(G=2.0))
    for learner in (one, other):
        learner.learn_rows(X[:100], y[:100])
    other.keep_kernels([1, 3])
    for learner in (one, other):
        learner.learn_rows(X[100:], y[100:])
    np.testing.assert_array_equal(other.score_rows(X, each=True), one.score_rows(X, each=True)[:, [1, 3]])


def test_saved_and_loaded(tmp_path):
    for task in ("binary", "multiclass", "regression"):
        model, X, y = fitted(task, "stochastic", kernels=["linear", RBF(0.5), RBF(1.0) + Linear()], gamma=0.5)
        onkel.save(model, tmp_path / "model")
        again = onkel.load(tmp_path / "model")
        assert again.get_params() == model.get_params()
        for learning in (model, again):
            learning.partial_fit(X, y)
        assert again._fingerprint() == model._fingerprint()
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_kernels_by_name_take_the_parameters():
    model, _, _ = fitted(kernels=["rbf", "poly", "linear"], gamma=0.25, degree=2, coef0=1.0)
    assert model.kernels_ == (RBF(0.25), Polynomial(gamma=0.25, coef0=1.0, degree=2), Linear())


def test_an_open_set_of_labels():
    X, y = data("multiclass", 200)
    model = onkel.MultiKernelClassifier(recipes.PA(), random_state=0)
    votes = model.predict_then_learn(X, np.array(["a", "b", "c"])[y.astype(int)])
    assert votes.shape == (200, 3)
    assert sorted(model.classes_) == ["a", "b", "c"]
    assert (votes[0] == 0).all()
    assert (votes.sum(axis=1) <= 1 + 1e-12).all()


@loop
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kernels": []}, "between 1 and 4096 kernels"),
        ({"kernels": ["cubic"]}, "kernel must be one of"),
        ({"kernels": [Hedge((Linear(),))]}, "kernels must be kernels"),
        ({"kernels": 3}, "kernels must be a sequence of kernels"),
        ({"kernels": "rbf"}, "kernels must be a sequence of kernels"),
        ({"combination": "both"}, "combination must be one of 'uniform', 'deterministic', 'stochastic', 'spa'"),
        ({"discount": 0.0}, "discount must be a number greater than 0"),
        ({"discount": 1.5}, "discount must be a number greater than 0 and at most 1"),
        ({"smoothing": -1}, "smoothing must be a number greater than 0"),
        ({"budget": 15, "combination": "deterministic"}, "budget must be at least 16, one support vector for each"),
        (
            {"recipe": recipes.BSGD(maintenance="merge"), "budget": 50},
            "needs the gaussian kernel, and the kernel is poly",
        ),
        ({"recipe": recipes.DualSGD(), "kernels": [RBF(1.0)], "budget": 50}, "features of one kernel"),
        ({"recipe": "spa"}, "recipe must be a Recipe"),
    ],
)
def test_refusals(settings, sentence):
    X, y = data("binary", 20)
    model = onkel.MultiKernelClassifier(**{"recipe": recipes.PA(), **settings})
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_functions_of_one_kernel_only_are_compressed_and_merged():
    model, _, _ = fitted()
    with pytest.raises(ValueError, match="several kernels"):
        onkel.compress(model, n_support=10)
    with pytest.raises(ValueError, match="several kernels"):
        onkel.merge([model, model])


def test_a_failing_kernel_changes_nothing_in_any():
    X, y = data("regression", 50)
    X[30] = 1e30  # a cube of which is no number below 1e100
    recipe = recipes.OGD(eta=0.1, loss="squared_error")
    learner = onkel.Learner(recipe, task="regression", kernel=Hedge((RBF(1.0), Polynomial(), RBF(2.0))), seed=0)
    with pytest.raises(FloatingPointError, match="row 3"):
        learner.learn_rows(X, y)
    expected = learner.blank()
    expected.learn_rows(X[: learner.t], y[: learner.t])
    assert learner.fingerprint() == expected.fingerprint()
