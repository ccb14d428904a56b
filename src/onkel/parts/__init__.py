"""The parts that learners are made of, as a user names them.

A learner answers a few questions, one after the other, for every row; each answer is a part, and any parts that fit
together make a learner (a :class:`FirstOrder` or a :class:`SecondOrder`). The named learners of the literature are the
rows of :mod:`onkel.recipes`. What a part does is written once, in the C++ core; here are its name, its numbers with
their ranges, and what it needs of the others.
"""

from __future__ import annotations

from typing import Any

from onkel.parts import admissions, evictions, kernels, losses, second_order, steps
from onkel.parts._part import Part
from onkel.parts.admissions import *  # noqa: F403
from onkel.parts.evictions import *  # noqa: F403
from onkel.parts.kernels import *  # noqa: F403
from onkel.parts.losses import *  # noqa: F403
from onkel.parts.recipe import FirstOrder, Recipe, SecondOrder
from onkel.parts.second_order import *  # noqa: F403
from onkel.parts.steps import *  # noqa: F403

__all__ = ["PARTS", "FirstOrder", "Part", "Recipe", "SecondOrder"]
__all__ += admissions.__all__
__all__ += evictions.__all__
__all__ += kernels.__all__
__all__ += losses.__all__
__all__ += second_order.__all__
__all__ += steps.__all__


def _concrete(part: type[Any]) -> list[type[Any]]:
    heirs = [heir for cls in part.__subclasses__() if cls.__module__.startswith(__name__) for heir in _concrete(cls)]
    return heirs or [part]


# What a file may name: every part of this package but a callable, which is code.
PARTS: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (*_concrete(Part), FirstOrder, SecondOrder) if cls is not kernels.CallableKernel
}
