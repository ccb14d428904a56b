"""One test of many cases: `@loop` above a test's parameters goes through them in turn, and names those that fail.
`@loop_by` makes a test of each group of cases, where all of them together take long.

pytest and its workers spend as much on a test as many a case needs itself. ONKEL_WHOLE=1 (`make test-all`) leaves each
case a test of its own.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WHOLE = "ONKEL_WHOLE" in os.environ


Row = tuple[str, dict[str, Any]]  # what pytest calls a case, and its arguments


def loop(test: Callable[..., None]) -> Any:
    """Make one test of a parametrised one. Each case has a folder of its own, and its patches end with it."""
    return test if WHOLE else going_through(test, lambda: arguments_of(test), [])


def loop_by(group: Callable[..., str]) -> Callable[[Callable[..., None]], Any]:
    """Make as many tests of a parametrised one as `group` says, of a case's arguments, that there are groups."""

    def decorate(test: Callable[..., None]) -> Any:
        if WHOLE:
            return test
        groups: dict[str, list[Row]] = {}
        for name, values in arguments_of(test):
            groups.setdefault(group(**values), []).append((name, values))
        looped = going_through(test, lambda group: groups[group], ["group"])
        return pytest.mark.parametrize("group", groups)(looped)

    return decorate


def going_through(test: Callable[..., None], rows_of: Callable[..., list[Row]], own: list[str]) -> Any:
    """Return a test that takes the arguments `own` and goes through the cases that `rows_of` has for them."""
    arguments = arguments_of(test)
    fixtures = [p for name, p in inspect.signature(test).parameters.items() if name not in arguments[0][1]]

    def every_case(subtests: pytest.Subtests, **given: Any) -> None:
        rows = rows_of(**{name: given.pop(name) for name in own})
        skipped = None
        for number, (name, values) in enumerate(rows):
            with contextlib.ExitStack() as ending:
                of_its_own = {key: of_a_case(key, value, number, ending) for key, value in given.items()}
                try:
                    test(**of_its_own, **values)
                except pytest.skip.Exception as reason:
                    skipped = reason
                except (Exception, pytest.fail.Exception):
                    with subtests.test(name):  # which only those that fail need
                        raise
        if skipped is not None:
            raise skipped

    every_case.__name__, every_case.__doc__, every_case.__module__ = test.__name__, test.__doc__, test.__module__
    takes = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in own]
    reporting = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
    every_case.__signature__ = inspect.Signature([*fixtures, *takes, reporting])
    every_case.arguments = arguments
    every_case.pytestmark = [mark for mark in test.pytestmark if mark.name != "parametrize"]
    return every_case


def arguments_of(test: Callable[..., None]) -> list[Row]:
    """Return the cases that a test was parametrised with: what pytest calls each, and its arguments."""
    if hasattr(test, "arguments"):
        return test.arguments
    marks = [rows_of(*mark.args, **mark.kwargs) for mark in test.pytestmark if mark.name == "parametrize"]
    return [
        ("-".join(name for name, _ in rows), {key: value for _, values in rows for key, value in values.items()})
        for rows in itertools.product(*marks)
    ]


def rows_of(names: Any, rows: Any, ids: Any = None) -> list[Row]:
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    found = []
    rows = list(rows)
    for row, given in zip(rows, ids if isinstance(ids, list) else [None] * len(rows), strict=True):
        param = row if isinstance(row, type(pytest.param())) else None
        assert param is None or not param.marks, "a case with marks of its own is a test of its own"
        values = param.values if param else (row,) if len(names) == 1 else tuple(row)
        called = (param.id if param else None) or given
        words = [(ids(value) if callable(ids) else None) or word(value) for value in values]
        found.append((str(called or "-".join(words)), dict(zip(names, values, strict=True))))
    return found


def word(value: Any) -> str:
    return str(getattr(value, "__name__", value))


def of_a_case(fixture: str, value: Any, number: int, ending: contextlib.ExitStack) -> Any:
    """What a case gets of a fixture that one test has to itself."""
    if fixture == "tmp_path":
        folder = value / str(number)
        folder.mkdir()
        if Path.cwd() == value:
            ending.enter_context(contextlib.chdir(folder))
        return folder
    if fixture == "monkeypatch":
        return ending.enter_context(value.context())
    if fixture in ("capsys", "capfd"):
        value.readouterr()
    elif fixture == "caplog":
        value.clear()
    return value
