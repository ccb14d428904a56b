"""A fitted model as plain arrays, which every export uses.

Every model of the library is ``z = (x - shift) * factor``, where x is a row of numbers or what the columns of a table
become, then for each of its kernels ``f_o(x) = sum_i coefficients[o, i] k(points[i], z) + constants[o]``, plus random
features where an eviction keeps them, and a vote or a weighted mean where there are several kernels; or a weighted sum
over the functions of the region that holds z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.function import Expansion, Term
from onkel.inside import inside, snapshot
from onkel.learner import Learner
from onkel.parts import CallableKernel, Kernel, Poisson
from onkel.parts.losses import LARGEST_SCORE
from onkel.parts.metric import Metric, PiecewiseLinear
from onkel.preprocess.column_kinds import EncodedColumn
from onkel.preprocess.encoder import StreamEncoder
from onkel.regions import Condition

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KernelFunction:
    """The function of one kernel."""

    kernel: Kernel
    coefficients: Floats  # (n_outputs, n_points)
    constants: Floats  # (n_outputs,)
    weight: float  # of its vote; 1 if there is only one kernel, or if the weights are those of regions
    places: NDArray[np.intp] | None = None  # of its points among all; None if it has all of them


@dataclass(frozen=True)
class FeatureFunction:
    """``sum_i coefficients[o, i] sqrt(2 / D) cos(frequencies[i] . z + phases[i])``, which DualSGD keeps, too."""

    frequencies: Floats  # (D, n_features)
    phases: Floats  # (D,)
    coefficients: Floats  # (n_outputs, D)


@dataclass(frozen=True)
class PlainRegion:
    """A region of z: divided by a condition, or a leaf with functions."""

    condition: Condition | None
    lower: PlainRegion | None
    upper: PlainRegion | None
    weights: tuple[tuple[float, int], ...]  # of a leaf: of each function of its path, and its number

    @property
    def leaves(self) -> list[PlainRegion]:
        """The leaves, those of the lower side first."""
        if self.lower is None or self.upper is None:
            return [self]
        return self.lower.leaves + self.upper.leaves


@dataclass(frozen=True)
class Plain:
    """A fitted model as plain arrays."""

    task: str  # "binary", "multiclass" or "regression"
    classes: NDArray[Any] | None  # labels; class indices where the model is a Learner
    shift: Floats  # of the scaler, 0 without one
    factor: Floats  # of the scaler, 1 without one
    points: Floats  # (n_points, n_features), scaled
    functions: tuple[KernelFunction, ...]
    combination: str  # "sum" of one, "vote" or weighted "mean" of several kernels, or by "regions"
    features: FeatureFunction | None
    sigmoids: Floats | None  # slopes and offsets of Platt's sigmoids, one row each, where they give the probabilities
    logistic: bool  # whether scores are log odds, so that there are probabilities
    exponential: bool  # whether scores are logarithms of what is predicted
    dtype: str  # of the rows that it learned from
    columns: tuple[EncodedColumn, ...]  # of a table, whose encodings are concatenated to x; none where rows are numbers
    used: NDArray[np.intp]  # the features of the learner that are features here: all but those that are always 0
    regions: PlainRegion | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1, or one per class."""
        return len(self.functions[0].constants)

    @property
    def metrics(self) -> list[Metric]:
        """The different metrics of the kernels; first the plain one, if a kernel has it."""
        return sorted({self.metric_of(function.kernel) for function in self.functions})

    @property
    def curves(self) -> list[tuple[PiecewiseLinear, ...]]:
        """The different ways in which the kernels rank the features; first none, if a kernel ranks none."""
        return sorted({metric.curves for metric in self.metrics})

    def metric_of(self, kernel: Kernel) -> Metric:
        """The metric of a kernel, for the features here."""
        return kernel.metric.only(self.used.tolist())

    @property
    def least_exponent(self) -> float:
        """The exponent below which the learner's kernel value is 0, since it is not a normal number of its type.

        This does not change a sum, but a function that is exactly 0 does not vote.
        """
        return float(np.finfo(self.dtype).minexp * (1 - 1e-7) * np.log(2))

    @property
    def is_scaled(self) -> bool:
        """Whether rows are scaled first."""
        return bool(self.shift.any() or (self.factor != 1).any())


def largest_score(dtype: str) -> float:
    """Return the largest score whose exponential is computed; in single precision that of a larger one is infinite."""
    return LARGEST_SCORE if dtype == "float64" else 88.0


