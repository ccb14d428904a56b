"""Promises that were broken once: what compress and merge return, what they certify, and what they leave alone."""

import copy
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons

import onkel
from formulas import Expansion, distance
from looping import loop
from onkel import recipes
from onkel.inside import inside
from onkel.parts import RBF, Laplacian, Linear, Polynomial

BOTH = pytest.mark.parametrize("container", [np.asarray, csr_array], ids=["dense", "sparse"])


def rows_of(n, seed=0, noise=0.2):
    X, y = make_moons(n, noise=noise, random_state=seed)
    return X, y


def distance_of(one, other):
    """In long double."""
    return distance(*(Expansion.of(inside(model).learner) for model in (one, other)))


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# -- compress: distances


KERNELS = {
    "rbf": RBF(2.0),
    "wide": RBF(0.01),
    "laplacian": Laplacian(0.5),
    "poly": Polynomial(0.5, 1.0, 3),
    "linear": Linear(),
    "sum": RBF(1.0) + 0.5 * Linear(),
}


def near_duplicates(n=300):
    X, y = rows_of(n)
    X[n // 2 :] = X[: n - n // 2] + 1e-5 * np.random.default_rng(1).normal(size=(n - n // 2, 2))
    return X, y


@loop
@pytest.mark.parametrize(
    "make", [onkel.OGDClassifier, onkel.SPAClassifier, partial(onkel.NewtonClassifier, lam=0.01)], ids=["O", "S", "N"]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_compress_moves_no_further_than_allowed(make, kernel):
    """Also where points are nearly the same, and where a large function is the difference of huge terms."""
    for X, y in (rows_of(300), near_duplicates()):
        model = make(kernel=KERNELS[kernel], random_state=0, budget=150).partial_fit(X, y, classes=[0, 1])
        size = np.sqrt(float(Expansion.of(model._learner).squared_norm()))
        for eps in (0.0, 1e-6, 1e-3, 0.1):
            small, moved, n_support, _ = onkel.compress(model, eps=eps)
            assert n_support == small.n_support_ <= model.n_support_
            assert moved <= eps
            assert distance_of(model, small) <= eps + 1e-6 * size
            np.testing.assert_allclose(moved, distance_of(model, small), atol=1e-5 * size)


def test_near_duplicates_are_asked_for_like_others():
    X, y = make_moons(1000, noise=0.1, random_state=0)
    model = onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X, y)
    small, moved, *_ = onkel.compress(model, eps=1e-6)
    assert moved <= 1e-6
    assert np.abs(small.decision_function(X) - model.decision_function(X)).max() <= 1e-6


# -- compress: what it returns


def test_what_is_returned_has_names():
    X, y = rows_of(300)
    model = onkel.OGDClassifier(gamma=2.0, random_state=0, budget=80).fit(X, y)
    for made in (onkel.compress(model, n_support=20), onkel.merge([model, model], budget=20)):
        assert made._fields == ("model", "distance", "n_support", "loss_change")
        assert isinstance(made, tuple)
        assert made.model.n_support_ == made.n_support == 20
        assert made.loss_change is None  # the rows are not known
    for_rows = onkel.compress(model, n_support=20, X=X)
    assert for_rows.loss_change > 0 and 0.9 < for_rows.agreement <= 1
    second = onkel.NewtonClassifier(gamma=2.0, lam=0.01, random_state=0, budget=80).fit(X, y)
    assert onkel.compress(second, n_support=20).loss_change > 0
    assert onkel.merge([second, second], budget=20).loss_change > 0


@loop
@pytest.mark.parametrize(
    ("budget", "asked", "then"),
    [
        (80, {"n_support": 20}, 20),
        (80, {"n_support": 500}, 80),
        (80, {"eps": 0.1}, 80),
        (80, {"eps": 0.1, "n_support": 20}, 20),
        (None, {"n_support": 20}, None),
        (None, {"eps": 0.1}, None),
    ],
)
@pytest.mark.parametrize("make", [onkel.OGDClassifier, partial(onkel.NewtonClassifier, lam=0.01)], ids=["O", "N"])
def test_budget_of_what_is_compressed(make, budget, asked, then):
    X, y = rows_of(400)
    small = onkel.compress(make(gamma=2.0, random_state=0, budget=budget).fit(X, y), **asked).model
    assert small.budget == small._learner.budget == then
    small.partial_fit(X, y)
    assert then is None or small.n_support_ <= then


@loop
@pytest.mark.parametrize("name", ["RBP", "NORMA", "BOGD", "BSGD", "Forgetron", "BPA"])
def test_points_of_an_average_that_stay_have_room(name):
    """An average that remembers who left may stay larger than the budget was: it becomes that large."""
    X, y = rows_of(300, noise=0.4)
    model = getattr(onkel, f"{name}Classifier")(budget=10, gamma=2.0, average=True, random_state=0).fit(X, y)
    assert model.n_support_ > 30
    small = onkel.compress(model, eps=1e-3).model
    assert small.n_support_ == small.budget > 10
    last = small._learner.blank(average=False)  # whose points are those of the last function
    last.set_expansion(small._learner.expansion(informed=True))
    last.learn_rows(X, y.astype(float))
    assert last.n_support <= small.budget
    assert onkel.compress(model, n_support=10).model.budget == 10


# -- compress: rows


@loop
@BOTH
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "make",
    [
        lambda: onkel.OGDClassifier(gamma=2.0, random_state=0, budget=80),
        lambda: onkel.SPAClassifier(gamma=2.0, random_state=0, fit_intercept=True, beta=2),
        lambda: onkel.NORMARegressor(gamma=2.0, random_state=0, budget=80),
        lambda: onkel.BSGDClassifier(gamma=2.0, random_state=0, budget=40, maintenance="merge"),
    ],
    ids=["OGD", "SPA", "NORMA", "merged"],
)
@pytest.mark.parametrize("n_rows", [5, 200])
def test_compress_for_rows(make, dtype, container, n_rows):
    """As many rows as there are, however long the stream was; what is said of them is so."""
    X, y = rows_of(600)
    X = X.astype(dtype)
    rows = container(X[:n_rows])
    model = make().fit(container(X), y)
    small, moved, n_support, change = onkel.compress(model, n_support=12, X=rows)
    assert n_support == small.n_support_ <= 12
    tolerance = 1e-6 if dtype == np.float64 else 1e-2
    norm = np.sqrt(float(Expansion.of(model._learner).squared_norm()))
    np.testing.assert_allclose(moved, distance_of(model, small), atol=tolerance * norm)
    missed = scores_of(model, rows) - scores_of(small, rows)
    np.testing.assert_allclose(change, np.mean(missed**2) / 2, rtol=10 * tolerance, atol=tolerance**2 * norm)
    other = onkel.compress(model, n_support=12).model
    if n_rows == 5:  # fewer than points: nothing is missed there
        assert np.abs(missed).max() < 0.01 * np.abs(scores_of(model, rows)).max() + tolerance
    assert np.mean(missed**2) <= 1.01 * np.mean((scores_of(model, rows) - scores_of(other, rows)) ** 2) + tolerance
    small.partial_fit(container(X), y)


