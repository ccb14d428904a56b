"""`onkel serve`: a service that predicts and learns (docs/serve.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from onkel.cli._guard import Misused
from onkel.cli._options import Learning, Scale, Task

Models = Annotated[
    list[str] | None, typer.Argument(metavar="[MODEL]...", help="Model files of onkel fit; each is served by its name.")
]


def serve(
    *,
    models: Models = None,
    dir: Annotated[
        str, Option(metavar="DIR", help="Directory of the log and the versions, from which the next start resumes.")
    ],
    host: Annotated[str, Option(help="Address to listen at; any but 127.0.0.1 needs a token.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen at; 0 takes any free one.")] = 8080,
    token_file: Annotated[
        str | None, Option(metavar="FILE", help="File whose first line is the token that clients need.")
    ] = None,
    read_only: Annotated[bool, Option("--read-only", help="Predict, and do not learn.")] = False,
    learner: Annotated[str | None, Option("--learner", "-l", metavar="NAME", help="Start with a new learner.")] = None,
    task: Annotated[Task, Option(help="Task of a new learner; auto is classification.")] = Task.AUTO,
    target: Annotated[str, Option(metavar="FIELD", help="The name of the label in rows with names.")] = "label",
    classes: Annotated[str | None, Option(metavar="A,B,...", help="All labels that will occur.")] = None,
    budget: Annotated[int | None, Option(min=1, metavar="B", help="The largest number of support vectors.")] = None,
    gamma: Annotated[str, Option(metavar="G", help="Width of the kernel: a number, or stream.")] = "stream",
    schema: Annotated[
        str | None,
        Option(
            metavar="A=KIND,...",
            help="What fields are: number, boolean, date, category, text, drop; else by the first rows.",
        ),
    ] = None,
    raw: Annotated[bool, Option("--raw", help="A new learner takes rows of numbers, and does not scale them.")] = False,
    scale: Annotated[
        Scale | None, Option(help="A new learner scales its features, which are numbers.", show_default=False)
    ] = None,
    set: Annotated[list[str] | None, Option(metavar="NAME=VALUE", help="Any other parameter.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the learner's random draws.")] = 0,
    jobs: Annotated[
        int | None,
        Option(metavar="N", help="Threads of a model, which experts of regions share; else as its file says."),
    ] = None,
    every: Annotated[int, Option(min=1, metavar="ROWS", help="Rows between two versions.")] = 100_000,
    keep: Annotated[int, Option(min=1, metavar="N", help="Versions to keep.")] = 10,
    most_bytes: Annotated[int, Option(min=1024, metavar="N", help="The largest body of a request, in bytes.")] = 2**24,
    most_rows: Annotated[int, Option(min=1, metavar="N", help="The largest number of rows of a request.")] = 100_000,
    label_seconds: Annotated[float, Option(min=0, metavar="S", help="How long a prediction waits for its label.")] = (
        86_400.0
    ),
    history_bytes: Annotated[
        int, Option(min=0, metavar="N", help="Bytes of rows that are kept after a version includes them, for audits.")
    ] = 2**28,
    restore: Annotated[
        str | None, Option(metavar="FILE", help="Begin with a backup of a service, unpacked into DIR.")
    ] = None,
    drain_seconds: Annotated[
        float, Option(min=0, metavar="S", help="How long requests are still answered after SIGTERM, while not ready.")
    ] = 0.0,
    access_log: Annotated[bool, Option("--access-log", help="Log every request, not only those refused.")] = False,
) -> None:
    """Serve models that predict and learn over HTTP, and never lose a row that they have acknowledged.

    The fields of a new learner's rows are prepared by their types, as in onkel fit (--raw: they are numbers, taken as
    they are).

    \b
    Examples:
      onkel serve clicks.onkel --dir state
      onkel serve --learner newton --target price --task regression --dir state
      onkel serve --dir state --host 0.0.0.0 --token-file token.txt
      onkel serve --restore newton.tar --dir state
    """
    _check_extra()
    from onkel.serve.start import (
        Limits,
        Retention,
        Service,
        ServiceSettings,
        is_loopback,
        log_to_standard_error,
        open_models,
        run,
        token_of,
    )
    from onkel.serve.start import (
        restore as unpack,
    )

    token = None if token_file is None else token_of(token_file)
    if token is None and not is_loopback(host):
        raise Misused(f"--host {host}: other machines can reach it, so --token-file is needed")
    fresh = None
    if learner is not None:
        if models:
            raise Misused("--learner starts a new learner: it takes no MODEL")
        options = Learning(budget=budget, set=set, seed=seed, raw=raw, scale=scale, gamma=gamma, schema=schema)
        fresh = _fresh(learner, task, options, classes)
    kept = Retention(versions=keep, held_seconds=label_seconds, history_bytes=history_bytes)
    settings = ServiceSettings(every=every, kept=kept, read_only=read_only, jobs=jobs)
    log_to_standard_error()
    if restore is not None:
        unpack(Path(restore), Path(dir))
    opened = open_models(dir, models or [], fresh, target, settings)
    limits = Limits(body_bytes=most_bytes, rows=most_rows)
    run(Service(opened, token, limits, access_log), host, port, drain_seconds)


@dataclass(frozen=True)
class _NoRows:
    """The source of a learner that is created before there are any rows."""

    task: str
    width: float | str
    scale: Scale | None
    is_table: bool
    schema: dict[str, str] | None

    def gamma(self, asked: str) -> float | str:
        return self.width


def _check_extra() -> None:
    from importlib.util import find_spec

    for name in ("starlette", "uvicorn", "httptools", "prometheus_client"):
        if find_spec(name) is None:
            raise ImportError(f"onkel serve needs {name}: pip install 'onkel[serve]'")


def _fresh(learner: str, task: Task, options: Learning, classes: str | None) -> tuple[str, Any, list[Any] | None]:
    """The name, the model and the classes to start with."""
    from onkel.cli._data import kinds_of
    from onkel.cli._learners import make

    if learner == "all" or "," in learner:
        raise Misused(f"--learner {learner}: expected one learner")
    kind = "regression" if task is Task.REGRESSION else "classification"
    try:
        asked = options.gamma or "stream"
        width: float | str = asked if asked in ("stream", "auto", "scale") else float(asked)
    except ValueError:
        raise Misused(f"--gamma {options.gamma}: expected a number, stream, scale or auto") from None
    scale = None if options.scale is Scale.NONE else options.scale
    is_table = not options.raw and options.scale is None
    if options.schema is not None and not is_table:
        raise Misused("--schema: it is for a learner that prepares its fields, which --raw and --scale do not")
    schema = None if options.schema is None else kinds_of(options.schema)
    ((name, model),) = make(learner, _NoRows(kind, width, scale, is_table, schema), options).items()
    if classes is None:
        return name, model, None
    if kind == "regression":
        raise Misused("--classes: the task is regression, which has no classes")
    words = [word.strip() for word in classes.split(",")]
    if len({*words}) < 2:
        raise Misused(f"--classes {classes}: expected two labels or more")
    whole = all(word.lstrip("+-").isdecimal() for word in words)
    return name, model, [int(word) for word in words] if whole else words
