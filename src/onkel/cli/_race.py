"""What `onkel evaluate` and `onkel compare` share: learners run over the same rows, each row predicted before it is
learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from typer import Option

from onkel.cli._guard import Interrupted, say
from onkel.cli._options import Learning

Every = Annotated[int | None, Option(min=1, metavar="ROWS", help="Rows between two points of a curve; by default few.")]
Report = Annotated[
    str | None, Option(metavar="FILE", help="Write a page with the learning curves, for any browser, offline.")
]


def run(
    data: str,
    learner: str,
    options: Learning,
    show: Callable[[list[Any], Any], None],
    *,
    every: int | None,
    report: str | None,
    json: bool,
) -> None:
    """Run learners over the same rows, and show the curves and the source that they are of."""
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
        show(curves, source)
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


def _importances(model: object) -> dict[str, Any]:
    from onkel.inside import facts

    return {name: value for name, value in facts(model).items() if name == "importances"}
