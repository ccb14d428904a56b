"""Ranks of features: in the metric of a kernel, chosen on the stream, and what becomes of models that have them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from exported import READERS
from looping import loop
from onkel import recipes
from onkel.parts import RBF, Hedge, Laplacian, Linear
from onkel.parts.metric import MOST_QUANTILES, curve_of, quantiles_of
from reference import ranks as reference

RELEVANCES = (2.0, 1.0, 0.5, 0.5)
NEWTON = recipes.Newton()


def rows(n=400, seed=0):
    """Four features: heavy tails, mostly 0, two values, far from 0. Rows, and targets."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            np.exp(2 * rng.normal(size=n)),
            np.where(rng.random(n) < 0.7, 0.0, rng.gamma(1.0, size=n)).round(2),
            (rng.random(n) < 0.3) * 1.0,
            1000 + 10 * rng.normal(size=n),
        ]
    )
    return X, np.sin(2 * np.log(X[:, 0])) + X[:, 2] + 0.1 * rng.normal(size=n)


QUANTILES = quantiles_of(rows()[0])


# -- the metric


@loop
@pytest.mark.parametrize("case", range(40))
def test_a_feature_with_its_rank_is_as_the_definition_says(case):
    rng = np.random.default_rng(case)
    n = int(rng.integers(1, MOST_QUANTILES + 1))
    draws = [rng.normal(size=n), rng.normal(size=n).round(), 10 ** rng.normal(size=n), -1.0 * (rng.random(n) < 0.5)]
    q = np.sort(draws[case % 4] * 10.0 ** rng.integers(-3, 4) + rng.integers(-1, 2))
    x = np.concatenate([q, rng.choice(q, 50) * rng.normal(size=50), [0.0, 1e9, -1e9]])
    curve = curve_of(tuple(q.tolist()))
    np.testing.assert_allclose(curve(x), reference.ranked(x, q), rtol=1e-9, atol=1e-9 * np.ptp(q))
    assert curve(0.0) == 0.0
    assert len(curve.at) <= 256
    assert (np.diff(curve(np.sort(x))) >= 0).all()


def test_two_values_have_no_rank_and_ties_share_theirs():
    assert [len(q) for q in QUANTILES] == [64, 64, 0, 64]
    assert quantiles_of(np.zeros((50, 2))) == ()
    assert quantiles_of(csr_array(rows()[0])) == QUANTILES
    half_zeros = curve_of((-2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0))
    assert half_zeros(1.0) == -half_zeros(-1.0) > 1


def test_an_outlier_is_not_infinitely_far():
    curve = curve_of(tuple(np.linspace(-1, 1, 65).tolist()))
    inside = curve(1.0) - curve(-1.0)
    assert curve(1000.0) - curve(1.0) < 6 * inside
    assert curve(1000.0) < curve(2000.0)  # the number goes on


@loop
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("held", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", [RBF, Laplacian])
def test_a_kernel_with_ranks_is_the_kernel_of_mapped_rows_to_the_bit(kernel, held, dtype):
    X, y = rows()
    X = X.astype(dtype)
    ranked = kernel(0.01, RELEVANCES, QUANTILES)
    mapped = ranked.metric.of(X).astype(dtype)
    wanted = reference.metric(X.astype(float), [q or None for q in QUANTILES], RELEVANCES, kernel.base.power)
    np.testing.assert_allclose(mapped, wanted, rtol=1e-6)
    given = {"budget": 30, "dtype": dtype, "fit_intercept": True}
    ours, theirs = (
        onkel.Learner(NEWTON, kernel=each, **given).learn_rows(held(X_), (y > 0).astype(float), scores=True)
        for each, X_ in ((ranked, X), (kernel(0.01), mapped))
    )
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("kernel", [RBF, Laplacian])
def test_sparse_rows_are_seen_as_dense_ones(kernel):
    X, y = rows()
    ranked = kernel(0.01, RELEVANCES, QUANTILES)
    np.testing.assert_allclose(ranked.matrix(csr_array(X), X[:9]), ranked.matrix(X, X[:9]), rtol=1e-9)
    scores = []
    for held in (np.asarray, csr_array):
        learner = onkel.Learner(recipes.OGD(loss="squared_error"), task="regression", kernel=ranked, budget=50)
        scores.append(learner.learn_rows(held(X), y, scores=True))
    np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-12)


