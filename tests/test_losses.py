"""Every loss: its gradient is that of its value, its curvature that of its gradient, and huge scores stay finite."""

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import _core
from onkel.parts import LOSSES, loss_named
from reference import common

# every loss at every task it is for
CHOICES = [
    pytest.param(loss().spec, task, id=f"{name}-{task}")
    for name, loss in LOSSES.items()
    for task in (["regression"] if loss.regression else ["binary", "multiclass"])
]
STEP = 1e-5


def scores_and_labels(task, n=60):
    rng = np.random.default_rng(3)
    for _ in range(n):
        if task == "multiclass":
            yield rng.normal(size=4) * 2, int(rng.integers(4))
        else:
            yield rng.normal(size=1) * 2, float(rng.choice([-1, 1]) if task == "binary" else abs(rng.normal()))


def number(spec):
    """The number that a loss has of its own, by default."""
    return next(iter(spec[1].values()), 0.1)


def kinks(spec):
    """Where, in z, the slope or the curvature of a loss jumps: nothing to differentiate there."""
    tube, zero = [-number(spec), number(spec)], [0.0]
    places = {"epsilon_insensitive": tube, "huber": tube, "perceptron": zero, "quantile": zero}
    return places.get(spec[0], [1.0] if "hinge" in spec[0] else [])


def margin(task, f, y):
    if task == "multiclass":
        return f[y] - np.delete(f, y).max()
    return y * f[0] if task == "binary" else f[0] - y


def evaluate(spec, task, f, y):
    return _core.evaluate_loss(spec, task, list(map(float, f)), float(y))


@loop
@pytest.mark.parametrize(("spec", "task"), CHOICES)
def test_gradient_is_the_slope_of_the_value(spec, task):
    compared = 0
    for f, y in scores_and_labels(task):
        z = margin(task, f, y)
        if any(abs(z - kink) < 10 * STEP for kink in kinks(spec)):
            continue
        g = np.array(evaluate(spec, task, f, y)[1])
        for c in range(len(f)):
            up, down = f.copy(), f.copy()
            up[c] += STEP
            down[c] -= STEP
            numeric = (evaluate(spec, task, up, y)[0] - evaluate(spec, task, down, y)[0]) / (2 * STEP)
            np.testing.assert_allclose(g[c], numeric, rtol=1e-5, atol=1e-7)
        compared += 1
    assert compared > 40


@loop
@pytest.mark.parametrize(("spec", "task"), [c for c in CHOICES if c.values[1] != "multiclass"])
def test_curvature_is_the_slope_of_the_gradient(spec, task):
    for f, y in scores_and_labels(task):
        if any(abs(margin(task, f, y) - kink) < 10 * STEP for kink in kinks(spec)):
            continue
        up, down = evaluate(spec, task, f + STEP, y)[1][0], evaluate(spec, task, f - STEP, y)[1][0]
        curvature = evaluate(spec, task, f, y)[2]
        np.testing.assert_allclose(curvature, (up - down) / (2 * STEP), rtol=1e-4, atol=1e-5)


@loop
@pytest.mark.parametrize(("spec", "task"), CHOICES)
def test_extreme_scores(spec, task):
    n = 4 if task == "multiclass" else 1
    for score in (-1e3, -30.0, -1e-3, 0.0, 1e-3, 30.0, 1e3):
        f = np.zeros(n)
        f[0] = score
        for y in (0, n - 1) if task == "multiclass" else (0.0, 1e-9, 1e9) if spec[0] == "poisson" else (-1.0, 1.0):
            loss, g, curvature, mistake, chord = evaluate(spec, task, f, y)
            assert loss >= 0
            assert np.isfinite([loss, curvature, chord, *g]).all()
            assert curvature >= 0  # all losses are convex
            assert mistake == (task != "regression" and margin(task, f, y) <= 0)


@loop
@pytest.mark.parametrize(("spec", "task"), CHOICES)
def test_a_negligible_loss_is_none(spec, task):
    for f, y in scores_and_labels(task):
        loss, g, *_ = evaluate(spec, task, f, y)
        assert loss == 0 or loss >= 1e-12
        if loss == 0 and spec[0] != "perceptron":
            assert not np.any(g)


