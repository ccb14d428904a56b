"""`onkel merge`: combine several saved models."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from onkel.cli._options import Json
from onkel.cli.compress import Output, write


def merge(
    *,
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="A model file of onkel fit.")],
    output: Output,
    budget: Annotated[
        int | None, Option(min=1, metavar="B", help="The largest number of support vectors; all by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Combine several models of the same learner, kernel, columns and labels.

    \b
    Examples:
      onkel merge monday.onkel tuesday.onkel -o both.onkel --budget 500
    """
    import onkel
    from onkel.cli._data import check_writable

    for each in models:
        check_writable(output, each)
    merged = onkel.merge([onkel.load(each) for each in models], budget=budget)
    write(merged, output, json)
