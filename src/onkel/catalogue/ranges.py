"""The range of a parameter, which is most often that of a part's number, and its check."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args

from onkel import parts
from onkel.parameters import Parameter
from onkel.utils.validation import check_choice, check_flag, check_number


def limits_of(parameter: Parameter) -> Mapping[str, Any]:
    """Return the limits of a parameter as `check_number` takes them: its own, or those of the number that it becomes.

    Examples
    --------
    >>> from onkel.catalogue import LEARNERS
    >>> limits_of(LEARNERS["DualSGD"].parameters("classification")["k"])
    {'at_least': 1}
    """
    if not parameter.note.part:
        return parameter.note.limits
    limits = getattr(parts, parameter.note.part).__dataclass_fields__[parameter.name].metadata
    return {name: limit for name, limit in limits.items() if name != "integer"}


def check(parameter: Parameter, value: Any) -> None:
    """Refuse a value that a parameter cannot have."""
    kinds = set(get_args(parameter.type) or (parameter.type,))
    if value is None and NoneType in kinds:
        return
    if parameter.note.choices:
        check_choice(parameter.name, value, parameter.note.choices)
    elif bool in kinds:
        check_flag(parameter.name, value)
    elif isinstance(value, str) and str in kinds and float in kinds:
        check_choice(parameter.name, value, ("stream",))
    elif kinds & {int, float}:
        check_number(parameter.name, value, **limits_of(parameter), integer=float not in kinds)