def plain(model: object, *, takes_sigmoids: bool = False, takes_tables: bool = False) -> Plain:
    """Return a fitted estimator, pipeline or learner as plain arrays, or refuse it.

    Without `takes_tables`, an encoder of numbers without missing values counts as a scaler, and any other is refused.
    """
    if inside(model).calibrated and not takes_sigmoids:
        raise ValueError("probabilities by Platt's sigmoids cannot be exported: export the estimator inside")
    found = inside(snapshot(model, "an export"))
    learner = found.learner
    assert learner is not None
    assert learner.n_features is not None
    transformers, columns = found.transformers, tuple[EncodedColumn, ...]()
    if takes_tables and transformers and isinstance(transformers[0], StreamEncoder):
        columns, transformers = _columns(transformers[0]), transformers[1:]
    shift, factor = np.zeros(learner.n_features), np.ones(learner.n_features)
    if transformers:
        inverse, back = _only_scaler(transformers).inverse_factors()
        shift, factor = np.array(np.broadcast_to(back, inverse.shape), np.float64), 1.0 / inverse
    if any(isinstance(kernel, CallableKernel) for kernel in learner.kernels):
        raise ValueError("a callable kernel cannot be exported: use one of onkel's kernels")
    expansion = learner.expansion()
    has_regions, places = expansion.combination == "regions", [term.births for term in expansion.terms]
    expansion = expansion.on_common_points
    plain_model = Plain(
        task=learner.task,
        classes=_classes(found.classes, learner),
        shift=shift,
        factor=factor,
        points=expansion.terms[0].dense_points(),
        functions=tuple(
            _of_some_points(term, own)
            if has_regions
            else KernelFunction(term.kernel, term.average.points, term.average.constants, term.weight)
            for term, own in zip(expansion.terms, places, strict=True)
        ),
        combination=expansion.combination,
        features=_features(expansion),
        sigmoids=_sigmoids(model) if found.calibrated else None,
        logistic=learner.recipe.loss.logistic and expansion.combination != "vote",
        exponential=isinstance(learner.recipe.loss, Poisson),
        dtype=learner.dtype,
        columns=columns,
        used=np.arange(learner.n_features),
        regions=_region(expansion, 0) if has_regions else None,
    )
    functions = plain_model.functions
    arrays = [plain_model.points, *(f.coefficients for f in functions), *(f.constants for f in functions)]
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("the model holds numbers that are not finite: there is nothing to export")
    return _without_free_places(plain_model)


def _of_some_points(term: Term, births: NDArray[np.int64]) -> KernelFunction:
    """The function of a term on common points, of which it has those of these births."""
    places = np.searchsorted(term.births, births)
    return KernelFunction(term.kernel, term.average.points[:, places], term.average.constants, 1.0, places)


def _region(expansion: Expansion, number: int) -> PlainRegion:
    (own,) = (region for region in expansion.regions if region.number == number)
    if own.condition is not None:
        lower, upper = (_region(expansion, child) for child in own.children)
        return PlainRegion(own.condition, lower, upper, ())
    functions = {term.expert: k for k, term in enumerate(expansion.terms)}
    weights = zip(own.weights.tolist(), (functions[expert] for expert in own.path), strict=True)
    return PlainRegion(None, None, None, tuple(weights))


def _renumbered(region: PlainRegion, used: NDArray[np.intp]) -> PlainRegion:
    """The same for rows of some of the features, among them those of all conditions."""
    if region.condition is None or region.lower is None or region.upper is None:
        return region
    condition = replace(region.condition, features=tuple(np.searchsorted(used, region.condition.features).tolist()))
    return PlainRegion(condition, _renumbered(region.lower, used), _renumbered(region.upper, used), ())


def _features_of(region: PlainRegion | None) -> set[int]:
    """The features of its conditions."""
    if region is None or region.condition is None:
        return set()
    return set(region.condition.features) | _features_of(region.lower) | _features_of(region.upper)


def _columns(encoder: StreamEncoder) -> tuple[EncodedColumn, ...]:
    """The columns that the model uses; text is refused."""
    columns = tuple(column for column in encoder.encoded_columns() if column.kind != "drop")
    text = next((column.name for column in columns if column.kind == "text"), None)
    if text is not None:
        raise ValueError(f"column {text!r} is text, whose words are hashed, which cannot be exported: drop it")
    return columns


def _without_free_places(model: Plain) -> Plain:
    """Drop the unused columns of categories: all points are 0 there, and so is every row."""
    used, columns, start, conditions = [], [], 0, _features_of(model.regions)
    for column in model.columns:
        has_free = column.kind == "category" and not column.targets
        has_free = has_free and not any(start <= j < start + column.places for j in conditions)
        free = range(start + len(column.words), start + column.places - 1) if has_free else range(0)
        end = start + column.places + column.indicator
        used += [i for i in range(start, end) if i not in free]
        columns.append(replace(column, places=column.places - len(free)))
        start = end
    kept = np.array(used, np.intp)
    if not model.columns or np.delete(model.shift, kept).any():  # a scaler may map 0 to another value
        return model
    features = model.features
    if features is not None:
        features = replace(features, frequencies=features.frequencies[:, kept])
    return replace(
        model,
        shift=model.shift[kept],
        factor=model.factor[kept],
        points=model.points[:, kept],
        features=features,
        columns=tuple(columns),
        used=kept,
        regions=None if model.regions is None else _renumbered(model.regions, kept),
    )


def _sigmoids(model: Any) -> Floats:
    found = np.asarray(model.sigmoids_, np.float64)
    learner = inside(model).learner
    if learner is None or len(found) != learner.n_outputs:
        raise ValueError("a class has no sigmoid yet: learn from more rows before the export")
    return found


def _only_scaler(transformers: tuple[Any, ...]) -> Any:
    """The scaler that rows go through; anything else is refused."""
    unsupported = next((each for each in transformers if not hasattr(each, "inverse_factors")), None)
    if unsupported is not None:
        raise ValueError(f"a {type(unsupported).__name__} cannot be exported: export the estimator behind it")
    if len(transformers) > 1:
        raise ValueError("several scalers one after the other cannot be exported: use one")
    return transformers[0]


def _classes(classes: NDArray[Any] | None, learner: Learner) -> NDArray[Any] | None:
    if learner.task == "regression":
        return None
    if classes is not None:
        if classes.dtype.kind == "S":
            raise ValueError(f"labels that are bytes cannot be exported, and the classes are {classes.tolist()!r}")
        return np.asarray(classes)
    return np.arange(2 if learner.task == "binary" else learner.n_outputs)


def _features(expansion: Expansion) -> FeatureFunction | None:
    features = expansion.features
    if features is None:
        return None
    return FeatureFunction(features.frequencies, features.phases, expansion.only.average.features)
