"""onkel.checks: every part of onkel's own passes, and what breaks a promise is told which one."""

from dataclasses import fields

import numpy as np
import pytest

import onkel
import toy_parts as toys
from looping import loop
from onkel import checks, parts
from onkel.parts.python import PythonAdmission, PythonEviction, PythonKernel, PythonLoss

NUMBERS = {"eta": 0.3, "lam": 0.05, "cap": 0.8, "beta": 0.5, "eps": 0.1, "points": 10, "horizon": 50}
OWN = {
    name: part(**{f.name: NUMBERS[f.name] for f in fields(part) if f.name in NUMBERS})
    for name, part in parts.PARTS.items()
    if name not in ("FirstOrder", "SecondOrder", "Hedge", "KernelSum", "KernelProduct", "CallableKernel")
}


@pytest.mark.parametrize("name", OWN)
def test_every_part_passes(name):
    part = OWN[name]
    if isinstance(part, parts.GrowAtRandom):  # its budget is a law, not a bound
        recipe = parts.FirstOrder(parts.HingeLoss(), parts.OnGradient(), parts.GradientStep(eta=0.3), part)
        checks.check_recipe(recipe, bounded=False)
    else:
        checks.check_part(part)


@loop
@pytest.mark.parametrize(
    "part", [toys.Log(), toys.LossSampling(), toys.RemoveRandom(), toys.Forget(), toys.RBF(0.5)], ids=repr
)
def test_parts_in_python_pass(part):
    checks.check_part(part)


class Hidden(PythonEviction):
    """Remembers something that is not part of its state."""

    def restore_budget(self, points, row, newest):
        vars(self)["calls"] = vars(self).get("calls", 0) + 1
        if points.too_many:
            points.evict(points.slots[points.births.argmin()] if self.calls < 20 else newest)


class Skewed(PythonKernel):
    def matrix(self, X, S):
        return np.exp(-((X[:, None] - S) ** 2).sum(axis=2)) * (1 + 0.1 * S[:, 0])


class Crooked(PythonLoss):
    smooth = True

    def value(self, z):
        return np.log1p(np.exp(-z))

    def slope(self, z):
        return -1 / (1 + np.exp(z))

    def curvature(self, z):
        return 1.0


class Drawing(PythonAdmission):
    """Draws from a generator of its own."""

    rng = np.random.default_rng(0)

    def probability(self, row):
        return self.rng.random()


@loop
@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            Hidden(),
            "a model that was copied in the middle of the stream and one that was not have led to different states",
        ),
        (Drawing(), "5 calls and one call have led to different states"),
        (Skewed(), r"k\(x, x'\) and k\(x', x\) are"),
        (Crooked(), "Crooked: the curvature at z"),
    ],
    ids=["Hidden", "Drawing", "Skewed", "Crooked"],
)
def test_a_broken_promise_is_named(part, said):
    with pytest.raises(AssertionError, match=said):
        checks.check_part(part)


def test_a_kernel_that_claims_too_much_is_caught():
    class Claims(parts.Sigmoid):
        psd = True

    with pytest.raises(AssertionError, match="claims to be psd"):
        checks.check_kernel(Claims(gamma=2.0, coef0=-1.0))


def test_a_budget_that_does_not_hold_is_caught():
    recipe = onkel.recipes.NPBSGD(lam=0.01, beta=0.01, horizon=100)
    with pytest.raises(AssertionError, match="support vectors, and the budget is 12"):
        checks.check_recipe(recipe, tasks=["binary"])


def test_a_reference_that_says_otherwise_is_caught():
    X, y = checks.stream()
    with pytest.raises(AssertionError, match="row 1 has the scores"):
        checks.check_reference(lambda: onkel.Learner(onkel.recipes.Perceptron()), lambda X, y: 0 * y, X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        onkel.NewtonRegressor(budget=20, random_state=0),
        onkel.MultiKernelClassifier(onkel.recipes.OGD(), budget=40, random_state=0),
        onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.SPAClassifier(random_state=0)),
        onkel.PlattClassifier(onkel.OGDClassifier(budget=20, random_state=0)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_pass(estimator):
    checks.check_estimator(estimator)
