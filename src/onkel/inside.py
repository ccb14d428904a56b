"""What is inside a model: its structure, which costs nothing to ask for, and facts, which are computed.

Every class that can be saved answers in ``__onkel_inside__`` and ``__onkel_facts__``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from onkel.learner import Learner
from onkel.utils.turns import turn_of


@dataclass(frozen=True)
class Inside:
    """The structure of a model, fitted or not. None of it is computed."""

    estimator: Any  # the one with the learner's parameters, inside of whatever is around it; a scaler is its own
    learner: Learner | None  # that has learned the function; None where there is none, or none yet
    classes: NDArray[Any] | None = None  # labels, where there are some
    transformers: tuple[Any, ...] = ()  # the fitted (or new) ones that rows go through first
    takes_tables: bool = False  # whether rows may have columns of any type, found by their names
    calibrated: bool = False  # whether sigmoids make probabilities of the scores

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator."""
        if not hasattr(self.estimator, "get_params"):  # a thin learner
            return {name: getattr(self.learner, name) for name in Learner.NAMES}
        parameters: dict[str, Any] = self.estimator.get_params(deep=False)
        return parameters


@runtime_checkable
class Model(Protocol):
    """What `onkel.save` takes, and everything that takes a model."""

    def __onkel_inside__(self) -> Inside: ...

    def __onkel_facts__(self) -> dict[str, Any]: ...


def inside(model: object) -> Inside:
    """Return what a model consists of, or refuse an object that is not one.

    Examples
    --------
    >>> import onkel
    >>> inside(onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier())).estimator
    OGDClassifier()
    >>> inside(3)
    Traceback (most recent call last):
    ValueError: expected a model of onkel, got int
    """
    return _checked(model).__onkel_inside__()


def facts(model: object) -> dict[str, Any]:
    """Return what a model has learned, for people to read. Some of it takes time to compute.

    Examples
    --------
    >>> import onkel
    >>> facts(onkel.OGDClassifier(gamma=1.0).fit([[0.0], [1.0]], ["no", "yes"]))["classes"]
    ['no', 'yes']
    """
    return _checked(model).__onkel_facts__()


def _checked(model: Any) -> Model:
    if not hasattr(type(model), "__onkel_inside__"):
        raise ValueError(f"expected a model of onkel, got {type(model).__name__}")
    checked: Model = model
    return checked


def fitted_learner(model: object, purpose: str) -> Learner:
    """Return the learner inside a fitted model, or refuse in one sentence a model without one."""
    found = inside(model)
    if found.learner is None and found.estimator in found.transformers:
        raise ValueError(f"{purpose} needs a learned function, which a {type(model).__name__} does not have")
    if found.learner is None or found.learner.n_features is None:
        raise NotFittedError(f"{purpose} needs a function, and this {type(model).__name__} is not fitted yet")
    return found.learner


def snapshot(model: Any, purpose: str) -> Any:
    """Return a copy of a fitted model in which all is of one moment, though another thread may be learning.

    A model without a function is refused as by `fitted_learner`.
    """
    fitted_learner(model, purpose)
    with turn_of(model):
        return model.__onkel_with_learner__(fitted_learner(model, purpose).clone())
