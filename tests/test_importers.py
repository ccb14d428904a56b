"""Support vector machines from elsewhere: the same decision values, and then more rows."""

import shutil
import subprocess
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import onkel
from looping import loop
from onkel import recipes
from table import cases, in_turn

KERNELS = {
    "rbf": {"gamma": 0.5},
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 2},
    "sigmoid": {"gamma": 0.05, "coef0": -0.2},
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
SVM_TRAIN = shutil.which("svm-train")
needs_svm_train = pytest.mark.skipif(SVM_TRAIN is None, reason="svm-train (libsvm-tools) is not installed")


def data(n=200, seed=0, regression=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, score if regression else np.array([3, 8])[(score > 0.2).astype(int)]


def values(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


# -- scikit-learn ------------------------------------------------------------------------------------------------------


@loop
@in_turn({"container": [np.asarray, csr_array]}, machine=[SVC, NuSVC, SVR, NuSVR], kernel=KERNELS)
def test_values_are_those_of_scikit_learns_machine(machine, kernel, container):
    X, y = data(regression=machine in (SVR, NuSVR))
    svm = machine(kernel=kernel, **KERNELS[kernel]).fit(container(X), y)
    model = onkel.from_sklearn(svm)
    new = data(seed=1)[0]
    np.testing.assert_allclose(values(model, new), values(svm, container(new)), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.predict(container(new)))
    if machine in (SVC, NuSVC):
        np.testing.assert_array_equal(model.predict(new), svm.predict(container(new)))
    assert abs(model.intercept_[0] - svm.intercept_[0]) < 1e-12
    assert model.t_ == len(X)
    if kernel == "linear":
        coef = svm.coef_.toarray() if hasattr(svm.coef_, "toarray") else svm.coef_
        np.testing.assert_allclose(abs(model.coef_).max(), abs(coef).max(), rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.support_, svm.support_)


@cases(dtypes=("float64",), outputs=(False,), where=lambda case: case.task != "multiclass", loop=True)
def test_it_goes_on_learning_under_any_recipe(case):
    regression = case.task == "regression"
    X, y = data(300, regression=regression)
    svm = (SVR if regression else SVC)(gamma=0.5).fit(X[:100], y[:100])
    model = onkel.from_sklearn(svm, case.named.recipe(**case.parameters), budget=40, random_state=0)
    assert model.n_support_ <= 40
    scores = model.predict_then_learn(X[100:], y[100:])
    assert np.isfinite(scores).all()
    assert model.t_ == 300
    assert model.n_support_ <= 40 or case.named.grows
    again = onkel.from_sklearn(svm, case.named.recipe(**case.parameters), budget=40, random_state=0)
    assert again.partial_fit(X[100:200], y[100:200]).partial_fit(X[200:], y[200:])._fingerprint() == (
        model._fingerprint()
    )


def test_more_rows_make_it_better():
    X, y = data(4000)
    svm = SVC(gamma=0.5).fit(X[:30], y[:30])
    model = onkel.from_sklearn(svm, recipes.PA(C=0.1), random_state=0).partial_fit(X[30:2000], y[30:2000])
    assert model.score(X[2000:], y[2000:]) > svm.score(X[2000:], y[2000:])


def test_the_average_counts_the_machine_as_all_functions_so_far():
    X, y = data()
    svm = SVC(gamma=0.5).fit(X, y)
    model = onkel.from_sklearn(svm, recipes.OGD(eta=0.01), average=True)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-9)
    model.partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-3)


def test_compressed_to_a_budget_first():
    X, y = data(400)
    svm = SVC(gamma=0.5).fit(X, y)
    model = onkel.from_sklearn(svm, budget=30)
    assert len(svm.support_) > 60
    assert model.n_support_ == 30
    assert model.budget == 30
    agree = (model.predict(X) == svm.predict(X)).mean()
    assert agree > 0.95


def test_a_ball_knows_the_norm_of_what_came_from_elsewhere():
    X, y = data()
    model = onkel.from_sklearn(SVC(gamma=0.5, C=100).fit(X, y), recipes.Pegasos(lam=0.04, project=True))
    assert model.norm_ > 5
    model.partial_fit(X[:1], 11 - y[:1])  # a mistake
    assert model.norm_ <= 5 + 1e-9