def test_compress_for_rows_refuses_what_it_cannot_do():
    X, y = rows_of(100)
    model = onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X, y)
    for asked in ({"eps": 0.1}, {"eps": 0.1, "n_support": 3}):
        with pytest.raises(ValueError, match="compress with rows X needs n_support and takes no eps"):
            onkel.compress(model, X=X, **asked)
    with pytest.raises(ValueError, match=r"X must be rows of the model's 2 features, got the shape \(100, 1\)"):
        onkel.compress(model, n_support=5, X=X[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        onkel.compress(model, n_support=5, X=X * np.nan)


# -- second order: as good as training with that budget, and merging by what is known


def hard_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, (np.sin(4 * X[:, 0]) + 0.3 * rng.normal(size=n) > X[:, 1]).astype(int)


@pytest.mark.parametrize("forget", [1.0, 0.9995])
def test_compressed_second_order_is_as_good_as_trained_with_that_budget(forget):
    X, y = hard_rows(4000)
    fresh, labels = hard_rows(4000, seed=1)
    settings = {"gamma": 2.0, "random_state": 0, "lam": 0.01, "forget": forget}
    large, trained = (onkel.NewtonClassifier(budget=budget, **settings).fit(X, y) for budget in (200, 30))
    small, _, n_support, change = onkel.compress(large, n_support=30)
    assert n_support == 30
    # With 30 points the draws of easy rows alone move either by half a point.
    assert small.score(fresh, labels) >= trained.score(fresh, labels) - 0.01
    assert 0 < change < 0.1


def log_loss(model, X, y):
    return -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))


