"""The loss by which relevances are found, its gradient, and its minimiser."""

from __future__ import annotations

import numpy as np
import pytest

from looping import loop
from onkel import _core
from reference.relevances import validation_loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TARGETS = {
    "regression": np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 5,
    "binary": np.sign(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * RNG.normal(size=60)),
    "multiclass": np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5]).astype(float),
}
WEIGHT = RNG.uniform(0.5, 2.0, size=60)
AT = np.array([-0.3, 0.2, -1.0, np.log(0.1)])


@loop
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("task", TARGETS)
def test_loss_is_the_definition_s_and_its_gradient_is_exact(task, kernel):
    given = {"task": task, "classes": 3, "kernel": kernel, "max_points": 20}
    value, gradient = _core.validation_loss(X, TARGETS[task], WEIGHT, at=AT.tolist(), **given)

    def loss(at):
        return validation_loss(X, TARGETS[task], WEIGHT, at, **given)

    assert value == pytest.approx(loss(AT), rel=1e-5)
    steps = 1e-5 * np.eye(len(AT))
    slopes = [(loss(AT + step) - loss(AT - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=2e-4, atol=1e-6 * value)


def test_a_feature_that_says_nothing_loses_its_scale():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 4))
    y = np.sin(3 * rows[:, 0]) + 0.1 * rng.normal(size=600)
    start = [-1.0] * 4 + [np.log(0.1)]
    value, at = _core.learn_scales(
        rows, y, np.ones(600), task="regression", classes=1, kernel="rbf", max_points=100, at=start,
        centre=[0.0] * 4, spread=0.3, evaluations=20,
    )  # fmt: skip
    assert value < np.log(validation_loss(rows, y, np.ones(600), np.array(start), task="regression", max_points=100))
    assert at[0] > max(at[1:4]) + 1
