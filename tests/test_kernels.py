"""Kernels: each against scikit-learn's through a fitted model, both types and containers, bit-exact in chunks."""

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.metrics import pairwise
from sklearn.svm import SVC

import onkel
from looping import loop
from onkel.parts import RBF, CallableKernel, KernelSum, Laplacian, Linear, Polynomial, Sigmoid
from table import in_turn

G = 0.3  # gamma


def squared_distances(X, S):
    return ((X[:, None] - S) ** 2).sum(axis=2)


def by_hand(X, S):
    """Every kernel of this file in plain NumPy and float64."""
    dot = X @ S.T
    rbf = np.exp(-G * squared_distances(X, S))
    wide = np.exp(-0.05 * squared_distances(X, S))
    laplacian = np.exp(-G * np.abs(X[:, None] - S).sum(axis=2))
    poly = (G * dot + 0.5) ** 2
    return {
        "rbf": rbf,
        "laplacian": laplacian,
        "linear": dot,
        "poly": poly,
        "cubic": (G * dot) ** 3,
        "sigmoid": np.tanh(G * dot + 0.5),
        "scaled": 0.25 * rbf,
        "gaussians": rbf + 0.5 * wide,
        "all": rbf + 0.5 * wide + 0.2 * laplacian + 0.1 * dot + 0.05 * poly,
        "callable": rbf,
    }


def callable_rbf(x, S):
    return np.exp(-G * ((np.asarray(x, float) - np.asarray(S, float)) ** 2).sum(axis=1))[None]


KERNELS = {
    "rbf": {"kernel": "rbf"},
    "laplacian": {"kernel": "laplacian"},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5},
    "cubic": {"kernel": "poly"},
    "sigmoid": {"kernel": "sigmoid", "coef0": 0.5},
    "scaled": {"kernel": 0.25 * RBF(G)},
    "gaussians": {"kernel": RBF(G) + 0.5 * RBF(0.05)},
    "all": {
        "kernel": RBF(G) + 0.5 * RBF(0.05) + 0.2 * Laplacian(G) + 0.1 * Linear() + 0.05 * Polynomial(G, 0.5, 2),
    },
    "callable": {"kernel": callable_rbf},
}
DTYPES = {"dtype": ["float64", "float32"]}
CONTAINERS = {"container": [np.asarray, csr_array]}