def test_saved_and_resumed(tmp_path):
    X, y = data()
    model = onkel.from_sklearn(SVC(gamma=0.5).fit(X, y), recipes.Projectron(), random_state=0)
    onkel.save(model, tmp_path / "model.onkel")
    again = onkel.load(tmp_path / "model.onkel")
    for each in (model, again):
        each.partial_fit(*data(seed=3))
    assert again._fingerprint() == model._fingerprint()


@loop
@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (lambda X, y: SVC(), "not fitted"),
        (lambda X, y: SVC(kernel="precomputed").fit(X @ X.T, y), "the kernel must be one of 'rbf', 'linear', 'poly', "),
        (lambda X, y: SVC(kernel=lambda a, b: a @ b.T).fit(X, y), "the kernel must be one of"),
        (lambda X, y: SVC().fit(X, np.arange(len(X)) % 3), "expected a machine of two classes, and this one has 3"),
        (lambda X, y: OneClassSVM().fit(X), "expected an SVC, NuSVC, SVR or NuSVR of scikit-learn, got OneClassSVM"),
    ],
)
def test_other_machines_are_refused(machine, sentence):
    X, y = data(60)
    with pytest.raises(ValueError, match=sentence):
        onkel.from_sklearn(machine(X, y))


def test_recipes_that_do_not_fit_are_refused():
    X, y = data(60)
    with pytest.raises(ValueError, match="loss 'squared_error' does not fit task 'binary'"):
        onkel.from_sklearn(SVC().fit(X, y), recipes.OGD(loss="squared_error"))
    with pytest.raises(ValueError, match="Merge needs the gaussian kernel"):
        onkel.from_sklearn(SVC(kernel="linear").fit(X, y), recipes.BSGD(maintenance="merge"))
    with pytest.raises(ValueError, match="budget must be an integer of at least 1, got 0"):
        onkel.from_sklearn(SVC().fit(X, y), budget=0)


# -- LIBSVM ------------------------------------------------------------------------------------------------------------


@loop
@needs_svm_train
@every_kernel
@pytest.mark.parametrize("kind", [0, 1, 3, 4])
def test_values_are_those_of_libsvms_machine(tmp_path, kernel, kind):
    X, y = data(regression=kind > 2)
    X[X < -0.5] = 0
    rows = [
        f"{t!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v)
        for x, t in zip(X.tolist(), y.tolist(), strict=True)
    ]
    (tmp_path / "rows").write_text("\n".join(rows))
    number = ["linear", "poly", "rbf", "sigmoid"].index(kernel)
    settings = {"gamma": 0.5, "coef0": 0.0, "degree": 3, **KERNELS[kernel]}
    options = ["-s", kind, "-t", number, "-g", settings["gamma"], "-r", settings["coef0"], "-d", settings["degree"]]
    command = [SVM_TRAIN, "-q", *map(str, options), str(tmp_path / "rows"), str(tmp_path / "model")]
    subprocess.run(command, check=True)
    predict = [shutil.which("svm-predict"), "-q", *(str(tmp_path / name) for name in ("rows", "model", "out"))]
    subprocess.run(predict, check=True)
    model = onkel.from_libsvm(tmp_path / "model", n_features=3)
    expected = np.loadtxt(tmp_path / "out")
    if kind > 2:
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-4)
    else:
        clear = abs(model.decision_function(X)) > 1e-6
        np.testing.assert_array_equal(model.predict(X)[clear], expected[clear])


