"""The papers' experiments, each under a name: ``onkel reproduce NAME`` (docs/reproduction.md).

How an experiment is added:

1. The paper's figures go to ``papers/<paper>.tsv``: one line for each cell, with experiment, data, learner, metric (a
   key of `METRICS` in ``verdict.py``, or "claim" with the claim as its note), mean, sd, note.
2. ``<paper>.py`` gets a function named after the table, whose docstring's first line is its title. It takes a `Lab` and
   returns `Findings`: it calls ``lab.run({key: cell, ...})`` once for each of its stages (a search, then the runs that
   need its result) and passes the results to ``findings.add``. The lab distributes the cells over the cores and stores
   every result, so that a run that was killed can be resumed.
3. A cell is ``cell(function, **parameters)``: a pure function of this package whose parameters and result are JSON
   values (``_cells.py`` has those that most tables need). The parameter ``data`` is a ``Data.spec()``; where those
   files are not available the result of the cell is ``{"missing": reason}``.
4. Its name goes into `_NAMES` below: "<paper>-<function>".

>>> import onkel_papers
>>> "bogd-table2" in onkel_papers.names()
True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onkel_papers.lab import Lab
    from onkel_papers.verdict import Findings

__all__ = ["experiment", "names", "title"]

_NAMES = (
    "oskl-table3",
    "oskl-table4",
    "oskl-table5",
    "spa-table2",
    "spa-table3",
    "spa-table5",
    "spa-table6",
    "spa-figure1",
    "spa-figure2",
    "spa-figure3",
    "bogd-table2",
    "bogd-table3",
    "polk-table2",
    "polk-table3",
    "polk-curves",
    "klr-figures",
    "klr-table2",
)


def names() -> list[str]:
    """Return the names of all experiments."""
    return list(_NAMES)


def experiment(name: str) -> Callable[[Lab], Findings]:
    """Return the function that runs an experiment.

    Examples
    --------
    >>> experiment("bogd-table2").__name__
    'table2'
    """
    if name not in _NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(_NAMES)}")
    paper, _, function = name.partition("-")
    found: Callable[[Lab], Findings] = getattr(import_module(f"onkel_papers.{paper}"), function)
    return found


def title(name: str) -> str:
    """Return a one-line description of an experiment.

    Examples
    --------
    >>> title("bogd-table2")
    'BOGD paper, Table 2: Perceptron and OGD without a budget, progressive mistakes.'
    """
    return (inspect.getdoc(experiment(name)) or "").splitlines()[0]
