"""The options that commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option

from onkel.parameters import COMMON

# The sentences of options that are parameters of the learners come from there.
_BUDGET, _GAMMA, _JOBS = (COMMON[name] for name in ("budget", "gamma", "n_jobs"))
DEFAULT_LEARNER = "newton"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A file, a folder or a pattern of files, - for standard input, or the name of a data set."
    ),
]
Cluster = Annotated[
    str | None,
    Option(metavar="ADDRESS", help="Work on a Dask cluster: its scheduler's tcp://HOST:PORT, or local:N processes."),
]
Json = Annotated[bool, Option("--json", help="Print JSON instead of text.")]


class Task(StrEnum):
    """What is predicted."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Scale(StrEnum):
    """How features are scaled, in one pass, while learning."""

    NONE = "none"
    STANDARD = "standard"
    MINMAX = "minmax"


class Numbers(StrEnum):
    """The arithmetic of rows and kernel values."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


class MetricName(StrEnum):
    """The measure of how good a learner is."""

    ACCURACY = "accuracy"
    BALANCED_ACCURACY = "balanced_accuracy"
    AUC = "auc"
    LOG_LOSS = "log_loss"
    RMSE = "rmse"
    MAE = "mae"
    R2 = "r2"


class ClassWeight(StrEnum):
    """How classes are weighted."""

    BALANCED = "balanced"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How DATA is read."""

    format: Annotated[
        str | None,
        Option(metavar="NAME", help="libsvm, csv, tsv, parquet, arrow or npy; by default the file's name decides."),
    ] = None
    target: Annotated[
        str | None,
        Option(metavar="COLUMN", help="The column to predict; by default target, label, class or y, or the last."),
    ] = None
    columns: Annotated[
        str | None, Option(metavar="A,B,...", help="Columns of a table that are features; by default all others.")
    ] = None
    drop: Annotated[str | None, Option(metavar="A,B,...", help="Columns of a table to leave out.")] = None
    id: Annotated[
        str | None, Option(metavar="COLUMN", help="Column of a table that identifies its rows; predict prints it.")
    ] = None
    delimiter: Annotated[str | None, Option(metavar="C", help="The character between the fields of CSV text.")] = None
    no_header: Annotated[bool, Option("--no-header", help="The first line of CSV text is a row, not a header.")] = False
    rows: Annotated[
        int | None, Option(min=1, metavar="N", help="Stop after this many rows; a generator draws 20,000 by default.")
    ] = None
    skip_errors: Annotated[bool, Option("--skip-errors", help="Skip and count rows that cannot be read.")] = False


@dataclass(frozen=True, kw_only=True)
class Learning(Reading):
    """How DATA is learned from."""

    task: Annotated[
        Task, Option(help="auto: text, and whole numbers of at most 100 values, are classes; else regression.")
    ] = Task.AUTO
    classes: Annotated[
        str | None, Option(metavar="A,B,...", help="All labels that will occur; by default those of the first rows.")
    ] = None
    n_features: Annotated[
        int | None, Option(min=1, metavar="N", help="Number of features of LIBSVM text; by default its highest index.")
    ] = None
    shuffle: Annotated[bool, Option("--shuffle", help="Take the rows in random order; they must fit into memory.")] = (
        False
    )
    schema: Annotated[
        str | None,
        Option(metavar="A=KIND,...", help="What columns of a table are: number, boolean, date, category, text, drop."),
    ] = None
    raw: Annotated[bool, Option("--raw", help="Take the columns of a table as numbers, and do not scale them.")] = False
    scale: Annotated[
        Scale | None,
        Option(help="Scale the features while learning; a table must hold numbers only.", show_default=False),
    ] = None
    weight: Annotated[
        str | None, Option(metavar="COLUMN", help="Column of a table that holds the weights of its rows.")
    ] = None
    class_weight: Annotated[
        ClassWeight | None, Option(help="balanced gives the rows of rare classes more weight.", show_default=False)
    ] = None
    budget: Annotated[int | None, Option(min=_BUDGET.note.limits["at_least"], metavar="B", help=_BUDGET.note.says)] = (
        None
    )
    gamma: Annotated[
        str | None,
        Option(metavar="G", help=f"{_GAMMA.note.says} A number; scale or auto, from the first rows; or stream."),
    ] = None
    set: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Any other parameter; spa.eta=0.5 sets it for one learner.")
    ] = None
    metric: Annotated[MetricName | None, Option(help="The measure of how good a learner is.", show_default=False)] = (
        None
    )
    seed: Annotated[int, Option(min=0, help="Seed of the learners' random draws and of --shuffle.")] = 0
    dtype: Annotated[Numbers, Option(help="float32 is up to twice as fast.")] = Numbers.FLOAT64
    jobs: Annotated[int | None, Option(metavar="N", help=_JOBS.note.says)] = _JOBS.default


def takes(options: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a dataclass, which reach it as its argument `options`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "options"]
        shared = {field.name: field.default for field in fields(options)}

        hints = get_type_hints(command, include_extras=True) | get_type_hints(options, include_extras=True)
        lists = [name for name in shared if hints[name].__metadata__[0].metavar in ("A,B,...", "A=KIND,...")]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            picked = {name: given.pop(name) for name in shared}
            picked |= {name: ",".join(picked[name]) if picked[name] else None for name in lists}
            command(**given, options=options(**picked))

        for name in lists:  # which may be given more than once, too: --drop A --drop B is --drop A,B
            hints[name] = Annotated[list[str] | None, hints[name].__metadata__[0]]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(annotation=hints[p.name], kind=keyword) for p in own]
        parameters += [
            inspect.Parameter(name, keyword, default=default, annotation=hints[name])
            for name, default in shared.items()
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__  # typer must not look through to the command
        return run

    return decorate
