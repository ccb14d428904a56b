"""`onkel data`: what DATA may name besides files."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Annotated, Any

import typer

from onkel.cli._options import Json

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that onkel data list prints.")]

_ORDERS = {
    "any": "any",
    "shuffle": "blocks of one class: shuffle first (--shuffle)",
    "stream": "that of time: do not shuffle",
}


def listed(*, json: Json = False) -> None:
    """List the data sets and the generators.

    \b
    Examples:
      onkel data list
      onkel data list --json
    """
    from onkel.cli._show import print_json, print_table
    from onkel.streams import datasets

    names = ("name", "rows", "features", "task", "scaling", "order")
    sets = [{name: getattr(datasets.info(key), name) for name in names} for key in datasets.names()]
    drawn = [{"name": name, "task": title} for name, title in _generators().items()]
    if json:
        print_json({"datasets": sets, "generators": drawn})
        return
    print_table(names, sets)
    print()
    print_table(("generator", "what it draws"), [{"generator": d["name"], "what it draws": d["task"]} for d in drawn])


def info(*, name: Name, json: Json = False) -> None:
    """Describe a data set.

    \b
    Examples:
      onkel data info cod-rna
      onkel data info mixture
    """
    from onkel.cli._show import print_facts, print_json
    from onkel.streams import datasets

    if name in _generators():
        facts: dict[str, Any] = {"name": name, "draws": _generators()[name], "rows": "as many as --rows says"}
    else:
        facts = dataclasses.asdict(datasets.info(name))
        facts["order"] = _ORDERS[facts["order"]]
    if json:
        print_json(facts)
        return
    for place, file in enumerate(facts.pop("files", ()), start=1):
        facts |= {f"file {place}": file["name"], f"origin {place}": file["url"] or "none: put the file in ONKEL_DATA"}
    print_facts({key: f"{value:,}" if isinstance(value, int) else str(value) for key, value in facts.items() if value})


def get(*, name: Name, json: Json = False) -> None:
    """Download a data set if necessary; print where its files are.

    \b
    Examples:
      onkel data get a9a
      ONKEL_DATA=~/data onkel data get cod-rna
    """
    from onkel.cli._show import print_json
    from onkel.streams import datasets
    from onkel.streams.datasets.store import found

    if name in _generators():
        raise ValueError(f"{name} is a generator, and there is nothing to download: onkel evaluate {name} --rows 10000")
    paths = [str(found(name, file)) for file in datasets.info(name).files]
    if json:
        print_json({"name": name, "files": paths})
    else:
        print(*paths, sep="\n")


def _generators() -> dict[str, str]:
    """The names of the generators, and the first line of the documentation of each."""
    from onkel.streams import generators

    titles = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in generators.STREAMS.items()}
    return {name: title.removeprefix("Stream ").rstrip(".") for name, title in titles.items()}
