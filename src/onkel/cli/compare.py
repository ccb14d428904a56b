"""`onkel compare`: several learners over the same rows, and a table."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from onkel.cli._options import Data, Json, Learning, takes
from onkel.cli._race import Every, Report, run


@takes(Learning)
def compare(
    *,
    data: Data,
    learner: Annotated[str, Option("--learner", "-l", metavar="A,B,...", help="The learners to compare, or all.")],
    every: Every = None,
    report: Report = None,
    json: Json = False,
    options: Learning,
) -> None:
    """Run several learners over DATA; print a table.

    Each row is predicted before it is learned from. The data is read once for all of them, so it may be a pipe.

    \b
    Examples:
      onkel compare a9a.txt -l spa,oskl,bogd,newton --budget 1500
      onkel compare mixture --rows 20000 -l all --budget 50 --report mixture.html
      onkel compare a9a.txt -l spa,bogd --set eta=0.5 --set bogd.lam=0.001
    """
    run(data, learner, options, _print_last, every=every, report=report, json=json)


def _print_last(curves: list[Any], source: Any) -> None:
    from onkel.cli._show import METRICS, as_line, print_table

    asked = source.asked
    lines = [{"learner": curve.name, **as_line(curve.last)} for curve in curves]
    columns = [column for column in METRICS if any(column in line for line in lines)]
    columns += [asked] if asked is not None and asked not in columns else []
    columns.insert(1, f"recent_{curves[0].metric}")
    print_table(["learner", *columns, "n_support", "seconds", "speed"], lines, best=asked or curves[0].metric)