def test_points_stay_as_they_came_whatever_the_cut(tmp_path):
    X, y = rows()
    whole, parts = (onkel.Learner(NEWTON, kernel=RBF(0.01, (), QUANTILES), budget=40) for _ in range(2))
    whole.learn_rows(X, (y > 0).astype(float))
    for begin in range(0, len(X), 37):
        parts.learn_rows(X[begin : begin + 37], (y > 0)[begin : begin + 37].astype(float))
        parts = pickle.loads(pickle.dumps(copy.deepcopy(parts)))
    assert parts.score_rows(X).tobytes() == whole.score_rows(X).tobytes()
    points, births = whole.support()
    np.testing.assert_array_equal(points, X[births])
    onkel.save(whole, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    assert loaded.kernel == whole.kernel
    assert loaded.score_rows(X).tobytes() == whole.score_rows(X).tobytes()


# -- given


def test_estimators_take_knots_for_each_feature():
    X, y = rows()
    knots = [X[:100, 0], None, None, np.quantile(X[:, 3], [0, 0.5, 1])]
    knots[0] = np.sort(knots[0])
    model = onkel.SPARegressor(gamma=0.01, ranks=knots, random_state=0).fit(X, y)
    assert [len(q) for q in model.kernel_.ranks] == [100, 0, 0, 3]
    again = onkel.SPARegressor(kernel=model.kernel_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    plain = onkel.SPARegressor(gamma=0.01, random_state=0).fit(X, y)
    assert abs(plain.predict(X) - model.predict(X)).max() > 0.01


@loop
@pytest.mark.parametrize(
    ("ranks", "kernel", "said"),
    [
        ([None] * 3, "rbf", "ranks must be an array of knots or None for each of the 4 features, got 3"),
        ([[1.0, 0.0], None, None, None], "rbf", "in ascending order .* and those of feature 0 are not"),
        ([None, None, [0.0, np.nan], None], "rbf", "finite numbers .* and those of feature 2 are not"),
        ([None, [[0.0, 1.0]], None, None], "rbf", "those of feature 1 are not"),
        ([None, np.arange(300.0), None, None], "rbf", "up to 251 finite numbers"),
        ([[0.0, 1.0, 1e200], None, None, None], "rbf", "ranks must be numbers of at most 1e150"),
        ([[0.0, 1.0, 2.0]] * 4, "linear", "ranks belong to the kernels rbf and laplacian"),
        ("often", "rbf", "ranks must be 'stream', None or the knots of each feature, got 'often'"),
    ],
)
def test_ranks_that_make_no_sense_are_refused(ranks, kernel, said):
    X, y = rows(20)
    with pytest.raises(ValueError, match=said):
        onkel.OGDRegressor(ranks=ranks, kernel=kernel).fit(X, y)


def test_a_kernel_that_has_its_ranks_is_given_no_others():
    X, y = rows(20)
    with pytest.raises(ValueError, match="ranks would not be used"):
        onkel.OGDRegressor(kernel=RBF(1.0, (), QUANTILES), ranks=[None] * 4).fit(X, y)
    with pytest.raises(ValueError, match="no relevances of its own and no ranks"):
        RBF(1.0, (), QUANTILES) * Linear()
    with pytest.raises(ValueError, match="the kernel's metric has 4 features, and the rows have 3"):
        onkel.Learner(NEWTON, kernel=RBF(1.0, (), QUANTILES)).learn_rows(X[:, :3], y)


# -- what becomes of models


def a_sum():
    return Hedge((RBF(0.01, (), QUANTILES), Laplacian(0.02, RELEVANCES, QUANTILES)), "sum")


def fitted(kernel=None):
    X, y = rows()
    learner = onkel.Learner(NEWTON, kernel=kernel or a_sum(), budget=60, fit_intercept=True)
    learner.learn_rows(X, (y > 0).astype(float))
    return learner


KERNELS = {
    "a sum": a_sum(),
    "with relevances": RBF(0.01, RELEVANCES, QUANTILES),
    "alone": RBF(0.01, (), QUANTILES),
    "beside one without": Hedge((Laplacian(0.02), RBF(0.01, (), QUANTILES), RBF(0.1, (), QUANTILES[:1])), "sum"),
}


@loop
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("format", ["json", "c", "onnx"])
def test_exports_know_ranks(format, kernel, tmp_path):
    X, _ = rows(50, seed=1)
    X[0] = [1e3, -5.0, 0.5, -2000.0]  # beyond all knots
    learner = fitted(KERNELS[kernel])
    made = getattr(onkel.export, f"to_{format}")(learner, **({} if format == "json" else {"dtype": "float64"}))
    scores, _ = READERS[format](made, X, tmp_path)
    np.testing.assert_allclose(scores, learner.score_rows(X).reshape(scores.shape), rtol=1e-6, atol=1e-8)


def test_onnx_of_single_precision_knows_ranks(tmp_path):
    X, _ = rows(50, seed=1)
    learner = fitted()
    scores, _ = READERS["onnx"](onkel.export.to_onnx(learner), X.astype(np.float32), tmp_path)
    np.testing.assert_allclose(scores[:, 0], learner.score_rows(X).ravel(), atol=1e-3)


@pytest.mark.parametrize("format", ["json", "c", "onnx"])
def test_random_features_are_of_rows_with_their_ranks(format, tmp_path):
    X, y = rows()
    given = {"budget": 10, "n_components": 8, "random_state": 0, "gamma": 0.01}
    model = onkel.DualSGDRegressor(ranks=list(QUANTILES), **given).fit(X, y)
    assert abs(model.predict(X) - onkel.DualSGDRegressor(**given).fit(X, y).predict(X)).max() > 0.01
    made = getattr(onkel.export, f"to_{format}")(model, **({} if format == "json" else {"dtype": "float64"}))
    np.testing.assert_allclose(READERS[format](made, X[:20], tmp_path)[1], model.predict(X[:20]), rtol=1e-6)


def test_libsvm_refuses_ranks_by_name():
    with pytest.raises(ValueError, match=r"LIBSVM knows no ranks of features.*ranks=None"):
        onkel.export.to_libsvm(fitted(RBF(0.01, (), QUANTILES)))


def test_a_copy_with_fewer_points_and_a_merged_model_have_the_ranks():
    X, y = rows()
    one = fitted(RBF(0.01, (), QUANTILES))
    small = onkel.compress(one, n_support=20).model
    assert small.kernel == one.kernel
    assert small.n_support == 20
    other = one.blank()
    other.learn_rows(X[::-1], (y < 0)[::-1].astype(float))
    merged = onkel.merge([one, other]).model
    assert merged.kernel == one.kernel
    assert np.isfinite(merged.score_rows(X)).all()


def test_importances_speak_of_features_with_their_ranks():
    term = fitted(RBF(0.01, (), QUANTILES)).expansion().only
    seen = reference.metric(term.points, [q or None for q in QUANTILES], np.ones(4), 2)
    np.testing.assert_allclose(term.importances, seen.var(axis=0) / seen.var(axis=0).max(), rtol=1e-9)
