"""`onkel data`: the data sets that DATA may name."""

from __future__ import annotations

from typing import Annotated

import typer

from onkel.cli._options import Json

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that onkel data list prints.")]


def listed(*, json: Json = False) -> None:
    """List the data sets and generators that DATA may name."""


def info(*, name: Name, json: Json = False) -> None:
    """Say what a data set is: rows, features, task, scaling, order, origin."""


def get(*, name: Name, json: Json = False) -> None:
    """Fetch a data set and print where its files are."""
