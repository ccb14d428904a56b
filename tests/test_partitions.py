"""Learning over partitions: what rows sum to, the optimum on the span, and that nothing else matters."""

import copy
from dataclasses import replace

import numpy as np
import pandas
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import clone

import onkel
from looping import loop
from onkel import partitions
from onkel.choice import growth
from onkel.partitions import agreement, descent, engines, newton, routes, sources, weighing
from onkel.partitions.spans import Question, Subspace, Sums, square
from onkel.parts import RBF
from onkel.regions import Condition
from reference import partitions as reference
from states import state_of

TASKS = {"binary": onkel.NewtonClassifier, "multiclass": onkel.NewtonClassifier, "regression": onkel.NewtonRegressor}


def rows(n=900, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def targets(X, task):
    if task == "regression":
        return np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=len(X))
    if task == "binary":
        return (X[:, 0] * X[:, 1] > 0).astype(np.float64)
    return ((X[:, 0] > 0).astype(np.float64) + (X[:, 1] > 0)).astype(np.float64)


def estimator(task, **parameters):
    return TASKS[task](**({"budget": 30, "gamma": 0.5, "lam": 0.1, "forget": 1.0, "random_state": 0} | parameters))


def cut(X, y, n=4):
    return [(X[i::n], y[i::n]) for i in range(n)]


def state(model):
    return {k: v.tobytes() for k, v in state_of(model.__onkel_inside__().learner).items()}


def subspace(task, points, **settings):
    recipe = onkel.recipes.Newton(loss="squared_error" if task == "regression" else "log_loss", lam=0.1)
    settings = {"gamma": 0.5, "fit_intercept": True, **settings}
    return Subspace(onkel.Learner(recipe, task=task, **settings), points)


@pytest.fixture
def small_sample(monkeypatch):
    """A sample so small that the rounds over all rows have work to do."""
    monkeypatch.setattr(newton, "sample_rows_for", lambda budget: 200)


# -- sums ------------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("shared", [0.0, 3000.0])  # what all classes' scores have in common
def test_sums_are_those_of_the_reference(task, shared):
    X = rows(333)
    y, points, weight = targets(X, task), X[:21].copy(), np.random.default_rng(2).uniform(0, 2, 333)
    weight[::7] = 0
    space = subspace(task, points)
    w = np.random.default_rng(3).normal(size=(3 if task == "multiclass" else 1, 22))
    w += shared * (task == "multiclass")
    expected = reference.sums(reference.coordinates(points, X, 0.5), y, weight, w, task)
    informed = Question(space, w, True).of_rows(X, y, weight)
    assert_allclose(informed.loss, expected[0], rtol=1e-11)
    assert_allclose(informed.slopes, expected[1], rtol=1e-8, atol=1e-8)
    assert_allclose(square(informed.half, 22), expected[2], rtol=1e-8, atol=1e-8)
    assert informed.rows == np.count_nonzero(weight)
    plain = Question(space, space.coefficients(w), False).of_rows(X, y, weight)
    assert_allclose(plain.loss, expected[0], rtol=1e-9)
    assert_allclose(space.gradient(plain.slopes), expected[1], rtol=1e-6, atol=1e-7)
    assert plain.half.size == 0


@loop
@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_do_not_depend_on_how_rows_are_cut(informed, dtype):
    X = rows(1000).astype(dtype)
    y = targets(X, "binary")
    space = subspace("binary", X[:13].copy(), dtype=dtype)
    w = np.ones((1, 14))
    whole = Question(space, w, informed).of_rows(X, y, None)
    pieces = Question(space, w, informed).start()
    for piece in np.split(np.arange(1000), [1, 8, 137, 500]):
        pieces.add(X[piece], y[piece], None)
    loss, squares, n, slopes, half = pieces.result()
    assert (loss, squares, n) == (whole.loss, whole.squares, whole.rows)
    assert_array_equal(slopes, whole.slopes)
    assert_array_equal(half, whole.half)


def test_sparse_rows_sum_to_what_dense_ones_do():
    X = rows(300) * (rows(300, seed=4) > 0)
    y, points = targets(X, "binary"), X[:9].copy()
    w = np.ones((1, 10))
    dense = Question(subspace("binary", points), w, True).of_rows(X, y, None)
    thin = Question(subspace("binary", csr_array(points)), w, True).of_rows(csr_array(X), y, None)
    assert_allclose(thin.half, dense.half, rtol=1e-9, atol=1e-12)
    assert_allclose(thin.loss, dense.loss)


