"""Parts written in Python: a loss, an admission, an eviction or a kernel of your own, for research and for tests.

They fit wherever a part of :mod:`onkel.parts` does and are checked as those are. They are slow: Python is called for
every row, so that a learner takes tens of microseconds per row rather than one or two, and the learner's state is
copied before each row, because a row happens whole or not at all, even if a part raises in the middle of it.

A file holds no code: a model with such a part can be pickled (where its class can), but not saved.

A part is asked by one learner at a time, in the order of the stream. Its parameters are its attributes; make it a
frozen dataclass, or write an ``__init__``. A method must not use the learner that the part belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from onkel.parts._part import Spec
from onkel.parts.admissions import Admission
from onkel.parts.evictions import Eviction
from onkel.parts.kernels import CallableKernel
from onkel.parts.losses import Loss

__all__ = ["Points", "PythonAdmission", "PythonEviction", "PythonKernel", "PythonLoss", "Row"]

Floats = NDArray[np.float64]


class Row(Protocol):
    """A row as the parts see it, for the time of one call.

    Attributes
    ----------
    t : int
        Its number among the rows that this learner has seen, from 1.
    y : float
        -1 or 1, the index of the class, or the target.
    weight : float
    scores : ndarray of shape (n_outputs,)
        Of the last function, before it learns from the row.
    z : float
        The margin, or the residual: where on the curve of the loss the row lies.
    loss : float
    gradient : ndarray of shape (n_outputs,)
        Of the loss in the scores.
    mistake : bool
        Whether the row's class is not the one that it would be given.
    coefficients : ndarray of shape (n_outputs,)
        That the row joins with; not known to an admission yet.
    self_kernel : float
        The kernel of the row with itself, and the constant term's share.
    kernel_row : ndarray of shape (n_points,)
        The kernel of the row with each support vector, in the order of `Points.slots`.
    """

    @property
    def t(self) -> int: ...  # noqa: D102
    @property
    def y(self) -> float: ...  # noqa: D102
    @property
    def weight(self) -> float: ...  # noqa: D102
    @property
    def scores(self) -> Floats: ...  # noqa: D102
    @property
    def z(self) -> float: ...  # noqa: D102
    @property
    def loss(self) -> float: ...  # noqa: D102
    @property
    def gradient(self) -> Floats: ...  # noqa: D102
    @property
    def mistake(self) -> bool: ...  # noqa: D102
    @property
    def coefficients(self) -> Floats: ...  # noqa: D102
    @property
    def self_kernel(self) -> float: ...  # noqa: D102
    @property
    def kernel_row(self) -> Floats: ...  # noqa: D102


class Points(Protocol):
    """The support vectors as an eviction sees and changes them, for the time of one call.

    A support vector is named by its slot, which it keeps until it leaves. `len` counts them. Arrays have one entry for
    each of `slots`, and are copies.

    Attributes
    ----------
    budget : int
        The most that there may be; 2**62 stands for no bound.
    too_many : bool
        Whether there are more than the budget.
    n_outputs : int
    slots : ndarray of shape (n_points,)
        Ascending.
    births : ndarray of shape (n_points,)
        Their positions in the stream, from 0.
    coefficients : ndarray of shape (n_points, n_outputs)
        Of the last function.
    """

    def __len__(self) -> int: ...
    @property
    def budget(self) -> int: ...  # noqa: D102
    @property
    def too_many(self) -> bool: ...  # noqa: D102
    @property
    def n_outputs(self) -> int: ...  # noqa: D102
    @property
    def slots(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def births(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def coefficients(self) -> Floats: ...  # noqa: D102

    def kernel_row(self, slot: int) -> Floats:
        """Return the kernel of one support vector with each of them."""
        ...

    def self_kernel(self, slot: int) -> float:
        """Return the kernel of one support vector with itself."""
        ...

    def uniform(self, index: int = 0) -> float:
        """Return a random number in [0, 1) that depends on the seed, the row and the index alone."""
        ...

    def evict(self, slot: int) -> None:
        """Let a support vector leave."""
        ...

    def add(self, slot: int, coefficients: Any) -> None:
        """Add to the coefficients of a point that stays, one number per output (needs `reweights`)."""
        ...

    def scale(self, factor: float) -> None:
        """Multiply the whole function by a factor of at least 0."""
        ...


class InPython:
    """What all parts in Python are: told apart by all of their attributes, and handed to the core as they are."""

    kind: ClassVar[str]
    name: ClassVar[str]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.name = cls.__name__

    def __post_init__(self) -> None:
        """Accept any attributes: their ranges are the part's own business."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    @property
    def spec(self) -> Any:
        """The part as the core takes it."""
        return self.name, {}, {}, self


