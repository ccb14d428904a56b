"""Platt's sigmoids, learned online: like the reference, calibrated, chunk by chunk the same, saved and resumed."""

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, log_loss

import onkel
from interrupting import interrupted_choice
from looping import loop
from onkel.estimators.sigmoids import Sigmoids, margins
from reference import platt as reference
from scikit_learn import NOT_PROMISED, checked

WRAPPED = onkel.PlattClassifier(onkel.PAClassifier(random_state=0))
SCALED = onkel.PlattClassifier(onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(random_state=0)))


@checked([WRAPPED], [SCALED], NOT_PROMISED)
def test_scikit_learn(estimator, check):
    check(estimator)


def data(n, seed=0, n_classes=2):
    """Labels drawn from known probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1]
    if n_classes == 2:
        truth = 1 / (1 + np.exp(-4 * score))
        return X, (rng.random(n) < truth).astype(int)
    logits = 3 * np.column_stack([score, X[:, 2], -score])
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return X, (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)


def platt(estimator=None, **settings):
    estimator = onkel.NORMAClassifier(gamma=0.5, budget=60, random_state=0) if estimator is None else estimator
    return onkel.PlattClassifier(estimator, **settings)


@loop
@pytest.mark.parametrize("forget", [1.0, 0.999, 0.9])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_like_the_reference(forget, scale):
    rng = np.random.default_rng(1)
    scores = np.concatenate([[0.0, 0.0], rng.normal(size=500)]) * scale
    own = rng.random(502) < 1 / (1 + np.exp(-2 * scores / scale + 1))
    expected, theta = reference.sigmoid(scores, own, forget)
    sigmoids = Sigmoids(forget, binary=True)
    found = []
    for score, label in zip(scores.tolist(), own.tolist(), strict=True):
        found.append(sigmoids.probabilities([score])[1])
        sigmoids.learn([score], int(label))
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(sigmoids.table[0][:2], theta, rtol=1e-6)


def test_any_scores_leave_the_sigmoids_finite():
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-99, 1e99):
        sigmoids = Sigmoids(0.99, binary=True)
        for i in range(2000):
            sigmoids.learn([float(rng.normal() * scale)], int(i > 1000))
            assert 0 <= sigmoids.probabilities([scale])[1] <= 1
        assert np.isfinite(sigmoids.array()).all()


@loop
@pytest.mark.parametrize(
    "estimator",
    [
        onkel.PAClassifier(C=0.1, gamma=0.5, budget=200, random_state=0),
        onkel.SPAClassifier(gamma=0.5, budget=200, horizon=8000, random_state=0),
        onkel.ForgetronClassifier(gamma=0.5, budget=200, random_state=0),
        onkel.BSGDClassifier(gamma=0.5, budget=200, lam=1e-3, random_state=0),
        onkel.MultiKernelClassifier(onkel.recipes.PA(C=0.1), budget=200, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_as_on_rows_set_aside(estimator, n_classes):
    """As good as scikit-learn's sigmoid on 2,000 rows that the estimator never learned from, without such rows."""
    X, y = data(8000, n_classes=n_classes)
    model = platt(estimator).partial_fit(X, y, classes=np.arange(n_classes))
    aside, new = data(2000, 1, n_classes), data(4000, 2, n_classes)
    rival = CalibratedClassifierCV(FrozenEstimator(model.estimator_), method="sigmoid").fit(*aside)
    ours, theirs = (m.predict_proba(new[0]) for m in (model, rival))
    slack = 0.08 if isinstance(estimator, onkel.BSGDClassifier) else 0.03  # whose last function jumps most
    assert log_loss(new[1], ours) < log_loss(new[1], theirs) + slack
    truth = np.eye(n_classes)[new[1]]
    assert ((ours - truth) ** 2).sum(axis=1).mean() < ((theirs - truth) ** 2).sum(axis=1).mean() + slack
    assert log_loss(new[1], ours) < np.log(n_classes) - 0.04  # and better than no knowledge


