"""Models in other programs' hands: ONNX, LIBSVM, C and JSON predict what the model predicts."""

import ctypes
import json
import math
import re
import shutil
import subprocess

import numpy as np
import onnxruntime
import pytest
import skl2onnx
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from functions import function_of
from looping import loop
from onkel import recipes
from onkel.parts import RBF, Laplacian, Linear, Polynomial, Sigmoid
from table import in_turn

KERNELS = {
    "rbf": RBF(0.4),
    "laplacian": Laplacian(0.3),
    "linear": Linear(),
    "poly": Polynomial(gamma=0.5, coef0=1.0, degree=3),
    "sigmoid": Sigmoid(gamma=0.2, coef0=-0.1),
    "sum": RBF(0.4) + 0.5 * Polynomial(gamma=0.3, coef0=1.0, degree=2) + 0.1 * Laplacian(0.5),
}
TASKS = ("binary", "multiclass", "regression")
SVM_PREDICT = shutil.which("svm-predict")
needs_svm_predict = pytest.mark.skipif(SVM_PREDICT is None, reason="svm-predict (libsvm-tools) is not installed")


def data(task, n=400, d=4, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 0] + 0.2 * rng.normal(size=n)
    X = X.astype(np.float32) + np.float32(offset)
    if task == "regression":
        return X, score
    cuts = [0.0] if task == "binary" else np.quantile(score, [1 / 3, 2 / 3])
    labels = np.array([-1, 1]) if task == "binary" else np.array(["high", "low", "middle"])
    return X, labels[np.digitize(score, cuts)]


def one_kernel(task, kernel="rbf", **settings):
    """A learner with an average and a constant term, on a kernel of any kind."""
    settings = {"kernel": KERNELS[kernel], "fit_intercept": True, "average": True, "random_state": 0, **settings}
    if task == "regression":
        return onkel.KernelRegressor(recipes.PA(C=0.1, loss="epsilon_insensitive"), **settings)
    return onkel.KernelClassifier(recipes.PA(C=0.1), **settings)


def several_kernels(task, **settings):
    if task == "regression":
        recipe, made = recipes.PA(loss="epsilon_insensitive"), onkel.MultiKernelRegressor
    else:
        recipe, made = recipes.PA(), onkel.MultiKernelClassifier
    kernels = [RBF(0.3), Laplacian(0.5), Polynomial(coef0=1.0, degree=2), RBF(3.0)]
    return made(recipe, kernels=kernels, fit_intercept=True, random_state=0, **settings)


def random_features(task):
    made = onkel.DualSGDRegressor if task == "regression" else onkel.DualSGDClassifier
    settings = {"loss": "squared_error"} if task == "regression" else {}
    return made(lam=0.1, budget=40, n_components=50, gamma=0.4, random_state=0, fit_intercept=True, **settings)


def scaled(task, scaler):
    return onkel.StreamPipeline(scaler, one_kernel(task))


def sparse_last(task):
    return one_kernel(task, average=False, fit_intercept=False)


