"""Models as JSON: every number that predictions need, for programs in any language (docs/deploy.md)."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.models.export._plain import KernelFunction, PlainRegion, plain
from onkel.parts import PlainKernel


def to_json(model: object) -> str:
    """Return a fitted model as JSON; docs/deploy.md explains each field and how to compute a prediction.

    Parameters
    ----------
    model : estimator, StreamPipeline or Learner
        Fitted. A callable kernel is refused.

    Returns
    -------
    str
        Numbers have as many digits as are needed to read them back exactly.

    Examples
    --------
    >>> import json, onkel
    >>> model = onkel.SPAClassifier(gamma=1.0, shuffle=False).fit([[0.0], [1.0]], ["no", "yes"])
    >>> read = json.loads(onkel.export.to_json(model))
    >>> read["classes"], read["points"], read["functions"][0]["kernel"]
    (['no', 'yes'], [[0.0], [1.0]], [{'weight': 1.0, 'factors': [{'name': 'rbf', 'gamma': 1.0}]}])
    """
    plain_model = plain(model, takes_tables=True)
    features = plain_model.features
    tree = {
        "format": "onkel",
        "version": 1,
        "task": plain_model.task,
        "classes": None if plain_model.classes is None else plain_model.classes.tolist(),
        "columns": [asdict(column) for column in plain_model.columns] or None,
        "shift": plain_model.shift.tolist(),
        "factor": plain_model.factor.tolist(),
        "points": plain_model.points.tolist(),
        "combination": plain_model.combination,
        "regions": None if plain_model.regions is None else _region(plain_model.regions),
        "functions": [_function(function, plain_model.used) for function in plain_model.functions],
        "random_features": None
        if features is None
        else {f.name: getattr(features, f.name).tolist() for f in fields(features)},
        "logistic": plain_model.logistic,
        "exponential": plain_model.exponential,
        "least_exponent": plain_model.least_exponent,
    }
    return json.dumps(tree, allow_nan=False)


def _function(function: KernelFunction, used: NDArray[np.intp]) -> dict[str, Any]:
    return {
        "kernel": [
            {"weight": float(weight), "factors": [_plain_kernel(factor, used) for factor in factors]}
            for weight, factors in function.kernel.terms
        ],
        "coefficients": function.coefficients.tolist(),
        "constants": function.constants.tolist(),
        "weight": function.weight,
        "places": None if function.places is None else function.places.tolist(),
    }


def _region(region: PlainRegion) -> dict[str, Any]:
    if region.condition is None or region.lower is None or region.upper is None:
        return {"weights": [weight for weight, _ in region.weights], "functions": [k for _, k in region.weights]}
    sides = {"lower": _region(region.lower), "upper": _region(region.upper)}
    return {"features": list(region.condition.features), "thresholds": list(region.condition.thresholds)} | sides


def _plain_kernel(kernel: PlainKernel, used: NDArray[np.intp]) -> dict[str, Any]:
    numbers = {f.name: getattr(kernel, f.name) for f in fields(kernel)}
    relevances = numbers.pop("relevances", ())
    if relevances:  # otherwise each is 1
        numbers["relevances"] = kernel.relevances_of(int(used[-1]) + 1)[used].tolist()
    if numbers.pop("ranks", ()):  # otherwise each feature is its number
        numbers["ranks"] = [curve._asdict() if curve.at else None for curve in kernel.metric.only(used.tolist()).curves]
    return {"name": kernel.name, **numbers}
