"""The batch learners: scikit-learn's contract, the optimum that others find, and the distance that they promise."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from looping import loop
from onkel_papers.batch import DCDClassifier, IVMClassifier, LBFGSClassifier, PCDClassifier
from scikit_learn import checked
from table import WHOLE

FULL = [LBFGSClassifier(), IVMClassifier(tol=0.01, random_state=0)]
FEW = [PCDClassifier(tol=0.01, random_state=0), DCDClassifier(tol=0.01, random_state=0)]
FEW += [LBFGSClassifier(loss="hinge", tol=0.01)] if WHOLE else []  # as LBFGSClassifier, and slow


@checked(FULL, FEW, not_promised={})
def test_scikit_learn(estimator, check):
    check(estimator)


GAMMA = 1.5


def gram(X, S):
    return np.exp(-GAMMA * ((X[:, None] - S) ** 2).sum(axis=2))


def moons(n=40):
    return make_moons(n, noise=0.3, random_state=1)


def blobs(n=45, n_classes=3):
    return make_blobs(n, centers=n_classes, cluster_std=2.0, random_state=2)


def log_objective(a, K, y, lam):
    """The KLR paper's equation 1, in its coefficients; one column for two classes, C of them otherwise."""
    f = K @ a.reshape(len(y), -1)
    ridge = 0.5 * lam * float((a.reshape(len(y), -1) * f).sum())
    if f.shape[1] == 1:
        return ridge + np.logaddexp(0, -(2 * y - 1) * f[:, 0]).mean()
    return ridge + (logsumexp(f, axis=1) - f[np.arange(len(y)), y]).mean()


def independent_optimum(K, y, lam):
    """By Newton's method with a trust region on scores, where the problem is well-posed: another road altogether."""
    n_outputs = 1 if y.max() == 1 else y.max() + 1
    inverse = np.linalg.inv(K + 1e-12 * np.eye(len(K)))

    def value(f):
        f = f.reshape(len(y), -1)
        ridge = 0.5 * lam * float((f * (inverse @ f)).sum())
        if n_outputs == 1:
            s = 2 * y - 1
            slope = (-s * expit(-s * f[:, 0]))[:, None]
            return ridge + np.logaddexp(0, -s * f[:, 0]).mean(), (slope / len(y) + lam * inverse @ f).ravel()
        p = np.exp(f - logsumexp(f, axis=1, keepdims=True))
        loss = (logsumexp(f, axis=1) - f[np.arange(len(y)), y]).mean()
        return ridge + loss, ((p - np.eye(n_outputs)[y]) / len(y) + lam * inverse @ f).ravel()

    best = minimize(value, np.zeros(len(y) * n_outputs), jac=True, method="BFGS", options={"gtol": 1e-9})
    return best.fun


@loop
@pytest.mark.parametrize("lam", [0.1, 0.01])
@pytest.mark.parametrize("make", [LBFGSClassifier, PCDClassifier, DCDClassifier, IVMClassifier])
def test_two_classes_reach_the_optimum(make, lam):
    X, y = moons()
    K = gram(X, X)
    tol = {IVMClassifier: 0.0, PCDClassifier: 3e-4}.get(make, 1e-5)
    model = make(lam=lam, gamma=GAMMA, tol=tol).fit(X, y)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    best = independent_optimum(K, y, lam)
    assert model.objective_ == pytest.approx(log_objective(a, K, y, lam), abs=1e-7)
    assert best - 1e-7 <= model.objective_ <= best + max(tol, 2e-5)
    np.testing.assert_allclose(model.decision_function(X), K @ a, atol=1e-6)


