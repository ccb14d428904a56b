"""Text tables of this package: the papers' figures and claims, and what was measured and decided."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

Line = dict[str, str]


@cache
def lines_of(*path: str) -> tuple[Line, ...]:
    """Return the lines of a file of this package; for a folder, those of all its tables.

    >>> lines_of("papers", "bogd.tsv")[0]["learner"]
    'Perceptron'
    """
    place: Traversable = files("onkel_papers").joinpath(*path)
    tables = sorted(place.iterdir(), key=lambda file: file.name) if place.is_dir() else [place]
    return tuple(
        {name: value or "" for name, value in line.items()}
        for table in tables
        if table.name.endswith(".tsv")
        for line in csv.DictReader(table.read_text("utf-8").splitlines(), delimiter="\t")
    )


def first_about(lines: tuple[Line, ...], place: Mapping[str, str]) -> Line | None:
    """Return the first line whose patterns, with alternatives separated by ``|``, match a place.

    >>> first_about(({"data": "a*|b", "why": "few rows"},), {"data": "a9a"})
    {'data': 'a*|b', 'why': 'few rows'}
    """
    for line in lines:
        if all(is_about(line[name], value) for name, value in place.items()):
            return line
    return None


def is_about(patterns: str, value: str) -> bool:
    """Return whether one of the patterns, separated by ``|``, matches a value.

    >>> is_about("SPA-*|RBP", "RBP"), is_about("SPA-*|RBP", "Forgetron")
    (True, False)
    """
    return any(fnmatchcase(value, pattern) for pattern in patterns.split("|"))