@loop
@pytest.mark.parametrize("spec", [loss().spec for loss in LOSSES.values() if not loss.regression], ids=lambda s: s[0])
def test_multiclass_gradient_sums_to_zero(spec):
    # raising every class's score alike changes nothing
    for f, y in scores_and_labels("multiclass"):
        g = evaluate(spec, "multiclass", f, y)[1]
        assert abs(sum(g)) < 1e-12
        assert g[y] <= 0


@loop
@pytest.mark.parametrize(("spec", "task"), [c for c in CHOICES if c.values[1] != "multiclass"])
def test_value_and_slope_are_those_of_the_reference(spec, task):
    for z in np.concatenate([np.linspace(-30, 30, 241) + 1e-3, [-700.0, -36.0, 25.0, 27.0]]):
        if spec[0] == "poisson" and z > 200:
            continue  # where scores are capped
        value, slope, _ = common.LOSSES[spec[0]](z, 0.0 if spec[0] == "poisson" else number(spec))
        if value < 1e-12:
            value, slope = 0.0, 0.0
        loss, g, *_ = evaluate(spec, task, [z], 1.0 if task == "binary" else 0.0)
        np.testing.assert_allclose([loss, *g], [value, slope], rtol=1e-13)


def test_exponential_is_capped_where_floats_end():
    loss, g, curvature, mistake, _ = evaluate(("exponential", {}, {}), "binary", [-1e3], 1.0)
    assert loss == -g[0] == curvature == pytest.approx(np.exp(700), rel=1e-12)
    assert mistake
    assert evaluate(("exponential", {}, {}), "binary", [1e3], 1.0)[:3] == (0.0, [0.0], 0.0)


def test_log_loss_keeps_its_tails():
    # ln(1 + e^-z) by the series of ln(1 + x), and -z far out on the other side
    for z in (15.0, 20.0, 25.0):
        x = np.exp(-z)
        loss, g, *_ = evaluate(("log_loss", {}, {}), "binary", [z], 1.0)
        np.testing.assert_allclose(loss, x - x**2 / 2 + x**3 / 3, rtol=1e-14)
        np.testing.assert_allclose(g[0], -x / (1 + x), rtol=1e-14)
    assert evaluate(("log_loss", {}, {}), "binary", [-1e3], 1.0)[:2] == (1e3, [-1.0])


def test_softmax_of_two_classes_is_the_log_loss():
    rng = np.random.default_rng(1)
    for a, b in [*rng.normal(size=(50, 2)) * 5, (1e3, 0.0), (0.0, 1e3), (-1e3, 1e3)]:
        for y in (0, 1):
            two = evaluate(("log_loss", {}, {}), "multiclass", [a, b], y)
            one = evaluate(("log_loss", {}, {}), "binary", [b - a], 2.0 * y - 1)
            np.testing.assert_allclose(two[0], one[0], rtol=1e-13)
            np.testing.assert_allclose(two[1], [-one[1][0], one[1][0]], rtol=1e-13)


def test_softmax_is_the_negative_log_of_a_share():
    rng = np.random.default_rng(2)
    for size in (1.0, 10.0, 300.0):
        f = rng.normal(size=5) * size
        shares = np.exp(f - f.max()) / np.exp(f - f.max()).sum()
        for y in range(5):
            loss, g, *_ = evaluate(("log_loss", {}, {}), "multiclass", f, y)
            expected = f.max() + np.log(np.exp(f - f.max()).sum()) - f[y]
            np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(g, shares - (np.arange(5) == y), rtol=1e-9, atol=1e-12)