def test_the_tree_depends_on_the_number_of_leaves_alone():
    def join(left, right):
        return f"({left}{right})"

    assert engines.tree("abcdefg", join) == "(((ab)(cd))((ef)g))"
    assert engines.tree("a", join) == "a"


# -- the optimum -----------------------------------------------------------------------------------------------------


def test_squared_error_is_falkons_system():
    X = rows(2000)
    y = targets(X, "regression")
    model = estimator("regression", budget=60, fit_intercept=False)
    fitted = partitions.fit(model, cut(X, y, 5))
    points = fitted.model.support_vectors_
    coefficients = reference.falkon(points, X, y, 0.5, 0.1 / len(y))
    expected = reference.gaussian(X, points, 0.5) @ coefficients
    assert len(fitted.report.rounds) == 1
    assert np.abs(fitted.model.predict(X) - expected).max() < 1e-8 * np.ptp(y)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_rounds_reach_the_optimum_on_the_span(task, small_sample):
    X = rows(1500)
    y = targets(X, task)
    fitted = partitions.fit(estimator(task), cut(X, y), tolerance=1e-9)
    assert fitted.report.converged
    Z = reference.coordinates(fitted.model.support_vectors_, X, 0.5)
    outputs = 3 if task == "multiclass" else 1

    def objective(flat):
        w = flat.reshape(outputs, -1)
        loss, slopes, _ = reference.sums(Z, y, np.ones(len(y)), w, task)
        return loss + 0.05 * (w**2).sum(), (slopes + 0.1 * w).ravel()

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-14, "gtol": 1e-9}
    best = minimize(objective, np.zeros(outputs * Z.shape[1]), jac=True, method="L-BFGS-B", options=options)
    assert fitted.report.rounds[-1]["objective"] <= best.fun * (1 + 1e-7)
    scores = Z @ best.x.reshape(outputs, -1).T
    ours = fitted.model.decision_function(X)
    assert_allclose(ours, scores[:, 0] if task == "binary" else scores, atol=0.02)


def test_a_regressors_uncertainty_is_that_of_the_rows_in_one_pass():
    X = rows(400)
    y = targets(X, "regression")
    fitted = partitions.fit(estimator("regression", budget=25), cut(X, y)).model
    learner = fitted.__onkel_inside__().learner
    again = learner.blank()  # recursive least squares on the same points, from nothing
    function = learner.expansion(informed=True)
    known = function.information
    nothing = replace(known, matrix=np.zeros_like(known.matrix), noise=0.0, steps=0)
    zero = 0.0 * function.only.last
    again.set_expansion(
        replace(function, terms=(replace(function.only, last=zero, average=zero),), information=nothing)
    )
    again.learn_rows(X, y)
    assert_allclose(again.score_rows(X), learner.score_rows(X), atol=1e-6)
    for ours, theirs in zip(learner.variance_rows(X), again.variance_rows(X), strict=True):
        assert_allclose(ours, theirs, rtol=1e-4)


# -- who computes, and how the rows lie ------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("task", TASKS)
def test_jobs_change_no_bit(task, small_sample):
    X = rows()
    y = targets(X, task)
    alone = partitions.fit(estimator(task), cut(X, y, 5))
    shared = partitions.fit(estimator(task), cut(X, y, 5), n_jobs=2)
    assert state(alone.model) == state(shared.model)
    assert alone.report == shared.report


def test_a_partition_is_read_as_a_stream_and_chunks_change_no_bit(monkeypatch):
    X = rows()
    y = targets(X, "binary")
    before = state(partitions.fit(estimator("binary"), cut(X, y)).model)
    monkeypatch.setattr(sources, "CHUNK_ROWS", 77)
    assert state(partitions.fit(estimator("binary"), cut(X, y)).model) == before


def test_partitions_may_be_empty_or_lack_classes():
    X = rows()
    y = np.array(["low", "high"])[targets(X, "binary").astype(int)]
    parts = [(X[:0], y[:0]), (X[y == "low"], y[y == "low"]), (X[:0], y[:0]), (X[y == "high"], y[y == "high"])]
    fitted = partitions.fit(estimator("binary", budget=60), parts)
    assert fitted.model.classes_.tolist() == ["high", "low"]
    assert fitted.model.score(X, y) > estimator("binary", budget=60).fit(X, y).score(X, y) - 0.01


