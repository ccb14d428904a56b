"""CSR rows: as the dense ones within rounding, and equal bits however they came and however a feature is held."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

import onkel
from looping import loop
from onkel.parts import RBF, Laplacian, Linear
from table import cases

KERNELS = ["rbf", "laplacian", "linear", "poly", "sigmoid", RBF(0.4) + 0.5 * Laplacian(0.3) + 0.1 * Linear()]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=[*KERNELS[:-1], "sum"])
every_dtype = pytest.mark.parametrize("dtype", ["float64", "float32"])


def data(n=200, d=60, dtype="float64", density=0.1, seed=0):
    """Frequent features first, rare ones last, some rows empty."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, d)) < density * 3 * np.exp(-np.arange(d) / 15)
    X = np.where(present, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[7] = X[n // 2] = 0
    return X, (X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(float)


def learner_of(kernel="rbf", dtype="float64", recipe=None, **settings):
    recipe = recipe or onkel.recipes.OGD(eta=0.1, lam=0.01)
    return onkel.Learner(recipe, kernel=kernel, gamma=0.4, coef0=0.5, dtype=dtype, **settings)


def bits(learner, X):
    return learner.fingerprint(), learner.score_rows(X).tobytes()


@loop
@every_kernel
@every_dtype
def test_as_the_dense_rows(kernel, dtype):
    X, y = data(dtype=dtype)
    dense, sparse = learner_of(kernel, dtype, fit_intercept=True), learner_of(kernel, dtype, fit_intercept=True)
    expected, scores = dense.learn_rows(X, y, scores=True), sparse.learn_rows(csr_array(X), y, scores=True)
    if dense.has_weights:  # a weight for each feature, and no support vectors
        tolerance = 1e-12 if dtype == "float64" else 1e-4
        np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance * (1 + np.abs(expected).max()))
        one, other = (learner.expansion().only.dense_points() for learner in (dense, sparse))
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * (1 + np.abs(one).max()))
        return
    np.testing.assert_array_equal(dense.support()[1], sparse.support()[1])
    tolerance = (1e-12 if dtype == "float64" else 1e-4) * (1 + np.abs(dense.coefficients).sum())
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(sparse.coefficients, dense.coefficients, rtol=0, atol=tolerance)
    np.testing.assert_allclose(sparse.norm, dense.norm, rtol=1e-10 if dtype == "float64" else 1e-3)
    np.testing.assert_array_equal(sparse.support()[0].toarray(), dense.support()[0])


@cases(dtypes=("float64",), outputs=(True,), one_task=True, loop=True)
def test_every_learner_takes_them(case):
    X, _ = data()
    y = case.data(len(X))[1]
    dense, sparse = case.learner(gamma=0.5, seed=2), case.learner(gamma=0.5, seed=2)
    expected, scores = dense.learn_rows(X, y, scores=True), sparse.learn_rows(csr_array(X), y, scores=True)
    np.testing.assert_array_equal(dense.support()[1], sparse.support()[1])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10 * (1 + np.abs(dense.coefficients).sum()))


def shuffled_indices(X):
    """The same matrix with every row's entries in reverse order."""
    order = np.concatenate([np.arange(*X.indptr[i : i + 2])[::-1] for i in range(X.shape[0])]).astype(int)
    return csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def split_entries(X):
    """The same matrix with every entry in two equal halves, as duplicates."""
    halves = coo_array(X)
    twice = [np.concatenate([part, part]) for part in (halves.row, halves.col)]
    order = np.argsort(twice[0], kind="stable")
    values = np.concatenate([halves.data, halves.data])[order] / 2
    return csr_array((values, twice[1][order], 2 * X.indptr), shape=X.shape)


def with_index_type(X, dtype):
    made = csr_array(X.copy())
    made.indices, made.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return made


FORMS = {
    "csr_matrix": csr_matrix,
    "csc_matrix": csc_matrix,
    "coo_array": coo_array,
    "int32 indices": lambda X: with_index_type(X, np.int32),
    "int64 indices": lambda X: with_index_type(X, np.int64),
    "unsorted": shuffled_indices,
    "duplicates": split_entries,
}


@loop
@pytest.mark.parametrize("form", FORMS)
@every_dtype
def test_other_forms_of_the_same_rows(form, dtype):
    X, y = data(dtype=dtype)
    rows = csr_array(X)
    other = FORMS[form](rows)
    before = [getattr(other, name).copy() for name in ("data", "indices") if hasattr(other, name)]
    expected = onkel.OGDClassifier(random_state=0).fit(rows, y)
    model = onkel.OGDClassifier(random_state=0).fit(other, y)
    assert bits(model._learner, rows) == bits(expected._learner, rows)
    assert model.decision_function(other).tobytes() == expected.decision_function(rows).tobytes()
    after = [getattr(other, name) for name in ("data", "indices") if hasattr(other, name)]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)  # the caller's matrix is as it was


