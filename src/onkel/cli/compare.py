"""`onkel evaluate` and `onkel compare`: learners on the same rows, each row predicted before it is learned from."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from onkel.cli._guard import Interrupted, Misused, say
from onkel.cli._options import DEFAULT_LEARNER, Data, Json, Learning, takes

Every = Annotated[int | None, Option(min=1, metavar="ROWS", help="Rows between two points of a curve; by default few.")]
Report = Annotated[
    str | None, Option(metavar="FILE", help="Write a page with the learning curves, for any browser, offline.")
]


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
    _run(data, learner, options, every=every, report=report, json=json, single=True)


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
    _run(data, learner, options, every=every, report=report, json=json, single=False)


def _run(
    data: str, learner: str, options: Learning, *, every: int | None, report: str | None, json: bool, single: bool
) -> None:
    from onkel.cli._data import check_writable, open_source
    from onkel.cli._learners import make, parameters
    from onkel.cli._show import print_json, warnings_of
    from onkel.evaluate import learner_of

    if report is not None:
        check_writable(report, data)
    with open_source(data, options) as source:
        models = make(learner, source, options)
        curves, interrupted = _curves(models, source, every, quiet=json)
    facts = source.describe(curves[0].last.rows)
    runs = [
        {"learner": c.name, "parameters": parameters(models[c.name]), "curve": c.to_dict()}
        | _importances(models[c.name])
        for c in curves
    ]
    if report is not None:
        from onkel.report import comparison
        from onkel.utils.files import write_atomically

        write_atomically(report, [comparison(facts, runs).encode()])
    if json:
        print_json({"data": facts, "interrupted": interrupted, "runs": runs})
    else:
        print(f"{facts['name']}: {facts['rows']:,} rows, {facts['n_features']:,} features, {facts['task']}\n")
        _print_curve(curves[0], source.metric) if single else _print_last(curves, source.asked)
        for curve in curves:
            for warning in warnings_of(curve.last, learner_of(models[curve.name])):
                say(f"warning: {curve.name}: {warning}")
    where = f"; the curves are in {report}" if report is not None else ""
    if interrupted:
        raise Interrupted(f"interrupted after row {facts['rows']:,}; the results are those of the rows so far{where}")
    if where and not json:
        say(where.removeprefix("; "))


def _curves(models: dict[str, Any], source: Any, every: int | None, quiet: bool) -> tuple[list[Any], bool]:
    """Run all learners over the stream in lockstep; also return whether Ctrl-C ended it."""
    from dataclasses import replace
    from itertools import tee

    from onkel import OGDRegressor
    from onkel.cli._show import StreamView, as_line
    from onkel.evaluate import Curve, course_of, progressive_steps
    from onkel.fading import FadingMeans

    OGDRegressor(gamma=1.0).predict_then_learn([[0.0]], [0.0])  # so that the time of a learner does not include imports
    # All curves have their points at the same rows: zip advances all of them over one chunk before the next is read.
    streams = tee(source.stream, len(models))
    windows = [FadingMeans() for _ in models]
    steps = [
        progressive_steps(model, stream, classes=source.classes, every=every, window=window)
        for model, stream, window in zip(models.values(), streams, windows, strict=True)
    ]
    kept: list[Any] = []
    points = None
    interrupted = False
    try:
        located = source.stream.locating_labels(source.classes)
        with located, StreamView(", ".join(models), quiet) as progress:
            for points in zip(*steps, strict=True):
                if points[0].is_checkpoint:
                    kept.append(points)
                lines = [{"learner": name, **as_line(point)} for name, point in zip(models, points, strict=True)]
                columns = ["learner", source.shown, "n_support", "speed"]
                progress.show(points[0].rows, source.stream.fraction(), columns, lines)
        source.check_learned(*models.values())
    except KeyboardInterrupt:
        if points is None:
            raise Interrupted("interrupted before the first rows were learned; there is nothing to show") from None
        interrupted = True
        if not points[0].is_checkpoint:
            kept.append(tuple(replace(point, is_checkpoint=True) for point in points))
    runs = zip(models.items(), zip(*kept, strict=True), windows, strict=True)
    return [Curve(name, run, course_of(model, window)) for (name, model), run, window in runs], interrupted


def _importances(model: Any) -> dict[str, Any]:
    from onkel.inside import facts

    return {name: value for name, value in facts(model).items() if name == "importances"}


def _print_last(curves: list[Any], asked: str | None) -> None:
    from onkel.cli._show import METRICS, as_line, print_table

    lines = [{"learner": curve.name, **as_line(curve.last)} for curve in curves]
    columns = [column for column in METRICS if any(column in line for line in lines)]
    columns += [asked] if asked is not None and asked not in columns else []
    columns.insert(1, f"recent_{curves[0].metric}")
    print_table(["learner", *columns, "n_support", "seconds", "speed"], lines, best=asked or curves[0].metric)


def _print_curve(curve: Any, metric: str) -> None:
    from onkel.cli._show import METRICS, as_line, followed, how_good, print_table

    lines = [as_line(point) for point in curve.points]
    step = max(1, len(lines) // 10)
    columns = [column for column in METRICS if column in lines[-1]]
    columns.insert(1, f"recent_{curve.metric}")
    print_table(["rows", *columns, "n_support", "seconds"], lines[::-1][::step][::-1])
    print(f"\n{how_good(curve.last, metric)}")
    for sentence in followed(curve):
        print(sentence)