@loop
@pytest.mark.parametrize(("spec", "task"), CHOICES)
def test_dtype(spec, task):
    # rows and kernel values have the type of the rows; losses, coefficients and scores are float64 whatever it is
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.abs(X[:, 0]) if task == "regression" else (X[:, 0] > 0) + (task == "multiclass") * (X[:, 1] > 0.0)
    recipe = onkel.recipes.OGD(eta=0.1, loss=loss_named(spec[0]))
    learner, exact = (onkel.Learner(recipe, task=task, gamma=0.5, dtype=dtype) for dtype in ("float32", "float64"))
    scores = [m.learn_rows(X.astype(m.dtype), np.asarray(y, float), scores=True) for m in (learner, exact)]
    for m, made in zip((learner, exact), scores, strict=True):
        assert made.dtype == m.coefficients.dtype == np.float64
        assert m.support()[0].dtype == m.dtype
    assert learner.n_support == exact.n_support
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-5)


def test_a_loss_of_another_task_is_refused():
    with pytest.raises(ValueError, match="hinge"):
        evaluate(("hinge", {}, {}), "regression", [0.0], 1.0)
    with pytest.raises(ValueError, match="nonsense"):
        evaluate(("nonsense", {}, {}), "binary", [0.0], 1.0)


# -- losses in units of the residuals ---------------------------------------------------------------------------------

IN_UNITS = [("huber", {"epsilon": 1.345}), *(("quantile", {"quantile": q}) for q in (0.02, 0.5, 0.9))]


@loop
@pytest.mark.parametrize(("name", "numbers"), IN_UNITS)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_a_loss_in_units_is_smooth_and_least_at_zero(name, numbers, unit):
    """The slope is that of the value and the curvature that of the slope, whatever the units; the minimum is 0."""
    width, values = 0.4 * unit, []
    for z in np.linspace(-4.01, 4.01, 401) * unit:
        at = [
            _core.evaluate_loss((name, numbers, {}), "regression", [z + d * unit], 0.0, unit, width)
            for d in (-STEP, 0, STEP)
        ]
        (below, down, *_), (value, slope, curvature, _, chord), (above, up, *_) = at
        values.append(value)
        if value < 1e-9:
            continue  # what is negligible is none
        if abs(abs(z) - (width if name == "quantile" else numbers["epsilon"] * unit)) < 10 * STEP * unit:
            continue
        np.testing.assert_allclose(slope[0], (above - below) / (2 * STEP * unit), rtol=1e-5, atol=1e-6 * unit)
        np.testing.assert_allclose(curvature, (up[0] - down[0]) / (2 * STEP * unit), rtol=1e-4, atol=1e-5)
        assert 0 <= chord < 10
    assert 0 <= min(values) < 1e-4 * unit**2


@loop
@pytest.mark.parametrize(("name", "numbers"), [*IN_UNITS, ("poisson", {})])
def test_the_parabola_of_a_chord_bounds_the_loss(name, numbers):
    """A step goes to the minimum of the parabola that touches the loss where it is, and is least where the loss is:
    between the two it lies above the loss, so that the loss plus any parabola falls. (For counts, from below.)"""
    y = 3.0
    least = {"poisson": np.log(y), "huber": y, "quantile": y + (2 * numbers.get("quantile", 0) - 1) * 0.4}[name]
    for f in least + np.linspace(-6, 0 if name == "poisson" else 6, 41):
        value, g, _, _, chord = _core.evaluate_loss((name, numbers, {}), "regression", [f], y, 1.0, 0.4)
        for to in np.linspace(f, least, 20):
            bound = value + g[0] * (to - f) + chord * (to - f) ** 2 / 2
            assert bound > _core.evaluate_loss((name, numbers, {}), "regression", [to], y, 1.0, 0.4)[0] - 1e-9


def test_poisson_is_exact_near_its_minimum():
    for y in (1e-6, 1.0, 1e6):
        for u in (1e-7, -1e-5, 1e-3):
            value, g, curvature, _, chord = evaluate(("poisson", {}, {}), "regression", [np.log(y) + u], y)
            du = (np.log(y) + u) - np.log(y)
            if y * u**2 > 1e-9:
                np.testing.assert_allclose(value, y * du**2 / 2 * (1 + du / 3), rtol=1e-3)
                np.testing.assert_allclose(g[0], y * np.expm1(du), rtol=1e-9)
            np.testing.assert_allclose([curvature, chord], [y * np.exp(du), y * np.exp(du / 2)], rtol=1e-6)