@loop
@every_kernel
def test_explicit_zeros_count_for_nothing(kernel):
    X, y = data()
    dense = csr_array(X)
    full = csr_array((X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(len(X) + 1) * X.shape[1]), X.shape)
    assert full.nnz == X.size
    one, other = learner_of(kernel), learner_of(kernel)
    scores = [one.learn_rows(dense, y, scores=True), other.learn_rows(full, y, scores=True)]
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(one.score_rows(full), other.score_rows(dense))


def test_empty_rows():
    X = csr_array((6, 4))
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    for kernel in KERNELS:
        sparse, dense = learner_of(kernel), learner_of(kernel)
        sparse.learn_rows(X, y)
        dense.learn_rows(X.toarray(), y)
        np.testing.assert_allclose(sparse.score_rows(X), dense.score_rows(X.toarray()), rtol=0, atol=1e-12)


def test_the_first_call_decides_the_storage():
    X, y = data()
    first_sparse = onkel.OGDClassifier(gamma=0.4).partial_fit(csr_array(X[:50]), y[:50], classes=[0, 1])
    first_dense = onkel.OGDClassifier(gamma=0.4).partial_fit(X[:50], y[:50], classes=[0, 1])
    twin_sparse, twin_dense = pickle.loads(pickle.dumps((first_sparse, first_dense)))
    first_sparse.partial_fit(X[50:], y[50:])
    twin_sparse.partial_fit(csr_array(X[50:]), y[50:])
    first_dense.partial_fit(csr_array(X[50:]), y[50:])
    twin_dense.partial_fit(X[50:], y[50:])
    assert isinstance(first_sparse.support_vectors_, csr_array)
    assert isinstance(first_dense.support_vectors_, np.ndarray)
    for model, twin in ((first_sparse, twin_sparse), (first_dense, twin_dense)):
        assert model._fingerprint() == twin._fingerprint()
        assert model.decision_function(X).tobytes() == twin.decision_function(csr_array(X)).tobytes()


@loop
@every_kernel
@every_dtype
def test_bits_do_not_depend_on_how_a_feature_is_held(kernel, dtype):
    # A feature of the first points is a dense column, and stays one when it becomes rare; a loaded model, which knows
    # all its points at once, holds it as postings. Both must score and go on alike.
    X, y = data(n=300, dtype=dtype)
    X[:6, -10:] = np.random.default_rng(1).normal(size=(6, 10))  # rare from here on
    X[250:, -10:-5] = 1.5  # and some of them frequent again, beyond an eighth
    rows = csr_array(X)
    whole, loaded = learner_of(kernel, dtype), learner_of(kernel, dtype)
    scores = whole.learn_rows(rows, y, scores=True)
    parts = []
    for begin in range(0, 300, 25):
        parts.append(loaded.learn_rows(rows[begin : begin + 25], y[begin : begin + 25], scores=True))
        loaded = pickle.loads(pickle.dumps(loaded))
    assert np.concatenate(parts).tobytes() == scores.tobytes()
    assert bits(loaded, rows) == bits(whole, rows)


@every_dtype
def test_bits_do_not_depend_on_other_points(dtype):
    # Points of coefficient 0 would not be there; points far away weigh nothing (k = 0 in floating point), but they
    # make every shared feature rare: postings in one model, dense columns in the other.
    X, y = data(n=60, d=40, dtype=dtype, density=0.3)
    far = np.zeros((500, 40), dtype)
    far[:, -1] = 1e4 * np.arange(1, 501)
    X[:, -1] = 0
    alone, crowded = (learner_of(RBF(1.0), dtype, onkel.recipes.PA()) for _ in range(2))
    crowded.learn_rows(csr_array(far), np.arange(500) % 2.0)
    assert crowded.n_support == 500
    # 4 = 500 mod 16: the same points in the same lanes of a score's sum
    alone.learn_rows(csr_array(far[:4]), np.arange(4) % 2.0)
    scores = [learner.learn_rows(csr_array(X), y, scores=True) for learner in (alone, crowded)]
    assert scores[0].tobytes() == scores[1].tobytes()
    np.testing.assert_array_equal(alone.coefficients[0, 4:], crowded.coefficients[0, 500:])