MODELS = {
    **{name: lambda task, name=name: one_kernel(task, name) for name in KERNELS},
    "last": sparse_last,
    "several kernels": several_kernels,
    "random features": random_features,
    "standard scaler": lambda task: scaled(task, onkel.StreamStandardScaler()),
    "range scaler": lambda task: scaled(task, onkel.StreamMinMaxScaler(feature_range=(-1, 2))),
    "no mean": lambda task: scaled(task, onkel.StreamStandardScaler(with_mean=False)),
    "newton": lambda task: (onkel.NewtonRegressor if task == "regression" else onkel.NewtonClassifier)(
        budget=40, gamma=0.4, random_state=0
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)
every_task = pytest.mark.parametrize("task", TASKS)


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def sure(model, X, least=1e-5):
    """Rows whose label does not hang on the last digits: of the scores, and of every kernel's own where they vote."""
    scores = [scores_of(model, X)]
    if hasattr(model, "scores_per_kernel"):
        scores += list(np.moveaxis(model.scores_per_kernel(X), 1, 0))
    margins = [abs(s) if s.ndim == 1 else np.diff(np.sort(s, axis=1)[:, -2:], axis=1)[:, 0] for s in scores]
    return np.min(margins, axis=0) > least


def run(proto, X):
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": X}), strict=True))


def close(found, expected, tolerance=1e-5):
    scale = max(1.0, float(abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# -- ONNX --------------------------------------------------------------------------------------------------------------


@in_turn({"dtype": ["float32", "float64"]}, name=MODELS, task=TASKS)
def test_onnx_predicts_what_the_model_predicts(name, task, dtype):
    X, y = data(task)
    model = MODELS[name](task).fit(X.astype(np.float64), y)
    rows = data(task, n=1000, seed=1)[0].astype(dtype)
    found = run(onkel.export.to_onnx(model, dtype=dtype), rows)
    clear = sure(model, rows) if task != "regression" else np.ones(len(rows), bool)
    assert clear.mean() > 0.95
    tolerance = 1e-5 if dtype == "float32" else 1e-9
    if task == "regression":
        return close(found["prediction"], model.predict(rows), tolerance)
    np.testing.assert_array_equal(found["label"][clear], model.predict(rows)[clear])
    close(found["scores"][clear], scores_of(model, rows)[clear], tolerance)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        close(found["probabilities"], model.predict_proba(rows), tolerance)


@loop
@pytest.mark.parametrize("name", ["rbf", "laplacian", "standard scaler", "random features"])
@every_task
def test_onnx_in_float32_bears_a_large_mean(name, task):
    """Points far from 0 and near each other: the stored mean is subtracted before anything is multiplied."""
    X, y = data(task, offset=1000.0)
    model = MODELS[name](task).fit(X.astype(np.float64), y)
    rows = data(task, n=1000, seed=1, offset=1000.0)[0]
    found = run(onkel.export.to_onnx(model), rows)
    close(found["prediction" if task == "regression" else "scores"], scores_of(model, rows))


@loop
@every_task
def test_onnx_of_large_coefficients_that_cancel_out(task):
    X, y = data(task)
    made = onkel.NewtonRegressor if task == "regression" else onkel.NewtonClassifier
    model = made(budget=60, gamma=0.02, lam=1e-3, random_state=0).fit(X.astype(np.float64), y)
    assert np.linalg.norm(model.dual_coef_) > 1000
    rows = data(task, n=1000, seed=1)[0]
    found = run(onkel.export.to_onnx(model), rows)["prediction" if task == "regression" else "scores"]
    assert found.dtype == np.float32
    close(found, scores_of(model, rows))


def test_onnx_computes_in_float32_where_that_will_do():
    model = one_kernel("binary", "sum").fit(*data("binary"))
    assert {constant.data_type for constant in onkel.export.to_onnx(model).graph.initializer} == {1, 7}


@loop
@pytest.mark.parametrize("labels", [["a", "ü"], [3, 70], [-1.0, 1.0], [False, True]], ids=str)
def test_onnx_labels_are_the_models(labels):
    X, y = data("binary")
    model = one_kernel("binary").fit(X, np.array(labels)[(y > 0).astype(int)])
    found = run(onkel.export.to_onnx(model), X)["label"]
    clear = sure(model, X)
    assert found[clear].tolist() == model.predict(X)[clear].tolist()


def test_onnx_of_a_learner_without_support_vectors():
    learner = onkel.Learner(recipes.OGD(loss="squared_error"), task="regression", fit_intercept=True)
    learner.set_expansion(function_of(learner.kernel, np.empty((0, 3)), [], np.empty((1, 0)), [0.75], t=1))
    found = run(onkel.export.to_onnx(learner), np.ones((2, 3), np.float32))
    assert found["prediction"].tolist() == [0.75, 0.75]


@every_task
@pytest.mark.parametrize("name", ["sum", "several kernels", "random features", "newton"])
def test_skl2onnx_converts_pipelines(task, name):
    onkel.export.register_with_skl2onnx()
    X, y = data(task, offset=5.0)
    model = make_pipeline(StandardScaler(), MODELS[name](task)).fit(X.astype(np.float64), y)
    options = {} if task == "regression" else {"options": {"zipmap": False}}
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-9)):  # scikit-learn's scaler is not ours to guard
        rows = data(task, n=500, seed=1, offset=5.0)[0].astype(dtype)
        made = run(skl2onnx.to_onnx(model, rows[:1], **options), rows)
        expected = scores_of(model, rows)
        if task == "regression":
            close(made["variable"][:, 0], expected, tolerance)
            continue
        clear = sure(model[-1], model[0].transform(rows), 1e-3)
        np.testing.assert_array_equal(made["label"][clear], model.predict(rows)[clear])
        if hasattr(model, "predict_proba"):
            expected = model.predict_proba(rows)
        elif task == "binary":
            expected = np.column_stack([-expected, expected])
        close(made["probabilities"][clear], expected[clear], tolerance)


# -- LIBSVM ------------------------------------------------------------------------------------------------------------

LIBSVM_KERNELS = ("rbf", "linear", "poly", "sigmoid")


def svm_predict(folder, text, X, y):
    """What the official program says."""
    (folder / "model").write_text(text)
    rows = [" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v) for row in X]
    (folder / "rows").write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    command = [SVM_PREDICT, "-q", str(folder / "rows"), str(folder / "model"), str(folder / "out")]
    subprocess.run(command, check=True, capture_output=True)
    return np.loadtxt(folder / "out")


@loop
@needs_svm_predict
@every_task
@pytest.mark.parametrize("kernel", LIBSVM_KERNELS)
def test_svm_predict_gives_the_models_labels(tmp_path, task, kernel):
    X, y = data(task, n=200)
    X[X < -0.8] = 0  # text leaves zeros out
    if task == "multiclass":
        y = np.unique(y, return_inverse=True)[1] * 5 - 3
    model = one_kernel(task, kernel).fit(X, y)
    found = svm_predict(tmp_path, onkel.export.to_libsvm(model), X, y)
    if task == "regression":
        return np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-5)  # it prints six digits
    clear = sure(model, X, 1e-9)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(found[clear], model.predict(X)[clear])


def test_libsvm_text_of_several_classes_holds_each_point_once_less_than_classes():
    X, y = data("multiclass", n=100)
    y = np.unique(y, return_inverse=True)[1]
    model = one_kernel("multiclass").fit(X, y)
    text = onkel.export.to_libsvm(model)
    assert f"total_sv {2 * model.n_support_}\n" in text
    assert len(text.split("SV\n")[1].splitlines()) == 2 * model.n_support_


@loop
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("laplacian", "LIBSVM knows the kernels linear, polynomial, rbf, sigmoid, and the kernel is laplacian"),
        ("sum", "LIBSVM knows no sums of kernels"),
        ("several kernels", "LIBSVM knows one kernel"),
        ("random features", "LIBSVM knows no random features"),
        ("standard scaler", "LIBSVM knows no scaler.*to_libsvm_range"),
    ],
)
def test_what_libsvm_lacks_is_refused(name, sentence):
    model = MODELS[name]("binary").fit(*data("binary", n=100))
    with pytest.raises(ValueError, match=sentence):
        onkel.export.to_libsvm(model)