def test_weights_and_class_weights_count():
    X = rows()
    y = targets(X, "binary")
    twice = partitions.fit(estimator("binary", class_weight={1.0: 2.0}), cut(X, y)).model
    weighted = [(part, labels, 1.0 + labels) for part, labels in cut(X, y)]
    assert state(partitions.fit(estimator("binary"), weighted).model) == state(twice)
    assert twice.class_weight == {1.0: 2.0}
    counts = np.bincount(y.astype(int))
    exact = {label: len(y) / (2 * counts[label]) for label in (0, 1)}
    balanced = partitions.fit(estimator("binary", class_weight="balanced"), cut(X, y)).model
    assert state(partitions.fit(estimator("binary", class_weight=exact), cut(X, y)).model) == state(balanced)


def test_the_width_and_the_prior_are_chosen_on_the_common_sample():
    X = rows(600)
    y = targets(X, "binary")
    model = partitions.fit(estimator("binary", gamma="stream", lam="stream"), cut(X, y)).model
    assert model.gamma == model.lam == "stream"
    assert model.gamma_ != 1.0
    assert model.score(X, y) > 0.9


@loop
@pytest.mark.parametrize("task", TASKS)
def test_the_result_goes_on_like_any_other(task, tmp_path):
    X = rows()
    y = targets(X, task)
    model = partitions.fit(estimator(task), cut(X, y)).model
    assert model.t_ == len(y)
    assert model.n_support_ <= 30
    onkel.save(model, tmp_path / "model.onkel")
    loaded = onkel.load(tmp_path / "model.onkel")
    assert state(loaded) == state(model)
    assert onkel.compress(model, n_support=10).n_support == 10
    other = partitions.fit(estimator(task), cut(X[::-1] + 0.01, y[::-1])).model
    assert onkel.merge([model, other]).model.t_ == 2 * len(y)
    loaded.partial_fit(X[:50], y[:50])
    assert loaded.t_ == len(y) + 50


# -- experts of regions ----------------------------------------------------------------------------------------------

AT = Condition((0,), (0.25,))


@pytest.fixture
def divided_sample(monkeypatch):
    """A sample whose learner has two experts at the root and one on each side of a condition."""
    sample = newton.fitted_learner

    def divided(*words):
        root = sample(*words)
        both = onkel.Learner.of_experts([root, root.blank(kernel=RBF(0.2))]).with_weights(0, [0.75, 0.25])
        return both.divided(0, AT, [root], [root.blank(budget=12)])

    monkeypatch.setattr(newton, "fitted_learner", divided)


@loop
@pytest.mark.parametrize("task", TASKS)
def test_experts_learn_from_the_rows_of_their_regions(task, divided_sample, small_sample, tmp_path):
    X = rows()
    y = targets(X, task)
    fitted = partitions.fit(estimator(task), cut(X, y, 5), tolerance=1e-8)
    model, learner = fitted.model, fitted.model.__onkel_inside__().learner
    lower = AT.lower(X)
    assert [(region.rows, region.experts) for region in model.regions_] == [
        (len(y), (0, 1)), (lower.sum(), (2,)), ((~lower).sum(), (3,)),
    ]  # fmt: skip
    assert fitted.report.converged
    assert {each["term"] for each in fitted.report.rounds} == {0, 1, 2, 3}
    for number, own in enumerate((slice(None), slice(None), lower, ~lower)):
        expert = learner.expert(number)  # is at an optimum of its own, over the rows of its region alone
        points = expert.expansion(informed=True).in_order_of_joining.only.points
        assert len(points) > 5
        assert number < 3 or not AT.lower(points).any()  # the others have points of the sample's learner
        space = Subspace(expert.blank(), points)
        start = descent.DescentState(np.zeros((expert.n_outputs, space.size)), np.empty(0))
        w = descended(descent.Descent(0.1, 1e-8, task == "regression"), start, total_of(space, X[own], y[own])).w
        scores = space.core.scores(space.as_rows(X), space.coefficients(w)).reshape(len(y), -1)
        assert_allclose(expert.score_rows(X), scores, atol=0.01)
    onkel.save(model, tmp_path / "model.onkel")
    assert state(onkel.load(tmp_path / "model.onkel")) == state(model)
    assert model.partial_fit(X[:50], y[:50]).t_ == len(y) + 50


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_experts_do_not_depend_on_jobs_chunks_or_kills(task, divided_sample, small_sample, tmp_path, monkeypatch):
    X = rows()
    y = targets(X, task)
    whole = partitions.fit(estimator(task), cut(X, y, 5))
    shared = partitions.fit(estimator(task), cut(X, y, 5), n_jobs=2)
    assert state(shared.model) == state(whole.model)
    assert shared.report == whole.report
    saves = []

    def kill(self, *words, save=newton.Checkpoint.save):
        save(self, *words)
        saves.append(self.term)
        if len(saves) == 6:  # of the four terms two have done their first round
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(newton.Checkpoint, "save", kill)
        partitions.fit(estimator(task), cut(X, y, 5), checkpoint=tmp_path)
    monkeypatch.setattr(sources, "CHUNK_ROWS", 77)
    again = partitions.fit(estimator(task), cut(X, y, 5), checkpoint=tmp_path)
    assert state(again.model) == state(whole.model)


