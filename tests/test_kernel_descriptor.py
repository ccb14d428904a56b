"""A kernel is described once: the core, the arrays, the exports and the documents say the same of every kernel there
is, alone, in sums and in products. A new kernel is found in `onkel.parts.KERNELS`."""

import ctypes
import inspect
import math
import re
import subprocess
import warnings
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC

import onkel
from exported import READERS
from formulas import gram, long
from looping import loop, loop_by
from onkel import recipes
from onkel.parts import (
    KERNELS,
    KOMP,
    LIBSVM_KERNELS,
    PARTS,
    RBF,
    CallableKernel,
    Eviction,
    FirstOrder,
    GradientStep,
    GrowAtRandom,
    Hedge,
    HingeLoss,
    KernelProduct,
    KernelSum,
    Laplacian,
    Linear,
    OnGradient,
    PlainKernel,
    Polynomial,
    Sigmoid,
)
from onkel.parts.kernels import ARRAYS, Base
from onkel_papers.batch import LBFGSClassifier as BATCH
from table import in_pairs

PLAIN = {
    f"{name} {i}": made(**numbers)
    for name, made in KERNELS.items()
    for i, numbers in enumerate(
        [
            {},
            {
                f.name: {"gamma": 0.3, "coef0": 0.5, "degree": 2, "relevances": (), "ranks": ()}[f.name]
                for f in fields(made)
            },
            {
                f.name: {"gamma": 0.2, "coef0": -0.5, "degree": 4, "relevances": (), "ranks": ()}[f.name]
                for f in fields(made)
            },
        ][: 3 if fields(made) else 1]
    )
}
COMPOSED = {
    "product": RBF(0.1) * Polynomial(0.3, 1.0, 2),
    "square": Linear() * Linear(),
    "three": RBF(0.2) * Laplacian(0.3) * Polynomial(0.5, 1.0, 2),
    "weighted": 0.5 * RBF(0.3) * Linear() + Laplacian(0.5),
    "expanded": (RBF(0.3) + 0.5 * Linear()) * (Laplacian(0.2) + 2 * RBF(1.0)),
    "indefinite": 0.25 * RBF(0.3) * Sigmoid(0.2, -1.0) + Linear(),
}
EVERY = PLAIN | COMPOSED
every_kernel = pytest.mark.parametrize("name", EVERY)
every_container = pytest.mark.parametrize("container", [np.asarray, csr_array], ids=["dense", "csr"])