def test_libsvm_refuses_labels_that_are_no_numbers():
    model = one_kernel("multiclass").fit(*data("multiclass", n=100))
    with pytest.raises(ValueError, match="LIBSVM's labels are whole numbers"):
        onkel.export.to_libsvm(model)


# -- C -----------------------------------------------------------------------------------------------------------------


def compiled(folder, text, dtype):
    """The header as a library, compiled as strictly as there is."""
    (folder / "model.h").write_text(text)
    real = "double" if dtype == "float64" else "float"
    (folder / "main.c").write_text(
        f'#include "model.h"\n#include "model.h"\n'
        f"void scores(const {real} *x, {real} *s, int n);\n"
        f"void scores(const {real} *x, {real} *s, int n) {{\n"
        "  int i;\n"
        "  for (i = 0; i < n; ++i) model_scores(x + i * MODEL_N_FEATURES, s + i * MODEL_N_SCORES);\n}\n"
        f"double predict(const {real} *x);\n"
        f"double predict(const {real} *x) {{ return (double)model_predict(x); }}\n"
    )
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-O1", "-shared", "-fPIC"]
    command += [str(folder / "main.c"), "-o", str(folder / "model.so"), "-lm"]
    subprocess.run(command, check=True)
    made = ctypes.CDLL(str(folder / "model.so"))
    made.predict.restype = ctypes.c_double
    return made