def data(dtype="float64", n=150, d=7):
    """Rows with many zeros, as a sparse container is for, one of them empty."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[5] = 0
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(float)


def learner_of(name, dtype="float64", **settings):
    recipe = onkel.recipes.OGD(eta=0.1, lam=0.01)
    return onkel.Learner(recipe, gamma=G, dtype=dtype, fit_intercept=True, **KERNELS[name], **settings)


@loop
@in_turn(CONTAINERS | DTYPES, name=KERNELS)
def test_scores_are_kernel_values_times_coefficients(name, dtype, container):
    X, y = data(dtype)
    width = {"gamma": G} if isinstance(KERNELS[name]["kernel"], str) else {}
    model = onkel.OGDClassifier(eta=0.1, fit_intercept=True, **KERNELS[name], **width).fit(container(X), y)
    if name == "linear":  # a weight for each feature, and no support vectors
        exact = X.astype(float) @ model.coef_[0].astype(float) + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(container(X)), exact, rtol=1e-5, atol=1e-5)
        return
    points = model.support_vectors_
    points = points if isinstance(points, np.ndarray) else points.toarray()
    assert points.dtype == dtype
    K = by_hand(X.astype(float), points.astype(float))[name]
    expected = K @ model.dual_coef_[0] + model.intercept_[0]
    size = np.abs(K) @ np.abs(model.dual_coef_[0])
    scores = model.decision_function(container(X))
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=0, atol=size.max() * (1e-13 if dtype == "float64" else 1e-5))


@loop
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rbf", lambda X, S: pairwise.rbf_kernel(X, S, gamma=G)),
        ("laplacian", lambda X, S: pairwise.laplacian_kernel(X, S, gamma=G)),
        ("linear", pairwise.linear_kernel),
        ("poly", lambda X, S: pairwise.polynomial_kernel(X, S, gamma=G, coef0=0.5, degree=2)),
        ("sigmoid", lambda X, S: pairwise.sigmoid_kernel(X, S, gamma=G, coef0=0.5)),
    ],
)
def test_by_hand_is_as_in_scikit_learn(name, theirs):
    X, _ = data()
    np.testing.assert_allclose(by_hand(X, X[:40])[name], theirs(X, X[:40]), rtol=1e-11, atol=1e-13)


@loop
@in_turn(CONTAINERS | DTYPES, name=KERNELS)
def test_chunks_change_no_bit(name, dtype, container):
    X, y = data(dtype)

    def learned(cuts=(), block_rows=48, n_jobs=1):
        learner = learner_of(name, dtype, n_jobs=n_jobs)
        parts = [
            learner.learn_rows(container(X[rows]), y[rows], scores=True, block_rows=block_rows)
            for rows in np.split(np.arange(len(X)), list(cuts))
            if len(rows)
        ]
        return np.concatenate(parts).tobytes(), learner.fingerprint(), learner.score_rows(container(X)).tobytes()

    whole = learned()
    cuts = np.sort(np.random.default_rng(1).integers(0, len(X), 6))
    assert learned(range(1, len(X))) == whole
    assert learned(cuts) == whole
    assert learned(cuts, block_rows=7, n_jobs=2) == whole
    assert learned(block_rows=96) == whole


@loop
@in_turn(CONTAINERS, name=KERNELS)
def test_symmetry_and_the_value_at_the_row_itself(name, container):
    # PA's step is loss / k(x, x): after one row its score is exactly 1 where k(x, x) is what the score uses
    X, _ = data()
    rows = X[np.abs(X).sum(axis=1) > 1][:20]
    for row in rows:
        learner = onkel.Learner(onkel.recipes.PA(variant="PA"), gamma=G, **KERNELS[name])
        learner.learn_rows(container(row[None]), np.ones(1))
        np.testing.assert_allclose(learner.score_rows(container(row[None])), 1.0, rtol=1e-14)
        expected = 1 / by_hand(row[None], row[None])[name][0, 0]
        term = learner.expansion().only
        np.testing.assert_allclose(term.last.points @ term.dense_points(), expected * row[None], rtol=1e-12)


@loop
@in_turn(DTYPES, name=["rbf", "gaussians", "all", "poly"])
def test_a_callable_is_as_the_built_in(name, dtype):
    X, y = data(dtype)
    built_in = learner_of(name, dtype)
    own = onkel.Learner(
        built_in.recipe,
        kernel=lambda x, S: by_hand(x.astype(float), S.astype(float))[name],
        dtype=dtype,
        fit_intercept=True,
    )
    for learner in (built_in, own):
        learner.learn_rows(X, y)
    np.testing.assert_array_equal(built_in.support()[1], own.support()[1])
    tolerance = 1e-11 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(built_in.score_rows(X), own.score_rows(X), rtol=0, atol=tolerance)


def test_a_callable_sees_one_row_and_all_support_vectors():
    shapes = []

    def kernel(x, S):
        assert isinstance(x, np.ndarray) and isinstance(S, np.ndarray)
        assert x.dtype == S.dtype == np.float32
        shapes.append((x.shape, S.shape[1:]))
        return x @ S.T

    X, y = data("float32")
    onkel.OGDClassifier(kernel=kernel, eta=0.1).fit(X, y).predict(X)
    assert set(shapes) == {((1, 7), (7,))}


def test_a_callable_takes_sparse_rows_as_dense_ones():
    X, y = data()
    dense, sparse = (
        onkel.OGDClassifier(kernel=callable_rbf, random_state=0).fit(rows, y) for rows in (X, csr_array(X))
    )
    assert dense._fingerprint() == sparse._fingerprint()
    assert dense.decision_function(csr_array(X)).tobytes() == dense.decision_function(X).tobytes()


def test_a_callable_that_fails_stops_at_a_row_boundary():
    X, y = data()
    calls = []

    def kernel(x, S):
        calls.append(1)
        if len(calls) > 30:
            raise RuntimeError("no more")
        return callable_rbf(x, S)

    model = onkel.OGDClassifier(kernel=kernel, eta=0.1)
    with pytest.raises(RuntimeError, match="no more"):
        model.partial_fit(X, y, classes=[0, 1])
    t = model.t_
    assert 0 < t < len(X)
    calls.clear()
    twin = onkel.OGDClassifier(kernel=kernel, eta=0.1).partial_fit(X[:t], y[:t], classes=[0, 1])
    assert twin._fingerprint() == model._fingerprint()


@loop
@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        (lambda x, S: np.ones(3), ValueError),
        (lambda x, S: np.ones((len(S) + 1, 2)), ValueError),
        (lambda x, S: np.full(len(S), np.nan), FloatingPointError),
        (lambda x, S: "one", (ValueError, TypeError)),
    ],
)
def test_a_callable_with_a_bad_answer_is_refused(kernel, error):
    X, y = data()
    with pytest.raises(error):
        onkel.OGDClassifier(kernel=kernel).fit(X, y)


def test_a_named_function_can_be_pickled_with_its_model():
    X, y = data()
    model = onkel.OGDClassifier(kernel=pairwise.rbf_kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()


REFUSED = [
    (lambda: RBF(0), "gamma"),
    (lambda: Laplacian(-1.0), "gamma"),
    (lambda: Sigmoid(gamma=np.nan), "gamma"),
    (lambda: Polynomial(degree=0), "degree"),
    (lambda: Polynomial(degree=2.5), "degree"),
    (lambda: Polynomial(coef0=np.inf), "coef0"),
    (lambda: -1.0 * RBF(1.0), "weight"),
    (lambda: 0 * RBF(1.0), "weight"),
    (lambda: KernelSum(()), "at least one"),
    (lambda: RBF(1.0) + CallableKernel(callable_rbf), "plain kernels"),
    (lambda: KernelSum(((1.0, RBF(1.0) + RBF(2.0)),)), "plain kernels"),
    (lambda: CallableKernel("rbf"), "callable"),
    (lambda: onkel.OGDClassifier(kernel="poly", degree=0).fit(*data()), "degree"),
    (lambda: onkel.OGDClassifier(kernel="poly", coef0="x").fit(*data()), "coef0"),
    (lambda: onkel.OGDClassifier(kernel="precomputed").fit(*data()), "kernel"),
]


@loop
@pytest.mark.parametrize(("make", "names"), REFUSED)
def test_refusals(make, names):
    with pytest.raises(ValueError, match=names) as caught:
        make()
    assert "\n" not in str(caught.value)


@loop
@in_turn(CONTAINERS | DTYPES, kernel=["linear", "poly"], name=["PA", "PA-I", "PA-II", "SPA"])
def test_rows_of_length_zero_teach_nothing(name, kernel, container, dtype):
    recipe = onkel.recipes.SPA() if name == "SPA" else onkel.recipes.PA(variant=name)
    # k(x, x) = 0: no step changes the row's score, and nothing is divided by 0
    X, y = data(dtype)
    X[::3] = 0
    learner = onkel.Learner(recipe, kernel=kernel, gamma=G, dtype=dtype, average=False)
    learner.learn_rows(container(X), y)
    assert not learner.score_rows(container(X[::3])).any()
    if learner.has_weights:
        assert np.isfinite(learner.expansion().only.dense_points()).all() and learner.score_rows(container(X)).any()
        return
    assert learner.n_support > 0
    assert not np.isin(learner.support()[1], np.flatnonzero(~X.any(axis=1))).any()
    assert np.isfinite(learner.coefficients).all()


@pytest.mark.parametrize("container", [np.asarray, csr_array], ids=["dense", "csr"])
def test_gamma_is_that_of_svc(container):
    X, y = data()
    for gamma in ("scale", "auto", 0.7):
        ours = onkel.OGDClassifier(gamma=gamma).fit(container(X), y).gamma_
        np.testing.assert_allclose(ours, SVC(gamma=gamma).fit(X, y)._gamma, rtol=1e-12)


def test_gamma_from_percentile():
    X, _ = data()
    distances = pdist(X)
    for percentile in (5, 20, 50):
        gamma = onkel.gamma_from_percentile(X, percentile, n_pairs=100_000, random_state=0)
        sigma = np.percentile(distances, percentile)
        np.testing.assert_allclose(gamma, 1 / (2 * sigma**2), rtol=0.03)
    dense, sparse = (onkel.gamma_from_percentile(rows, random_state=1) for rows in (X, csr_array(X)))
    np.testing.assert_allclose(dense, sparse, rtol=1e-9)
    assert onkel.gamma_from_percentile(X, random_state=1) == dense
    # two rows have one distance
    assert onkel.gamma_from_percentile([[0.0], [2.0]]) == pytest.approx(1 / 8)


@loop
@pytest.mark.parametrize(
    ("X", "settings", "names"),
    [
        ([[0.0], [1.0]], {"percentile": 0}, "percentile"),
        ([[0.0], [1.0]], {"percentile": 101}, "percentile"),
        ([[0.0], [1.0]], {"n_pairs": 0}, "n_pairs"),
        ([[0.0]], {}, "minimum of 2"),
        ([[1.0], [1.0], [1.0]], {}, "equal rows"),
        ([[1.0], [np.nan]], {}, "NaN"),
    ],
)
def test_gamma_from_percentile_refuses(X, settings, names):
    with pytest.raises(ValueError, match=re.compile(names)):
        onkel.gamma_from_percentile(X, **settings)