def rows(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    X[3] = 0
    return X


def exact(kernel, X, S):
    """The kernel's own formula in long double, on base quantities from differences."""
    X, S = long(X)[:, None], long(S)[None]
    return kernel.of({base: base.share(X, S).sum(axis=-1) for base in Base}, ARRAYS)


def values_of_core(kernel, X, S, dtype="float64", container=np.asarray, hedged=False):
    """Kernel values as the core computes them: scores of a function with one coefficient of 1."""
    X, S = X.astype(dtype), S.astype(dtype)
    columns = []
    for s in S:
        wrapped = Hedge((RBF(0.7), kernel), "uniform") if hedged else kernel
        learner = onkel.Learner(recipes.Perceptron(), kernel=wrapped, dtype=dtype)
        learner.learn_rows(container(s[None]), np.ones(1))
        assert learner.n_support == 1 or learner.has_weights
        columns.append(learner.score_rows(container(X), each=hedged)[:, -1])
    return np.stack(columns, axis=1)


# -- values ------------------------------------------------------------------------------------------------------------


@loop
@every_kernel
def test_the_formula_is_that_of_the_tests_own(name):
    X, S = rows(), rows(20, seed=1)
    expected = gram(EVERY[name].formula_spec[0], long(X), long(S))
    np.testing.assert_allclose(exact(EVERY[name], X, S).astype(float), expected.astype(float), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(EVERY[name].matrix(X, S), expected.astype(float), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(EVERY[name].matrix(csr_array(X), csr_array(S)).shape, expected.shape)
    np.testing.assert_allclose(EVERY[name].matrix(csr_array(X), csr_array(S)), expected.astype(float), rtol=1e-12)


@loop
@in_pairs({"container": [np.asarray, csr_array], "dtype": ["float64", "float32"], "hedged": [False, True]}, name=EVERY)
def test_the_core_has_the_same_formula(name, container, dtype, hedged):
    kernel, X, S = EVERY[name], rows().astype(dtype), rows(6, seed=1).astype(dtype)
    found = values_of_core(kernel, X, S, dtype, container, hedged)
    # each quantity is off by a few units of its own scale's last place, which the formula's slope carries on
    size = gram([(w, [(f.name, f.spec[1]) for f in fs]) for w, fs in kernel.terms], abs(long(X)), -abs(long(S)))
    scale = np.maximum(abs(exact(kernel, X, S)), abs(size)).astype(float)
    np.testing.assert_array_less(
        abs(found - exact(kernel, X, S).astype(float)), 200 * np.finfo(dtype).eps * (1 + scale)
    )


@loop
@every_kernel
def test_the_derivative_by_a_factor(name):
    kernel, X, S, h = EVERY[name], rows(12), rows(7, seed=1), 1e-6
    for feature in range(X.shape[1]):
        up, down = np.ones(X.shape[1]), np.ones(X.shape[1])
        up[feature], down[feature] = math.exp(h), math.exp(-h)
        numeric = (exact(kernel, X * up, S * up) - exact(kernel, X * down, S * down)).astype(float) / (2 * h)
        np.testing.assert_allclose(kernel.derivative(X, S, feature), numeric, rtol=1e-7, atol=1e-7)


def test_the_derivatives_of_gaussian_and_laplacian_are_the_textbook_s():
    X, S, s = rows(8), rows(5, seed=1), np.array([0.5, 2.0, 1.0, 3.0, 0.1])
    for kernel, p in ((RBF(0.4), 2), (Laplacian(0.4), 1)):
        for j in range(5):
            shares = s[j] ** p * abs(X[:, j, None] - S[None, :, j]) ** p
            expected = -p * 0.4 * shares * kernel.matrix(X * s, S * s)
            np.testing.assert_allclose(kernel.derivative(X * s, S * s, j), expected, rtol=1e-10, atol=1e-15)


# -- positive semidefinite ---------------------------------------------------------------------------------------------


@loop
@every_kernel
def test_what_is_claimed_to_be_positive_semidefinite_has_no_negative_eigenvalue(name):
    kernel = EVERY[name]
    least = []
    for seed, spread in enumerate((0.1, 1.0, 3.0)):
        X = spread * np.random.default_rng(seed).normal(size=(40, 3))
        eigenvalues = np.linalg.eigvalsh(exact(kernel, X, X).astype(float))
        least.append(eigenvalues[0] / eigenvalues[-1])
    # and what is not claimed has one: these are the cases that projections broke on
    assert (min(least) > -1e-12) == kernel.psd


def test_facts_of_composed_kernels():
    assert (RBF(1.0) * Polynomial(coef0=1.0) + 2 * Linear()).psd
    assert not (RBF(1.0) + 0.1 * Polynomial(coef0=-1.0)).psd
    assert not (RBF(1.0) * Sigmoid()).psd
    assert CallableKernel(np.dot).psd
    assert Hedge((RBF(1.0), Linear())).psd and not Hedge((RBF(1.0), Sigmoid())).psd
    assert (RBF(1.0) * Linear() + Linear()).bases == (Base.SQUARED_DISTANCE, Base.DOT)


def eviction_named(name):
    cls = PARTS[name]
    return cls(**{f.name: 0.5 for f in fields(cls) if f.default is f.default_factory is MISSING})


EVICTIONS = {name: eviction_named(name) for name, cls in PARTS.items() if issubclass(cls, Eviction)}
EVICTIONS["GrowAtRandom of KOMP"] = GrowAtRandom(beta=0.5, eviction=KOMP(eps=0.5))


def recipe_of(eviction):
    return FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5), eviction)


@loop
@pytest.mark.parametrize("name", EVICTIONS)
def test_evictions_that_project_refuse_an_indefinite_kernel(name):
    eviction = EVICTIONS[name]
    X, y = rows(), np.resize([0.0, 1.0, 1.0], 60)
    for kernel in (Sigmoid(0.5, -1.0), Polynomial(coef0=-1.0), RBF(1.0) + Sigmoid()):
        if eviction.needs_gaussian:
            continue
        for made in (kernel, Hedge((RBF(1.0), kernel))):
            if not eviction.needs_psd:
                learner = onkel.Learner(recipe_of(eviction), kernel=made, budget=10)
                learner.learn_rows(X, y)
                assert np.isfinite(learner.score_rows(X)).all()
                continue
            sentence = f"{type(eviction).__name__} needs a positive semidefinite kernel, and {kernel!r} is not one"
            with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
                onkel.Learner(recipe_of(eviction), kernel=made, budget=10)
    assert eviction.needs_psd == ("Project" in name or "KOMP" in name or "Pruning" in name)


def test_second_order_and_compress_refuse_an_indefinite_kernel():
    X, y = rows(), np.resize([0, 1, 1], 60)
    with pytest.raises(
        ValueError, match=r"^SecondOrder needs a positive semidefinite kernel, and Sigmoid\(.*\) is not one$"
    ):
        onkel.NewtonClassifier(kernel="sigmoid", gamma=0.5, coef0=-1.0).fit(X, y)
    model = onkel.OGDClassifier(kernel="sigmoid", gamma=0.5, coef0=-1.0, budget=20, random_state=0).fit(X, y)
    before = model._fingerprint()
    for asked in ({"n_support": 4}, {"eps": 0.1}):
        with pytest.raises(
            ValueError, match=r"^compress needs a positive semidefinite kernel, and Sigmoid\(.*\) is not one$"
        ):
            onkel.compress(model, **asked)
    assert model._fingerprint() == before
    both = onkel.merge([model, model], weights=[0.5, 0.5])[0]  # adds up, whatever the kernel
    np.testing.assert_allclose(both.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"^compress needs a positive semidefinite kernel"):
        onkel.merge([model, model], budget=10)


# -- sums and products -------------------------------------------------------------------------------------------------


def test_algebra():
    gaussian, linear = RBF(0.3), Linear()
    assert 1.0 * gaussian == gaussian * 1 == gaussian
    assert gaussian * linear == KernelProduct((gaussian, linear))
    assert 0.5 * gaussian * linear == gaussian * (0.5 * linear) == KernelSum(((0.5, gaussian * linear),))
    assert (gaussian + linear) * gaussian == KernelSum(((1.0, gaussian * gaussian), (1.0, linear * gaussian)))
    for make, error, words in (
        (lambda: KernelProduct((gaussian,)), ValueError, "at least two factors, got 1"),
        (lambda: KernelProduct((gaussian, gaussian + linear)), ValueError, "made of plain kernels"),
        (lambda: gaussian * CallableKernel(np.dot), ValueError, "expected plain kernels, their sums and products"),
        (lambda: -0.5 * gaussian * linear, ValueError, "weight"),
        (lambda: gaussian + 1, TypeError, "unsupported"),
    ):
        with pytest.raises(error, match=words):
            make()


@loop
@pytest.mark.parametrize("name", COMPOSED)
@every_container
@pytest.mark.parametrize("hedged", [False, True], ids=["alone", "in a hedge"])
def test_chunks_threads_and_saving_change_no_bit(name, container, hedged, tmp_path):
    kernel = Hedge((RBF(0.5), COMPOSED[name], Linear())) if hedged else COMPOSED[name]
    X, y = rows(150), np.resize([0.0, 1.0, 1.0, 0.0, 1.0], 150)

    def learned(cuts, saved=False, **settings):
        learner = onkel.Learner(recipes.RBP(), kernel=kernel, budget=21, fit_intercept=True, **settings)
        for cut in np.split(np.arange(150), cuts):
            learner.learn_rows(container(X[cut]), y[cut])
            if saved:
                onkel.save(learner, tmp_path / "model.onkel")
                learner = onkel.load(tmp_path / "model.onkel")
        return learner.fingerprint(), learner.score_rows(container(X)).tobytes()

    whole = learned([])
    assert learned([1, 40, 41, 100], saved=True) == whole
    assert learned(range(1, 150), n_jobs=2) == whole


def test_batch_learners_take_every_kernel():
    X, y = rows(), np.resize([0, 1, 1], 60)
    for kernel in (*(k for k in EVERY.values() if k.psd), CallableKernel(lambda A, B: A @ B.T)):
        model = BATCH(kernel=kernel, lam=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), kernel.matrix(X, model.support_vectors_) @ model.dual_coef_[0], atol=1e-9
        )
    with pytest.raises(ValueError, match="a single kernel, got several"):
        BATCH(kernel=Hedge((RBF(1.0), Linear()))).fit(X, y)


