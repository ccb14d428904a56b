"""Saving and loading: one file, exact, checked to the last byte; loading runs no code (docs/persistence.md)."""

from __future__ import annotations

import functools
import os
import platform
from importlib.metadata import version
from typing import Any

from onkel import _core
from onkel.files import container
from onkel.files.container import NotAModel
from onkel.files.format import kind_of
from onkel.files.tree import Reader, Writer
from onkel.utils.turns import turn_of

__all__ = ["NotAModel", "load", "read_header", "save"]

Path = str | os.PathLike[str]


def save(model: object, path: Path) -> None:
    """Save an estimator or a learner in one safetensors file, which is written atomically.

    Parameters
    ----------
    model : estimator or Learner
        Fitted or not. A callable kernel cannot be saved: a file contains no code. A `random_state` that is a generator
        is saved as the seed that was drawn from it. The call waits until other threads have finished learning.
    path : str or path
        An existing file is replaced atomically; after a failure it is unchanged.

    See Also
    --------
    load : The way back.
    Checkpointer : Save now and then while learning from a long stream.

    Examples
    --------
    >>> import onkel, os, tempfile
    >>> model = onkel.SPAClassifier(gamma=1.0, random_state=0).fit([[0.0], [1.0]], ["no", "yes"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onkel")
    >>> onkel.save(model, path)
    >>> onkel.load(path).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    write(model, path)


def load(path: Path) -> Any:
    """Load what `save` wrote, exact to the bit; learning continues as if it had not been interrupted.

    No code from the file is run, and everything in it is checked: a file that is incomplete, changed or forged is
    refused with a ``ValueError`` that says in one sentence what is wrong.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator or Learner

    Examples
    --------
    >>> import onkel, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "learner.onkel")
    >>> onkel.save(onkel.Learner(onkel.recipes.OGD(), seed=5), path)
    >>> onkel.load(path).seed
    5
    """
    return read(path)[0]


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a file, without its arrays: what wrote it, the model's class, parameters and parts.

    Examples
    --------
    >>> import onkel, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "learner.onkel")
    >>> onkel.save(onkel.Learner(onkel.recipes.OGD()), path)
    >>> read_header(path)["model"]["kernel"]["gamma"]
    1.0
    """
    try:
        return container.read(path)[0]
    except NotAModel as error:
        raise _refusal(path, error) from None


def write(model: object, path: Path, notes: dict[str, Any] | None = None) -> None:
    """Write a model with notes (JSON), such as its position in a stream."""
    if not _is_model(model):
        raise ValueError(f"expected an estimator of onkel or a Learner to save, got {type(model).__name__}")
    writer = Writer()
    with turn_of(model):  # not during a learning call, so that all parts belong to the same moment
        tree = writer.tree(model)
    header = {
        "model": tree,
        "notes": notes,
        "isa": _core.isa,
        "written_by": _versions(),
    }
    container.write(path, header, writer.tensors)


def read(path: Path) -> tuple[Any, dict[str, Any]]:
    """Read a model and the other entries of its header."""
    try:
        header, tensors = container.read(path)
        reader = Reader(tensors)
        model = reader.value(header.pop("model", None))
        if not _is_model(model):
            raise NotAModel("it holds no model")
        if reader.tensors:
            raise NotAModel(f"it has an array {min(reader.tensors)!r}, which its model does not have")
    except RecursionError:
        raise _refusal(path, "its header is nested too deeply") from None
    except NotAModel as error:
        raise _refusal(path, error) from None
    return model, header


def _is_model(value: object) -> bool:
    kind = kind_of(value)
    return kind is not None and not kind.is_part


@functools.cache
def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("onkel", "numpy", "scipy", "scikit-learn")}
    return {"python": platform.python_version(), **libraries}


def _refusal(path: Path, reason: object) -> NotAModel:
    return NotAModel(f"cannot load {os.fspath(path)!r}: {reason}")
