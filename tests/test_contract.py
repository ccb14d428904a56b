"""scikit-learn's contract, for every estimator of the table and for the generic ones."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import onkel
from table import ESTIMATORS, cases

GENERIC = [onkel.KernelClassifier(onkel.recipes.SPA()), onkel.KernelRegressor(onkel.recipes.OGD(loss="squared_error"))]

# A weight of 2 is one step twice as long, not two steps, and rows are shuffled: equal in the mean, not to the digit.
NOT_PROMISED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "an online learner weighs a row's loss, it does not repeat it"
    for kind in ("dense", "sparse")
}


every_check = parametrize_with_checks(
    [cls() for cls in ESTIMATORS] + GENERIC, expected_failed_checks=lambda estimator: NOT_PROMISED
)
# scikit-learn skips its array-API check of an estimator that does not claim to support it; a skip says nothing here
pairs = [pair for pair in every_check.args[1] if "check_array_api_input" not in str(pair)]


@pytest.mark.parametrize(every_check.args[0], pairs, **every_check.kwargs)
def test_scikit_learn(estimator, check):
    check(estimator)


one_case_a_task = cases(dtypes=("float64",), outputs=(False,))


@one_case_a_task
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_with_names(case, frame):
    X, y = case.data(60)
    names = ["age", "height", "income", "debt"]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = case.estimator().fit(table, y)
    assert model.feature_names_in_.tolist() == names
    assert model._learner.fingerprint() == case.estimator().fit(X, y)._learner.fingerprint()
    np.testing.assert_array_equal(model.predict(table), case.estimator().fit(X, y).predict(X))
    model.partial_fit(table, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[names[::-1]])


@one_case_a_task
def test_parameters(case):
    model = case.estimator(budget=17)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(budget=4).budget == 4
    assert "budget=17" in repr(model)
    for name, value in model.get_params().items():
        assert getattr(model, name) is value


@one_case_a_task
def test_in_a_pipeline_and_a_search(case):
    X, y = case.data(120)
    pipeline = make_pipeline(StandardScaler(), case.estimator())
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=3)).all()
    step = pipeline.steps[-1][0]
    search = GridSearchCV(pipeline, {f"{step}__gamma": [0.1, 1.0], f"{step}__average": [False, True]}, cv=2).fit(X, y)
    assert search.best_params_[f"{step}__gamma"] in (0.1, 1.0)
    assert search.predict(X).shape == (120,)


@one_case_a_task
def test_weights_are_routed(case):
    X, y = case.data(60)
    weight = np.random.default_rng(0).choice([0.5, 2.0], 60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = case.estimator().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"gamma": [0.5]}, cv=2).fit(X, y, sample_weight=weight)
    expected = case.estimator().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert pipeline[-1]._learner.fingerprint() == expected._learner.fingerprint()
    expected = case.estimator().fit(X, y, sample_weight=weight)
    assert search.best_estimator_._learner.fingerprint() == expected._learner.fingerprint()


@cases()
def test_fitted_attributes(case):
    X, y = case.data(80)
    model = case.estimator(fit_intercept=True, shuffle=False, budget=40).fit(X, y)
    outputs = 3 if case.task == "multiclass" else 1
    assert model.n_support_ == len(model.support_) == len(model.support_vectors_)
    assert model.dual_coef_.shape == (outputs, model.n_support_)
    assert model.intercept_.shape == (outputs,)
    assert model.support_vectors_.dtype == X.dtype
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])  # rows were not shuffled
    assert (model.t_, model.n_features_in_, model.gamma_) == (80, 4, 0.5)
    kernel = np.exp(-0.5 * ((X[:, None].astype(float) - model.support_vectors_) ** 2).sum(axis=2))
    expected = kernel @ model.dual_coef_.T + model.intercept_
    scores = model.predict(X) if case.task == "regression" else model.decision_function(X)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, atol=1e-9 if X.dtype == float else 1e-4)
    if case.task != "regression":
        index = expected.argmax(axis=1) if outputs > 1 else (scores > 0).astype(int)
        np.testing.assert_array_equal(model.predict(X), model.classes_[index])


@one_case_a_task
def test_gamma_as_in_svc(case):
    X, y = case.data(50)
    assert case.estimator(gamma="scale").fit(X, y).gamma_ == pytest.approx(1 / (4 * X.var()))
    assert case.estimator(gamma="auto").fit(X, y).gamma_ == 1 / 4
    first = case.estimator(gamma="scale").partial_fit(X[:20], y[:20], **case.labels(y))
    first.partial_fit(X[20:], y[20:])
    assert first.gamma_ == pytest.approx(1 / (4 * X[:20].var()))
    assert case.estimator(gamma="scale").fit(np.ones_like(X), y).gamma_ == 1.0  # no spread to scale by


@cases()
def test_dtype_is_that_of_the_first_rows(case):
    X, y = case.data(40)
    other = "float32" if case.dtype == "float64" else "float64"
    model = case.estimator().partial_fit(X[:20], y[:20], **case.labels(y))
    model.partial_fit(X[20:].astype(other), y[20:])
    assert model.support_vectors_.dtype == case.dtype
    integers = case.estimator().partial_fit((X * 5).astype(int), y, **case.labels(y))
    assert integers.support_vectors_.dtype == np.float64


@one_case_a_task
def test_pickle_of_an_estimator_new_and_fitted(case):
    X, y = case.data(40)
    new = pickle.loads(pickle.dumps(case.estimator()))
    assert new.get_params() == case.estimator().get_params()
    model = case.estimator().fit(X, y)
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


def test_spa_spends_its_budget_over_the_rows_of_fit():
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 2
    fitted = onkel.SPAClassifier(budget=100, n_epochs=2).fit(X, y)
    assert fitted._learner.recipe.admission.beta == 8.0
    told = onkel.SPAClassifier(budget=100, horizon=1000).partial_fit(X, y, classes=[0, 1])
    assert told._learner.recipe.admission.beta == 10.0
    untold = onkel.SPAClassifier(budget=100).partial_fit(X, y, classes=[0, 1])
    assert untold._learner.recipe.admission.beta == 1.0


def test_spa_warns_outside_the_papers_range():
    with pytest.warns(UserWarning, match=r"beta = 0\.5 is less than alpha = 1"):
        onkel.recipes.SPA(alpha=1.0, beta=0.5)
