"""Admission: the papers' probabilities, to the last digits of their tails, and the curve that the step follows."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import _core
from onkel.parts import (
    AuxiliaryCutoff,
    AuxiliaryScale,
    AuxiliaryShift,
    GradientSampling,
    LossSampling,
    MarginSampling,
    loss_named,
)
from reference.klr import auxiliary_function

MARGINS = [-1000.0, -40.0, -3.0, -0.5, 0.0, 0.5, 3.0, 20.0, 27.0, 40.0, 300.0, 700.0, 1000.0]
SHAPES = [1.0, 1.0 + 1e-9, 1.5, 2.0, 100.0, 1e8]


def probability(admission, z, loss="log_loss"):
    return _core.evaluate_admission(admission.spec, loss_named(loss).spec, "binary", [z], 1.0)[0]


def slope(admission, z, loss="log_loss"):
    return _core.evaluate_admission(admission.spec, loss_named(loss).spec, "binary", [z], 1.0)[1][0]


def exact(name, parameter, z):
    """p of Equation (6), in so many digits that 1 + e^-1000 is not 1."""
    with localcontext(prec=600):
        z, parameter = Decimal(z), Decimal(parameter)
        h = {
            "shift": lambda: parameter + (-z).exp(),
            "scale": lambda: 1 + parameter * (-z).exp(),
            "cutoff": lambda: 1 + max((-z).exp(), (-parameter).exp()),
        }[name]()
        return float((1 + (-z).exp()).ln() / h.ln())


@loop
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "part"), [("shift", AuxiliaryShift), ("scale", AuxiliaryScale)])
def test_auxiliary_probability_in_many_digits(name, part, shape):
    for z in MARGINS:
        p = probability(part(shape=shape), z)
        np.testing.assert_allclose(p, exact(name, shape, z), rtol=1e-7 if shape == 1 + 1e-9 else 1e-12, atol=1e-300)
        assert 0 <= p <= 1


@pytest.mark.parametrize("part", [AuxiliaryShift, AuxiliaryScale])
def test_a_shape_of_one_admits_every_row(part):
    # l and h are the same curve, also where both of them are 0 in floating point
    for z in (*MARGINS, 745.0, 1e5, 1e100):
        assert probability(part(shape=1.0), z) == 1.0


@loop
@pytest.mark.parametrize("shape", SHAPES)
def test_far_out_scale_admits_one_in_shape(shape):
    for z in (40.0, 300.0, 700.0, 745.0, 1e4):
        np.testing.assert_allclose(probability(AuxiliaryScale(shape=shape), z), 1 / shape, rtol=1e-8)


def test_shift_falls_with_the_margin():
    p = [probability(AuxiliaryShift(shape=2.0), z) for z in np.linspace(-20, 700, 400)]
    assert (np.diff(p) < 0).all()
    assert p[-1] > 0  # the tail is there as long as floats have it


@loop
@pytest.mark.parametrize("cutoff", [-2.0, 0.0, 1.0, 30.0, 1000.0])
def test_cutoff(cutoff):
    part = AuxiliaryCutoff(cutoff=cutoff)
    assert probability(part, cutoff) == probability(part, cutoff - 5) == probability(part, -1000.0) == 1.0
    np.testing.assert_allclose(probability(part, cutoff + 2), exact("cutoff", cutoff, cutoff + 2), rtol=1e-12)
    assert slope(part, cutoff + 1e-9) == 0


@loop
@pytest.mark.parametrize(
    ("name", "part"),
    [("shift", AuxiliaryShift(shape=3.0)), ("scale", AuxiliaryScale(shape=3.0)), ("cutoff", AuxiliaryCutoff())],
)
def test_the_step_follows_the_auxiliary_curve(name, part):
    for z in np.linspace(-20, 20, 41) + 0.01:
        expected = auxiliary_function(name, 3.0, 1.0, z)[1]
        np.testing.assert_allclose(slope(part, z), expected, rtol=1e-12)
        up, down = (auxiliary_function(name, 3.0, 1.0, z + step)[0] for step in (1e-5, -1e-5))
        np.testing.assert_allclose(slope(part, z), (up - down) / 2e-5, atol=1e-8)


@loop
@pytest.mark.parametrize("part", [AuxiliaryShift(), AuxiliaryScale(), AuxiliaryCutoff(), MarginSampling(eta=1.0)])
def test_extreme_margins_are_finite(part):
    for z in (-1e3, 1e3, -1e100, 1e100):
        assert 0 <= probability(part, z) <= 1
        assert -1 <= slope(part, z) <= 0


def test_auxiliary_of_two_classes_is_that_of_several():
    # z = f_y - log sum over the others, so that two columns give the binary probability and gradient
    shift, loss = AuxiliaryShift().spec, loss_named("log_loss").spec
    for z in (-3.0, 0.0, 2.5):
        two = _core.evaluate_admission(shift, loss, "multiclass", [0.5 * z, -0.5 * z], 0)
        p, g = _core.evaluate_admission(shift, loss, "binary", [z], 1.0)
        np.testing.assert_allclose(two[0], p, rtol=1e-12)
        np.testing.assert_allclose(two[1], [g[0], -g[0]], rtol=1e-12)


def test_auxiliary_of_several_classes():
    f, y = np.array([0.3, -1.0, 2.0, 0.7]), 1
    others = np.delete(np.arange(4), y)
    z = f[y] - np.log(np.exp(f[others]).sum())
    h, h_slope = auxiliary_function("shift", 2.0, None, z)
    direction = np.zeros(4)
    direction[y], direction[others] = 1.0, -np.exp(f[others]) / np.exp(f[others]).sum()
    p, g = _core.evaluate_admission(AuxiliaryShift().spec, loss_named("log_loss").spec, "multiclass", f.tolist(), y)
    np.testing.assert_allclose(p, np.log1p(np.exp(-z)) / h, rtol=1e-12)
    np.testing.assert_allclose(g, h_slope * direction, rtol=1e-12)


@loop
@pytest.mark.parametrize("eta", [0.1, 1.0, 1.99])
def test_margin_sampling(eta):
    for z in np.linspace(-20, 20, 41):
        expected = (2 - eta) / (2 - eta + eta / (1 + np.exp(-z)))
        np.testing.assert_allclose(probability(MarginSampling(eta=eta), z), expected, rtol=1e-12)


@loop
@pytest.mark.parametrize("G", [0.5, 1.0, 4.0])
def test_gradient_sampling(G):
    for z in np.linspace(-5, 5, 21):
        np.testing.assert_allclose(probability(GradientSampling(G=G), z), min(1, 1 / (1 + np.exp(z)) / G), rtol=1e-12)


def test_loss_sampling():
    for z in np.linspace(-3, 3, 21):
        p = probability(LossSampling(alpha=0.7, beta=2.0), z, loss="hinge")
        np.testing.assert_allclose(p, min(0.7, max(0.0, 1 - z)) / 2, rtol=1e-12)


def test_importance_weights_make_the_step_unbiased():
    # mean over many seeds of OSKL's first step on a row, against plain gradient descent's
    X, y = np.array([[0.5]]), np.array([1.0])
    recipe = onkel.recipes.OSKL(G=4.0, eta=0.5)
    steps = []
    for seed in range(4000):
        learner = onkel.Learner(recipe, average=False, seed=seed)
        learner.learn_rows(X, y)
        steps.append(learner.coefficients.sum())
    # p = 1/8, so a step is 0 or eta G = 2, its mean eta / 2; five standard errors of slack
    assert set(steps) == {0.0, 2.0}
    assert abs(np.mean(steps) - 0.25) < 5 * 2 * np.sqrt(1 / 8 * 7 / 8 / 4000)
