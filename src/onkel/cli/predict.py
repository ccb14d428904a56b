"""`onkel predict`: a saved model's predictions, one a line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option

from onkel.cli._guard import Misused, say
from onkel.cli._options import Cluster, Data, Json, Reading, takes

Model = Annotated[str, typer.Argument(metavar="MODEL", help="What onkel fit wrote.")]


@takes(Reading)
def predict(
    *,
    model: Model,
    data: Data,
    scores: Annotated[bool, Option("--scores", help="Print decision values instead of labels.")] = False,
    proba: Annotated[bool, Option("--proba", help="Print probabilities (learners with the log loss).")] = False,
    no_target: Annotated[bool, Option("--no-target", help="The rows have features only.")] = False,
    cluster: Cluster = None,
    json: Json = False,
    options: Reading,
) -> None:
    """Print a prediction for each row of DATA.

    One a line, on standard output. Where DATA has a target, the end says how good they were. Columns with names are
    found by them, whatever their order.

    \b
    Examples:
      onkel predict a9a.onkel a9a.t > labels.txt
      onkel predict a9a.onkel a9a.t --scores | head
      zcat new.gz | onkel predict clicks.onkel - --no-target --json
    """
    import numpy as np

    import onkel
    from onkel.cli._data import is_libsvm, names_of, open_rows
    from onkel.contents import contents_of, fitted_learner

    if scores and proba:
        raise Misused("--scores and --proba: expected one of them")
    loaded = onkel.load(model)
    if hasattr(loaded, "predict") and contents_of(loaded).learner is None:
        raise ValueError(f"{model} has learned nothing yet")
    learner = fitted_learner(loaded, "onkel predict")
    if not hasattr(loaded, "predict"):
        raise ValueError(f"{model} holds a {type(loaded).__name__}, which knows no labels: save an estimator instead")
    what = "decision_function" if scores else "predict_proba" if proba else "predict"
    if not hasattr(loaded, what):
        raise Misused(
            f"{'--scores' if scores else '--proba'}: a {type(loaded).__name__} with these parameters has none"
        )
    how: dict[str, Any] = {"n_features": learner.n_features} if is_libsvm(data, options) else {}
    if no_target:
        how["target"] = False
    name = "scores" if scores else "probabilities" if proba else "prediction"
    classes = getattr(loaded, "classes_", np.zeros(0)).tolist()
    quality = _Quality()
    if cluster is not None:
        from onkel.cli._cluster import predictions

        for values, predicted, y in predictions(loaded, what, data, cluster, options, how):
            _print(values, json, name, classes)
            if y is not None:
                quality.add(loaded, predicted, y)
        if quality.rows:
            say(quality.sentence())
        return
    with open_rows(data, options, **how) as rows:
        rows.dense = not learner.sparse
        if (names := names_of(loaded)) is not None:
            rows.take(names)
        for X, y in rows:
            values = getattr(loaded, what)(X)
            _print(values, json, name, classes)
            if y is not None:
                quality.add(loaded, values if what == "predict" else loaded.predict(X), y)
    if quality.rows:
        say(quality.sentence())


class _Quality:
    """How good predictions are where the truth is known."""

    def __init__(self) -> None:
        self.rows = 0
        self.right = 0
        self.squared = 0.0
        self.is_regression = False

    def add(self, model: Any, predicted: Any, y: Any) -> None:
        from onkel.utils.labels import places

        self.rows += len(y)
        self.is_regression = not hasattr(model, "classes_")
        if self.is_regression:
            self.squared += float(((predicted - y) ** 2).sum())
        else:
            found, truth = places(model.classes_, predicted)[0], places(model.classes_, y)
            self.right += int(((found == truth[0]) & truth[1]).sum())

    def sentence(self) -> str:
        how_good = (
            f"RMSE {(self.squared / self.rows) ** 0.5:.4f}"
            if self.is_regression
            else (f"{self.right / self.rows:.2%} right".replace("%", " %"))
        )
        return f"{self.rows:,} rows, {how_good}"


def _print(values: Any, json: bool, name: str, classes: Any) -> None:
    """Write a line a row."""
    from json import dumps
    from sys import stdout

    from onkel.cli._data import plain

    rows = values.tolist()
    if values.ndim == 2:
        labels = [str(plain(label)) for label in classes]
        lines = [
            dumps({name: dict(zip(labels, row, strict=True))}) if json else " ".join(map(str, row)) for row in rows
        ]
    else:
        rows = rows if name == "scores" else [plain(value) for value in rows]
        lines = [dumps({name: row}) if json else str(row) for row in rows]
    stdout.write("\n".join(lines) + "\n")
