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

# What these options have in common with the learners' parameters is written there.
_BUDGET, _GAMMA, _JOBS = (COMMON[name] for name in ("budget", "gamma", "n_jobs"))
DEFAULT_LEARNER = "newton"

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, - for standard input, or the name of a data set.")]
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


class Metric(StrEnum):
    """What says how good a learner is."""

    ACCURACY = "accuracy"
    BALANCED_ACCURACY = "balanced_accuracy"
    AUC = "auc"
    LOG_LOSS = "log_loss"
    RMSE = "rmse"
    MAE = "mae"
    R2 = "r2"


class ClassWeight(StrEnum):
    """How classes are weighed."""

    BALANCED = "balanced"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How DATA is read."""

    format: Annotated[
        str | None,
        Option(metavar="NAME", help="libsvm, csv, tsv, parquet, arrow or npy; otherwise by the file's name."),
    ] = None
    target: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Of a table: the column to predict; otherwise the obvious one, or the last."),
    ] = None
    columns: Annotated[str | None, Option(metavar="A,B,...", help="Of a table: the features; otherwise all.")] = None
    drop: Annotated[str | None, Option(metavar="A,B,...", help="Of a table: columns that are no features.")] = None
    id: Annotated[
        str | None, Option(metavar="COLUMN", help="Of a table: names the rows, is no feature; predict prints it.")
    ] = None
    delimiter: Annotated[str | None, Option(metavar="C", help="Between the fields of CSV text.")] = None
    no_header: Annotated[bool, Option("--no-header", help="The first line of CSV text is a row.")] = False
    rows: Annotated[
        int | None, Option(min=1, metavar="N", help="Read no more rows; a generator has 20,000 otherwise.")
    ] = None
    skip_errors: Annotated[bool, Option("--skip-errors", help="Leave out rows that are wrong, and count them.")] = False


@dataclass(frozen=True, kw_only=True)
class Learning(Reading):
    """How DATA is learned from."""

    task: Annotated[Task, Option(help="auto goes by the target: numbers with a fraction mean regression.")] = Task.AUTO
    classes: Annotated[
        str | None, Option(metavar="A,B,...", help="All labels there will be; otherwise those of the first rows.")
    ] = None
    n_features: Annotated[
        int | None, Option(min=1, metavar="N", help="Of LIBSVM text; saves looking for the highest index.")
    ] = None
    shuffle: Annotated[bool, Option("--shuffle", help="Random order; the data must fit into memory.")] = False
    raw: Annotated[
        bool, Option("--raw", help="Take the columns of a table as they are: numbers, none of them scaled.")
    ] = False
    scale: Annotated[
        Scale | None,
        Option(help="Scale the features, in the same one pass; a table then has numbers only.", show_default=False),
    ] = None
    weight: Annotated[str | None, Option(metavar="COLUMN", help="Of a table: the weights of the rows.")] = None
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
        list[str] | None, Option(metavar="NAME=VALUE", help="Any other parameter, for one learner as spa.eta=0.5.")
    ] = None
    metric: Annotated[Metric | None, Option(help="What says how good a learner is.", show_default=False)] = None
    seed: Annotated[int, Option(min=0, help="Of the learners' draws and of --shuffle.")] = 0
    dtype: Annotated[Numbers, Option(help="float32 is up to twice as fast.")] = Numbers.FLOAT64
    jobs: Annotated[int | None, Option(metavar="N", help=_JOBS.note.says)] = _JOBS.default


def takes(options: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a dataclass, which reach it as its argument `options`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "options"]
        shared = {field.name: field.default for field in fields(options)}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            picked = {name: given.pop(name) for name in shared}
            command(**given, options=options(**picked))

        hints = get_type_hints(command, include_extras=True) | get_type_hints(options, include_extras=True)
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
