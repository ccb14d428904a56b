"""Progressive evaluation: right values, the same for every cutting of the stream, in bounded memory."""

import dataclasses

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    roc_auc_score,
)

import onkel
from looping import loop
from onkel.evaluate import Curve, Point, progressive, progressive_steps

matplotlib.use("agg")


def two_classes(n=3000):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")


def several_classes(n=1500):
    random = np.random.default_rng(1)
    centres = 2 * random.normal(size=(5, 3))
    y = np.minimum(random.integers(5, size=n), np.arange(n) // 40)  # classes appear one after another
    return centres[y] + random.normal(size=(n, 3)), y


def targets(n=1500):
    X = np.random.default_rng(2).normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + X[:, 1]


def cut(X, y, *sizes):
    """Chunks of these sizes over and over."""
    begin, i = 0, 0
    while begin < len(y):
        end = begin + sizes[i % len(sizes)]
        yield X[begin:end], y[begin:end]
        begin, i = end, i + 1


def ogd(**parameters):
    return onkel.OGDClassifier(**{"loss": "log_loss", "gamma": 0.5, "random_state": 0, **parameters})


def without_time(curve):
    course = {name: values.tolist() for name, values in curve.course.items()}
    return [dataclasses.replace(point, seconds=0.0) for point in curve.points], course


def test_values_of_two_classes_are_those_of_scikit_learn():
    X, y = two_classes()
    scores = ogd().predict_then_learn(X, y, classes=["no", "yes"])
    curve = progressive(ogd(), [(X, y)], classes=["no", "yes"], norm=True)
    model = ogd()
    done = 0
    for point in curve.points:
        model.partial_fit(X[done : point.rows], y[done : point.rows], classes=["no", "yes"])
        done = point.rows
        assert (point.n_support, point.norm) == (model.n_support_, model.norm_)
        seen, labels = scores[:done], y[:done]
        assert point.accuracy == accuracy_score(labels, np.where(seen > 0, "yes", "no"))
        assert point.log_loss == pytest.approx(log_loss(labels, 1 / (1 + np.exp(-seen))), rel=1e-9)
        assert point.auc == pytest.approx(roc_auc_score(labels == "yes", seen), abs=2e-3 if done > 100 else 0.05)
    assert done == len(y)
    assert curve.name == "OGDClassifier" and curve.metric == "accuracy"
    assert curve.last.rmse is None and curve.last.mae is None


def test_values_of_a_regression_are_those_of_scikit_learn():
    X, y = targets()
    model = onkel.OGDRegressor(gamma=0.5, random_state=0)
    predicted = onkel.OGDRegressor(gamma=0.5, random_state=0).predict_then_learn(X, y)
    curve = progressive(model, [(X, y)])
    for point in curve.points:
        assert point.rmse == pytest.approx(mean_squared_error(y[: point.rows], predicted[: point.rows]) ** 0.5)
        assert point.mae == pytest.approx(mean_absolute_error(y[: point.rows], predicted[: point.rows]))
    assert curve.metric == "rmse" and curve.last.accuracy is None and curve.last.auc is None


@pytest.mark.parametrize("task", ["two", "several"])
def test_probabilities_are_judged_as_by_definition(task):
    X, y = two_classes(900) if task == "two" else several_classes(900)
    classes = np.unique(y)
    scores = ogd().predict_then_learn(X, y, classes=classes)
    shares = np.column_stack([expit(-scores), expit(scores)]) if task == "two" else softmax(scores, axis=1)
    found = progressive(ogd(), [(X, y)], classes=classes).last
    brier = brier_score_loss(y, shares[:, 1], pos_label="yes") if task == "two" else brier_score_loss(y, shares)
    assert found.brier == pytest.approx(brier)
    expected, right = shares.max(axis=1), classes[shares.argmax(axis=1)] == y
    places = np.minimum((15 * expected).astype(int), 14)
    gaps = [abs(np.mean(expected[places == i]) - np.mean(right[places == i])) for i in np.unique(places)]
    assert found.calibration_error == pytest.approx(np.average(gaps, weights=np.bincount(places)[np.unique(places)]))


def test_quantiles_are_judged_by_the_pinball_loss():
    X, y = targets(500)
    predicted = onkel.OGDRegressor(gamma=0.5, loss="quantile", quantile=0.8, random_state=0).predict_then_learn(X, y)
    model = onkel.OGDRegressor(gamma=0.5, loss="quantile", quantile=0.8, random_state=0)
    assert progressive(model, [(X, y)]).last.pinball == pytest.approx(mean_pinball_loss(y, predicted, alpha=0.8))


@pytest.mark.parametrize("pipeline", [False, True])
def test_deviations_and_intervals_are_judged_before_their_rows_are_learned_from(pipeline):
    X, y = targets(300)

    def make():
        model = onkel.NewtonRegressor(budget=20, gamma=0.5, random_state=0, coverage=(0.8,))
        return onkel.StreamPipeline(onkel.StreamStandardScaler(), model) if pipeline else model

    curve = progressive(make(), [(X[:130], y[:130]), (X[130:], y[130:])], deviations=True)
    assert without_time(curve) == without_time(progressive(make(), [(X, y)], deviations=True))
    model, said, held = make().partial_fit(X[:1], y[:1]), [], []
    for i in range(1, 300):
        mean, std = model.predict(X[i : i + 1], return_std=True)
        low, high = model.predict_interval(X[i : i + 1], 0.8)[0]
        said += [(mean[0], std[0], y[i])] if std[0] > 0 else []
        held += [(low <= y[i] <= high, high - low)] if high < np.inf else []
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    mean, std, target = np.transpose(said)
    assert curve.last.nll == pytest.approx(-norm.logpdf(target, mean, std).mean())
    inside = np.linspace(-40, 40, 20_001)
    below = norm.cdf(inside)  # the score by its definition, an integral
    scores = [s * 0.004 * ((below - (inside >= (t - m) / s)) ** 2).sum() for m, s, t in said]
    assert curve.last.crps == pytest.approx(np.mean(scores), rel=1e-2)
    assert (curve.last.covered, curve.last.width) == pytest.approx(tuple(np.mean(held, axis=0)))


def test_deviations_are_asked_of_regressors_that_give_them():
    X, y = targets(120)
    with pytest.raises(ValueError, match="deviations are those of a regressor's targets, got OGDClassifier"):
        progressive(ogd(), [(X, y > 0)], deviations=True)
    last = progressive(onkel.OGDRegressor(gamma=0.5), [(X, y)], deviations=True).last
    assert last.nll is last.crps is last.covered is last.width is None


@loop
@pytest.mark.parametrize("sizes", [(1,), (7, 1, 300), (1000,)])
@pytest.mark.parametrize("every", [None, 100])
@pytest.mark.parametrize("task", ["two", "several", "several, open", "regression"])
def test_chunks_change_no_bit(task, every, sizes):
    if task == "regression":
        (X, y), make, options = targets(600), lambda: onkel.OGDRegressor(gamma=0.5, random_state=0), {}
    elif task == "two":
        (X, y), make, options = two_classes(600), ogd, {"classes": ["no", "yes"]}
    else:
        (X, y), make = several_classes(600), ogd
        options = {} if task == "several, open" else {"classes": range(5)}
    held_out = X[:50], y[:50]
    whole = progressive(make(), [(X, y)], every=every, norm=True, held_out=held_out, **options)
    pieces = progressive(make(), cut(X, y, *sizes), every=every, norm=True, held_out=held_out, **options)
    assert without_time(pieces) == without_time(whole)


def test_a_fading_window_shows_what_the_mean_hides():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(9000) >= 6000)  # the classes change places
    model = onkel.NewtonClassifier(gamma=1.0, lam=0.01, budget=20, random_state=0)
    curve = progressive(model, [(X, y)], classes=[False, True])
    window = onkel.NewtonClassifier(gamma=1.0, lam=0.01, budget=20, random_state=0)
    right = (window.predict_then_learn(X, y, classes=[False, True]) > 0) == y
    rows = curve.course["window_rows"]
    for row, mean in list(zip(rows, curve.course["window_accuracy"], strict=True))[::40]:
        weights = 0.999 ** np.arange(row)[::-1]
        assert mean == pytest.approx((weights * right[:row]).sum() / weights.sum())
    assert curve.last.recent_accuracy == pytest.approx(np.average(right, weights=0.999 ** np.arange(9000)[::-1]))
    before, after = curve.course["window_accuracy"][rows <= 6000][-1], curve.course["window_accuracy"][rows > 6000]
    assert before > 0.95 and after.min() < before - 0.01 and len(rows) < 512
    # it remembers all rows at first, and only a few after the change
    at, memory = curve.course["memory_rows"], curve.course["memory"]
    assert (memory <= at).all() and memory[at <= 6000].max() > 1000 and memory[at > 6100].max() <= 1000