def test_each_row_is_predicted_before_it_is_learned_from():
    X, y = data(1000)
    whole = platt()
    made = whole.predict_then_learn(X, y, classes=[0, 1])
    again = platt().partial_fit(X[:500], y[:500], classes=[0, 1])
    np.testing.assert_array_equal(again.decision_function(X[500:501]), made[500:501])
    assert log_loss(y[200:], expit(made[200:])) < 0.6
    assert brier_score_loss(y[200:], expit(made[200:])) < 0.2
    flipped = platt().predict_then_learn(X, np.r_[y[:-1], 1 - y[-1]], classes=[0, 1])
    np.testing.assert_array_equal(flipped, made)  # the last label changed nothing that came before


@loop
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("opened", [False, True])
def test_cutting_the_stream_changes_no_bit(n_classes, opened):
    X, y = data(600, n_classes=n_classes)
    y[:20] = 0  # one class alone at first
    classes = None if opened else np.arange(n_classes)
    weight = np.random.default_rng(0).integers(0, 3, 600).astype(float)
    whole, pieces = platt(), platt()
    made = whole.predict_then_learn(X, y, classes, weight)
    parts = []
    for rows in np.split(np.arange(600), [1, 2, 19, 20, 21, 22, 23, 100, 333]):
        parts.append(pieces.predict_then_learn(X[rows], y[rows], classes, weight[rows]))
    for rows, part in zip(np.split(np.arange(600), [1, 2, 19, 20, 21, 22, 23, 100, 333]), parts, strict=True):
        width = 1 if part.ndim == 1 else part.shape[1]
        np.testing.assert_array_equal(made[rows].reshape(len(rows), -1)[:, :width], part.reshape(len(rows), -1))
        assert not made[rows].reshape(len(rows), -1)[:, width:].any()
    np.testing.assert_array_equal(whole._sigmoids.array(), pieces._sigmoids.array())
    np.testing.assert_allclose(whole.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(whole.predict_proba(X), pieces.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_evaluation_sees_its_probabilities(n_classes):
    X, y = data(1500, n_classes=n_classes)
    classes = np.arange(n_classes)
    point = onkel.evaluate.progressive(platt(), [(X[:700], y[:700]), (X[700:], y[700:])], classes=classes).last
    odds = platt().predict_then_learn(X, y, classes)
    probabilities = np.column_stack([expit(-odds), expit(odds)]) if n_classes == 2 else np.exp(odds)
    assert abs(point.log_loss - log_loss(y, probabilities)) < 1e-9
    assert point.accuracy == (probabilities.argmax(axis=1) == y).mean()


def test_rows_of_weight_0_do_not_count():
    X, y = data(300)
    weight = np.ones(300)
    weight[::3] = 0
    with_, without = platt(), platt()
    with_.partial_fit(X, y, [0, 1], weight)
    without.partial_fit(X[weight > 0], y[weight > 0], [0, 1])
    np.testing.assert_array_equal(with_._sigmoids.array(), without._sigmoids.array())
    assert platt().predict_then_learn(X, y, [0, 1], np.zeros(300)).shape[0] == 300


def test_fit_shows_the_first_epoch_in_the_order_of_learning():
    X, y = data(800)
    settings = {"gamma": 0.5, "random_state": 0}
    fitted = platt(onkel.PAClassifier(shuffle=False, **settings)).fit(X, y)
    streamed = platt(onkel.PAClassifier(**settings)).partial_fit(X, y, [0, 1])
    np.testing.assert_array_equal(fitted._sigmoids.array(), streamed._sigmoids.array())
    epochs = platt(onkel.PAClassifier(shuffle=False, n_epochs=3, **settings)).fit(X, y)
    np.testing.assert_array_equal(epochs._sigmoids.array(), streamed._sigmoids.array())
    shuffled = platt(onkel.PAClassifier(**settings)).fit(X, y)
    twin = onkel.PAClassifier(**settings).fit(X, y)
    assert shuffled.estimator_._fingerprint() == twin._fingerprint()


@loop
@pytest.mark.parametrize(
    "estimator",
    [
        onkel.NORMAClassifier(gamma=0.5, budget=40, random_state=0),
        onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.PAClassifier(gamma=0.5, random_state=0)),
    ],
    ids=["estimator", "pipeline"],
)
@pytest.mark.parametrize("opened", [False, True])
def test_saved_and_resumed_to_the_bit(tmp_path, estimator, opened):
    X, y = data(600, n_classes=3)
    whole = platt(estimator, forget=0.99).partial_fit(X[:300], y[:300], None if opened else [0, 1, 2])
    onkel.save(whole, tmp_path / "model.onkel")
    again, copied = onkel.load(tmp_path / "model.onkel"), pickle.loads(pickle.dumps(whole))
    for model in (whole, again, copied):
        model.partial_fit(X[300:], y[300:])
    for model in (again, copied):
        np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
        np.testing.assert_array_equal(model._sigmoids.array(), whole._sigmoids.array())
    onkel.save(platt(estimator), tmp_path / "blank.onkel")
    assert not onkel.load(tmp_path / "blank.onkel").__sklearn_is_fitted__()


def test_checkpoints(tmp_path):
    X, y = data(400)
    chunks = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 400, 50)]
    whole = platt()
    for rows, labels in chunks:
        whole.partial_fit(rows, labels, [0, 1])
    stopped = platt()
    for i, (rows, labels) in enumerate(onkel.Checkpointer(tmp_path, every=100).run(stopped, iter(chunks))):
        stopped.partial_fit(rows, labels, [0, 1])
        if i == 5:
            break
    resumed = platt()
    for rows, labels in onkel.Checkpointer(tmp_path, every=100).run(resumed, iter(chunks)):
        resumed.partial_fit(rows, labels, [0, 1])
    np.testing.assert_array_equal(resumed._sigmoids.array(), whole._sigmoids.array())