# -- names elsewhere, and exports --------------------------------------------------------------------------------------


def test_names_elsewhere():
    onnx = pytest.importorskip("onnx")
    known = onnx.defs.get_schema("SVMClassifier", domain="ai.onnx.ml").attributes["kernel_type"].description
    there = re.findall("[A-Z]{3,}", known)
    for name, kernel in KERNELS.items():
        if kernel.elsewhere is None:
            assert name not in SVC._sparse_kernels
            continue
        assert SVC._sparse_kernels[kernel.elsewhere.libsvm_number] == name
        assert kernel.elsewhere.onnx in there
    assert list(LIBSVM_KERNELS) == ["linear", "polynomial", "rbf", "sigmoid"]  # svm-train's -t 0 to 3


def one_model(kernel, task="multiclass"):
    X = rows(80)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [0.0] if task == "binary" else [-0.4, 0.4])
    recipe = recipes.PA(C=0.1)
    return onkel.KernelClassifier(recipe, kernel=kernel, fit_intercept=True, random_state=0).fit(X, y)


@loop_by(lambda to, **others: to)
@every_kernel
@pytest.mark.parametrize("to", READERS)
def test_exports_say_what_the_model_says(name, to, tmp_path):
    kernel, X = EVERY[name], rows(40, seed=2)
    model = one_model(kernel)
    if to == "libsvm" and (name in COMPOSED or kernel.elsewhere is None):
        what = "sums" if isinstance(kernel, KernelSum) else "products" if name in COMPOSED else "the kernels"
        with pytest.raises(ValueError, match=f"^LIBSVM knows .*{what}"):
            onkel.export.to_libsvm(model)
        return
    made = getattr(onkel.export, f"to_{to}")(model, **({"dtype": "float64"} if to == "onnx" else {}))
    found, predicted = READERS[to](made, X, tmp_path)
    scores = model.decision_function(X)
    clear = np.diff(np.sort(scores, axis=1)[:, -2:])[:, 0] > 1e-9 * max(1.0, abs(scores).max())
    assert clear.mean() > 0.8
    if found is not None:
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-9 * max(1.0, abs(scores).max()))
    np.testing.assert_array_equal(predicted[clear], model.predict(X)[clear])