def test_a_class_that_is_not_known_yet_is_never_guessed():
    X, y = several_classes()
    model, right, surprise = ogd(), [], []
    for x, label in zip(X, y, strict=True):
        known = model.classes_.tolist() if hasattr(model, "classes_") else []
        scores = model.decision_function([x])[0] if known else np.zeros(0)
        right.append(bool(known) and known[int(np.argmax(scores))] == label)
        all_scores = scores if label in known else np.append(scores, 0.0)
        place = known.index(label) if label in known else len(known)
        surprise.append(np.log(np.exp(all_scores).sum()) - all_scores[place])
        model.partial_fit([x], [label])
    curve = progressive(ogd(), cut(X, y, 1000))
    for point in curve.points:
        assert point.accuracy == np.mean(right[: point.rows])
        assert point.log_loss == pytest.approx(np.mean(surprise[: point.rows]), rel=1e-9)
    assert curve.last.auc is None


def test_a_learner_without_probabilities_has_no_log_loss():
    X, y = two_classes(200)
    curve = progressive(onkel.SPAClassifier(gamma=0.5), [(X, y)], classes=["no", "yes"])
    assert curve.last.log_loss is None and "log_loss" not in curve.to_dict()


def test_held_out_rows_are_predicted_and_not_learned_from():
    X, y = two_classes()
    held_out = X[2000:], y[2000:]
    curve = progressive(ogd(), [(X[:2000], y[:2000])], classes=["no", "yes"], held_out=held_out)
    model = ogd().partial_fit(X[:2000], y[:2000], classes=["no", "yes"])
    assert curve.last.held_out == model.score(*held_out)
    assert curve.last.n_support == model.n_support_
    assert not np.isnan(curve["held_out"]).any()
    X, y = targets()
    model = onkel.OGDRegressor(gamma=0.5)
    curve = progressive(model, [(X[:1000], y[:1000])], held_out=(X[1000:], y[1000:]))
    assert curve.last.held_out == pytest.approx(mean_squared_error(y[1000:], model.predict(X[1000:])) ** 0.5)


