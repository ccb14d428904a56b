"""Coming from SVC: its kernels at Newton's defaults, its attributes, and a sentence for each of its parameters."""

import inspect

import numpy as np
import pytest
from sklearn.svm import SVC

import onkel
from looping import loop


def rows(n=300):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, np.where(X @ [2, -1, 0.5, 0] + 0.3 > 0, "yes", "no")


@loop
@pytest.mark.parametrize(
    "kernel", ["linear", "poly", onkel.parts.Linear(), onkel.parts.Polynomial(coef0=1.0, degree=2)]
)
def test_kernels_without_a_width_work_at_the_defaults(kernel):
    X, y = rows()
    model = onkel.NewtonClassifier(kernel=kernel, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert onkel.NewtonRegressor(kernel=kernel, random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5
    cut = onkel.NewtonClassifier(kernel=kernel, random_state=0)
    for i in range(0, 300, 70):
        cut.partial_fit(X[i : i + 70], y[i : i + 70], classes=["no", "yes"])
    whole = onkel.NewtonClassifier(kernel=kernel, random_state=0).partial_fit(X, y, classes=["no", "yes"])
    assert cut._fingerprint() == whole._fingerprint()


def test_coef_is_for_linear_kernels():
    X, y = rows()
    model = onkel.NewtonClassifier(kernel="linear", random_state=0).fit(X, y)
    assert model.coef_.shape == SVC(kernel="linear").fit(X, y).coef_.shape
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.decision_function(X), atol=1e-9)
    assert not hasattr(onkel.NewtonClassifier(gamma=1.0, lam=0.01).fit(X, y), "coef_")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logarithms_of_probabilities(n_classes):
    X, _ = rows()
    y = np.digitize(X[:, 0], [0.0, 1.0][: n_classes - 1])
    learner = onkel.KLRClassifier(gamma=0.5, random_state=0)
    models = [learner, onkel.StreamPipeline(onkel.StreamStandardScaler(), learner)]
    models += [onkel.PlattClassifier(onkel.OGDClassifier(gamma=0.5, random_state=0))]
    for model in models:
        model.fit(X, y)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-9)
    assert not hasattr(onkel.OGDClassifier(), "predict_log_proba")
    far = learner.fit(1e3 * X, y)
    assert np.isfinite(far.predict_log_proba(X)).all()


def test_every_parameter_of_svc_is_known_or_gets_a_sentence():
    for name in inspect.signature(SVC).parameters:
        if name not in inspect.signature(onkel.NewtonClassifier).parameters:
            with pytest.raises(TypeError, match=f"NewtonClassifier has no parameter '{name}' of SVC: "):
                onkel.NewtonClassifier(**{name: 1})
    assert onkel.PAClassifier(C=2.0).C == 2.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'widht'"):
        onkel.NewtonClassifier(widht=1)