@every_model
@every_task
def test_c_header_predicts_what_the_model_predicts(tmp_path, name, task):
    X, y = data(task)
    model = MODELS[name](task).fit(X.astype(np.float64), y)
    text = onkel.export.to_c(model)
    assert "alloc" not in text.replace("no allocation", "")
    made = compiled(tmp_path, text, "float64")
    rows = data(task, n=10_000, seed=1)[0].astype(np.float64)
    expected = scores_of(model, rows)
    found = np.empty((len(rows), 1 if expected.ndim == 1 else expected.shape[1]))
    made.scores(rows.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p), len(rows))
    clear = sure(model, rows) if task != "regression" else np.ones(len(rows), bool)
    close(found[clear].reshape(expected[clear].shape), expected[clear], 1e-11)
    predicted = [made.predict(row.ctypes.data_as(ctypes.c_void_p)) for row in rows[:500]]
    if task == "regression":
        return close(predicted, expected[:500], 1e-11)
    labels = model.classes_[np.array(predicted, int)]
    np.testing.assert_array_equal(labels[clear[:500]], model.predict(rows[:500])[clear[:500]])


def test_c_header_in_float(tmp_path):
    X, y = data("binary")
    model = one_kernel("binary", "sum").fit(X, y)  # learned from float32: float is its own type
    made = compiled(tmp_path, onkel.export.to_c(model), "float32")
    rows = data("binary", n=10_000, seed=1)[0]
    found = np.empty(len(rows), np.float32)
    made.scores(rows.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p), len(rows))
    close(found, model.decision_function(rows))
    assert "double" in onkel.export.to_c(model, dtype="float64")


def test_c_header_in_float_bears_a_large_mean(tmp_path):
    """The scaler's mean is no number of float32: what rounding takes away is given back."""
    X, y = data("binary", offset=100_000.0)
    model = scaled("binary", onkel.StreamStandardScaler()).fit(X.astype(np.float64), y)
    made = compiled(tmp_path, onkel.export.to_c(model, dtype="float32"), "float32")
    found = np.empty(len(X), np.float32)
    made.scores(X.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p), len(X))
    close(found, model.decision_function(X.astype(np.float64)), 1e-4)


def test_c_labels_are_quoted(tmp_path):
    labels = ['a"b\\', "ü1", "??=n\n"]
    model = one_kernel("multiclass").fit(*data("multiclass", n=60)[:1], np.resize(labels, 60))
    text = onkel.export.to_c(model)
    text = text.replace(
        "#endif", "const char *label(int i);\nconst char *label(int i) { return model_classes[i]; }\n#endif"
    )
    made = compiled(tmp_path, text, "float32")
    made.label.restype = ctypes.c_char_p
    assert [made.label(i).decode() for i in range(3)] == model.classes_.tolist()


@loop
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([-7, 2**31 - 1], "long"),
        ([-(2**31), 3], "long long"),
        ([-(2**63), 2**63 - 1], "long long"),
        (np.array([5, 2**63 + 1], np.uint64), "unsigned long long"),
        ([False, True], "long"),
    ],
)
def test_c_labels_fit_their_type(tmp_path, labels, kind):
    labels = np.array(labels)
    model = one_kernel("binary").fit(*data("binary", n=60)[:1], np.resize(labels, 60))
    text = onkel.export.to_c(model)
    assert f"static const {kind} model_classes[2]" in text
    text = text.replace("#endif", f"{kind} label(int i);\n{kind} label(int i) {{ return model_classes[i]; }}\n#endif")
    made = compiled(tmp_path, text, "float32")
    made.label.restype = {"long": ctypes.c_long, "long long": ctypes.c_longlong}.get(kind, ctypes.c_ulonglong)
    assert [made.label(i) for i in range(2)] == sorted(labels.tolist())


@loop
@pytest.mark.parametrize("label", [2**63, 2**63 + 1, 1e21, -1e21])
def test_labels_that_do_not_fit_are_refused(label):
    labels = np.array([label, 3], np.float64 if isinstance(label, float) else np.uint64)
    model = one_kernel("binary").fit(*data("binary", n=60)[:1], np.resize(labels, 60))
    with pytest.raises(ValueError, match="ONNX has signed 64-bit labels, and the model has the label"):
        onkel.export.to_onnx(model)


@loop
@pytest.mark.parametrize("label", [2**31, -(2**31), -(2**63), 1e300])
def test_labels_that_libsvm_lacks_are_refused(label):
    model = one_kernel("binary", "rbf").fit(*data("binary", n=60)[:1], np.resize(np.array([label, 3]), 60))
    with pytest.raises(ValueError, match="LIBSVM's labels are whole numbers of 32 bits"):
        onkel.export.to_libsvm(model)