def test_margins():
    scores = np.random.default_rng(0).normal(size=(50, 4))
    expected = [[row[c] - max(np.delete(row, c)) for c in range(4)] for row in scores]
    assert [margins(row) for row in scores.tolist()] == expected
    assert margins([1.0, 1.0]) == [0.0, 0.0]
    assert margins([3.0]) == [3.0]


@loop
@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lambda: platt(onkel.OGDRegressor()), "estimator must be one of onkel's classifiers"),
        (lambda: platt(5), "estimator must be one of onkel's classifiers, got 5"),
        (lambda: platt(forget=0), "forget must be a number greater than 0 and at most 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(model, sentence):
    X, y = data(20)
    with pytest.raises(ValueError, match=sentence):
        model().fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        model().partial_fit(X, y)


def test_weights_of_a_table_are_those_of_its_rows():
    n = 60
    X = {"town": [f"town {i % 3}" for i in range(n)], "x": np.random.default_rng(0).normal(size=n)}
    y, weight = np.arange(n) % 2, np.where(np.arange(n) % 3, 1.0, 0.0)
    model = onkel.PlattClassifier(onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=0.5, random_state=0)))
    assert model.partial_fit(X, y, classes=[0, 1], sample_weight=weight).t_ == 40
    assert model.fit(X, y, sample_weight=weight).t_ == 40
    one_column = {"x": X["x"]}
    model = clone(model).partial_fit(one_column, y, classes=[0, 1])
    assert model.partial_fit(one_column, y).t_ == 120


@pytest.mark.parametrize("scaled", [False, True])
def test_a_choice_that_was_interrupted_is_made_before_the_next_row_is_predicted(scaled):
    X, y = make_moons(100, noise=0.3, random_state=0)

    def new():
        model = onkel.NewtonClassifier(budget=30, lam=1.0, relevances=None, random_state=0)
        model = onkel.StreamPipeline(onkel.StreamStandardScaler(), model) if scaled else model
        return onkel.PlattClassifier(model).partial_fit(X[:65], y[:65], [0, 1])

    def choice(model):
        return (model.estimator_.estimator_ if scaled else model.estimator_)._choice

    def one_by_one(model, begin, end):
        for i in range(begin, end):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        return model

    whole = new()
    while choice(whole).job is not None:
        one_by_one(whole, whole.t_, whole.t_ + 1)
    row = whole.t_  # after which what was found takes over

    model = new()
    with pytest.raises(KeyboardInterrupt), interrupted_choice(row):
        one_by_one(model, 65, row)
    assert model.t_ == row > 65 and choice(model).job is not None
    whole, model = one_by_one(whole, row, 100), one_by_one(model, row, 100)
    assert model.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()
