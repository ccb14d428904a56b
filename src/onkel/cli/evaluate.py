"""`onkel evaluate`: one learner over the rows, and its learning curve."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from onkel.cli._guard import Misused
from onkel.cli._options import DEFAULT_LEARNER, Data, Json, Learning, takes
from onkel.cli._race import Every, Report, run


@takes(Learning)
def evaluate(
    *,
    data: Data,
    learner: Annotated[str, Option("--learner", "-l", metavar="NAME", help="The learner to use.")] = DEFAULT_LEARNER,
    every: Every = None,
    report: Report = None,
    json: Json = False,
    options: Learning,
) -> None:
    """Run a learner over DATA; print its learning curve.

    Each row is predicted before it is learned from.

    \b
    Examples:
      onkel evaluate customers.csv --target churn
      onkel evaluate cod-rna --shuffle --scale standard -l spa --budget 800 --set eta=0.2
      zcat log.gz | onkel evaluate - -l ogd --set loss=log_loss --json
    """
    if learner == "all" or "," in learner:
        raise Misused(f"--learner {learner}: expected one learner (onkel compare takes several)")
    run(data, learner, options, _print_curve, every=every, report=report, json=json)


def _print_curve(curves: list[Any], source: Any) -> None:
    from onkel.cli._show import METRICS, as_line, followed, how_good, print_table

    (curve,) = curves
    lines = [as_line(point) for point in curve.points]
    step = max(1, len(lines) // 10)
    columns = [column for column in METRICS if column in lines[-1]]
    columns.insert(1, f"recent_{curve.metric}")
    print_table(["rows", *columns, "n_support", "seconds"], lines[::-1][::step][::-1])
    print(f"\n{how_good(curve.last, source.metric)}")
    for sentence in followed(curve):
        print(sentence)