@loop
@pytest.mark.parametrize("export", [onkel.export.to_onnx, onkel.export.to_c, onkel.export.to_json])
def test_labels_that_are_bytes_are_refused(export):
    model = one_kernel("binary").fit(*data("binary", n=60)[:1], np.resize([b"a", b"b"], 60))
    with pytest.raises(
        ValueError, match=r"labels that are bytes cannot be exported, and the classes are \[b'a', b'b'\]"
    ):
        export(model)


@loop
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_votes_where_kernel_values_are_too_small_for_float32(tmp_path, task, dtype):
    """A vote hangs on a sign, which a value of 1e-60 has, too; and 0, to which float32 rounds it, has none."""
    X, y = data(task)
    model = several_kernels(task).set_params(fit_intercept=False).fit(X.astype(dtype), y)
    rows = (8 * data(task, n=300, seed=1)[0]).astype(dtype)
    each = abs(model.scores_per_kernel(rows)).reshape(len(rows), -1)
    assert ((each == 0) if dtype == "float32" else (each > 0) & (each < 1e-40)).any(axis=1).mean() > 0.3
    expected = model.decision_function(rows)
    for taken in ("float32", "float64"):
        found = run(onkel.export.to_onnx(model, dtype=taken), rows.astype(taken))
        close(found["scores"], expected)
        np.testing.assert_array_equal(found["label"], model.predict(rows))
    made = compiled(tmp_path, onkel.export.to_c(model), dtype)
    scores = np.empty(expected.shape, dtype)
    made.scores(rows.ctypes.data_as(ctypes.c_void_p), scores.ctypes.data_as(ctypes.c_void_p), len(rows))
    close(scores, expected)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_kernels_with_no_opinion_do_not_vote(tmp_path, task):
    """Far from all points gaussians are 0, so that only the polynomial speaks."""
    X, y = data(task)
    model = several_kernels(task).set_params(fit_intercept=False).fit(X.astype(np.float64), y)
    rows = data(task, n=50, seed=1)[0].astype(np.float64) * 1e4
    expected = model.decision_function(rows)
    assert (abs(expected).reshape(50, -1).sum(axis=1) < 0.9).all()
    close(run(onkel.export.to_onnx(model, dtype="float64"), rows)["scores"], expected, 1e-9)
    made = compiled(tmp_path, onkel.export.to_c(model), "float64")
    found = np.empty(expected.shape)
    made.scores(rows.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p), len(rows))
    close(found, expected, 1e-9)


def test_c_names_must_be_names():
    model = one_kernel("binary").fit(*data("binary", n=60))
    with pytest.raises(
        ValueError, match="name must be letters, digits and underscores, a letter first, got '1; int x'"
    ):
        onkel.export.to_c(model, name="1; int x")


def test_numbers_beyond_float32_are_refused():
    learner = onkel.Learner(recipes.OGD(loss="squared_error"), task="regression")
    learner.set_expansion(function_of(learner.kernel, np.ones((1, 2)), [0], [[1e50]], [0.0], t=1))
    for export in (onkel.export.to_c, onkel.export.to_onnx):
        with pytest.raises(ValueError, match="float32: use dtype='float64'"):
            export(learner, dtype="float32")


# -- JSON --------------------------------------------------------------------------------------------------------------


def kernel_values(kernel, S, z, least_exponent):
    def of(name, gamma=None, coef0=None, degree=None, relevances=1.0):
        if name in ("rbf", "laplacian"):
            exponent = -gamma * (np.array(relevances) * abs(S - z) ** {"rbf": 2, "laplacian": 1}[name]).sum(axis=1)
            return np.where(exponent < least_exponent, 0.0, np.exp(exponent))
        if name == "linear":
            return S @ z
        inner = gamma * S @ z + coef0
        return {"poly": lambda: inner**degree, "sigmoid": lambda: np.tanh(inner)}[name]()

    return sum(t["weight"] * math.prod(of(**factor) for factor in t["factors"]) for t in kernel)