@dataclass(frozen=True, eq=False, repr=False)
class PythonLoss(InPython, Loss):
    """A loss as a curve in the margin ``z = y f(x)`` (classes) or the residual ``z = f(x) - y`` (regression).

    With several classes ``z`` is the score of the row's class less the strongest other score. Write `value`, `slope`
    and, for second-order learners, `curvature`, and declare what the other parts ask of a loss.

    Attributes
    ----------
    regression : bool
        Whether the curve is the residual's rather than the margin's.
    piecewise_linear : bool
        Whether it consists of straight pieces of slope 0 and ±1.
    logistic : bool
        Whether its scores are log odds; with several classes ``z`` is then that of the softmax.
    smooth : bool
        Whether it has a curvature wherever it has a slope.
    starts : bool
        Whether there is a loss at the score 0 that a learner starts from.

    Examples
    --------
    >>> import onkel
    >>> from onkel.parts.python import PythonLoss
    >>> class Ramp(PythonLoss):
    ...     piecewise_linear = True
    ...     def value(self, z):
    ...         return min(2.0, max(0.0, 1.0 - z))
    ...     def slope(self, z):
    ...         return -1.0 if -1.0 < z < 1.0 else 0.0
    >>> recipe = onkel.parts.FirstOrder(Ramp(), onkel.parts.OnGradient(), onkel.parts.GradientStep(eta=0.5))
    >>> learner = onkel.Learner(recipe)
    >>> learner.learn([0.0, 1.0], 1)
    >>> learner.score([0.0, 1.0])
    0.5
    """

    kind = "loss"

    def value(self, z: float) -> float:
        """Return the loss at ``z``, at least 0."""
        raise NotImplementedError(f"{self.name} must have a method value(z)")

    def slope(self, z: float) -> float:
        """Return the derivative of `value`."""
        raise NotImplementedError(f"{self.name} must have a method slope(z)")

    def curvature(self, z: float) -> float:
        """Return the second derivative of `value`, at least 0."""
        return 0.0

    @property
    def spec(self) -> Any:
        """The loss as the core takes it."""
        facts = {"regression": float(self.regression), "logistic": float(self.logistic)}
        return self.name, facts, {}, self


@dataclass(frozen=True, eq=False, repr=False)
class PythonAdmission(InPython, Admission):
    """With what probability a row becomes a support vector: write `probability`.

    Declare `needs_classes`, `needs_log_loss` and `needs_start` as :mod:`onkel.parts` does, where they hold.

    Examples
    --------
    >>> import onkel
    >>> from onkel.parts.python import PythonAdmission
    >>> class EverySecondMistake(PythonAdmission):
    ...     needs_classes = True
    ...     def probability(self, row):
    ...         return 1.0 if row.mistake and row.t % 2 else 0.0
    >>> recipe = onkel.parts.FirstOrder(
    ...     onkel.parts.HingeLoss(), EverySecondMistake(), onkel.parts.GradientStep(eta=1.0)
    ... )
    >>> learner = onkel.Learner(recipe)
    >>> for x in (0.0, 1.0, 2.0):
    ...     learner.learn([x], x == 0)
    >>> learner.n_support
    2
    """

    kind = "admission"

    def probability(self, row: Row) -> float:
        """Return the probability, between 0 and 1."""
        raise NotImplementedError(f"{self.name} must have a method probability(row)")