@pytest.mark.parametrize("make", [LBFGSClassifier, IVMClassifier])
def test_softmax_reaches_the_optimum(make):
    X, y = blobs()
    K = gram(X, X)
    model = make(lam=0.05, gamma=GAMMA, tol=0.0 if make is IVMClassifier else 1e-5).fit(X, y)
    a = np.zeros((len(y), 3))
    a[model.support_] = model.dual_coef_.T
    best = independent_optimum(K, y, 0.05)
    assert model.objective_ == pytest.approx(log_objective(a, K, y, 0.05), abs=1e-7)
    assert best - 1e-7 <= model.objective_ <= best + 2e-5
    np.testing.assert_allclose(model.decision_function(X), K @ a, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_the_hinge_of_two_classes_is_libsvms():
    X, y = moons()
    lam = 0.02
    model = LBFGSClassifier(lam=lam, gamma=GAMMA, loss="hinge", tol=1e-4).fit(X, y)
    # LIBSVM has a constant term; a kernel that holds one makes it idle, which is so for classes alike in number.
    machine = SVC(C=1 / (lam * len(y)), kernel="precomputed", tol=1e-8).fit(gram(X, X), y)
    f, s = machine.decision_function(gram(X, X)), 2 * y - 1
    a = np.zeros(len(y))
    a[machine.support_] = machine.dual_coef_[0]
    theirs = 0.5 * lam * a @ gram(X, X) @ a + np.maximum(0, 1 - s * f).mean()
    assert theirs <= model.objective_ + 1e-4  # a constant term can only help
    own = np.maximum(0, 1 - s * model.decision_function(X)).mean()
    assert own + 0.5 * lam * model.dual_coef_[0] @ gram(X, X)[np.ix_(model.support_, model.support_)] @ (
        model.dual_coef_[0]
    ) == pytest.approx(model.objective_, abs=1e-7)
    assert model.objective_ <= theirs + 0.02
    assert not hasattr(model, "predict_proba")


def test_the_hinge_of_several_classes_has_no_lower_neighbour():
    X, y = blobs()
    K, lam = gram(X, X), 0.05
    model = LBFGSClassifier(lam=lam, gamma=GAMMA, loss="hinge", tol=1e-4).fit(X, y)
    assert model.gap_ <= 1e-4

    def objective(a):
        f = K @ a
        heights = f + 1 - np.eye(3)[y]
        return 0.5 * lam * float((a * f).sum()) + (heights.max(axis=1) - f[np.arange(len(y)), y]).mean()

    a = np.zeros((len(y), 3))
    a[model.support_] = model.dual_coef_.T
    assert objective(a) == pytest.approx(model.objective_, abs=1e-7)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            assert objective(a + size * rng.normal(size=a.shape)) >= model.objective_ - model.gap_


@loop
@pytest.mark.parametrize("make", [LBFGSClassifier, PCDClassifier, DCDClassifier])
@pytest.mark.parametrize("tol", [0.03, 0.003])
def test_the_gap_bounds_the_distance_to_the_minimum(make, tol):
    X, y = moons()
    model = make(lam=0.01, gamma=GAMMA, tol=tol).fit(X, y)
    best = independent_optimum(gram(X, X), y, 0.01)
    assert 0 <= model.objective_ - best <= model.gap_ <= tol


@pytest.mark.parametrize("make", [PCDClassifier, DCDClassifier])
def test_columns_that_do_not_fit_are_computed_anew(make):
    X, y = moons(300)
    whole = make(lam=0.01, gamma=GAMMA, tol=0.01, random_state=0).fit(X, y)
    anew = make(lam=0.01, gamma=GAMMA, tol=0.01, random_state=0, memory_mb=0.1).fit(X, y)
    assert whole.n_iter_ == anew.n_iter_
    np.testing.assert_allclose(anew.dual_coef_, whole.dual_coef_, rtol=1e-6, atol=1e-9)


def test_too_many_rows_for_a_matrix_are_refused():
    X, y = moons(300)
    with pytest.raises(
        ValueError, match=r"X has 300 rows, whose kernel matrix takes 0.7 MB: expected at most memory_mb=0.1"
    ):
        LBFGSClassifier(memory_mb=0.1).fit(X, y)


def test_primal_descent_never_goes_up():
    X, y = moons(60)
    K, lam = gram(X, X), 1e-4
    heights = []
    for model in PCDClassifier(lam=lam, gamma=GAMMA, tol=1e-3, max_sweeps=30, random_state=0).steps(X, y):
        a = np.zeros(len(y))
        a[model.support_] = model.dual_coef_[0]
        heights.append(log_objective(a, K, y, lam))
    assert len(heights) > 5
    assert (np.diff(heights) <= 1e-12).all()
    # Nor from where every row is wrong and sure of it, whose curvature says nothing of the way ahead.
    model = PCDClassifier(lam=lam, gamma=GAMMA)
    s = np.where(y == 1, 1.0, -1.0)
    a = -30.0 * s
    scores, slopes = K @ a, np.zeros(len(y))
    for i in range(len(y)):
        before = log_objective(a, K, y, lam)
        model._descend(np.array([i]), K[i : i + 1], s, a, scores, slopes)
        assert log_objective(a, K, y, lam) <= before
    np.testing.assert_allclose(scores, K @ a)


def test_import_vectors_are_few_and_chosen_well():
    X, y = moons(400)
    full = LBFGSClassifier(lam=1e-3, gamma=GAMMA).fit(X, y)
    model = IVMClassifier(lam=1e-3, gamma=GAMMA).fit(X, y)
    assert model.n_support_ <= 30
    assert model.objective_ <= 1.02 * full.objective_
    capped = IVMClassifier(lam=1e-3, gamma=GAMMA, tol=0.0, budget=5).fit(X, y)
    assert capped.n_support_ == 5
    rng = np.random.default_rng(0)
    for _ in range(20):  # no random five rows are as good
        some = rng.choice(400, 5, replace=False)
        K, G = gram(X, X[some]), gram(X[some], X[some])

        def value(w, K=K, G=G):
            return 0.5e-3 * w @ G @ w + np.logaddexp(0, -(2 * y - 1) * (K @ w)).mean()

        assert minimize(value, np.zeros(5)).fun > capped.objective_


def test_candidates_can_be_drawn():
    X, y = moons(400)
    drawn = [IVMClassifier(gamma=GAMMA, n_candidates=20, random_state=3).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(drawn[0].support_, drawn[1].support_)
    assert drawn[0].objective_ < 1.05 * LBFGSClassifier(gamma=GAMMA).fit(X, y).objective_


def test_repeated_rows_join_once():
    X, y = blobs(30)
    model = IVMClassifier(gamma=GAMMA, lam=1e-4, tol=0.0).fit(np.vstack([X, X]), np.append(y, y))
    assert len(np.unique(model.support_vectors_, axis=0)) == model.n_support_
    heights = [
        m.objective_ for m in IVMClassifier(gamma=0.5, lam=1e-6, tol=0.0, budget=14).steps(*load_iris(return_X_y=True))
    ]
    assert len(heights) == 14
    assert (np.diff(heights) < 0).all()


@loop
@pytest.mark.parametrize("make", [LBFGSClassifier, PCDClassifier, DCDClassifier])
def test_an_early_end_is_said(make):
    X, y = moons()
    rounds = "max_iter" if make is LBFGSClassifier else "max_sweeps"
    with pytest.warns(ConvergenceWarning, match=f"{make.__name__} did not converge in 1 iterations"):
        model = make(lam=1e-4, gamma=GAMMA, tol=1e-8, **{rounds: 1}).fit(X, y)
    best = independent_optimum(gram(X, X), y, 1e-4)
    assert model.objective_ - best <= model.gap_


def test_kernels_and_sparse_rows():
    X, y = moons()
    for kernel in ("rbf", "laplacian", "linear", "poly", lambda A, B: (A @ B.T + 1) ** 2):
        model = LBFGSClassifier(kernel=kernel, gamma=0.5, coef0=1.0, degree=2, lam=0.1).fit(X, y)
        assert model.gap_ <= 1e-4
    by_name = LBFGSClassifier(kernel="poly", gamma=1.0, coef0=1.0, degree=2).fit(X, y)
    np.testing.assert_allclose(
        by_name.decision_function(X),
        LBFGSClassifier(kernel=lambda A, B: (A @ B.T + 1) ** 2).fit(X, y).decision_function(X),
    )
    sparse = DCDClassifier(random_state=0).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.gamma_, 1 / (2 * X.var()))
    np.testing.assert_allclose(
        sparse.decision_function(csr_array(X)), DCDClassifier(random_state=0).fit(X, y).decision_function(X), atol=1e-9
    )


@loop
@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (LBFGSClassifier, {"lam": 0}, "lam must be a number greater than 0, got 0"),
        (LBFGSClassifier, {"loss": "square"}, "loss must be one of 'log_loss', 'hinge', got 'square'"),
        (LBFGSClassifier, {"kernel": "cosine"}, "kernel must be one of 'rbf', 'laplacian', "),
        (PCDClassifier, {"max_sweeps": 0}, "max_sweeps must be an integer of at least 1, got 0"),
        (IVMClassifier, {"budget": 0}, "budget must be an integer of at least 1, got 0"),
        (DCDClassifier, {"gamma": "wide"}, "gamma must be one of 'scale', 'auto', got 'wide'"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(make, parameters, message):
    X, y = moons()
    model = make(tol=0.01).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    assert {k: v for k, v in vars(model).items() if k not in parameters} == {
        k: v for k, v in before.items() if k not in parameters
    }


@pytest.mark.parametrize("make", [PCDClassifier, DCDClassifier])
def test_several_classes_are_refused_where_two_are_meant(make):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        make().fit(*blobs())


def test_a_refused_fit_on_other_columns_changes_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    model = LBFGSClassifier().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="class"):
        model.fit(X[:, :2], np.zeros(30))
    assert model.n_features_in_ == 3 and model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.decision_function(X), before)