class Cauchy(PlainKernel):
    """A kernel that nobody has taught the core."""

    name, base, psd = "cauchy", Base.SQUARED_DISTANCE, True

    def value(self, q, m):
        return m.power(m.affine(0.5, q, 1.0), -1)


def test_a_kernel_that_the_core_does_not_know_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^there is no kernel called 'cauchy'$"):
        onkel.Learner(recipes.Perceptron(), kernel=Cauchy()).learn([1.0], 1)


def votes(task, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(dtype)
    y = (X[:, 0] + 0.3 * X[:, 1] ** 2 > 0).astype(int) + (task == "multiclass") * (X[:, 2] > 0)
    kernels = [RBF(2.0**p) for p in (-3, 1, 5, 9)] + [Laplacian(64.0), RBF(20.0) * Linear()]
    model = onkel.MultiKernelClassifier(recipes.PA(), kernels=kernels, random_state=0).fit(X, y)
    return model, (1.5 * rng.normal(size=(400, 3))).astype(np.float32)


@loop
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("learned", ["float64", "float32"])
@pytest.mark.parametrize("to", ["onnx", "c"])
def test_kernels_vote_however_small_their_values_are(task, learned, to, tmp_path):
    """Most values of narrow kernels are below all that float32 has, and their signs count."""
    model, X = votes(task, learned)
    expected = model.decision_function(X.astype(learned)).reshape(len(X), -1)
    if to == "onnx":
        found = READERS["onnx"](onkel.export.to_onnx(model, dtype="float32"), X, tmp_path)[0]
    else:
        found = c_scores(onkel.export.to_c(model, dtype="float32"), X, expected.shape[1], tmp_path)
    assert found.dtype == np.float32
    # of 400 rows two may lie between points of two classes to the last digits of float32
    assert (abs(found - expected).max(axis=1) < 1e-5).mean() >= 0.995


def c_scores(text, X, n_scores, folder):
    (folder / "model.h").write_text(text)
    (folder / "main.c").write_text(
        '#include "model.h"\nvoid all(const float *x, float *s, int n);\n'
        "void all(const float *x, float *s, int n) { for (int i = 0; i < n; ++i) "
        "model_scores(x + i * MODEL_N_FEATURES, s + i * MODEL_N_SCORES); }\n"
    )
    command = "gcc -std=c99 -Wall -Wextra -Werror -pedantic -shared -fPIC main.c -o model.so -lm"
    subprocess.run(command.split(), cwd=folder, check=True)
    scores = np.empty((len(X), n_scores), np.float32)
    made = ctypes.CDLL(str(folder / "model.so"))
    made.all(X.ctypes.data_as(ctypes.c_void_p), scores.ctypes.data_as(ctypes.c_void_p), len(X))
    return scores


# -- sparse rows far from the origin -----------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize(("dtype", "mean"), [("float32", 1e3), ("float32", 3e5), ("float64", 1e7)])
@pytest.mark.parametrize("kernel", [RBF(0.4), Laplacian(0.4), RBF(0.4) * Laplacian(0.1) + RBF(2.0)])
@pytest.mark.parametrize("hedged", [False, True], ids=["alone", "in a hedge"])
def test_sparse_distances_are_as_good_as_dense_ones(kernel, dtype, mean, hedged):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8)) + np.where(np.arange(8) < 4, mean, 0.0)
    X[:, 4:][rng.random((50, 4)) < 0.5] = 0  # some features are of the mean, some are sparse
    X = X.astype(dtype)
    sparse = values_of_core(kernel, X, X[:10], dtype, csr_array, hedged)
    expected = exact(kernel, X, X[:10]).astype(float)
    np.testing.assert_allclose(sparse, expected, rtol=50 * np.finfo(dtype).eps * 8, atol=1e-30)
    np.testing.assert_array_equal(sparse[:10], sparse[:10].T)  # whichever is the row