def test_one_pass_answers_what_all_experts_ask(divided_sample, small_sample):
    X = rows()
    y = targets(X, "binary")
    passes = []
    fitted = partitions.fit(
        estimator("binary"), cut(X, y), tell=lambda phase, done, of: passes.append(phase) if done == 0 else None
    )
    most = max(sum(each["term"] == term for each in fitted.report.rounds) for term in range(4))
    assert passes[:2] == ["census", "points"]
    assert len(passes) == 2 + most


def test_targets_far_from_zero_are_learned_like_others():
    X = np.random.default_rng(0).normal(size=(3000, 10))
    y = 9 * X[:, 0] + np.random.default_rng(1).normal(size=3000)
    errors = []
    for offset in (0, 1998):  # years, as in one of the sets of docs/scale.md
        model = partitions.fit(onkel.NewtonRegressor(random_state=0, budget=60), cut(X[:2500], y[:2500] + offset)).model
        errors.append(np.sqrt(np.mean((model.predict(X[2500:]) - offset - y[2500:]) ** 2)))
    assert errors[0] < 1.5
    assert errors[1] < 2.5


def test_rows_take_the_routes_that_the_core_takes():
    X = rows(300).astype(np.float32)
    root = onkel.Learner(onkel.recipes.Newton(), gamma=0.5, budget=5, dtype="float32")
    root.learn_rows(X[:20], targets(X[:20], "binary"))
    sides = [root.blank() for _ in range(2)]
    on_a_row = Condition((1, 2), (float(X[0, 1]), 0.5))
    tree = root.divided(0, AT, sides[:1], sides[1:]).divided(2, on_a_row, sides[:1], sides[1:])
    places = routes.Routes.through(tree.regions).of(X)
    assert places[0].tolist() == list(range(300))
    assert sorted([*places[3], *places[4]]) == places[2].tolist()
    for leaf in (1, 3, 4):
        assert_array_equal(places[leaf], np.flatnonzero(tree.leaf_of(X) == leaf))


def test_a_row_is_scored_as_if_an_expert_had_not_learned_from_it():
    X = rows(60)
    y = targets(X, "regression")
    space = subspace("regression", X[:9].copy())

    def learned(some):
        start = descent.DescentState(np.zeros((1, space.size)), np.empty(0))
        end = descended(descent.Descent(0.1, 1e-9, True), start, total_of(space, X[some], y[some]))
        return newton.learner_of(newton.Optimum(space, end), 0, onkel.parts.FadingMemory(), 60)

    found = weighing.held_out(learned(np.arange(60)), space, X, y, np.ones(60))[:, 0]
    without = [learned(np.delete(np.arange(60), i)).score_rows(X[i : i + 1])[0, 0] for i in range(0, 60, 6)]
    assert_allclose(found[::6], without, rtol=1e-6, atol=1e-8)


def test_the_weights_of_experts_are_good_on_rows_that_none_has_seen(divided_sample):
    def made(seed, n):
        X = np.random.default_rng(seed).normal(size=(n, 3))
        return X, np.where(X[:, 0] > 0.25, np.sin(3 * X[:, 1]), 1.0) + 0.3 * np.random.default_rng(9).normal(size=n)

    learner = partitions.fit(estimator("regression"), cut(*made(8, 1500))).model.__onkel_inside__().learner
    X, y = made(7, 3000)
    upper = learner.regions[2]
    rows_there = learner.leaf_of(X) == upper.number
    each = np.column_stack([learner.expert(number).score_rows(X[rows_there])[:, 0] for number in upper.path])

    def error(weights):
        return np.sqrt(np.mean((each @ weights - y[rows_there]) ** 2))

    grid = [np.array([a, b, 1 - a - b]) for a in np.arange(0, 1.01, 0.1) for b in np.arange(0, 1.01 - a, 0.1)]
    assert error(upper.weights) < 1.02 * min(map(error, grid))
    assert error(upper.weights) < 0.97 * error(np.array([0.75, 0.25, 0.0]))
    assert_allclose(learner.score_rows(X[rows_there])[:, 0], each @ upper.weights)