@BOTH
def test_second_order_shards_merge_into_the_model_of_all_rows(container):
    X, y = hard_rows(3000)
    fresh, labels = hard_rows(3000, seed=1)
    fresh = container(fresh)
    settings = {"gamma": 2.0, "random_state": 0, "lam": 0.1, "budget": 60}

    def learned(rows):
        return onkel.NewtonClassifier(**settings).partial_fit(container(X[rows]), y[rows], classes=[0, 1])

    one, shards = learned(slice(None)), [learned(slice(i, None, 5)) for i in range(5)]
    merged = onkel.merge(shards).model
    assert log_loss(merged, fresh, labels) < log_loss(one, fresh, labels) + 0.015
    assert log_loss(merged, fresh, labels) < min(log_loss(shard, fresh, labels) for shard in shards)
    small = onkel.merge(shards, budget=60).model
    assert small.n_support_ <= small.budget == 60
    assert log_loss(small, fresh, labels) < log_loss(one, fresh, labels) + 0.02


@BOTH
def test_second_order_shards_may_be_put_together_in_any_way(container):
    """Where all points add to the span; of points that depend on each other the first stay."""
    X, y = hard_rows(900)
    rows = container(X)
    settings = {"gamma": 30.0, "random_state": 0, "lam": 0.1, "budget": 30}
    a, b, c = (onkel.NewtonClassifier(**settings).partial_fit(rows[i::3], y[i::3], classes=[0, 1]) for i in range(3))
    left = onkel.merge([onkel.merge([a, b]).model, c]).model
    right = onkel.merge([a, onkel.merge([b, c]).model]).model
    turned = onkel.merge([c, b, a]).model
    for other in (right, turned):
        np.testing.assert_allclose(scores_of(left, rows), scores_of(other, rows), atol=1e-6)
    assert left.t_ == right.t_ == turned.t_ == 900


@loop
@pytest.mark.parametrize("weights", [[1, 1], [2, 1], [10, 0.5], [0, 1], [1, 0], [0.1, 0.1]])
@pytest.mark.parametrize("forget", [1.0, 0.99])
def test_weights_multiply_what_each_knows_wherever_it_stands(weights, forget):
    """A row of weight 2 is two rows: on the same points the merged model is the one of the weighted rows."""
    X, y = hard_rows(160)
    y = y + 0.3 * X[:, 0]
    settings = {"gamma": 10.0, "lam": 1.0, "random_state": 0, "forget": forget, "budget": 20, "spread": 1.0}
    a, b = (onkel.NewtonRegressor(**settings).partial_fit(X[i::2], y[i::2]) for i in range(2))
    one = onkel.merge([a, b], weights=np.array(weights)).model
    other = onkel.merge([b, a], weights=weights[::-1]).model
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-8)
    # by the formula, in the span of all points: (lam I + sum w H) m = sum w (lam I + H) m_i
    functions = [model._learner.expansion(informed=True).in_order_of_joining for model in (a, b)]
    points = np.vstack([function.only.points for function in functions])
    basis = np.linalg.cholesky(gaussian(points, points))
    n = 1 + len(points)
    precision, linear = np.eye(n), np.zeros(n)
    for function, weight in zip(functions, weights, strict=True):
        term, known = function.only, function.information
        own = np.linalg.cholesky(gaussian(term.points, term.points))
        across = np.eye(n, 1 + len(term))
        across[1:, 1:] = np.linalg.solve(basis, gaussian(points, term.points)) @ np.linalg.inv(own).T
        mean = np.concatenate([term.last.constants / (5 / 16), own.T @ term.last.points[0]])
        precision += weight * across @ known.matrix @ across.T
        linear += weight * across @ (mean + known.matrix @ mean)
    z = np.vstack([np.full(len(X), 5 / 16), np.linalg.solve(basis, gaussian(points, X))])
    np.testing.assert_allclose(one.predict(X), z.T @ np.linalg.solve(precision, linear), atol=1e-8)


