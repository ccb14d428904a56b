"""A refusal names the remedy."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel.evaluate import progressive

X = np.random.default_rng(0).normal(size=(40, 2))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("given", [((X, y),), (X, y), (X,)])
def test_rows_at_hand_are_no_stream(given):
    with pytest.raises(TypeError, match=r"\[\(X, y\)\], or onkel.streams.open\(\(X, y\)\)"):
        progressive(onkel.OGDClassifier(), *given)
    assert progressive(onkel.OGDClassifier(), [(X, y)]).last.rows == len(X)


@pytest.mark.parametrize("name", ["C", "nu", "probability"])
def test_parameters_of_svc_are_answered_wherever_they_are_given(name):
    sentence = f"NewtonClassifier has no parameter '{name}' of SVC: "
    with pytest.raises(TypeError, match=sentence):
        onkel.NewtonClassifier(**{name: 1})
    with pytest.raises(ValueError, match=sentence):
        onkel.NewtonClassifier().set_params(**{name: 1})
    chain = make_pipeline(StandardScaler(), onkel.NewtonClassifier())
    with pytest.raises(ValueError, match=sentence):
        GridSearchCV(chain, {f"newtonclassifier__{name}": [1, 10]}).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'unknown'"):
        onkel.NewtonClassifier().set_params(unknown=1)


@pytest.mark.parametrize("kernel", ["gauss", 3])
def test_an_unknown_kernel_is_answered_with_all_that_may_be_given(kernel):
    with pytest.raises(ValueError, match=r"'rbf', .*'linear', .*onkel.parts.*, a function .* 'stream'; got"):
        onkel.OGDClassifier(kernel=kernel).fit(X, y)


def test_what_compress_and_merge_return_is_told_from_a_model():
    model = onkel.OGDClassifier(gamma=1.0, random_state=0).fit(X, y)
    for result in (onkel.compress(model, n_support=5), onkel.merge([model, model])):
        small, distance, n_support, _ = result
        assert result.model is small and result.distance == distance and small.n_support_ == n_support
        with pytest.raises(AttributeError, match=r"\(model, distance, n_support, loss_change\): use .model.score"):
            result.score(X, y)
        with pytest.raises(AttributeError, match="'Compressed' object has no attribute 'nothing'"):
            _ = result.nothing


def test_compress_says_what_a_sum_needs():
    rows = np.random.default_rng(0).normal(size=(1500, 2))
    kernel = onkel.parts.Hedge((onkel.parts.RBF(0.5), onkel.parts.RBF(2.0)), "sum")
    model = onkel.KernelClassifier("Newton", kernel=kernel, budget=20, random_state=0).fit(rows, rows[:, 0] > 0)
    with pytest.raises(ValueError, match="which knows its own: leave X out"):
        onkel.compress(model, n_support=10, X=rows)
    assert onkel.compress(model, n_support=10).n_support <= 10
