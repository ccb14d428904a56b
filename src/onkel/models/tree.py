"""Models as JSON and back: a closed set of values, so that a file can name nothing that runs.

Plain JSON is itself; everything else is an object whose "is" says what it is: a part, an estimator, an array.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any, Protocol, Self, get_origin, get_type_hints, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.models import container
from onkel.models.container import NotAModel, Tensors
from onkel.parts import PARTS, Part
from onkel.parts.python import InPython

_MOST_CHARACTERS = 2**28  # of an array of strings


@runtime_checkable
class Saved(Protocol):
    """What a class of onkel has to be saved: its fields, and itself made of them again."""

    def _saved_fields(self) -> dict[str, Any]: ...

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self: ...


class Writer:
    """Turns values into JSON; arrays of numbers go into `tensors`, named by their place in the tree."""

    def __init__(self, classes: dict[str, type[Saved]]) -> None:
        self.tensors: Tensors = {}
        self._classes = classes

    def tree(self, value: Any, *place: str) -> Any:
        """Return a value as JSON."""
        kind = type(value).__name__
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if isinstance(value, list | tuple):
            items = [self.tree(item, *place, str(i)) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"is": "tuple", "items": items}
        if isinstance(value, dict):
            return self._dict(value, place)
        if isinstance(value, Saved) and self._classes.get(kind) is type(value):
            return {"is": kind, **self._members(value._saved_fields(), place)}
        if PARTS.get(kind) is type(value):
            return {"is": kind, **self._members({f.name: getattr(value, f.name) for f in fields(value)}, place)}
        where = ".".join(place) or "the model"
        if isinstance(value, InPython):
            raise ValueError(f"{where} is written in Python ({kind}), and a file can hold no code: pickle the model")
        if callable(value) or "Callable" in kind:
            raise ValueError(f"{where} is a function ({kind}), and a file can hold no code: use one of onkel's kernels")
        raise ValueError(f"{where} is a {kind}, which a file cannot hold: expected numbers, strings, arrays or parts")

    def _members(self, values: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
        return {name: self.tree(value, *place, name) for name, value in values.items()}

    def _dict(self, value: dict[Any, Any], place: tuple[str, ...]) -> Any:
        if all(type(key) is str for key in value) and "is" not in value:
            return self._members(value, place)
        pairs = [[self.tree(k, *place, "key"), self.tree(v, *place, str(k))] for k, v in value.items()]
        return {"is": "dict", "items": pairs}

    def _array(self, value: NDArray[Any], place: tuple[str, ...]) -> Any:
        name = ".".join(place)
        if container.holds(value):
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise ValueError(f"{name} holds numbers that are not finite: there is no model to save")
            if name in self.tensors:
                raise ValueError(f"two arrays are called {name}")
            self.tensors[name] = value
            return {"is": "tensor"}
        if value.ndim != 1 or value.dtype.kind not in "bUSO":
            raise ValueError(f"{name} is an array of {value.dtype}, which a file cannot hold")
        if value.dtype.kind == "S":
            values: list[Any] = [item.decode("latin-1") for item in value.tolist()]
        else:
            values = [self.tree(item, *place, str(i)) for i, item in enumerate(value.tolist())]
        kind = {"b": "bool", "O": "object"}.get(value.dtype.kind) or value.dtype.newbyteorder("<").str
        return {"is": "array", "dtype": kind, "values": values}


class Reader:
    """Turns JSON into values again, refusing what is not in the closed set."""

    def __init__(self, classes: dict[str, type[Saved]], tensors: Tensors) -> None:
        self.tensors = dict(tensors)  # those not asked for yet
        self._classes = classes

    def value(self, tree: Any, *place: str) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(tree, list):
            return [self.value(item, *place, str(i)) for i, item in enumerate(tree)]
        if not isinstance(tree, dict):
            return tree
        if "is" not in tree:
            return self._members(tree, place)
        where = ".".join(place) or "the model"
        kind, members = tree["is"], {name: member for name, member in tree.items() if name != "is"}
        if not isinstance(kind, str):
            raise NotAModel(f"{where} is {_shown(kind)}, and expected is a name")
        try:
            if kind in PARTS:
                return _part(PARTS[kind], self._members(members, place))
            if kind in self._classes:
                return self._classes[kind]._from_saved_fields(self._members(members, place))
            if kind in ("float", "tuple", "dict", "tensor", "array"):
                return getattr(self, f"_{kind}")(place, **members)
        except NotAModel:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, MemoryError) as error:
            missing = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise NotAModel(f"{where} is no {kind}: {missing}") from None
        raise NotAModel(f"{where} is a {kind}, which this onkel does not know")

    def _members(self, tree: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
        return {name: self.value(member, *place, name) for name, member in tree.items()}

    def _float(self, place: tuple[str, ...], value: str) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value]

    def _tuple(self, place: tuple[str, ...], items: list[Any]) -> tuple[Any, ...]:
        return tuple(self.value(_list(items), *place))

    def _dict(self, place: tuple[str, ...], items: list[Any]) -> dict[Any, Any]:
        return {self.value(k, *place, "key"): self.value(v, *place, str(k)) for k, v in map(_list, _list(items))}

    def _tensor(self, place: tuple[str, ...]) -> NDArray[Any]:
        name = ".".join(place)
        if name not in self.tensors:
            raise NotAModel(f"the file has no array {name!r}")
        return self.tensors.pop(name)

    def _array(self, place: tuple[str, ...], dtype: str, values: list[Any]) -> NDArray[Any]:
        values = [self.value(item, *place, str(i)) for i, item in enumerate(_list(values))]
        if dtype == "object":
            made = np.empty(len(values), object)
            made[:] = values
            return made
        expected = bool if dtype == "bool" else str
        if not all(type(item) is expected for item in values):
            raise ValueError(f"expected {expected.__name__} values")
        if dtype == "bool":
            return np.array(values, bool)
        width = re.fullmatch(r"<U([0-9]{1,9})|\|S([0-9]{1,9})", dtype)
        if width is None:
            raise ValueError(f"there are no arrays of {dtype!r}")
        longest = max(map(len, values), default=0)
        if not longest <= int(width[1] or width[2]) <= _MOST_CHARACTERS // max(1, len(values)):
            raise ValueError(f"strings of {longest} characters do not fit {dtype!r}")
        return np.array([item.encode("latin-1") for item in values] if width[2] else values, dtype)


def _part(part: type[Any], values: dict[str, Any]) -> Any:
    """A part of its numbers, which it checks itself, and of other parts, whose kind is checked here."""
    hints = get_type_hints(part)
    for name, value in values.items():
        kind = get_origin(hints.get(name)) or hints.get(name)
        if isinstance(kind, type) and issubclass(kind, Part | tuple) and not isinstance(value, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, got {_shown(value)}")
    return part(**values)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """What a file holds instead, as much of it as a sentence can bear."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