def test_the_sample_is_large_enough_for_regions_where_workers_have_room():
    survey = agreement.Survey(0, 16_384, False, rows_of_regions=64_000)
    asked = [survey.rows_to_sample(width, sparse) for width, sparse in ((20, False), (100, False), (513, False))]
    assert asked == [64_000, 41_943, 16_384]
    assert survey.rows_to_sample(20, sparse=True) == 16_384
    counted = agreement.census(0, sources.ArrayPartition("all", rows(300), np.zeros(300)), survey)
    assert counted.sample_rows == 64_000


def test_the_common_sample_grows_the_regions_of_a_default_learner(monkeypatch):
    X = np.random.default_rng(4).uniform(-1, 1, size=(1100, 2))
    y = np.where(X[:, 0] > 0, np.sin(9 * X[:, 1]), np.sin(2 * X[:, 1]))
    for name, value in (("LARGEST", 30), ("POINTS", 20), ("ROWS", 1024)):
        monkeypatch.setattr(growth, name, value)
    seen = []
    monkeypatch.setattr(
        newton, "terms_of", lambda sampled, terms=newton.terms_of: seen.append(sampled) or terms(sampled)
    )
    model = onkel.NewtonRegressor(budget=400, random_state=0)
    fitted = partitions.fit(model, cut(X, y)).model
    conditions = [region.condition for region in seen[0].regions]
    assert len(conditions) > 1
    assert [region.condition for region in fitted.regions_] == conditions
    assert fitted.regions_[0].rows == fitted.t_ == 1100
    assert fitted.budget == 400
    alone = partitions.fit(onkel.NewtonRegressor(budget=400, regions=None, random_state=0), cut(X, y)).model
    assert len(alone.regions_) == 1


@pytest.mark.parametrize("task", TASKS)
def test_a_sum_over_kernels_is_learned_term_by_term(task, tmp_path, monkeypatch):
    X = rows()
    y = targets(X, task)
    kind = onkel.MultiKernelRegressor if task == "regression" else onkel.MultiKernelClassifier
    recipe = onkel.recipes.Newton(lam=0.1, loss="squared_error" if task == "regression" else "log_loss")
    kernels = [RBF(0.05), RBF(0.5, (1.0, 1.0, 0.1))]
    both = kind(recipe, kernels=kernels, combination="sum", budget=30, random_state=0, fit_intercept=True)
    seen, sample = [], newton.fitted_learner
    monkeypatch.setattr(
        newton, "fitted_learner", lambda *words: seen.append(sample(*words).kernel_weights) or sample(*words)
    )
    fitted = partitions.fit(both, cut(X, y), tolerance=1e-8, checkpoint=tmp_path / "run")
    model, learner = fitted.model, fitted.model.__onkel_inside__().learner
    assert model.n_support_ <= 30
    assert {each["term"] for each in fitted.report.rounds} == {0, 1}
    again = partitions.fit(both, cut(X, y), tolerance=1e-8, checkpoint=tmp_path / "run", n_jobs=2)
    assert state(again.model) == state(model)
    # each term is at an optimum of its own ...
    terms = learner.split()
    for term in terms:
        alone = Subspace(term.blank(recipe=recipe), term.expansion(informed=True).in_order_of_joining.only.points)
        start = descent.DescentState(np.zeros((term.n_outputs, alone.size)), np.empty(0))
        w = descended(descent.Descent(0.1, 1e-8, task == "regression"), start, total_of(alone, X, y)).w
        scores = alone.core.scores(alone.as_rows(X), alone.coefficients(w)).reshape(len(y), -1)
        assert_allclose(term.score_rows(X), scores, atol=0.01)
    # ... and the weights are those that the sample's rows gave before they were learned from
    assert_array_equal(learner.kernel_weights, seen[0])
    assert not np.allclose(seen[0], 0.5)
    assert model.partial_fit(X[:50], y[:50]).t_ == len(y) + 50


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_relevances_are_learned_on_the_common_sample(task):
    X = rows(1100)
    settings = {"budget": 20, "random_state": 0}
    model = partitions.fit(TASKS[task](**settings), cut(X, targets(X, task))).model
    assert min(model.relevances_[: 2 if task == "binary" else 1]) > 2 * model.relevances_[2]


def descended(one, start, total, after=lambda number, now: None):
    (end,) = descent.run([one], [start], lambda asked: {0: total(*asked[0])}, 100, after)
    return end


def total_of(space, X, y):
    def total(w, informed):
        function = w if informed else space.coefficients(w)
        return newton.in_coordinates(Question(space, function, informed).of_rows(X, y, None), space, informed)

    return total


