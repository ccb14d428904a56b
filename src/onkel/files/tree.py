"""Models as JSON and back: a closed set of values, so that a file cannot name anything executable.

Plain JSON values represent themselves; everything else is an object whose member "is" says what it is: a kind of
:mod:`onkel.files.format`, an array, or something else that JSON lacks.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import MISSING
from typing import Any, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from onkel.files import container
from onkel.files.container import NotAModel, Tensors
from onkel.files.format import Kind, kind_of, kinds
from onkel.parts import Part
from onkel.parts.python import InPython

_SPARE_CHARACTERS = 2**20  # that an array of strings may have beyond the length of its strings
# What JSON lacks: the name of such an object, and its members.
_PLAIN = {"float": ("value",), "tuple": ("items",), "dict": ("items",), "tensor": (), "array": ("dtype", "values")}


class Writer:
    """Turns values into JSON; arrays of numbers are put into `tensors`, named by their place in the tree."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}

    def tree(self, value: object, *place: str) -> Any:
        """Return a value as JSON."""
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
        kind = kind_of(value)
        if kind is not None:
            return {"is": kind.name, **self._members(kind.saved(value), place)}
        where, found = ".".join(place) or "the model", type(value).__name__
        if isinstance(value, InPython):
            raise ValueError(f"{where} is written in Python ({found}), and a file contains no code: pickle the model")
        if callable(value) or "Callable" in found:
            raise ValueError(
                f"{where} is a function ({found}), and a file contains no code: use one of onkel's kernels"
            )
        raise ValueError(f"{where} is a {found}, which a file cannot hold: expected numbers, strings, arrays or parts")

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
    """Turns JSON into values, refusing what is not in the closed set."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = dict(tensors)  # those not used yet

    def value(self, tree: object, *place: str) -> Any:
        """Return the value that a JSON tree represents."""
        if isinstance(tree, list):
            return [self.value(item, *place, str(i)) for i, item in enumerate(tree)]
        if not isinstance(tree, dict):
            return tree
        if "is" not in tree:
            return self._members(tree, place)
        where = ".".join(place) or "the model"
        name, members = tree["is"], {name: member for name, member in tree.items() if name != "is"}
        if not isinstance(name, str):
            raise NotAModel(f"{where} is called {shown(name)}, where the name of a kind was expected")
        try:
            if name in kinds():
                return _rebuilt(kinds()[name], self._members(members, place))
            if name in _PLAIN:
                _check_names(members, _PLAIN[name])
                return getattr(self, f"_{name}")(place, **members)
        except NotAModel:
            raise
        except KeyError as error:
            raise NotAModel(f"{where} is not a valid {name}: it lacks the field {error}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise NotAModel(f"{where} is not a valid {name}: {error}") from None
        except MemoryError:
            raise NotAModel(f"there is not enough memory for {where}, a {name}") from None
        raise NotAModel(f"{where} is of kind {shown(name)}, which this version of onkel does not know")

    def _members(self, tree: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
        return {name: self.value(member, *place, name) for name, member in tree.items()}

    def _float(self, place: tuple[str, ...], value: str) -> float:
        if value not in ("inf", "-inf", "nan"):
            raise ValueError(f"expected 'inf', '-inf' or 'nan', got {shown(value)}")
        return float(value)

    def _tuple(self, place: tuple[str, ...], items: list[Any]) -> tuple[Any, ...]:
        return tuple(self.value(_list(items), *place))

    def _dict(self, place: tuple[str, ...], items: list[Any]) -> dict[Any, Any]:
        return {self.value(k, *place, "key"): self.value(v, *place, str(k)) for k, v in map(_list, _list(items))}

    def _tensor(self, place: tuple[str, ...]) -> NDArray[Any]:
        name = ".".join(place)
        if name not in self.tensors:
            raise NotAModel(f"it has no array {name!r}, which its model needs")
        return self.tensors.pop(name)

    def _array(self, place: tuple[str, ...], dtype: str, values: list[Any]) -> NDArray[Any]:
        values = [self.value(item, *place, str(i)) for i, item in enumerate(_list(values))]
        if dtype == "object":
            array = np.empty(len(values), object)
            array[:] = values
            return array
        expected = bool if dtype == "bool" else str
        if not all(type(item) is expected for item in values):
            raise ValueError(f"expected {expected.__name__} values")
        if dtype == "bool":
            return np.array(values, bool)
        width = re.fullmatch(r"<U([0-9]{1,9})|\|S([0-9]{1,9})", dtype)
        if width is None:
            raise ValueError(f"dtype {shown(dtype)} is not one that onkel writes")
        longest = max(map(len, values), default=0)
        if not longest <= int(width[1] or width[2]) <= longest + _SPARE_CHARACTERS // max(1, len(values)):
            raise ValueError(f"{len(values)} strings of up to {longest} characters cannot be an array of {dtype}")
        return np.array([item.encode("latin-1") for item in values] if width[2] else values, dtype)


def _rebuilt(kind: Kind, members: dict[str, Any]) -> Any:
    fields = kind.in_python(members)
    return _part(kind.cls, fields) if kind.is_part else kind.cls._from_saved_fields(fields)


def _part(part: type[Any], values: dict[str, Any]) -> Any:
    """A part, which checks its own numbers; the kind of the parts that it holds is checked here."""
    hints = get_type_hints(part)
    for name, value in values.items():
        kind = get_origin(hints.get(name)) or hints.get(name)
        if isinstance(kind, type) and issubclass(kind, Part | tuple) and not isinstance(value, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, got {shown(value)}")
    for field in dataclasses.fields(part):
        if field.name not in values and field.default is field.default_factory is MISSING:
            raise KeyError(field.name)
    return part(**values)


def _check_names(members: dict[str, Any], expected: tuple[str, ...]) -> None:
    if set(members) != set(expected):
        wanted = " and ".join(expected) or "no fields"
        raise ValueError(f"expected {wanted}, found {shown(sorted(members))}")


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """A value found in a file, shortened to fit into a sentence."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
