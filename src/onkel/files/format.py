"""Names in files: one table, so that a class or an attribute can be renamed without touching a file.

A *kind* is something that a file can contain, with a name of its own and named fields. Kinds that are not in `TABLE`
follow a rule: a part has the name of its class in `onkel.parts` and its own fields; any other public class that can be
saved is an estimator, with its name in Python and the fields of `ESTIMATOR`. A class or attribute that is renamed in
Python gets a row, or an entry in its row, that keeps the name in files (docs/persistence.md lists all names).
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, Self, runtime_checkable

from onkel.learner import Learner
from onkel.parts import PARTS

VERSION = 2


@runtime_checkable
class Saved(Protocol):
    """What a class must provide to be saved: its fields by their names in Python, and construction from them."""

    def _saved_fields(self) -> dict[str, Any]: ...

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self: ...


@dataclass(frozen=True)
class SavedClass:
    """A class by its public name, and the names of its fields in Python and in files."""

    cls: str
    fields: dict[str, str]


def _alike(*names: str) -> dict[str, str]:
    return {name: name for name in names}


ESTIMATOR = {
    "parameters": "parameters",
    "classes_": "classes",
    "class_counts_": "class_counts",
    "_gamma": "gamma",
    "n_features_in_": "n_features",
    "feature_names_in_": "feature_names",
    "_open": "open_labels",
    "_learner": "learner",
    "_choice": "choice",
    "_coverage": "coverage",
}
_SCALER = {
    "parameters": "parameters",
    "n_features_in_": "n_features",
    "feature_names_in_": "feature_names",
    "_statistics": "statistics",
}

# By the names in files.
TABLE = {
    "Hedge": SavedClass(
        "Hedge",
        {
            "numbers": "streams",
            **_alike("kernels", "combination", "discount", "smoothing", "start", "share", "at_zero"),
        },
    ),
    "Forget": SavedClass("ShrinkAndRemoveOldest", {}),
    "Learner": SavedClass("Learner", _alike(*Learner.NAMES, "n_features", "sparse", "state", "experts")),
    "StreamStandardScaler": SavedClass("StreamStandardScaler", _SCALER),
    "StreamMinMaxScaler": SavedClass("StreamMinMaxScaler", _SCALER),
    "StreamEncoder": SavedClass("StreamEncoder", _SCALER),
    "StreamPipeline": SavedClass(
        "StreamPipeline",
        {
            "transformers": "scaler",
            "transformers_": "fitted_scaler",
            "estimator": "estimator",
            "estimator_": "fitted_estimator",
            "_first": "first_targets",
        },
    ),
    "PlattClassifier": SavedClass(
        "PlattClassifier", {"estimator_": "fitted_estimator", **_alike("estimator", "forget", "sigmoids", "rows")}
    ),
}


@dataclass(frozen=True)
class Kind:
    """Something that a file can contain."""

    name: str  # in files
    cls: type[Any]
    fields: dict[str, str]  # names in Python, and in files

    @property
    def is_part(self) -> bool:
        """Whether it is a part or a recipe, rather than a model."""
        return not issubclass(self.cls, Saved)

    def saved(self, value: Any) -> dict[str, Any]:
        """Return the fields of an object by their names in files."""
        named = {name: getattr(value, name) for name in self.fields} if self.is_part else value._saved_fields()
        for name in named.keys() - self.fields.keys():
            raise ValueError(f"the file format has no name for the attribute {name!r} of a {self.name}")
        return {self.fields[name]: member for name, member in named.items()}

    def in_python(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return fields by their names in Python, or refuse one that the kind does not have."""
        names = {in_file: name for name, in_file in self.fields.items()}
        for name in members:
            if name not in names:
                raise ValueError(f"it has a field {name!r}, which this version of onkel does not know")
        return {names[name]: member for name, member in members.items()}


@functools.cache
def kinds() -> dict[str, Kind]:
    """Everything that a file can contain, by its name in files: only classes of onkel."""
    public = import_module("onkel._public")
    named = {name: getattr(public, name) for name in public.__all__}
    rows = {name: SavedClass(name, _alike(*(f.name for f in dataclasses.fields(part)))) for name, part in PARTS.items()}
    for name, cls in named.items():
        if isinstance(cls, type) and issubclass(cls, Saved):
            rows[name] = SavedClass(name, ESTIMATOR)
    for row in TABLE.values():
        rows.pop(row.cls, None)
    found = PARTS | named
    return {name: Kind(name, found[row.cls], row.fields) for name, row in (rows | TABLE).items()}


@functools.cache
def _kinds_by_class() -> dict[type[Any], Kind]:
    return {kind.cls: kind for kind in kinds().values()}


def kind_of(value: object) -> Kind | None:
    """Return the kind of an object, or None if a file cannot contain it."""
    return _kinds_by_class().get(type(value))