def test_a_shorter_memory_starts_from_the_same_function():
    X = rows()
    y = targets(X, "binary")
    long, short, stream = (
        partitions.fit(estimator("binary", forget=forget), cut(X, y)).model for forget in (1.0, 0.99, "stream")
    )
    assert stream.memory_ == np.inf
    assert_allclose(stream.decision_function(X), long.decision_function(X), atol=1e-12)
    assert short.__onkel_inside__().learner.recipe.memory.forget == short.forget == 0.99
    assert_allclose(short.decision_function(X), long.decision_function(X), atol=1e-12)
    assert stream.partial_fit(X[:100], 1 - y[:100]).memory_ < np.inf
    for model in (long, short):
        model.partial_fit(X[:300], 1 - y[:300])
    assert short.score(X, 1 - y) > long.score(X, 1 - y)


@pytest.mark.parametrize("scaler", [onkel.StreamStandardScaler(), onkel.StreamMinMaxScaler()])
def test_rows_are_scaled_by_the_statistics_of_all(scaler):
    X = rows() * [1, 1000, 0.01] + [5, 0, 0]
    y = targets(X - [5, 0, 0], "binary")
    parts = [(X[:100], y[:100]), (X[:0], y[:0]), (X[100:], y[100:])]
    fitted = partitions.fit(onkel.StreamPipeline(scaler, estimator("binary", budget=60)), parts).model
    whole = clone(scaler).fit(X)
    assert fitted.transformers_[0].n_samples_seen_ == len(X)
    assert_allclose(fitted.transformers_[0].transform(X), whole.transform(X), rtol=1e-9, atol=1e-9)
    scaled = fitted.transformers_[0].transform(X)
    parts = [(scaled[:100], y[:100]), (X[:0], y[:0]), (scaled[100:], y[100:])]
    inside = partitions.fit(estimator("binary", budget=60), parts)
    assert state(inside.model) == state(fitted)
    with pytest.raises(ValueError, match="cannot be merged"):
        whole.merged(clone(scaler).fit(X[:, :2]))


def mixed_table(n=900):
    """Rows of which the target needs the town and the weight; the age has gaps, and one town is rare."""
    rng = np.random.default_rng(3)
    town = rng.choice(["Bern", "Chur", "Genf"], n)
    town[: n // 50] = "Sils"
    weight = rng.normal(70, 10, n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 60, n))
    frame = pandas.DataFrame({"town": town, "weight": weight, "age": age})
    return frame, np.where((weight > 70) ^ (town == "Bern"), "yes", "no")


def test_tables_are_encoded_by_the_statistics_of_all(tmp_path):
    frame, y = mixed_table()
    pipeline = onkel.make_stream_pipeline(estimator("binary", budget=60))
    # sorted by town: each partition lacks categories, and one is empty
    order = np.argsort(frame["town"].to_numpy(), kind="stable")
    cuts = [order[:100], order[:0], order[100:500], order[500:]]
    parts = [(frame.iloc[rows], y[rows]) for rows in cuts]
    fitted = partitions.fit(pipeline, parts).model
    encoder = fitted.transformers_[0]
    whole = onkel.StreamEncoder().fit(frame.iloc[order])
    assert encoder.schema_ == whole.schema_ == {"town": "category", "weight": "number", "age": "number?"}
    assert encoder.categories_ == whole.categories_
    shared = np.isin(encoder.get_feature_names_out(), whole.get_feature_names_out())  # all but those of the targets
    assert_allclose(encoder.transform(frame)[:, shared], whole.transform(frame), rtol=1e-9, atol=1e-9)
    assert not encoder.transform(frame)[:, ~shared].any()
    assert fitted.score(frame, y) > 0.95
    # what is learned is what the encoded rows teach
    encoded = [
        (encoder.transform(part) if len(part) else np.empty((0, encoder.n_features_out_)), labels)
        for part, labels in parts
    ]
    assert state(partitions.fit(estimator("binary", budget=60), encoded).model) == state(fitted)
    # files, saved and gone on with, and Arrow
    paths = [tmp_path / f"{i}.csv" for i in range(4)]
    for path, (part, labels) in zip(paths, parts, strict=True):
        path.write_text(part.assign(label=labels).to_csv(index=False) if len(part) else "")
    read = partitions.fit(pipeline, paths, n_jobs=2).model
    assert_allclose(read.decision_function(frame), fitted.decision_function(frame), atol=1e-9)
    onkel.save(fitted, tmp_path / "model.onkel")
    assert onkel.load(tmp_path / "model.onkel").partial_fit(frame[:5], y[:5]).score(frame, y) > 0.95
    table = pa.Table.from_pandas(frame[["age", "town", "weight"]])
    assert partitions.predict_arrow(fitted, table)["prediction"].to_pylist() == fitted.predict(frame).tolist()
    assert partitions.predict_arrow(fitted, table.slice(0, 0)).num_rows == 0