@dataclass(frozen=True, eq=False, repr=False)
class PythonEviction(InPython, Eviction):
    """What happens when the budget is full: write `restore_budget`, and where they are needed `absorb` and `idle`.

    Each learner works on a copy of its own. Attributes that change while it learns must go through `state` and
    `set_state`, or pickling, and undoing a row that failed, would lose them.

    Attributes
    ----------
    evicts : bool
        Whether points leave: then an average keeps them.
    reweights : bool
        Whether it changes the coefficients of points that stay.
    row_by_row : bool
        Whether it works row by row: takes rows in without a slot, or needs the newcomer's own kernel values.
    needs_gaussian, needs_hinge : bool

    Examples
    --------
    >>> import onkel
    >>> from onkel.parts.python import PythonEviction
    >>> class RemoveNewest(PythonEviction):
    ...     def restore_budget(self, points, row, newest):
    ...         while points.too_many:
    ...             points.evict(points.slots[points.births.argmax()])
    >>> recipe = onkel.parts.FirstOrder(
    ...     onkel.parts.HingeLoss(), onkel.parts.Always(), onkel.parts.GradientStep(eta=1.0), RemoveNewest()
    ... )
    >>> learner = onkel.Learner(recipe, budget=2)
    >>> for x in (0.0, 5.0, 10.0, 15.0):
    ...     learner.learn([x], 1)
    >>> learner.support()[1]
    array([0, 1])
    """

    kind = "eviction"
    evicts: ClassVar[bool] = True

    def absorb(self, points: Points, row: Row) -> str:
        """Say what becomes of an admitted row: "insert", "refuse", or "absorbed" where the points have taken it in."""
        return "insert"

    def restore_budget(self, points: Points, row: Row, newest: int) -> None:
        """Bring the size back to the budget, after a row has joined in slot `newest`, or once a mini-batch."""
        raise NotImplementedError(f"{self.name} must have a method restore_budget(points, row, newest)")

    def idle(self, points: Points, row: Row) -> None:
        """Do what is to be done after a row, or a mini-batch, that inserted no point."""

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return what has changed by learning: arrays of one dimension, float64 or int64, always of the same names."""
        return {}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from such a state."""


@dataclass(frozen=True, eq=False, repr=False)
class PythonKernel(InPython, CallableKernel):
    """A kernel with parameters of its own: write `matrix`. (A plain function is a kernel, too.)

    Rules that need a positive semidefinite kernel assume that it is one.

    Examples
    --------
    >>> import onkel
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> from onkel.parts.python import PythonKernel
    >>> @dataclass(frozen=True)
    ... class Periodic(PythonKernel):
    ...     period: float = 1.0
    ...     def matrix(self, X, S):
    ...         return np.cos(2 * np.pi * (X - S.T) / self.period)
    >>> learner = onkel.Learner(onkel.recipes.Perceptron(), kernel=Periodic(24.0))
    >>> learner.learn([6.0], 1)
    >>> learner.score([30.0])
    1.0
    """

    kind = "kernel"
    function: Any = field(init=False, repr=False, compare=False)

    def matrix(self, X: NDArray[Any], S: NDArray[Any]) -> NDArray[Any]:
        """Return the kernel of each row of X with each row of S, of shape (len(X), len(S)); X has one row."""
        raise NotImplementedError(f"{self.name} must have a method matrix(X, S)")

    @property
    def spec(self) -> Spec:
        """A kernel written in Python has no formula in the core."""
        raise TypeError(f"{self.name} is written in Python, and the core knows no name for it")


# What the core calls. (In the class it would be taken for the default of the field.)
PythonKernel.function = property(lambda self: self.matrix)