def json_scores(read, x):
    """docs/deploy.md's recipe, word for word."""
    z = (x - np.array(read["shift"])) * np.array(read["factor"])
    S = np.array(read["points"]).reshape(-1, len(z))
    each = []
    for function in read["functions"]:
        f = (
            np.array(function["coefficients"]) @ kernel_values(function["kernel"], S, z, read["least_exponent"])
            + function["constants"]
        )
        each.append((function["weight"], f))
    features = read["random_features"]
    if features is not None:
        waves = np.cos(np.array(features["frequencies"]) @ z + features["phases"])
        f = each[0][1] + np.sqrt(2 / len(waves)) * np.array(features["coefficients"]) @ waves
        each[0] = each[0][0], f
    if read["combination"] == "sum":
        return each[0][1]
    if read["combination"] == "mean":
        return sum(weight * f for weight, f in each)
    if read["task"] == "binary":
        return sum(weight * np.sign(f) for weight, f in each)
    return sum(weight * np.eye(len(f))[f.argmax()] * f.any() for weight, f in each)


@loop
@every_model
@every_task
def test_json_holds_all_that_predictions_are_made_of(name, task):
    X, y = data(task, n=100)
    X = X.astype(np.float64)
    model = MODELS[name](task).fit(X, y)
    read = json.loads(onkel.export.to_json(model))
    found = np.array([json_scores(read, x) for x in X])
    expected = scores_of(model, X)
    close(found.reshape(expected.shape), expected, 1e-9)
    if task != "regression":
        assert read["classes"] == model.classes_.tolist()


@loop
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibrated", [False, True])
def test_c_probabilities(tmp_path, n_classes, calibrated, dtype):
    X, y = data("binary" if n_classes == 2 else "multiclass", n=300)
    X = X.astype(dtype)
    if calibrated:
        inner = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(gamma=0.5, random_state=0))
        model = onkel.PlattClassifier(inner).fit(X, y)
    else:
        model = onkel.KLRClassifier(gamma=0.5, random_state=0).fit(X, y)
    (tmp_path / "model.h").write_text(onkel.export.to_c(model, batch=5))
    real = "double" if dtype == "float64" else "float"
    (tmp_path / "main.c").write_text(
        f'#include "model.h"\nvoid probabilities(const {real} *x, {real} *p);\nint predict(const {real} *x);\n'
        f"void probabilities(const {real} *x, {real} *p) {{ model_probabilities(x, p); }}\n"
        f"int predict(const {real} *x) {{ return model_predict(x); }}\n"
        f"void batch(const {real} *x, {real} *s);\n"
        f"void batch(const {real} *x, {real} *s) {{ model_scores_batch(x, s); }}\n"
    )
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, str(tmp_path / "main.c"), "-o", str(tmp_path / "model.so"), "-lm"], check=True)
    made = ctypes.CDLL(str(tmp_path / "model.so"))
    rows = np.ascontiguousarray(data("binary", n=100, seed=1)[0].astype(dtype))
    found = np.empty((100, n_classes), dtype)
    for row, p in zip(rows, found, strict=True):
        made.probabilities(row.ctypes.data_as(ctypes.c_void_p), p.ctypes.data_as(ctypes.c_void_p))
    tolerance = 1e-9 if dtype == "float64" else 2e-4
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=tolerance)
    labels = model.classes_[[made.predict(row.ctypes.data_as(ctypes.c_void_p)) for row in rows]]
    clear = np.ptp(np.sort(found, axis=1)[:, -2:], axis=1) > 0.01
    np.testing.assert_array_equal(labels[clear], model.predict(rows)[clear])
    scores = np.empty((5, 1 if n_classes == 2 else 3), dtype)
    made.batch(rows.ctypes.data_as(ctypes.c_void_p), scores.ctypes.data_as(ctypes.c_void_p))
    inside = model.estimator_ if calibrated else model
    expected = inside.decision_function(rows[:5]).reshape(scores.shape)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9 if dtype == "float64" else 2e-3)


def test_numbers_in_c_are_as_short_as_they_can_be():
    X, y = data("binary", n=200)
    small, large = (onkel.export.to_c(one_kernel("binary").fit(X.astype(t), y)) for t in ("float32", "float64"))
    assert len(small) < len(large)
    for text, kind in ((small, np.float32), (large, np.float64)):
        written = re.findall(r"[-]?(?:\d+[.]\d*|[.]\d+|\d+)(?:e-?\d+)?(?=f?[,}])", text.partition("points")[2])
        assert len(written) > 100
        for number in written:
            value = kind(number)
            assert kind(str(value)) == value and len(number) <= len(str(value))


