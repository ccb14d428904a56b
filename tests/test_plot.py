"""Pictures: what a display holds is what the model says, and what cannot be drawn is refused in a sentence."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError

import onkel
import onkel.river
from onkel.plot import (
    CalibrationDisplay,
    CoverageDisplay,
    DecisionSurfaceDisplay,
    ImportanceDisplay,
    KernelWeightsDisplay,
    LearningCurveDisplay,
    MemoryDisplay,
    SupportDisplay,
)

X, y = make_moons(600, noise=0.2, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def plane(display):
    return np.column_stack([part.ravel() for part in np.meshgrid(display.horizontal, display.vertical)])


def test_a_surface_holds_what_the_model_says():
    model = onkel.NewtonClassifier(budget=30, random_state=0).fit(X, y)
    display = DecisionSurfaceDisplay.from_estimator(model, X, y, grid=20)
    assert display.kind == "score"
    assert np.array_equal(display.values.ravel(), model.decision_function(plane(display)))
    assert np.array_equal(display.support, model.support_vectors_)
    display = DecisionSurfaceDisplay.from_estimator(model, X, y, grid=20, response="probability", ax=display.ax_)
    assert np.array_equal(display.values.ravel(), model.predict_proba(plane(display))[:, 1])

    regressor = onkel.NewtonRegressor(budget=30, random_state=0).fit(X, X[:, 0])
    display = DecisionSurfaceDisplay.from_estimator(regressor, X, grid=10, response="std")
    assert np.array_equal(display.values.ravel(), regressor.predict(plane(display), return_std=True)[1])
    display = DecisionSurfaceDisplay.from_estimator(regressor, X, X[:, 0], grid=10)
    assert np.array_equal(display.values.ravel(), regressor.predict(plane(display)))


def test_a_surface_of_several_classes_names_them_by_their_places():
    rows, places = make_blobs(300, centers=3, random_state=0)
    names = np.array(["a", "b", "c"])
    model = onkel.SPAClassifier(gamma=0.5, random_state=0).fit(rows, names[places])
    display = DecisionSurfaceDisplay.from_estimator(model, rows, names[places], grid=15)
    assert np.array_equal(names[display.values.ravel().astype(int)], model.predict(plane(display)))
    assert np.array_equal(display.shades, places)


def test_a_surface_names_its_axes_and_its_classes():
    pandas = pytest.importorskip("pandas")
    model = onkel.PerceptronClassifier(gamma=2.0).fit(X, np.array(["no", "yes"])[y])
    display = DecisionSurfaceDisplay.from_estimator(model, X, np.array(["no", "yes"])[y], grid=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("feature 1", "feature 2")
    assert display.ax_.get_legend_handles_labels()[1] == ["class no", "class yes", "support vectors"]

    frame = pandas.DataFrame(X, columns=["length", "weight"])
    model = onkel.PerceptronClassifier(gamma=2.0).fit(frame, y)
    display = DecisionSurfaceDisplay.from_estimator(model, frame, y, grid=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "weight")


@pytest.mark.parametrize("scaler", [onkel.StreamStandardScaler(), onkel.StreamMinMaxScaler()])
def test_support_vectors_of_a_pipeline_lie_among_the_rows(scaler):
    rows = X * [1, 100] + [0, 5000]
    model = onkel.StreamPipeline(scaler, onkel.PerceptronClassifier(gamma=2.0, shuffle=False)).fit(rows, y)
    display = DecisionSurfaceDisplay.from_estimator(model, rows, y, grid=10)
    born = rows[np.sort(model.estimator_.support_)]
    order = np.argsort(model.estimator_.support_)
    assert np.allclose(display.support[order], born, rtol=1e-9)


def test_ages_are_rows_since_the_points_came():
    model = onkel.NORMAClassifier(gamma=2.0, budget=20, random_state=0).fit(X, y)
    display = SupportDisplay.from_estimator(model)
    assert np.array_equal(display.ages, model.t_ - model.support_)
    assert np.array_equal(display.weights, np.abs(model.dual_coef_[0]))
    assert display.ages.min() >= 1


def test_weights_of_kernels_are_the_models():
    model = onkel.MultiKernelClassifier(onkel.recipes.SPA(eta=0.1, beta=3), random_state=0).fit(X, y)
    display = KernelWeightsDisplay.from_estimator(model)
    assert np.array_equal(display.weights, model.kernel_weights_history_[1])
    assert display.names[0] == repr(model.kernels_[0])


def test_weights_of_memories_are_the_models():
    model = onkel.NewtonClassifier(gamma=1.0, budget=30, random_state=0).partial_fit(X, y)
    display = MemoryDisplay.from_estimator(model)
    assert np.array_equal(display.weights, model.memory_weights_history_[1])
    assert display.memories == list(model.memory_weights_)
    assert len(display.ax_.collections) == len(display.memories)
    with pytest.raises(ValueError, match='need forget="stream", and this NewtonClassifier has one'):
        MemoryDisplay.from_estimator(onkel.NewtonClassifier(gamma=1.0, forget=0.99).fit(X, y))


def test_importances_are_named_and_the_largest_is_on_top():
    class Relevant(onkel.PerceptronClassifier):
        importances_ = np.array([0.2, 1.0, 0.5])
        feature_names_in_ = np.array(["a", "b", "c"], dtype=object)

    display = ImportanceDisplay.from_estimator(Relevant())
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["a", "c", "b"]
    assert [bar.get_width() for bar in display.ax_.patches] == [0.2, 0.5, 1.0]


def test_curves_of_several_learners_see_the_same_stream():
    models = {name: onkel.SPAClassifier(gamma=2.0, budget=30, random_state=0) for name in ("one", "other")}
    display = LearningCurveDisplay.from_estimator(models, [(X, y)], classes=[0, 1])
    assert [curve.name for curve in display.curves] == ["one", "other"]
    assert np.array_equal(display.curves[0]["accuracy"], display.curves[1]["accuracy"])
    assert display.metric == "accuracy"
    assert len(display.ax_.lines) == 2


def test_calibration_counts_what_came():
    model = onkel.NewtonClassifier(budget=30, random_state=0).fit(X[:300], y[:300])
    display = CalibrationDisplay.from_estimator(model, X[300:], y[300:], n_bins=3)
    given = np.sort(model.predict_proba(X[300:])[:, 1])
    assert np.allclose(display.claimed, given.reshape(3, 100).mean(axis=1))
    assert np.isclose(display.came.mean(), y[300:].mean())


def test_models_of_river_are_drawn_by_what_is_inside():
    model = onkel.river.NewtonClassifier(budget=30, seed=0)
    for row, label in zip(X[:200], y[:200], strict=True):
        model.learn_one({"left": row[0], "right": row[1]}, int(label))
    assert len(SupportDisplay.from_estimator(model).ages) == model.n_support
    memory = MemoryDisplay.from_estimator(model)
    assert memory.memories == list(model._learner.memory_weights)
    assert np.array_equal(memory.weights, model._learner.memory_weights_history[1])
    importance = ImportanceDisplay.from_estimator(model)
    assert dict(zip(importance.names, importance.importances, strict=True)) == model.feature_importances
    for display in (SupportDisplay, MemoryDisplay, ImportanceDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(onkel.river.NewtonClassifier(budget=30, seed=0))


def test_what_cannot_be_drawn_is_refused():
    wide = onkel.PerceptronClassifier(gamma=1.0).fit(np.c_[X, X], y)
    with pytest.raises(ValueError, match="two features, and this model has 4"):
        DecisionSurfaceDisplay.from_estimator(wide, np.c_[X, X])
    with pytest.raises(ValueError, match="response must be"):
        DecisionSurfaceDisplay.from_estimator(wide, X, response="colour")
    with pytest.raises(ValueError, match="several kernels, and a PerceptronClassifier has one"):
        KernelWeightsDisplay.from_estimator(wide)
    with pytest.raises(ValueError, match="not fitted"):
        SupportDisplay.from_estimator(onkel.PerceptronClassifier())


def test_a_notebook_shows_what_was_learned():
    model = onkel.NewtonClassifier(budget=30, random_state=0)
    assert "onkel-learned" not in model._repr_html_()
    model.fit(X, y)
    pipeline = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.NewtonClassifier(budget=30, random_state=0))
    platt = onkel.PlattClassifier(onkel.ForgetronClassifier(gamma=1.0, random_state=0))
    for shown in (model, pipeline.fit(X, y), platt.fit(X, y)):
        for html in (shown._repr_html_(), shown._repr_mimebundle_()["text/html"]):
            assert html.count('class="onkel-learned"') == 1
            assert "600" in html
    assert f"{model.n_support_} of at most 30" in model._repr_html_()
    assert f"{model.nbytes_:,}" in model._repr_html_()
    assert f"{model.gamma_:.4g}" in model._repr_html_()
    assert "<th" in model._repr_html_().split("memory")[0]
    assert "progressive loss" not in model._repr_html_()
    # of rows that were predicted first, however they were cut
    whole, cut = (onkel.NewtonClassifier(budget=30, random_state=0) for _ in range(2))
    scores = whole.predict_then_learn(X, y, classes=[0, 1])
    for rows in (slice(0, 7), slice(7, 600)):
        cut.predict_then_learn(X[rows], y[rows], classes=[0, 1])
    loss = np.mean(np.logaddexp(0, np.where(y == 1, -scores, scores)))
    assert f"log loss {loss:.4g} over 600 rows" in whole._repr_html_()
    assert whole._progress == cut._progress


def test_coverage_is_drawn_over_the_latest_rows():
    rows = np.random.default_rng(0).normal(size=(6000, 2))
    model = onkel.OGDRegressor(gamma=0.5, budget=10, random_state=0, coverage=(0.9, 0.5)).fit(rows, rows[:, 0])
    numbers, covered = model.coverage_history_
    assert (numbers[0], numbers[-1], covered.shape) == (1001, 6000, (2, 5000))
    display = CoverageDisplay.from_estimator(model, window=1000)
    assert (display.rows[0], display.rows[-1]) == (2000, 6000)
    for i, level in enumerate((0.9, 0.5)):
        assert covered[i].mean() == model.coverage_[level]
        expected = [covered[i, begin : begin + 1000].mean() for begin in range(4001)]
        np.testing.assert_allclose(display.shares[level], expected)
    with pytest.raises(ValueError, match="window"):
        CoverageDisplay.from_estimator(model, window=5001)
    with pytest.raises(AttributeError, match="where coverage is given"):
        CoverageDisplay.from_estimator(onkel.OGDRegressor(gamma=0.5).fit(rows, rows[:, 0]))