@loop
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 9, 12])
def test_bad_values_are_named_by_row_and_column(value, row):
    X, y = data(n=20)
    X[3] = X[8] = X[10] = X[11] = 0  # empty rows before and between
    X[row, 17] = value
    what = "NaN" if np.isnan(value) else "infinity"
    model = onkel.OGDClassifier()
    with pytest.raises(ValueError, match=rf"X contains {what} at row {row}, column 17"):
        model.fit(csr_array(X), y)
    assert not model.__sklearn_is_fitted__()
    good, _ = data(n=20)
    model.fit(csr_array(good), y)
    before = model._fingerprint()
    for call in (lambda: model.partial_fit(csr_array(X), y), lambda: model.predict(csr_array(X))):
        with pytest.raises(ValueError, match=rf"row {row}, column 17"):
            call()
    assert model._fingerprint() == before


def test_the_width_is_checked():
    X, y = data()
    model = onkel.OGDClassifier().fit(csr_array(X), y)
    with pytest.raises(ValueError, match="features"):
        model.predict(csr_array(X[:, :-1]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(csr_array((5, 61)), y[:5])


def test_one_row_at_a_time():
    X, y = data()
    one, many = learner_of(), learner_of()
    many.learn_rows(csr_array(X), y)
    one.learn_rows(csr_array(X[:1]), y[:1])
    for x, label in zip(X[1:], y[1:], strict=True):
        one.learn(x, label)  # dense, as the one-row path takes them
    assert one.fingerprint() == many.fingerprint()
    assert one.score(X[3]) == many.score_rows(csr_array(X[3:4]))[0, 0]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


WIDTH = 2**31 - 1


def wide_rows(n=40, seed=0):
    """Few entries with features from all over the range of 32 bits, the last one included."""
    rng = np.random.default_rng(seed)
    indices = np.array([np.unique([0, *rng.integers(1, WIDTH - 1, 6), WIDTH - 1])[:8] for _ in range(n)])
    values = rng.normal(size=indices.shape)
    rows = csr_array((values.ravel(), indices.ravel(), 8 * np.arange(n + 1)), shape=(n, WIDTH))
    return rows, (values[:, 0] > 0).astype(float)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc (Linux)")
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_features_up_to_32_bits_in_little_memory(index_type):
    rows, y = wide_rows()
    rows = with_index_type(rows, index_type)
    before = resident_bytes()
    tracemalloc.start()
    model = onkel.OGDClassifier(gamma=0.1, random_state=0).fit(rows, y)
    scores = model.decision_function(rows)
    again = pickle.loads(pickle.dumps(model))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert resident_bytes() - before < 48 << 20
    assert again.decision_function(rows).tobytes() == scores.tobytes()
    # the same with the features renamed in order
    names, indices = np.unique(rows.indices, return_inverse=True)
    narrow = csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], len(names)))
    twin = onkel.OGDClassifier(gamma=0.1, random_state=0).fit(narrow, y)
    assert twin.decision_function(narrow).tobytes() == scores.tobytes()
    assert model.support_vectors_.indices.max() == WIDTH - 1


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc (Linux)")
def test_features_of_points_that_left_take_no_memory():
    """Every row has features that no row had before, and a model of 50 points is as large as ever."""
    learner = learner_of(recipe=onkel.recipes.RBP(), budget=50)
    rng = np.random.default_rng(0)

    def learn(n=400):
        indices = np.sort(rng.integers(0, WIDTH, (n, 40)), axis=1)
        rows = csr_array((rng.normal(size=indices.size), indices.ravel(), 40 * np.arange(n + 1)), shape=(n, WIDTH))
        learner.learn_rows(rows, rng.integers(0, 2, n).astype(float))
        return resident_bytes()

    start = resident_bytes()
    first = learn()
    assert first - start < 48 << 20
    for _ in range(4):
        last = learn()
    assert last - first < 8 << 20  # 4,000 pages and 4,000 tables of pages, if they stayed
    assert learner.n_support == 50


def test_wider_than_32_bits_is_refused():
    rows = csr_array((np.ones(2), np.array([2**32 + 5, 7]), np.array([0, 1, 2])), shape=(2, 2**33))
    model = onkel.OGDClassifier()
    with pytest.raises(ValueError, match="at most 2147483647 features, got 8589934592"):
        model.fit(rows, [0, 1])
    assert not model.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match="at most 2147483647 features"):
        learner_of().learn_rows(rows, np.array([0.0, 1.0]))