def test_a_long_stream_has_few_points_and_a_point_after_every_chunk_on_the_way():
    X, y = two_classes(100)
    model = onkel.RBPClassifier(gamma=1.0, budget=5, random_state=0)
    steps = list(progressive_steps(model, ((X, y) for _ in range(1000)), classes=["no", "yes"]))
    assert len(steps) >= 1000
    assert sum(step.is_checkpoint for step in steps) < 90
    assert steps[-1].is_checkpoint and steps[-1].rows == 100_000


def test_the_width_is_fixed_by_the_whole_first_chunk():
    X, y = two_classes(1000)
    model = ogd(gamma="scale")
    progressive(model, cut(X, y, 500), classes=["no", "yes"])
    assert model.gamma_ == ogd(gamma="scale").partial_fit(X[:500], y[:500], classes=["no", "yes"]).gamma_


def test_an_estimator_goes_on_where_it_was():
    X, y = two_classes(1000)
    model = ogd().partial_fit(X[:500], y[:500], classes=["no", "yes"])
    curve = progressive(model, [(X[500:], y[500:])])
    assert curve.last.rows == 500 and model.t_ == 1000


@loop
@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([-1.0, 1.0], [0, 1]),
        ([1.0, -1.0], [0, 1]),
        ([0.0, -0.0], [0, 1]),
        ([1e300, -1e300, 1e-300, 5.0], [1, 0, 1, 0]),
        ([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0], [0, 1, 0, 0, 1, 1, 0]),
    ],
)
def test_the_area_under_the_curve_orders_scores_of_any_size(scores, labels):
    ranks = onkel.evaluate._Ranks()
    ranks.add(np.array(scores), np.array(labels) == 1)
    assert ranks.auc() == pytest.approx(roc_auc_score(labels, scores))


def test_refusals():
    with pytest.raises(ValueError, match="the stream has no rows"):
        progressive(ogd(), [])
    with pytest.raises(ValueError, match="every must be an integer of at least 1"):
        progressive(ogd(), [], every=0)


def test_a_curve_becomes_a_data_frame_and_a_plot():
    X, y = two_classes(500)
    curve = progressive(ogd(), [(X, y)], classes=["no", "yes"])
    frame = curve.to_pandas()
    assert list(frame) == [
        "rows",
        "seconds",
        "n_support",
        "accuracy",
        "log_loss",
        "auc",
        "recent_accuracy",
        "recent_log_loss",
        "commonest",
        "balanced_accuracy",
        "brier",
        "calibration_error",
    ]
    assert len(frame) == len(curve) and frame["rows"].iloc[-1] == 500
    figure, ax = plt.subplots()
    assert curve.plot(ax) is ax
    curve.plot(ax, x="seconds", y="n_support")
    first, second = ax.get_lines()
    assert (first.get_ydata() == curve["accuracy"]).all() and (second.get_xdata() == curve["seconds"]).all()
    assert first.get_label() == "OGDClassifier" and ax.get_ylabel() == "n support"
    plt.close(figure)
    wild = Curve("x", (Point(rows=1, seconds=0.0, n_support=1, rmse=float("inf"), mae=1.0),))
    assert wild.to_dict() == {"name": "x", "rows": [1], "seconds": [0.0], "n_support": [1], "mae": [1.0]}
    assert wild.last.speed > 0
    assert Curve("x", (Point(rows=1, seconds=0.0, n_support=1, rmse=2.0),)).metric == "rmse"
