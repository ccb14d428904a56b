"""The literature's names for variants return the learner with one parameter set, and take its other parameters."""

import inspect

import pytest

from looping import loop
from onkel import recipes
from onkel.recipes import variants

VARIANTS = {
    "PAI": (recipes.PA, {"variant": "PA-I"}, {"C": 0.3, "loss": "epsilon_insensitive"}),
    "PAII": (recipes.PA, {"variant": "PA-II"}, {"C": 0.3, "loss": "epsilon_insensitive"}),
    "KLRMargin": (recipes.KLR, {"sampling": "margin"}, {"eta": 0.5, "R": 10.0}),
    "KLRAuxiliary": (recipes.KLR, {"sampling": "auxiliary"}, {"auxiliary": "scale", "shape": 11.0}),
    "BOGDPlusPlus": (recipes.BOGD, {"sampling": "weighted"}, {"eta": 0.25, "cap": 4.0, "loss": "log_loss"}),
    "ProjectronPlusPlus": (recipes.Projectron, {"aggressive": True}, {"eta": 0.2, "rule": "2008"}),
    "BPAS": (recipes.BPA, {"variant": "simple"}, {"C": 0.3}),
    "BPANN": (recipes.BPA, {"variant": "nearest"}, {"C": 0.3}),
    "BPAP": (recipes.BPA, {"variant": "project"}, {"C": 0.3}),
}


def test_every_variant_is_here():
    functions = inspect.getmembers(variants, inspect.isfunction)
    assert {name for name, made in functions if made.__module__ == variants.__name__} == set(VARIANTS)
    assert not set(VARIANTS) & set(recipes.__all__)  # they are no learners of the table


@loop
@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_its_learner(name):
    learner, own, others = VARIANTS[name]
    variant = getattr(recipes, name)
    assert variant() == learner(**own)
    assert variant(**others) == learner(**own, **others) != variant()
    with pytest.raises(TypeError, match="multiple values for keyword argument"):
        variant(**own)
    with pytest.raises((TypeError, ValueError)):
        variant(no_such_parameter=1)
