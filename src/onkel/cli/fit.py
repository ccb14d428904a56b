"""`onkel fit`: learn from a stream and save the model."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from onkel.cli._guard import Interrupted, Misused, say
from onkel.cli._options import DEFAULT_LEARNER, Cluster, Data, Json, Learning, takes


@takes(Learning)
def fit(
    *,
    data: Data,
    output: Annotated[
        str | None,
        Option("--output", "-o", metavar="MODEL", help="Where to write the model; by default DATA's name with .onkel."),
    ] = None,
    learner: Annotated[str, Option("--learner", "-l", metavar="NAME", help="The learner to use.")] = DEFAULT_LEARNER,
    checkpoint: Annotated[
        str | None, Option(metavar="DIR", help="Directory for checkpoints, from which the same command resumes.")
    ] = None,
    every: Annotated[int, Option(min=1, metavar="ROWS", help="Rows between two checkpoints.")] = 100_000,
    cluster: Cluster = None,
    json: Json = False,
    options: Learning,
) -> None:
    """Learn from DATA in one pass, and save the model.

    \b
    Examples:
      onkel fit customers.csv --target churn
      onkel fit a9a.txt -l spa --budget 1500 -o a9a.onkel
      onkel fit 'parts/*.parquet' -o clicks.onkel
      onkel fit 'parts/*.parquet' --cluster local:2 -o clicks.onkel
      zcat clicks.gz | onkel fit - --n-features 100 --checkpoint run-1 -o clicks.onkel

    The columns of a table are prepared by their types: numbers, categories, dates, missing values (--raw: they are
    taken as they are).

    After Ctrl-C, MODEL holds the model of the rows so far. With --checkpoint it is not written; the newest checkpoint
    is in DIR, and the same command resumes from there.

    With --cluster, DATA is a file or a pattern of files, each a partition; all workers must be able to open them. The
    order of the rows has no meaning, and there are several passes over them (docs/scale.md).
    """
    from onkel import save
    from onkel.cli._data import check_writable, open_source
    from onkel.cli._learners import make, parameters
    from onkel.cli._show import how_good, print_json, warnings_of, warnings_of_columns
    from onkel.evaluate import learner_of

    if learner == "all" or "," in learner:
        raise Misused(f"--learner {learner}: expected one learner (onkel compare takes several)")
    output = _named_after(data) if output is None else output
    check_writable(output, data)
    if cluster is not None:
        from onkel.cli._cluster import fit_on_cluster

        fit_on_cluster(data, output, learner, cluster, checkpoint, options, as_json=json)
        return
    with open_source(data, options) as source:
        ((name, model),) = make(learner, source, options).items()
        try:
            point = _learn(model, source, checkpoint, every, quiet=json)
        except KeyboardInterrupt:
            raise Interrupted(_interrupted(model, output, checkpoint)) from None
    save(model, output)
    final = learner_of(model)
    if json:
        facts = {"n_support": final.n_support_, "nbytes": final.nbytes_, **({} if point is None else _measured(point))}
        document = {"model": output, "learner": name, "parameters": parameters(model)}
        print_json({**document, "data": source.describe(final.t_), **facts})
        return
    quality = "" if point is None else f"; progressive {how_good(point, source.metric)}"
    say(f"{output}: {type(final).__name__} of {final.t_:,} rows, {final.n_support_:,} support vectors{quality}")
    for warning in [*([] if point is None else warnings_of(point, final)), *warnings_of_columns(model)]:
        say(f"warning: {warning}")


def _named_after(data: str) -> str:
    """The default path of a model."""
    from glob import has_magic
    from pathlib import Path

    path = Path(data).parent if has_magic(data) else Path(data)
    return ("model" if data == "-" else path.resolve().name.partition(".")[0]) + ".onkel"


def _measured(point: object) -> dict[str, float]:
    """The metrics of a run."""
    names = ("accuracy", "commonest", "balanced_accuracy", "auc", "log_loss", "rmse", "mae", "r2")
    return {name: getattr(point, name) for name in names if getattr(point, name) is not None}


def _learn(model: Any, source: Any, checkpoint: str | None, every: int, quiet: bool) -> Any:
    """Learn to the end of the stream; return the last point of the curve, or None if all rows were learned before."""
    from onkel import Checkpointer
    from onkel.cli._data import remember_names
    from onkel.cli._show import StreamView, as_line
    from onkel.evaluate import learner_of, progressive_steps

    chunks = source.stream if checkpoint is None else Checkpointer(checkpoint, every).run(model, source.stream)
    names, point = source.stream.names, None
    located = source.stream.locating_labels(source.classes)
    with located, StreamView(type(learner_of(model)).__name__, quiet) as progress:
        for point in progressive_steps(model, _of_the_same_columns(chunks, model, source), classes=source.classes):
            remember_names(model, names)
            live = ["log_loss"] * (point.log_loss is not None and source.shown != "log_loss")
            columns = [source.shown, *live, "n_support", "speed"]
            progress.show(learner_of(model).t_, source.stream.fraction(), columns, [as_line(point)])
    source.check_learned(model)
    return point


def _of_the_same_columns(chunks: Any, model: Any, source: Any) -> Any:
    """The chunks, unless a model resumed from a checkpoint has learned from other columns."""
    from onkel.cli._data import names_of

    for chunk in chunks:
        if names_of(model) not in (None, source.stream.names):
            raise ValueError(
                f"{source.stream.name} has the columns {', '.join(map(repr, source.stream.names or []))}, "
                f"and the checkpoint's model has {', '.join(map(repr, names_of(model) or []))}"
            )
        yield chunk


def _interrupted(model: object, output: str, checkpoint: str | None) -> str:
    """Save the model of the rows so far, and return a message."""
    from onkel import Checkpointer, save
    from onkel.evaluate import learner_of

    rows = getattr(learner_of(model), "t_", 0)
    if rows == 0:
        return "interrupted before the first row; nothing was saved"
    if checkpoint is None:
        save(model, output)
        return f"interrupted after row {rows:,}; the model of these rows is in {output}"
    paths = Checkpointer(checkpoint).paths()
    if not paths:
        return f"interrupted after row {rows:,}; there was no checkpoint yet, and nothing was saved"
    saved = int(paths[-1].stem.removeprefix("rows-"))
    return (
        f"interrupted after row {rows:,}; the checkpoint of row {saved:,} is in {checkpoint}: "
        "the same command resumes from there"
    )