@loop
@every_kernel
@pytest.mark.parametrize("regression", [False, True])
def test_there_and_back(tmp_path, kernel, regression):
    X, y = data(regression=regression)
    svm = (SVR if regression else SVC)(kernel=kernel, **KERNELS[kernel]).fit(X, y)
    model = onkel.from_sklearn(svm)
    (tmp_path / "model").write_text(onkel.export.to_libsvm(model))
    again = onkel.from_libsvm(tmp_path / "model")
    if kernel == "linear":  # one vector, the weights
        np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-15)
    else:
        np.testing.assert_array_equal(again.support_vectors_, model.support_vectors_)
        np.testing.assert_allclose(again.dual_coef_, model.dual_coef_, rtol=1e-15)
    np.testing.assert_allclose(values(again, X), values(model, X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values(again, X), values(svm, X), rtol=1e-9, atol=1e-9)
    assert onkel.export.to_libsvm(again) == onkel.export.to_libsvm(model)


@loop
@pytest.mark.parametrize("labels", [(2, 5), (5, 2), (-1, 1), (1, -1)])
def test_either_label_may_come_first(tmp_path, labels):
    text = (
        f"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\nlabel {labels[0]} {labels[1]}\nSV\n1 1:2\n"
    )
    (tmp_path / "model").write_text(text)
    model = onkel.from_libsvm(tmp_path / "model")  # 2 x - 1 > 0 speaks for the first
    assert model.predict([[3.0], [-3.0]]).tolist() == list(labels)


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
probA -1.5
probB 0.25
nr_sv 1 1
SV
1 1:0.5 3:-2
-1 2:1
"""


def loaded(text):
    with tempfile.NamedTemporaryFile() as file:
        file.write(text if isinstance(text, bytes) else text.encode())
        file.flush()
        return onkel.from_libsvm(file.name)


@loop
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("SV\n1 1:0.5 3:-2\n-1 2:1\n", "", "it has no line 'SV'"),
        (GOOD, "", "it has no line 'SV'"),
        (GOOD, "\x00\x01\xff" * 100, "it is not a LIBSVM model: its line 1 is "),
        (
            "svm_type c_svc",
            "svm_type one_class",
            "its svm_type must be one of c_svc, nu_svc, epsilon_svr, nu_svr, got 'one_class'",
        ),
        (
            "kernel_type rbf",
            "kernel_type precomputed",
            "its kernel_type must be one of linear, polynomial, rbf, sigmoid",
        ),
        ("gamma 0.5\n", "", "it has no line 'gamma'"),
        ("gamma 0.5", "gamma nan", "its gamma must be 1 number, got 'nan'"),
        ("gamma 0.5", "gamma -1", "gamma must be a number greater than 0, got -1.0"),
        ("nr_class 2", "nr_class 3", "expected a machine of two classes, and this one has '3'"),
        ("total_sv 2", "total_sv 99999999999999999999", "it claims 100000000000000000000 support vectors, and has 2"),
        ("total_sv 2", "total_sv 3", "it claims 3 support vectors, and has 2"),
        ("rho 0.25", "rho", "its rho must be 1 number, got ''"),
        ("rho 0.25", "rho 1 2 3", "its rho must be 1 number, got '1 2 3'"),
        ("label 1 -1", "label 1 1", "its two labels must differ"),
        ("label 1 -1", "label a b", "its label must be 2 integers, got 'a b'"),
        ("label 1 -1", "label 1 1e400", "its label must be 2 integers"),
        ("nr_sv 1 1", "rho 3", "it has two lines 'rho'"),
        ("nr_sv 1 1", "hello", "it is not a LIBSVM model: its line 10 is 'hello'"),
        ("3:-2", "3:inf", "line 12, column 11: expected "),
        ("1 1:0.5 3:-2", "1 3:0.5 1:-2", "line 12, column "),
        ("-1 2:1", "-1 0:1", "line 13, column 4: expected "),
        ("-1 2:1", "x 2:1", "line 13, column 1: expected "),
    ],
)
def test_files_that_are_none_are_refused_in_a_sentence(old, new, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        loaded(GOOD.replace(old, new))
    message = str(refused.value)
    assert message.startswith("cannot read '")
    assert len(message) < 300
    assert "\n" not in message


def test_a_good_file_is_read():
    model = loaded(GOOD)
    assert model.n_support_ == 2
    assert model.n_features_in_ == 3
    assert model.classes_.tolist() == [-1, 1]
    assert model.intercept_[0] == -0.25


@given(st.binary(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 40))
def test_files_that_nobody_wrote_are_read_or_refused(junk, place, gone):
    text = GOOD.encode()
    try:
        model = loaded(text[:place] + junk + text[place + gone :])
    except ValueError as error:
        assert str(error).startswith("cannot read '")
    else:
        assert model.n_support_ <= 10
