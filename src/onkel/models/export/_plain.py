"""A fitted model as plain arrays: the one way into every export.

Every model of the library is ``z = (x - shift) * factor``, then for each of its kernels
``f_o(x) = sum_i coefficients[o, i] k(points[i], z) + constants[o]``, plus random features where a budget rule keeps
them, and a vote or a mean where there are several kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from onkel.estimators.base import KernelEstimator
from onkel.estimators.targets import ClassifierBase
from onkel.learner import Learner
from onkel.parts import CallableKernel, Hedge, Kernel
from onkel.streams.pipeline import StreamPipeline

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """What one kernel has learned."""

    kernel: Kernel
    coefficients: Floats  # (n_outputs, n_points)
    constants: Floats  # (n_outputs,)
    weight: float  # of its vote, 1 where it is the only one


@dataclass(frozen=True)
class RandomFeatures:
    """``sum_i coefficients[o, i] sqrt(2 / D) cos(frequencies[i] . z + phases[i])``, which DualSGD keeps, too."""

    frequencies: Floats  # (D, n_features)
    phases: Floats  # (D,)
    coefficients: Floats  # (n_outputs, D)


@dataclass(frozen=True)
class Plain:
    """A fitted model as plain arrays."""

    task: str  # "binary", "multiclass" or "regression"
    classes: NDArray[Any] | None  # labels; class indices where the model is a Learner
    shift: Floats  # of the scaler, 0 without one
    factor: Floats  # of the scaler, 1 without one
    points: Floats  # (n_points, n_features), scaled
    functions: tuple[Function, ...]
    combination: str  # "sum" of one, "vote" or "mean" of several kernels
    features: RandomFeatures | None
    logistic: bool  # whether scores are log odds, so that there are probabilities
    dtype: str  # of the rows that it learned from

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1, or one a class."""
        return len(self.functions[0].constants)

    @property
    def least_exponent(self) -> float:
        """Where the exponent of a kernel value is below this the learner has 0: less is no normal number of its type.

        It takes nothing away from a sum, but a function that is exactly 0 does not vote.
        """
        return float(np.finfo(self.dtype).minexp * (1 - 1e-7) * np.log(2))

    @property
    def is_scaled(self) -> bool:
        """Whether rows are scaled first."""
        return bool(self.shift.any() or (self.factor != 1).any())


def plain(model: Any) -> Plain:
    """Return a fitted estimator, pipeline or learner as plain arrays, or refuse it."""
    estimator, shift, factor = model, None, None
    if isinstance(model, StreamPipeline):
        check_is_fitted(model)
        estimator = model.estimator_
        inverse, back = model.scaler_._inverse()
        shift, factor = np.broadcast_to(back, inverse.shape), 1.0 / inverse
    if isinstance(estimator, KernelEstimator):
        check_is_fitted(estimator)
    elif not isinstance(estimator, Learner):
        raise ValueError(f"expected an estimator of onkel, a StreamPipeline or a Learner, got {type(model).__name__}")
    learner = estimator if isinstance(estimator, Learner) else estimator._learner
    if learner.n_features is None:
        raise ValueError("the learner has learned nothing yet: there is nothing to export")
    if any(isinstance(kernel, CallableKernel) for kernel in learner.kernels):
        raise ValueError("the kernel is a function of your own, which cannot be exported: use one of onkel's kernels")
    points = learner.support()[0]
    made = Plain(
        task=learner.task,
        classes=_classes(estimator, learner),
        shift=np.zeros(learner.n_features) if shift is None else np.array(shift, np.float64),
        factor=np.ones(learner.n_features) if factor is None else np.array(factor, np.float64),
        points=np.asarray(points.toarray() if issparse(points) else points, np.float64),
        functions=_functions(learner),
        combination="sum" if not isinstance(learner.kernel, Hedge) else "mean" if _regresses(learner) else "vote",
        features=_features(learner),
        logistic=learner.recipe.loss.logistic and not isinstance(learner.kernel, Hedge),
        dtype=learner.dtype,
    )
    arrays = [made.points, *(f.coefficients for f in made.functions), *(f.constants for f in made.functions)]
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("the model holds numbers that are not finite: there is nothing to export")
    return made


def _regresses(learner: Learner) -> bool:
    return learner.task == "regression"


def _classes(estimator: Any, learner: Learner) -> NDArray[Any] | None:
    if _regresses(learner):
        return None
    if isinstance(estimator, ClassifierBase):
        return np.asarray(estimator.classes_)
    return np.arange(2 if learner.task == "binary" else learner.n_outputs)


def _functions(learner: Learner) -> tuple[Function, ...]:
    kernels, outputs = learner.kernels, learner.n_outputs
    weights = learner.kernel_weights if isinstance(learner.kernel, Hedge) else np.ones(1)
    coefficients = learner.coefficients.reshape(len(kernels), outputs, learner.n_support)
    constants = np.zeros((len(kernels), outputs))
    if learner.fit_intercept:
        constants = learner.constants.reshape(len(kernels), outputs)
    return tuple(
        Function(kernel, coefficients[i], constants[i], float(weights[i])) for i, kernel in enumerate(kernels)
    )


def _features(learner: Learner) -> RandomFeatures | None:
    features = RandomFeatures(*learner.random_features)
    return features if len(features.phases) else None
