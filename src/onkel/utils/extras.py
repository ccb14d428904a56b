"""Optional packages: where one is missing, a sentence says which, and how to install it."""

from __future__ import annotations

import importlib
from typing import Any


def needed(package: str, extra: str, what: str) -> Any:
    """Import a package of an extra, or raise an error that says what needs it and how to install it.

    Examples
    --------
    >>> needed("no_such_package", "streams", "a Parquet file")
    Traceback (most recent call last):
    ...
    ImportError: a Parquet file needs the package no_such_package: pip install 'onkel[streams]'
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        distribution = package.partition(".")[0]
        raise ImportError(f"{what} needs the package {distribution}: pip install 'onkel[{extra}]'") from None


def pyarrow(what: str, module: str = "pyarrow") -> Any:
    """Import pyarrow or one of its modules."""
    return needed(module, "streams", what)