def test_libsvm_has_a_file_of_ranges_for_a_scaler():
    X, y = data("binary", n=200)
    X, y = X.astype(np.float64), np.unique(y, return_inverse=True)[1]
    for scaler in (onkel.StreamStandardScaler(), onkel.StreamMinMaxScaler(feature_range=(-1, 2))):
        model = onkel.StreamPipeline(scaler, one_kernel("binary", "rbf")).fit(
            X.astype(np.float64), np.unique(y, return_inverse=True)[1]
        )
        kind, bounds, *lines = onkel.export.to_libsvm_range(model).splitlines()
        lower, upper = map(float, bounds.split())
        ranges = np.array([[float(number) for number in line.split()] for line in lines])
        assert kind == "x" and ranges[:, 0].tolist() == list(range(1, X.shape[1] + 1))
        least, greatest = ranges[:, 1], ranges[:, 2]
        by_hand = lower + (upper - lower) * (X - least) / (greatest - least)  # svm-scale's formula
        np.testing.assert_allclose(by_hand, model.transformers_[0].transform(X.astype(np.float64)), atol=1e-9)
        assert onkel.export.to_libsvm(model, scaled=True).startswith("svm_type c_svc")
    with pytest.raises(ValueError, match="has no scaler"):
        onkel.export.to_libsvm_range(one_kernel("binary").fit(X, y))


# -- all ---------------------------------------------------------------------------------------------------------------

EXPORTS = [onkel.export.to_onnx, onkel.export.to_libsvm, onkel.export.to_c, onkel.export.to_json]


@loop
@pytest.mark.parametrize("export", EXPORTS)
def test_what_cannot_be_exported_is_refused(export):
    X, y = data("binary", n=60)
    with pytest.raises(ValueError, match="a callable kernel cannot be exported"):
        export(onkel.OGDClassifier(kernel=lambda x, S: x @ S.T).fit(X, y))
    with pytest.raises(ValueError, match="not fitted"):
        export(onkel.OGDClassifier())
    with pytest.raises(ValueError, match="not fitted yet"):
        export(onkel.Learner(recipes.OGD()))
    with pytest.raises(ValueError, match="expected a model of onkel, got int"):
        export(5)


@loop
@pytest.mark.parametrize("export", EXPORTS)
def test_export_of_sparse_rows_is_that_of_dense_ones(export):
    from scipy.sparse import csr_array

    X, y = data("binary", n=100)
    X[X < 0.3] = 0
    dense, sparse = (one_kernel("binary", "rbf").fit(rows, y) for rows in (X, csr_array(X)))
    rows = data("binary", n=200, seed=1)[0]
    if export is onkel.export.to_onnx:
        close(run(export(sparse), rows)["scores"], dense.decision_function(rows))
    assert len(str(export(sparse))) > 100


@loop
@pytest.mark.parametrize("to", ["onnx", "libsvm", "c", "json"])
def test_the_command_writes_what_the_functions_return(tmp_path, monkeypatch, capsys, to):
    from onkel.cli._app import app

    X, y = data("binary", n=100)
    model = one_kernel("binary").fit(X, y)
    onkel.save(model, tmp_path / "a.onkel")
    target = tmp_path / "2-x.h"
    with pytest.raises(SystemExit) as ended:
        app(["export", str(tmp_path / "a.onkel"), "--to", to, "-o", str(target)], prog_name="onkel")
    assert ended.value.code == 0
    expected = {
        "onnx": lambda: onkel.export.to_onnx(model).SerializeToString(),
        "libsvm": lambda: onkel.export.to_libsvm(model).encode(),
        "c": lambda: onkel.export.to_c(model, name="model_2_x").encode(),
        "json": lambda: onkel.export.to_json(model).encode(),
    }[to]()
    assert target.read_bytes() == expected
    assert f"{target}: {len(expected):,} bytes" in capsys.readouterr().err


def test_the_command_refuses_and_writes_nothing(tmp_path, capsys):
    from onkel.cli._app import app

    onkel.save(one_kernel("binary", "laplacian").fit(*data("binary", n=60)), tmp_path / "a.onkel")
    with pytest.raises(SystemExit) as ended:
        app(["export", str(tmp_path / "a.onkel"), "--to", "libsvm", "-o", str(tmp_path / "b")], prog_name="onkel")
    assert ended.value.code == 1
    assert "the kernel is laplacian" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
