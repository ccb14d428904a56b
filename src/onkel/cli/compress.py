"""`onkel compress`: reduce a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from onkel.cli._guard import say
from onkel.cli._options import Json
from onkel.cli.predict import Model

if TYPE_CHECKING:
    from onkel.models.compress import Compressed

Output = Annotated[str, Option("--output", "-o", metavar="MODEL", help="Where to write the model.")]


def compress(
    *,
    model: Model,
    n_support: Annotated[int, Option(min=1, metavar="N", help="The largest number of support vectors.")],
    output: Output,
    json: Json = False,
) -> None:
    """Reduce the support vectors of a model, and print how far that moves its function.

    \b
    Examples:
      onkel compress churn.onkel --n-support 64 -o small.onkel
    """
    import onkel
    from onkel.cli._data import check_writable

    check_writable(output, model)
    compressed = onkel.compress(onkel.load(model), n_support=n_support)
    write(compressed, output, json)


def write(result: Compressed, output: str, json: bool) -> None:
    """Save a smaller or combined model, and print how far its function has moved."""
    import onkel
    from onkel.cli._show import print_json

    model, distance, n_support, change = result
    onkel.save(model, output)
    if json:
        print_json({"model": output, "n_support": n_support, "distance": distance, "loss_change": change})
        return
    more = "" if change is None else f", the loss of a row by {change:.3g}"
    say(f"{output}: {n_support:,} support vectors; the function has moved by {distance:.3g}{more}")