def gaussian(A, B):
    return np.exp(-10 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_second_order_refuses_to_forget_by_weight():
    X, y = hard_rows(100)
    a = onkel.NewtonClassifier(gamma=0.5, lam=1.0, budget=20).fit(X, y)
    with pytest.raises(ValueError, match="a weight must be a number of at least 0, got -1"):
        onkel.merge([a, a], weights=[1, -1])


# -- merge: others


@loop
@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "sigmoid", "poly"])
def test_merging_is_the_mean_by_rows_for_any_kernel(kernel, container):
    X, y = rows_of(350)
    cuts = (slice(0, 50), slice(50, 150), slice(150, 350))
    settings = {"kernel": kernel, "gamma": 0.5, "coef0": -0.2, "random_state": 0, "degree": 2}
    models = [onkel.OGDClassifier(**settings).fit(container(X[cut]), y[cut]) for cut in cuts]
    merged, moved, n_support, change = onkel.merge(models)
    assert (moved, change) == (0.0, None)
    assert n_support == sum(model.n_support_ for model in models)
    rows = container(X)
    scores = [scores_of(model, rows) for model in models]
    np.testing.assert_allclose(
        scores_of(merged, rows), np.average(scores, axis=0, weights=[50, 100, 200]), rtol=1e-9, atol=1e-12
    )
    pairs = onkel.merge([onkel.merge(models[:2]).model, models[2]]).model
    np.testing.assert_allclose(scores_of(pairs, rows), scores_of(merged, rows), rtol=1e-9, atol=1e-12)


def scaled(scaler, **settings):
    return onkel.StreamPipeline(scaler(), onkel.OGDClassifier(gamma=0.5, **settings))


@pytest.mark.parametrize("scaler", [onkel.StreamStandardScaler, onkel.StreamMinMaxScaler])
def test_pipelines_of_equal_statistics_merge(scaler):
    X, y = rows_of(300)
    one, other = (scaled(scaler, random_state=seed, shuffle=True).fit(X, y) for seed in range(2))
    merged = onkel.merge([one, other]).model
    expected = (scores_of(one, X) + scores_of(other, X)) / 2
    np.testing.assert_allclose(scores_of(merged, X), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="scalers have different statistics"):
        onkel.merge([one, scaled(scaler).fit(X[:200], y[:200])])
    with pytest.raises(ValueError, match="scaled"):
        onkel.merge([one, onkel.PlattClassifier(onkel.OGDClassifier(gamma=0.5)).fit(X, y)])


