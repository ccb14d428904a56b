"""What is inside a model: every class that can be saved answers the same few questions, in ``__onkel_contents__``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from onkel.learner import Learner
from onkel.utils.turns import turn_of


@dataclass(frozen=True)
class Contents:
    """The answers of a model, fitted or not."""

    estimator: Any  # the one with the learner's parameters, inside of whatever is around it; a scaler is its own
    learner: Learner | None  # that has learned the function; None where there is none, or none yet
    parameters: dict[str, Any]  # of the estimator
    facts: dict[str, Any] = field(default_factory=dict)  # what is fitted, for people to read
    classes: NDArray[Any] | None = None  # labels, where there are some
    transformers: tuple[Any, ...] = ()  # the fitted (or new) ones that rows go through first
    takes_tables: bool = False  # whether rows may have columns of any type, found by their names
    calibrated: bool = False  # whether sigmoids make probabilities of the scores


@runtime_checkable
class Model(Protocol):
    """What `onkel.save` takes, and everything that takes a model."""

    def __onkel_contents__(self) -> Contents: ...


def contents_of(model: Any) -> Contents:
    """Return what is inside a model, or refuse an object that is not one.

    Examples
    --------
    >>> import onkel
    >>> contents_of(onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier())).estimator
    OGDClassifier()
    >>> contents_of(3)
    Traceback (most recent call last):
    ValueError: expected a model of onkel, got int
    """
    if isinstance(model, type) or not isinstance(model, Model):
        raise ValueError(f"expected a model of onkel, got {type(model).__name__}")
    return model.__onkel_contents__()


def fitted_learner(model: Any, purpose: str) -> Learner:
    """Return the learner inside a fitted model, or refuse in one sentence a model without one."""
    contents = contents_of(model)
    if contents.learner is None and contents.estimator in contents.transformers:
        raise ValueError(f"{purpose} needs a learned function, which a {type(model).__name__} does not have")
    if contents.learner is None or contents.learner.n_features is None:
        raise NotFittedError(f"{purpose} needs a function, and this {type(model).__name__} is not fitted yet")
    return contents.learner


def snapshot(model: Any, purpose: str) -> Any:
    """Return a copy of a fitted model in which all is of one moment, though another thread may be learning.

    A model without a function is refused as by `fitted_learner`.
    """
    fitted_learner(model, purpose)
    with turn_of(model):
        return model.__onkel_with_learner__(fitted_learner(model, purpose).snapshot())
