"""`onkel predict`: a saved model's predictions, one per line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from onkel.cli._guard import Misused, say
from onkel.cli._options import Cluster, Data, Json, Reading, takes

if TYPE_CHECKING:
    from collections.abc import Iterator

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of onkel fit.")]


@takes(Reading)
def predict(
    *,
    model: Model,
    data: Data,
    scores: Annotated[bool, Option("--scores", help="Print decision values instead of labels.")] = False,
    proba: Annotated[bool, Option("--proba", help="Print probabilities (learners with the log loss).")] = False,
    std: Annotated[bool, Option("--std", help="Print predictions with their standard deviations.")] = False,
    interval: Annotated[
        float | None, Option("--interval", metavar="COVERAGE", help="Print intervals that hold so many targets.")
    ] = None,
    no_target: Annotated[bool, Option("--no-target", help="The rows have features only.")] = False,
    cluster: Cluster = None,
    json: Json = False,
    options: Reading,
) -> None:
    """Print a prediction for each row of DATA.

    One per line, on standard output. Where DATA has a target, the last line says how good the predictions were. Named
    columns may come in any order.

    \b
    Examples:
      onkel predict customers.onkel new.csv --id customer > churn.txt
      onkel predict a9a.onkel a9a.t --scores | head
      onkel predict rentals.onkel new.csv --interval 0.9
      zcat new.gz | onkel predict clicks.onkel - --no-target --json
    """
    import numpy as np

    import onkel
    from onkel.inside import fitted_learner, inside

    given = [
        f"--{word}"
        for word, asked in (("scores", scores), ("proba", proba), ("std", std), ("interval", interval is not None))
        if asked
    ]
    if len(given) > 1:
        raise Misused(f"{' and '.join(given)}: expected one of them")
    loaded = onkel.load(model)
    if hasattr(loaded, "predict") and inside(loaded).learner is None:
        raise ValueError(f"{model} has learned nothing yet")
    fitted_learner(loaded, "onkel predict")
    if not hasattr(loaded, "predict"):
        raise ValueError(f"{model} holds a {type(loaded).__name__}, which knows no labels: save an estimator instead")
    words = {"--scores": "decision_function", "--proba": "predict_proba", "--interval": "predict_interval"}
    what = "std" if std else words[given[0]] if given else "predict"
    if not std and not hasattr(loaded, what):
        raise Misused(f"{given[0]}: a {type(loaded).__name__} with these parameters does not have them")
    name = "scores" if scores else "probabilities" if proba else "interval" if interval is not None else "prediction"
    classes = _ENDS.get(what) or getattr(loaded, "classes_", np.zeros(0)).tolist()
    ask = getattr(loaded, "predict" if std else what)
    if std and not knows_deviations(loaded):
        raise Misused(f"--std: a {type(loaded).__name__} with these parameters does not have them")
    quality = _Quality()
    if cluster is not None:
        if std or interval is not None:
            raise Misused(f"{given[0]}: a cluster's workers print predictions, scores and probabilities alone")
        from onkel.cli._cluster import predictions

        for values, predicted, y, ids in predictions(loaded, what, data, cluster, options, no_target):
            _print(values, json, name, classes, ids)
            if y is not None:
                quality.add(loaded, predicted, y)
        if quality.rows:
            say(quality.sentence())
        return
    with opened_for(loaded, data, options, no_target) as chunks:
        for X, y, ids in chunks:
            if std:
                values = np.column_stack(ask(X, return_std=True))
            else:
                values = ask(X) if interval is None else ask(X, interval)
            _print(values, json, name, classes, ids)
            if y is not None:
                quality.add(loaded, values if what == "predict" else loaded.predict(X), y)
    if quality.rows:
        say(quality.sentence())


_ENDS = {"predict_interval": ["lower", "upper"], "std": ["prediction", "std"]}  # what their two columns are called


def knows_deviations(model: Any) -> bool:
    """Whether a model predicts standard deviations."""
    from inspect import signature

    from onkel.inside import inside

    return "return_std" in signature(inside(model).estimator.predict).parameters


@contextmanager
def opened_for(loaded: Any, data: str, options: Reading, no_target: bool) -> Iterator[Any]:
    """The rows of DATA as the model takes them, with their targets and ids, if there are any."""
    from onkel.cli._data import is_libsvm, is_table_of, names_of, open_rows
    from onkel.inside import inside

    names = names_of(loaded)
    how: dict[str, Any] = {"n_features": loaded.n_features_in_} if is_libsvm(data, options) else {}
    if names is not None and is_table_of(data, options):
        with open_rows(data, options, target=False, table=True) as rows:
            yield _by_name(loaded, rows, names, options.target, no_target)
        return
    if no_target:
        how["target"] = False
    with open_rows(data, options, **how) as rows:
        learner = inside(loaded).learner
        rows.dense = learner is None or not learner.sparse
        if names is not None:
            rows.take(names)
        yield ((X, y, rows.ids) for X, y in rows)


def _by_name(loaded: Any, rows: Any, names: list[str], target: str | None, no_target: bool) -> Iterator[Any]:
    """Rows whose columns are found by their names; the one column that is not a feature is the target."""
    from onkel.inside import inside
    from onkel.streams.table import Table

    found = rows.names
    is_named = found != [str(i + 1) for i in range(len(found))]  # otherwise columns are found by their positions
    others = [name for name in found if name not in names] if is_named else found[len(names) :]
    if target is None and not no_target and len(others) == 1 and len(found) == len(names) + 1:
        target = others[0]
    if target is not None and target in found:
        rows.goal = target
    if is_named:
        rows.take(names)
    takes_tables, learner = inside(loaded).takes_tables, inside(loaded).learner
    for X, y in rows:
        if not is_named:
            X = Table(tuple(names), X.columns, X.typed)
        y = None if y is None else _truth(y, getattr(loaded, "classes_", None), X.typed)
        yield X if takes_tables else X.numbers("float64" if learner is None else learner.dtype), y, rows.ids


def _truth(column: Any, classes: Any, typed: bool) -> Any:
    """Targets of a table as labels, or as numbers; anything else is not a label of the model."""
    import numpy as np

    from onkel.streams.values import number_of

    texts = [value.strip() if isinstance(value, str) else value for value in column.tolist()]
    if classes is None:
        return np.array([np.nan if value is None else number_of(str(value)) for value in texts], np.float64)
    if classes.dtype.kind in "fiu" and not typed:
        texts = [int(text) if text.lstrip("+-").isdecimal() else number_of(text) for text in texts]
    return np.array(texts, object)


class _Quality:
    """How good predictions are where the truth is known."""

    def __init__(self) -> None:
        self.rows = 0
        self.right = 0
        self.known = 0  # rows whose label is one of the model's classes
        self.squared = 0.0
        self.is_regression = False

    def add(self, model: Any, predicted: Any, y: Any) -> None:
        import numpy as np

        from onkel.utils.labels import as_labels, places

        self.is_regression = not hasattr(model, "classes_")
        if self.is_regression:
            known = np.isfinite(y)
            self.rows += int(known.sum())
            self.squared += float(((predicted - y)[known] ** 2).sum())
            return
        known = np.array([value is not None and value == value for value in y.tolist()], bool)
        self.rows += int(known.sum())
        labels = as_labels(y[known].tolist()) if known.any() else y[known]
        found, truth = places(model.classes_, predicted[known])[0], places(model.classes_, labels)
        self.known += int(truth[1].sum())
        self.right += int(((found == truth[0]) & truth[1]).sum())

    def sentence(self) -> str:
        if not self.is_regression and self.known == 0:
            return f"{self.rows:,} rows, none of whose labels is one of the model's classes"
        how_good = (
            f"RMSE {(self.squared / self.rows) ** 0.5:.4f}"
            if self.is_regression
            else (f"{self.right / self.rows:.2%} right".replace("%", " %"))
        )
        return f"{self.rows:,} rows, {how_good}"


def _print(values: Any, json: bool, name: str, classes: Any, ids: list[Any] | None) -> None:
    """Write one line per row."""
    from json import dumps
    from sys import stdout

    from onkel.cli._rows import plain

    rows = values.tolist()
    if values.ndim == 2:
        labels = [str(plain(label)) for label in classes]
        shown: list[Any] = [dict(zip(labels, row, strict=True)) for row in rows]
        texts = [" ".join(map(str, row)) for row in rows]
    else:
        shown = rows if name == "scores" else [plain(value) for value in rows]
        texts = list(map(str, shown))
    names = [None] * len(texts) if ids is None else [plain(each) for each in ids]
    if json:
        lines = [
            dumps({name: value} if ids is None else {"id": each, name: value})
            for each, value in zip(names, shown, strict=True)
        ]
    else:
        lines = [text if ids is None else f"{each} {text}" for each, text in zip(names, texts, strict=True)]
    stdout.write("\n".join(lines) + "\n")
