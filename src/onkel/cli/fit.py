"""`onkel fit`: learn from a stream and save the model."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from onkel.cli._guard import Interrupted, Misused, say
from onkel.cli._options import Data, Json, Learning, takes


@takes(Learning)
def fit(
    *,
    data: Data,
    output: Annotated[str, Option("--output", "-o", metavar="MODEL", help="Where to write the model.")],
    learner: Annotated[str, Option("--learner", "-l", metavar="NAME", help="Who learns.")] = "spa",
    checkpoint: Annotated[
        str | None, Option(metavar="DIR", help="Save now and then; the same command then goes on from there.")
    ] = None,
    every: Annotated[int, Option(min=1, metavar="ROWS", help="Rows between two checkpoints.")] = 100_000,
    json: Json = False,
    options: Learning,
) -> None:
    """Learn from DATA in one pass, and save the model.

    \b
    Examples:
      onkel fit a9a.txt -l spa --budget 1500 -o a9a.onkel
      onkel fit table.csv --target price -l oskl --set G=2 --scale standard -o prices.onkel
      zcat clicks.gz | onkel fit - --n-features 100 --checkpoint run-1 -o clicks.onkel

    After Ctrl-C, MODEL holds the model of the rows so far. With --checkpoint it is not written; the newest checkpoint
    is in DIR, and the same command goes on from there.
    """
    from onkel import Checkpointer, save
    from onkel.cli._data import check_writable, open_source
    from onkel.cli._learners import make, parameters
    from onkel.cli._show import Progress, cell, print_json
    from onkel.evaluate import learner_of, progressive_steps

    check_writable(output)
    source = open_source(data, options)
    if learner == "all" or "," in learner:
        raise Misused(f"--learner {learner}: expected one learner (onkel compare takes several)")
    ((name, model),) = make(learner, source.task, options, source.gamma).items()
    chunks: Any = source.stream
    if checkpoint is not None:
        chunks = Checkpointer(checkpoint, every).run(model, source.stream)
    point = None
    try:
        with Progress(f"fit {name}", quiet=json) as progress:
            for point in progressive_steps(model, chunks, classes=source.classes):
                line = {"speed": point.rows / point.seconds, **vars(point)}
                columns = [source.metric, "n_support", "speed"]
                progress.show(learner_of(model).t_, source.stream.fraction(), columns, [line])
        source.check_learned(model)
    except KeyboardInterrupt:
        raise Interrupted(_interrupted(model, output, checkpoint, point is not None)) from None
    save(model, output)
    final = learner_of(model)
    if json:
        measured = {} if point is None else {source.metric: getattr(point, source.metric), "seconds": point.seconds}
        facts = {"n_support": final.n_support_, "nbytes": final.nbytes_, **measured}
        made = {"model": output, "learner": name, "parameters": parameters(model)}
        print_json({**made, "data": source.describe(final.t_), **facts})
        return
    how_good = (
        "" if point is None else f", {cell(source.metric, getattr(point, source.metric))} {source.metric} on the way"
    )
    say(f"{output}: {type(final).__name__} of {final.t_:,} rows, {final.n_support_:,} support vectors{how_good}")


def _interrupted(model: Any, output: str, checkpoint: str | None, learned: bool) -> str:
    from onkel import Checkpointer, save
    from onkel.evaluate import learner_of

    if not learned:
        return "interrupted before the first row; nothing was saved"
    stopped = f"interrupted after row {learner_of(model).t_:,}"
    if checkpoint is None:
        save(model, output)
        return f"{stopped}; the model of these rows is in {output}"
    paths = Checkpointer(checkpoint).paths()
    if not paths:
        return f"{stopped}; there was no checkpoint yet, and nothing was saved"
    rows = int(paths[-1].stem.removeprefix("rows-"))
    return f"{stopped}; the checkpoint of row {rows:,} is in {checkpoint}: the same command goes on from there"
