"""Predictions from Arrow to Arrow: a plain function that any engine can map over tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.inside import fitted_learner, inside
from onkel.utils.extras import pyarrow
from onkel.utils.validation import check_choice

METHODS = ("predict", "predict_proba", "decision_function")
_NAMES = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}


def predict_arrow(model: Any, table: Any, *, method: str = "predict", keep: Sequence[str] = ()) -> Any:
    """Return a model's predictions for the rows of an Arrow table or record batch, as the same kind.

    Parameters
    ----------
    model : estimator or StreamPipeline
        Fitted. Where it knows the names of its features, those columns are its rows, in any order and among others;
        otherwise all columns are, in order. They are numbers, unless the model has a `StreamEncoder`.
    table : pyarrow.Table or pyarrow.RecordBatch
    method : {"predict", "predict_proba", "decision_function"}
    keep : sequence of str
        Columns of the table that come first in the result.

    Returns
    -------
    pyarrow.Table or pyarrow.RecordBatch
        Has the column "prediction" or "score" or, where there is one number per class, "score_A" or "probability_A" for
        each class A.

    Examples
    --------
    >>> import numpy as np, onkel, pyarrow as pa
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.8, 0.1]])
    >>> model = onkel.NewtonClassifier(budget=4, gamma=1.0, lam=0.1, random_state=0).fit(X, ["no", "yes", "no", "yes"])
    >>> table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    >>> predict_arrow(model, table)["prediction"].to_pylist()
    ['no', 'yes', 'no', 'yes']
    >>> predict_arrow(model, table, method="predict_proba", keep=["a"]).column_names
    ['a', 'probability_no', 'probability_yes']
    """
    check_choice("method", method, METHODS)
    arrow = pyarrow("an Arrow table")
    values = _values(model, table, method)
    name = _NAMES[method]
    columns = {name: values} if values.ndim == 1 else dict(zip(_columns(model, name, values), values.T, strict=True))
    kept = {each: table.column(each) for each in keep}
    kind = arrow.RecordBatch if isinstance(table, arrow.RecordBatch) else arrow.Table
    return kind.from_pydict(kept | {each: arrow.array(column) for each, column in columns.items()})


def _values(model: Any, table: Any, method: str) -> NDArray[Any]:
    learner = fitted_learner(model, "predict_arrow")
    names = getattr(model, "feature_names_in_", None)
    wanted = list(table.column_names if names is None else names)
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise ValueError(f"the table has no column {missing[0]!r}; the model's columns are {', '.join(wanted)}")
    answer = getattr(model, method)
    if inside(model).takes_tables:
        if table.num_rows == 0:  # a row of missing values has the type and shape of the result
            return np.asarray(answer({name: [None] for name in wanted})[:0])
        return np.asarray(answer(table.select(wanted)))
    rows = np.empty((table.num_rows, len(wanted)), learner.dtype)
    for place, name in enumerate(wanted):
        rows[:, place] = table.column(name).to_numpy(zero_copy_only=False)
    with warnings.catch_warnings():
        # The columns are in the model's own order, and arrays have no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if table.num_rows == 0:
            return np.asarray(answer(np.zeros((1, len(wanted)), learner.dtype))[:0])
        return np.asarray(answer(rows))


def _columns(model: Any, name: str, values: NDArray[Any]) -> list[str]:
    return [f"{name}_{label}" for label in model.classes_.tolist()[: values.shape[1]]]