def test_a_column_that_is_a_number_here_and_a_word_there_is_refused(monkeypatch):
    monkeypatch.setattr(onkel.preprocess.deciding, "FIRST_ROWS", 8)
    parts = [(pandas.DataFrame({"x": values * 10}), [0, 1] * 10) for values in ([1.0, 2.0], ["a", "b"])]
    with pytest.raises(ValueError, match=r"column 'x' is of different kinds .* give a schema"):
        partitions.fit(onkel.make_stream_pipeline(estimator("binary")), parts)


def test_sparse_partitions_learn_what_dense_ones_do():
    X = rows() * (rows(seed=4) > -1)
    y = targets(X, "binary")
    dense = partitions.fit(estimator("binary", fit_intercept=True), cut(X, y)).model
    wider = [(csr_array(part), labels) for part, labels in cut(X, y)]
    wider[1] = csr_array(np.hstack([wider[1][0].toarray(), np.zeros((225, 2))])), wider[1][1]  # more features, all 0
    thin = partitions.fit(estimator("binary", fit_intercept=True), wider).model
    assert thin.n_features_in_ == 5
    padded = csr_array(np.hstack([X, np.zeros((900, 2))]))
    assert_allclose(thin.decision_function(padded), dense.decision_function(X), atol=1e-5)


def test_arrow_in_and_arrow_out():
    X = rows()
    y = np.array(["low", "high"])[targets(X, "binary").astype(int)]
    frames = [(pandas.DataFrame(part, columns=["a", "b", "c"]), labels) for part, labels in cut(X, y)]
    model = partitions.fit(estimator("binary"), frames).model
    table = pa.table({"id": np.arange(900), "c": X[:, 2], "a": X[:, 0], "b": X[:, 1]})
    named = pandas.DataFrame(X, columns=["a", "b", "c"])
    answers = partitions.predict_arrow(model, table, keep=["id"])
    assert answers.column_names == ["id", "prediction"]
    assert answers["prediction"].to_pylist() == model.predict(named).tolist()
    batch = table.to_batches()[0]
    chances = partitions.predict_arrow(model, batch, method="predict_proba")
    assert isinstance(chances, pa.RecordBatch)
    assert_array_equal(chances.column("probability_low").to_numpy(), model.predict_proba(named)[:, 1])
    assert partitions.predict_arrow(model, table.slice(0, 0)).num_rows == 0
    with pytest.raises(ValueError, match="the table has no column 'b'"):
        partitions.predict_arrow(model, table.drop_columns(["b"]))


