"""Every loss: its gradient is that of its value, its curvature that of its gradient, and huge scores stay finite."""

import numpy as np
import pytest

from onkel import _core
from onkel.parts import LOSSES

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
            yield rng.normal(size=1) * 2, float(rng.choice([-1, 1]) if task == "binary" else rng.normal())


def kinks(spec):
    """Where, in z, the slope of a loss jumps: nothing to differentiate there."""
    return {"epsilon_insensitive": [-0.1, 0.1], "perceptron": [0.0], "hinge": [1.0]}.get(spec[0], [])


def margin(task, f, y):
    if task == "multiclass":
        return f[y] - np.delete(f, y).max()
    return y * f[0] if task == "binary" else f[0] - y


def evaluate(spec, task, f, y):
    return _core.evaluate_loss(spec, task, list(map(float, f)), float(y))


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


@pytest.mark.parametrize(("spec", "task"), [c for c in CHOICES if c.values[1] != "multiclass"])
def test_curvature_is_the_slope_of_the_gradient(spec, task):
    for f, y in scores_and_labels(task):
        if any(abs(margin(task, f, y) - kink) < 10 * STEP for kink in kinks(spec)):
            continue
        up, down = evaluate(spec, task, f + STEP, y)[1][0], evaluate(spec, task, f - STEP, y)[1][0]
        curvature = evaluate(spec, task, f, y)[2]
        np.testing.assert_allclose(curvature, (up - down) / (2 * STEP), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("spec", "task"), CHOICES)
@pytest.mark.parametrize("size", [0.0, 1e-3, 30.0, 1e3])
def test_extreme_scores(spec, task, size):
    n = 4 if task == "multiclass" else 1
    for sign in (-1, 1):
        f = np.zeros(n)
        f[0] = sign * size
        for y in (0, n - 1) if task == "multiclass" else (-1.0, 1.0):
            if spec[0] == "exponential" and margin(task, f, y) < -700:
                continue  # e^1000 has no float
            loss, g, curvature, mistake = evaluate(spec, task, f, y)
            assert loss >= 0
            assert np.isfinite([loss, curvature, *g]).all()
            assert curvature >= 0  # all losses are convex
            assert mistake == (task != "regression" and margin(task, f, y) <= 0)


@pytest.mark.parametrize(("spec", "task"), CHOICES)
def test_a_negligible_loss_is_none(spec, task):
    for f, y in scores_and_labels(task):
        loss, g, *_ = evaluate(spec, task, f, y)
        assert loss == 0 or loss >= 1e-12
        if loss == 0 and spec[0] != "perceptron":
            assert not np.any(g)


@pytest.mark.parametrize("spec", [loss().spec for loss in LOSSES.values() if not loss.regression], ids=lambda s: s[0])
def test_multiclass_gradient_sums_to_zero(spec):
    # raising every class's score alike changes nothing
    for f, y in scores_and_labels("multiclass"):
        g = evaluate(spec, "multiclass", f, y)[1]
        assert abs(sum(g)) < 1e-12
        assert g[y] <= 0


def test_a_loss_of_another_task_is_refused():
    with pytest.raises(ValueError, match="hinge"):
        evaluate(("hinge", {}), "regression", [0.0], 1.0)
    with pytest.raises(ValueError, match="nonsense"):
        evaluate(("nonsense", {}), "binary", [0.0], 1.0)