@loop
@pytest.mark.parametrize(
    "make",
    [
        lambda: onkel.OGDClassifier(gamma=0.5, random_state=0),
        lambda: scaled(onkel.StreamStandardScaler, random_state=0),
        lambda: onkel.PlattClassifier(scaled(onkel.StreamStandardScaler, random_state=0)),
        lambda: onkel.NewtonClassifier(gamma=0.5, lam=0.1, random_state=0, budget=50),
    ],
    ids=["estimator", "pipeline", "calibrated", "Newton"],
)
def test_what_is_compressed_or_merged_has_nothing_in_common_with_what_it_came_from(make, tmp_path):
    X, y = rows_of(300)
    model = make().fit(X, y)
    onkel.save(model, tmp_path / "before")
    made = [onkel.compress(model, n_support=20).model]
    if inside(model).learner.expansion(informed=True).information is None:
        made.append(onkel.compress(model, n_support=20, X=X).model)
    if not isinstance(model, onkel.PlattClassifier):
        made += [onkel.merge([model]).model, onkel.merge([model, copy.deepcopy(model)], weights=[0.5, 0.5]).model]
    for each in made:
        each.partial_fit(5 * X + 3, 1 - y)
    onkel.save(model, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_refusal_says_what_to_pin():
    X, y = rows_of(120)
    a = onkel.OGDClassifier(gamma=0.5).fit(X, y)
    newton = onkel.NewtonClassifier(gamma=0.5, lam=0.1).fit(X, y)
    features = onkel.DualSGDClassifier(gamma=0.5, n_components=10, random_state=0).fit(X, y)
    opened = onkel.OGDClassifier(gamma=0.5).partial_fit(X, y)
    for one, other, pinned in (
        (a, onkel.OGDClassifier().fit(X, y), "the same kernel and width, such as gamma="),
        (a, onkel.OGDClassifier(gamma="stream").fit(X, y), "the same kernel and width, such as gamma="),
        (a, onkel.OGDClassifier(gamma=0.5).fit(X, y + 1), "the same labels from the start, such as classes="),
        (a, opened, "the same labels from the start, such as classes="),
        (opened, onkel.OGDClassifier(gamma=0.5).partial_fit(X, 1 - y), "the same labels from the start"),
        (a, onkel.OGDClassifier(gamma=0.5, fit_intercept=True).fit(X, y), "the same fit_intercept"),
        (a, onkel.OGDClassifier(gamma=0.5).fit(csr_array(X), y), "the same kind of rows, all dense or all sparse"),
        (a, onkel.OGDClassifier(gamma=0.5).fit(X.astype("f4"), y), "the same dtype of rows"),
        (newton, onkel.NewtonClassifier(gamma=0.5, lam="stream").fit(X, y), "the same λ, such as lam="),
        (
            features,
            onkel.DualSGDClassifier(gamma=0.5, n_components=12, random_state=0).fit(X, y),
            "the same n_components and random_state",
        ),
        (
            features,
            onkel.DualSGDClassifier(gamma=0.5, n_components=10, random_state=1).fit(X, y),
            "the same n_components and random_state",
        ),
    ):
        with pytest.raises(ValueError, match=f"cannot be merged.*: give each {pinned}") as refusal:
            onkel.merge([one, other])
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("recipe", [recipes.Newton(), recipes.OGD()])
def test_learners_that_have_seen_other_numbers_of_classes_do_not_merge(recipe):
    X, _ = rows_of(60)
    learners = [onkel.Learner(recipe, task="multiclass", gamma=0.5, budget=10) for _ in range(2)]
    for n, learner in zip((3, 4), learners, strict=True):
        learner.learn_rows(X, np.arange(60.0) % n)
    with pytest.raises(ValueError, match=r"different numbers of classes cannot be merged: 3 and 4: .* n_classes$"):
        onkel.merge(learners)


def test_learners_of_several_recipes_of_one_kind_merge_or_refuse():
    X, y = rows_of(100)
    some = onkel.KernelClassifier(recipes.OGD(), gamma=0.5, random_state=0).fit(X, y)
    waves = onkel.KernelClassifier(recipes.DualSGD(n_components=10), gamma=0.5, budget=5, random_state=0).fit(X, y)
    for models in ([some, waves], [waves, some]):
        with pytest.raises(ValueError, match="different random features cannot be merged"):
            onkel.merge(models)


def test_compressed_for_rows_a_classifier_loses_half_as_much():
    rng = np.random.default_rng(0)
    centres, chosen = rng.normal(size=(80, 8)) * 1.2, rng.integers(80, size=6000)
    X, y = centres[chosen] + rng.normal(size=(6000, 8)) * 0.5, chosen % 20
    model = onkel.NewtonClassifier(gamma=0.15, lam=0.01, relevances=None, budget=300, random_state=0)
    model.fit(X[:4000], y[:4000])
    alone, for_rows = onkel.compress(model, n_support=40), onkel.compress(model, n_support=40, X=X[:2000])
    full, *scores = (each.score(X[4000:], y[4000:]) for each in (model, alone.model, for_rows.model))
    assert full - scores[1] < (full - scores[0]) / 2
    agreed = (for_rows.model.predict(X[4000:]) == model.predict(X[4000:])).mean()
    assert abs(for_rows.agreement - agreed) < 0.05
    again = onkel.compress(model, n_support=40, X=X[:2000]).model
    assert again._fingerprint() == for_rows.model._fingerprint() and again.partial_fit(X[:50], y[:50]).n_support_ <= 40
