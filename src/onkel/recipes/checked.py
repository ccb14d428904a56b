"""What makes a function a recipe: its arguments are checked by the notes on them, and its docstring lists them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import NoneType
from typing import Any, ParamSpec, TypeVar, cast, get_args

from onkel.docstrings import complete, entries, one_of
from onkel.parameters import Parameter, parameters_of
from onkel.parts import LOSSES, Recipe
from onkel.utils.validation import check_choice, check_flag, check_number

P = ParamSpec("P")
R = TypeVar("R", bound=Recipe)


def checked(recipe: Callable[P, R]) -> Callable[P, R]:
    """Check what a recipe is called with, whether or not its parts will use it, and complete its docstring."""
    takes = parameters_of(recipe)

    @functools.wraps(recipe)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in (dict(zip(takes, args, strict=False)) | kwargs).items():
            if name in takes:  # otherwise the call is wrong, and says so
                _check(takes[name], value)
        return recipe(*args, **kwargs)

    step: dict[str, Any] = {"eta": 0.5} if "eta" in takes else {}  # for OSKL, which knows one for few losses only
    losses = losses_of(functools.partial(cast(Callable[..., R], recipe), **step))
    checking.__doc__ = complete(recipe.__doc__, Parameters=entries(takes.values(), {"losses": losses}))
    signature = inspect.signature(recipe)
    plain = [p.replace(annotation=takes[p.name].type) for p in signature.parameters.values()]
    checking.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
    return checking


def _check(parameter: Parameter, value: object) -> None:
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
        check_number(parameter.name, value, **parameter.limits, integer=float not in kinds)


def losses_of(make: Callable[..., Recipe], regression: bool | None = None) -> str:
    """Return the losses with which a recipe can be made, as numpydoc writes a choice; of both tasks, or of one."""
    return one_of(name for name, loss in LOSSES.items() if regression in (None, loss.regression) and _fits(make, name))


def _fits(make: Callable[..., Recipe], loss: str) -> bool:
    try:
        make(loss=loss)
    except (TypeError, ValueError):  # it takes no loss; its other parts do not fit this one
        return False
    return True