def test_sparse_rows_with_a_large_mean_teach_as_dense_ones_do():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 6))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    X = (X + 1000).astype(np.float32)
    dense, sparse = (
        onkel.OGDClassifier(gamma=0.3, random_state=0).fit(c(X), y).decision_function(c(X))
        for c in (np.asarray, csr_array)
    )
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-4 * abs(dense).max())


def test_bits_of_sparse_distances_do_not_hang_on_how_features_are_held():
    """A feature is a list of postings where few points have it, a column where many do: rare among many points."""
    rng = np.random.default_rng(2)
    X = np.where(rng.random((40, 12)) < 0.4, rng.normal(size=(40, 12)) + 100, 0.0).astype(np.float32)
    crowd = np.zeros((600, 14), np.float32)
    crowd[:, 12:] = rng.normal(size=(600, 2))
    wide = np.hstack([X, np.zeros((40, 2), np.float32)])
    columns = values_of_core(RBF(0.01), wide, wide[:1], "float32", csr_array)
    learner = onkel.Learner(recipes.Perceptron(), kernel=RBF(0.01), dtype="float32")
    learner.learn_rows(csr_array(wide[:1]), np.ones(1))
    state = onkel.Learner(recipes.OGD(eta=1e-3), kernel=RBF(0.01), dtype="float32")
    state.learn_rows(csr_array(np.vstack([crowd, wide[:1]])), np.ones(601))
    _points, births = state.support()
    alone = state.expansion()
    term = alone.terms[0]
    coefficients = np.zeros_like(term.last.points)
    coefficients[:, -1] = 1.0
    only = replace(term.last, points=coefficients)
    state.set_expansion(replace(alone, terms=(replace(term, last=only, average=only),)))
    assert births[-1] == 600
    np.testing.assert_array_equal(state.score_rows(csr_array(wide)), columns)


# -- documents ---------------------------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[1] / "docs" / "kernels.md"


def table():
    """The table of docs/kernels.md, of what the kernels say of themselves."""
    lines = ["| `kernel=` | part | formula | positive semidefinite | LIBSVM | ONNX |", "|---|---|---|---|---|---|"]
    for name, kernel in KERNELS.items():
        psd = "yes" if kernel().psd else "no"
        psd = "where `coef0 >= 0`" if isinstance(kernel.psd, property) else psd
        there = kernel.elsewhere
        names = (f"`{there.libsvm}` ({there.libsvm_number})", f"`{there.onnx}`") if there else ("-", "-")
        cells = [f'`"{name}"`', f"`{kernel.__name__}`", f"`{kernel.formula.replace('|', chr(92) + '|')}`", psd, *names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_documents_list_every_kernel():
    assert table() in DOCS.read_text()
    for kernel in KERNELS.values():
        assert kernel.formula in inspect.getdoc(kernel)
    for name in KERNELS:
        assert f'"{name}"' in inspect.getdoc(BATCH)
