"""Checks before a row is logged: a refusal is one sentence and the row at fault."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.inside import Inside
from onkel.serve._batch import Batch
from onkel.serve._refusal import Refusal
from onkel.streams.table import Table
from onkel.utils.labels import as_labels, kind, places

MOST_CLASSES = 1_000
MOST_SCORES = 2_000_000  # of one request: its rows times its classes


def check_rows(rows: NDArray[np.float64], width: int | None) -> None:
    """Refuse rows that are not finite, or whose width differs from that of the rows learned so far."""
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise Refusal(422, f"row {row}, column {column}: expected a finite number, got {rows[row, column]}", row)
    if width is not None and rows.shape[1] != width:
        raise Refusal(422, f"row 0 has {rows.shape[1]} numbers; expected the model's {width}", 0)
    if rows.shape[1] == 0:
        raise Refusal(422, "row 0 has no features; expected one or more", 0)


def check_size(n_rows: int, n_classes: int) -> None:
    """Refuse rows with more scores than the memory of one request should hold."""
    if n_rows * n_classes > MOST_SCORES:
        raise Refusal(
            413,
            f"the request has {n_rows:,} rows, and each has {n_classes:,} scores: send at most "
            f"{MOST_SCORES // n_classes:,} at a time",
        )


def check_classes(labels: NDArray[Any], its: Inside) -> None:
    """Refuse labels that would give the model more classes than a service holds scores of."""
    known = labels[:0] if its.classes is None else its.classes
    n_classes = len(known)
    if its.learner is None or _is_open(its):
        n_classes += len(np.unique(labels[~places(known, labels)[1]]))
    if n_classes > max(MOST_CLASSES, len(known)):
        raise Refusal(422, f"the model would have {n_classes:,} classes, and the limit is {MOST_CLASSES:,}")
    check_size(len(labels), n_classes)


def _is_open(its: Inside) -> bool:
    """Whether labels that come later may be new classes."""
    return its.learner is not None and getattr(its.estimator, "_open", False)


@contextlib.contextmanager
def refused_by_row() -> Iterator[None]:
    """Turn an encoder's error about a value of another kind than its column into a refusal."""
    try:
        yield
    except ValueError as error:
        found = re.search(r"at row (\d+)", str(error))
        raise Refusal(422, str(error), int(found[1]) if found else None) from None


def check_batch(batch: Batch, its: Inside, is_regressor: bool, classes: list[Any] | None) -> None:
    """Refuse rows, labels or weights that a model cannot learn from."""
    if isinstance(batch.rows, Table):
        # where the kinds of the columns are not settled yet, learning checks them
        if its.learner is not None and its.transformers[0].kept is None:
            with refused_by_row():
                its.transformers[0].transform(batch.rows)
    else:
        entrance = its.transformers[0] if its.transformers else its.estimator
        check_rows(batch.rows, None if its.learner is None else entrance.n_features_in_)
    if batch.labels.shape != (len(batch),):
        raise Refusal(422, f"expected a label for each of the {len(batch)} rows, got {len(batch.labels)}")
    _check_weights(batch)
    counts = np.ones(len(batch), bool) if batch.weights is None else batch.weights != 0
    if is_regressor:
        _check_targets(batch.labels)
    else:
        _check_labels(batch.labels, counts, its, classes)


def _check_weights(batch: Batch) -> None:
    if batch.weights is None:
        return
    if batch.weights.shape != (len(batch),):
        raise Refusal(422, f"expected a weight for each of the {len(batch)} rows, got {len(batch.weights)}")
    wrong = ~(np.isfinite(batch.weights) & (batch.weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise Refusal(422, f"row {row}: expected a weight of at least 0, got {batch.weights[row]}", row)


def _check_targets(labels: NDArray[Any]) -> None:
    if kind(labels) not in ("numbers", "booleans"):
        raise Refusal(422, f"row 0: expected a number to learn from, got {labels.item(0)!r}", 0)
    wrong = ~np.isfinite(labels)
    if wrong.any():
        row = int(wrong.argmax())
        raise Refusal(422, f"row {row}: expected a finite number to learn from, got {labels[row]}", row)


def _check_labels(labels: NDArray[Any], counts: NDArray[np.bool_], its: Inside, classes: list[Any] | None) -> None:
    if labels.dtype.kind == "f":
        wrong = ~(np.isfinite(labels) & (labels == np.floor(labels)))
        if wrong.any():
            row = int(wrong.argmax())
            raise Refusal(422, f"row {row}: expected a class, which must be a whole number, got {labels[row]}", row)
    known = its.classes
    if its.learner is None:
        known = None if classes is None else as_labels(classes)
    if known is None or len(known) == 0:
        return
    found = places(known, labels)[1] | ~counts
    if found.all() or (_is_open(its) and kind(labels) == kind(known)):
        return
    row = int(found.argmin())
    if kind(labels) != kind(known):
        raise Refusal(
            422,
            f"row {row}: the label {labels.item(row)!r} is not one of the model's {kind(known)}",
            row,
        )
    shown = ", ".join(repr(label) for label in known[:20].tolist())
    raise Refusal(422, f"row {row}: the label {labels.item(row)!r} is not one of the model's classes {shown}", row)
