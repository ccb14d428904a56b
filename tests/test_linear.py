"""The linear kernel: a weight for each feature in place of support vectors, the same bits however the rows are cut."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

import onkel
from looping import loop
from onkel.parts import Linear

WIDE = 1200  # beyond the columns of which Newton keeps the covariance in full


def text(n=400, width=WIDE, seed=0):
    """Rows of words: few features each, of very different frequencies."""
    rng = np.random.default_rng(seed)
    frequency = 1 / (np.arange(width) + 3.0)
    topic = rng.normal(0, 2, width)
    rows = np.zeros((n, width))
    for row in rows:
        words = rng.choice(width, size=25, p=frequency / frequency.sum())
        row[words] = 1.0
    score = rows @ topic
    return normalize(rows), score > np.median(score)


LEARNERS = {
    "OGD": lambda **o: onkel.OGDClassifier(kernel="linear", random_state=0, **o),
    "average": lambda **o: onkel.OGDClassifier(kernel="linear", average=True, fit_intercept=True, random_state=0, **o),
    "Pegasos": lambda **o: onkel.PegasosClassifier(kernel="linear", lam=0.01, random_state=0, **o),
    "PA": lambda **o: onkel.PAClassifier(kernel="linear", random_state=0, **o),
    "Newton": lambda **o: onkel.NewtonClassifier(kernel="linear", lam=0.3, random_state=0, **o),
    "fading": lambda **o: onkel.NewtonClassifier(kernel="linear", lam=0.3, forget=0.9, random_state=0, **o),
}


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=4)
@given(st.lists(st.integers(1, 150), max_size=5))
def test_chunks_change_nothing(name, container, sizes):
    X, y = text(300)
    labels = np.where(y, 2, np.arange(300) % 2)
    ends = np.unique(np.minimum(np.cumsum([0, *sizes, 300]), 300))
    whole, cut = LEARNERS[name](), LEARNERS[name]()
    scores = whole.predict_then_learn(container(X), labels, classes=[0, 1, 2])
    made = [
        cut.predict_then_learn(container(X[begin:end]), labels[begin:end], classes=[0, 1, 2])
        for begin, end in itertools.pairwise(ends)
    ]
    np.testing.assert_array_equal(np.concatenate(made), scores)
    assert cut._fingerprint() == whole._fingerprint()


@loop
@pytest.mark.parametrize("name", LEARNERS)
def test_saved_and_resumed(tmp_path, name):
    X, y = text()
    whole = LEARNERS[name]().partial_fit(csr_array(X), y, classes=[False, True])
    half = LEARNERS[name]().partial_fit(csr_array(X[:150]), y[:150], classes=[False, True])
    assert half.n_support_ == 0
    onkel.save(half, tmp_path / "half")
    for again in (onkel.load(tmp_path / "half"), pickle.loads(pickle.dumps(half))):
        assert again._fingerprint() == half._fingerprint()
        np.testing.assert_array_equal(again.decision_function(csr_array(X)), half.decision_function(csr_array(X)))
        assert again.partial_fit(csr_array(X[150:]), y[150:])._fingerprint() == whole._fingerprint()
    assert whole.score(csr_array(X), y) > 0.7


@loop
@pytest.mark.parametrize("name", LEARNERS)
def test_there_are_weights_and_no_support_vectors(name):
    X, y = text()
    model = LEARNERS[name]().fit(X, y)
    for attribute in ("support_vectors_", "support_", "dual_coef_"):
        with pytest.raises(AttributeError, match="a linear kernel's function is one weight for each feature"):
            getattr(model, attribute)
    with pytest.raises(ValueError, match="a linear kernel's function has none"):
        onkel.compress(model, n_support=3)
    assert model.coef_.shape == (1, WIDE)
    exact = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-10)
    assert onkel.export.to_json(model) and onkel.export.to_c(model)
    if name in ("OGD", "average", "Pegasos", "PA"):
        assert onkel.merge([model, LEARNERS[name]().fit(X, y)]).model.score(X, y) > 0.8


def test_a_weight_is_what_support_vectors_add_up_to():
    X, y = text(200, 40)
    plain = onkel.Learner(onkel.recipes.OGD(eta=0.5), kernel=Linear(), fit_intercept=True)
    points = onkel.Learner(onkel.recipes.OGD(eta=0.5), kernel=Linear(), fit_intercept=True, budget=10**6)
    scores = [learner.learn_rows(X, y.astype(float), scores=True) for learner in (plain, points)]
    assert plain.has_weights and not points.has_weights and points.n_support > 0
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)


def test_newton_beyond_a_thousand_columns_keeps_a_diagonal():
    X, y = text(60)
    model = onkel.NewtonRegressor(kernel="linear", lam=0.7, fit_intercept=False, shuffle=False, random_state=0)
    target = np.where(y, 2.0, -1.0)
    scores = model.predict_then_learn(X, target)
    w, precision, easy, made = np.zeros(WIDE), np.full(WIDE, 0.7), model._learner.recipe.dictionary.easy_slope, []
    assert easy == 0.0
    for x, t in zip(X, target, strict=True):
        made.append(w @ x)
        s = (x * x / precision).sum()
        w += x / precision * (t - w @ x) / (1 + s)
        precision += x * x
    np.testing.assert_allclose(scores, made, atol=1e-12)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-12)
    narrow = onkel.NewtonRegressor(kernel="linear", lam=0.7, budget=50, random_state=0).fit(X[:, :1000], target)
    assert narrow.n_support_ > 0  # which span the features: the covariance is kept in full


def test_text_is_learned_as_well_as_by_sgd():
    X, y = text(6000, 4000, seed=1)
    X = csr_array(X)
    rival = SGDClassifier(random_state=0).fit(X[:4500], y[:4500]).score(X[4500:], y[4500:])
    for name in ("OGD", "Newton"):
        assert LEARNERS[name](n_epochs=5).fit(X[:4500], y[:4500]).score(X[4500:], y[4500:]) > rival - 0.02


def test_where_text_has_a_linear_function_the_default_finds_it(tmp_path):
    X, y = text(1600, 2500, seed=1)
    X, held = csr_array(X[:1200]), csr_array(X[1200:])
    made = onkel.NewtonClassifier(random_state=0)
    linear = onkel.NewtonClassifier(kernel="linear", random_state=0).fit(X, y[:1200])
    gaussian = onkel.NewtonClassifier(kernel="rbf", random_state=0).fit(X, y[:1200])
    fitted = made.fit(X, y[:1200])
    assert isinstance(fitted.kernel_, Linear) and fitted.coef_.shape == (1, 2500)
    assert fitted.score(held, y[1200:]) > linear.score(held, y[1200:]) - 0.02
    assert fitted.score(held, y[1200:]) > gaussian.score(held, y[1200:]) + 0.05
    onkel.save(fitted, tmp_path / "model")
    for same in (onkel.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        fitted_again = same.partial_fit(held, y[1200:])
        assert (
            fitted_again._fingerprint() == pickle.loads(pickle.dumps(fitted)).partial_fit(held, y[1200:])._fingerprint()
        )


def test_the_choice_of_the_linear_kernel_does_not_depend_on_cuts():
    X, y = text(1200, 2500, seed=1)
    X = csr_array(X)
    whole = onkel.NewtonClassifier(random_state=0).partial_fit(X, y, classes=[False, True])
    cut = onkel.NewtonClassifier(random_state=0)
    for begin, end in itertools.pairwise([0, 1, 63, 65, 700, 1023, 1200]):
        cut.partial_fit(X[begin:end], y[begin:end], classes=[False, True])
    assert isinstance(whole.kernel_, Linear) and cut._fingerprint() == whole._fingerprint()
    near = csr_array(np.pad(np.random.default_rng(0).normal(size=(400, 2)), [(0, 0), (0, 2500)]))
    ring = np.asarray((near.power(2)).sum(axis=1)).ravel() > 1.4
    assert not isinstance(onkel.NewtonClassifier(random_state=0).fit(near, ring).kernel_, Linear)


def test_diagonals_are_not_merged():
    X, y = text(60)
    model = LEARNERS["Newton"]().fit(X, y)
    with pytest.raises(ValueError, match="keeps a diagonal of what it knows"):
        onkel.merge([model, model])
