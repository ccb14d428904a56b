"""The feature names of a served model: kept outside it while it works on arrays, and inside it when it is saved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onkel.inside import inside


def take_names(model: Any) -> tuple[str, ...] | None:
    """Remove the names from a fitted model; otherwise scikit-learn would warn about every array without names.

    A model with an encoder keeps them: its rows are tables, which have names.

    Examples
    --------
    >>> import onkel, pandas
    >>> frame = pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    >>> model = onkel.OGDClassifier(gamma=1.0).fit(frame, [0, 1])
    >>> take_names(model), hasattr(model, "feature_names_in_")
    (('a', 'b'), False)
    >>> with names_put_back(model, ("a", "b")):
    ...     model.feature_names_in_.tolist()
    ['a', 'b']
    """
    entrance = _entrance(model)
    if inside(model).takes_tables:
        names = getattr(entrance, "feature_names_in_", None)
    else:
        names = vars(entrance).pop("feature_names_in_", None)
    return None if names is None else tuple(names.tolist())


@contextlib.contextmanager
def names_put_back(model: Any, names: Sequence[str] | None) -> Iterator[None]:
    """Give a model its names while it is saved."""
    entrance, structure = _entrance(model), inside(model)
    if names is None or structure.learner is None or structure.takes_tables:
        yield
        return
    entrance.feature_names_in_ = np.array(list(names), object)
    try:
        yield
    finally:
        del entrance.feature_names_in_


def _entrance(model: Any) -> Any:
    """The first transformer, or the estimator, which has the names."""
    fitted = vars(model)
    if "transformers_" in fitted:
        return fitted["transformers_"][0]
    return _entrance(fitted["estimator_"]) if "estimator_" in fitted else model