def test_files_are_partitions(tmp_path):
    X = rows()
    y = targets(X, "binary")
    for i, (part, labels) in enumerate([*cut(X, y), (X[:0], y[:0])]):
        frame = pandas.DataFrame(part, columns=["a", "b", "c"]).assign(label=labels)
        frame.to_parquet(tmp_path / f"{i}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    fitted = partitions.fit(estimator("binary"), paths)
    assert state(fitted.model) == state(partitions.fit(estimator("binary"), cut(X, y)).model)
    assert fitted.model.feature_names_in_.tolist() == ["a", "b", "c"]


# -- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_failing_partition_raises_with_its_name():
    X = rows(100)
    y = targets(X, "binary")
    broken = sources.FilePartition("nowhere/at-all.csv")
    for n_jobs in (1, 2):
        with pytest.raises(partitions.PartitionError, match=r"partition 'nowhere/at-all.csv'"):
            partitions.fit(estimator("binary"), [(X, y), broken], n_jobs=n_jobs)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(partitions.PartitionError, match="partition '1': the features contain a missing"):
        partitions.fit(estimator("binary"), [(X, y), (bad, y)])


@loop
@pytest.mark.parametrize(
    "sources, message",
    [
        ([(np.ones((5, 2)), [0, 1, 0, 1, 0]), (np.ones((5, 3)), [0, 1, 0, 1, 0])], "'1' has 3 features, and '0' has 2"),
        ([(np.ones((5, 2)), [0, 0, 0, 0, 0])], "classes must be at least 2"),
        ([(np.ones((0, 2)), [])], "no partition holds a row"),
        ([(np.ones((2, 2)), [0, 1]), (np.ones((2, 2)), ["a", "b"])], "of one kind"),
        ([], "at least one partition"),
        ([3], "partition 0 must be a path or"),
    ],
)
def test_what_cannot_be_learned_is_refused(sources, message):
    with pytest.raises(ValueError, match=message):
        partitions.fit(estimator("binary"), sources)


def test_models_that_cannot_be_shared_are_refused():
    X = rows(100)
    y = targets(X, "binary")
    with pytest.raises(ValueError, match="needs a budget"):
        partitions.fit(estimator("binary", budget=None), [(X, y)])
    with pytest.raises(ValueError, match="a kernel of onkel or a sum of such kernels"):
        partitions.fit(estimator("binary", kernel=lambda a, b: a @ b.T, gamma="scale"), [(X, y)])
    with pytest.raises(ValueError, match="one of onkel's estimators"):
        partitions.fit(3, [(X, y)])


def test_work_for_another_instruction_set_is_refused():
    part = sources.ArrayPartition("here", np.eye(2), [0, 1])

    def count(number, partition, shared):
        return sum(len(chunk.y) for chunk in partition.chunks())

    assert engines.result_of(count, 0, part, None, onkel.isa) == 2
    assert engines.result_of(count, 0, part, None, None) == 2
    with pytest.raises(partitions.PartitionError, match="'here' was sent to a worker with the instruction set"):
        engines.result_of(count, 0, part, None, "another")


class Killed(BaseException):
    pass


@pytest.mark.parametrize("when", [("slopes", 2), ("slopes", 8), ("information", 1)])
def test_a_run_that_was_killed_goes_on_from_its_last_round(when, tmp_path, small_sample):
    X = rows()
    y = targets(X, "binary")
    whole = partitions.fit(estimator("binary"), cut(X, y))
    seen = []

    def kill(phase, done, of):
        seen.append(phase)
        if phase == when[0] and seen.count(phase) > when[1]:
            raise Killed

    with pytest.raises(Killed):
        partitions.fit(estimator("binary"), cut(X, y), checkpoint=tmp_path, tell=kill)
    told = []
    again = partitions.fit(estimator("binary"), cut(X, y), checkpoint=tmp_path, tell=lambda *a: told.append(a[0]))
    assert state(again.model) == state(whole.model)
    assert "points" not in told
    with pytest.raises(ValueError, match="checkpoint of another run"):
        partitions.fit(estimator("binary", lam=0.2), cut(X, y), checkpoint=tmp_path)


# -- first order -----------------------------------------------------------------------------------------------------


def test_first_order_functions_are_averaged():
    X = rows()
    y = targets(X, "binary")
    model = onkel.OGDClassifier(gamma=0.5, budget=None, random_state=0)
    fitted = partitions.fit(model, cut(X, y, 3))
    alone = [copy.deepcopy(model).partial_fit(part, labels, classes=[0, 1]) for part, labels in cut(X, y, 3)]
    expected = sum(
        len(labels) * each.decision_function(X) for each, (_, labels) in zip(alone, cut(X, y, 3), strict=True)
    )
    assert_allclose(fitted.model.decision_function(X), expected / len(y), atol=1e-10)
    assert fitted.report.merges == [0.0, 0.0]
    small = partitions.fit(onkel.OGDClassifier(gamma=0.5, budget=40, random_state=0), cut(X, y, 3))
    assert small.model.n_support_ <= 40
    assert len(small.report.merges) == 2
    assert all(distance > 0 for distance in small.report.merges)


def test_the_objective_never_rises_though_the_metric_be_wrong():
    def total(w, informed):
        loss, slopes = 2 * np.logaddexp(w, -w).sum(), 2 * np.tanh(w)
        return Sums(loss, 0.0, 1, slopes, 2 - 2 * np.tanh(w[0]) ** 2 if informed else np.empty(0))

    begin = descent.DescentState(np.array([[3.0]]), np.array([1e-6]))
    values = []
    one = descent.Descent(1e-3, 1e-8, quadratic=False)
    end = descended(one, begin, total, lambda number, now: values.append(now.value))
    assert end.done
    assert values == sorted(values, reverse=True)
    assert abs(end.w[0, 0]) < 1e-3


def test_a_descent_is_all_of_its_state():
    """What a checkpoint keeps is all that the next round needs."""
    assert set(descent.DescentState.__dataclass_fields__) == {
        "w", "half", "value", "slope", "pairs", "fresh", "scale", "squares", "rows_summed", "rounds", "done",
    }  # fmt: skip
