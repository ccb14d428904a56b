"""scikit-learn's transformers in a pipeline: fitted before, or without anything to fit; a few of them can be saved."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

# Those that a file may hold: their state is numbers, and nothing of it runs.
SAVED = {
    "Binarizer": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "PCA": "sklearn.decomposition",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
}


def check_ready(transformer: object) -> None:
    """Refuse what is no transformer, or one that is still to be fitted."""
    name = type(transformer).__name__
    if not hasattr(transformer, "transform") or not hasattr(transformer, "__sklearn_tags__"):
        raise ValueError(f"transformers must be transformers of streams or of scikit-learn, got {name}")
    if not transformer.__sklearn_tags__().requires_fit:
        return
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        raise ValueError(
            f"transformers must be fitted already where they do not learn from streams, and this {name} is not: fit it "
            "first (in a sklearn.frozen.FrozenEstimator it stays so in copies)"
        ) from None


def saved(transformer: Any) -> dict[str, Any]:
    """Return a transformer of scikit-learn as a file holds it, or refuse one whose state may be anything."""
    name = type(transformer).__name__
    if name == "FrozenEstimator":
        inside = transformer.estimator
        return {"frozen": saved(inside) if type(inside).__module__.startswith("sklearn.") else inside}
    if name not in SAVED or not type(transformer).__module__.startswith(SAVED[name]):
        raise ValueError(f"a {name} cannot be saved in a file of onkel; expected one of {', '.join(SAVED)}")
    fitted = {key: value for key, value in sorted(vars(transformer).items()) if key.endswith("_")}
    return {"sklearn": name, "parameters": transformer.get_params(deep=False), "fitted": fitted}


def loaded(tree: object) -> Any:
    """Return the transformer that `saved` wrote, or refuse what it did not write."""
    if not isinstance(tree, dict):
        return tree
    if tree.keys() == {"frozen"}:
        from sklearn.frozen import FrozenEstimator

        return FrozenEstimator(loaded(tree["frozen"]))
    if tree.keys() != {"sklearn", "parameters", "fitted"} or tree["sklearn"] not in SAVED:
        raise ValueError("a transformer must be one of onkel's, or of scikit-learn's that a file may hold")
    transformer = getattr(import_module(SAVED[tree["sklearn"]]), tree["sklearn"])(**tree["parameters"])
    for name, value in tree["fitted"].items():
        if not name.endswith("_") or name.startswith("_") or not isinstance(value, np.ndarray | int | float | None):
            raise ValueError(f"a {tree['sklearn']} has no fitted attribute {name!r} of this kind")
        setattr(transformer, name, value)
    check_ready(transformer)
    return transformer
