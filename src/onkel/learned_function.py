"""The function that a learner has learned: taken out as a value, set, added to and made smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.expansion import Expansion, expansion_of, points_of
from onkel.parts import Hedge, SecondOrder
from onkel.state import LearnerState

Floats = NDArray[np.float64]


class LearnedFunction(LearnerState):
    """A learner as the function that it has learned so far."""

    def expansion(self, informed: bool = False) -> Expansion:
        """Return the function learned so far, as a value of its own.

        With ``informed`` it has the information of a second-order learner, which takes time to compute.
        """
        if self.n_features is None:
            raise ValueError("the learner has learned nothing yet: it has no function")
        core = self.started(self.n_features)
        return expansion_of(core, self.kernels, self.combination, self.n_features, informed)

    @property
    def combination(self) -> str:
        """How the functions make a prediction: the "sum" of the only one, or the "mean" or the "vote" of several."""
        if not isinstance(self.kernel, Hedge):
            return "sum"
        return "mean" if self.kernel.adds_up or self.task == "regression" else "vote"

    @property
    def is_second_order_sum(self) -> bool:
        """Whether it is a sum of second-order learners."""
        return isinstance(self.kernel, Hedge) and self.kernel.adds_up and isinstance(self.recipe, SecondOrder)

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the predicting function, ``(n_kernels * n_outputs, n_support)``."""
        return np.empty((1, 0)) if self._core is None else self._core.coefficients()

    @property
    def constants(self) -> Floats:
        """The constant terms of the predicting function, one per output (0 without ``fit_intercept``)."""
        if self._core is None or not self.fit_intercept:
            return np.zeros(1 if self._core is None else max(1, self._core.n_outputs))
        return self._core.constants()

    def support(self) -> tuple[Any, NDArray[np.int64]]:
        """Return the support vectors (dense or CSR, as the rows came) and their positions in the stream."""
        if self._core is None or self.n_features is None:
            return np.empty((0, 0), self.dtype), np.empty(0, np.int64)
        points, births, _ = points_of(self._core.points(), self.n_features)
        return points, births

    def set_expansion(self, expansion: Expansion) -> None:
        """Forget everything and go on from a function of one kernel, the learner's own."""
        expansion = expansion.in_order_of_joining
        term, known = expansion.only, expansion.information
        core = self.started(term.n_features, sparse=term.is_sparse)
        births = np.ascontiguousarray(term.births, dtype=np.int64)
        n_random = len(core.random_features()[1])
        last, average = (coefficients.with_features(n_random).core for coefficients in (term.last, term.average))
        core.set_expansion(self.as_core_rows(term.points), births, last, average, expansion.t)
        if known is not None and core.has_information:
            core.set_information(known.matrix, known.noise, known.steps)

    def add_information(self, expansion: Expansion, weight: float) -> None:
        """Take in what another second-order learner knows, of the same kernel and prior, on points of this span."""
        expansion = expansion.in_order_of_joining
        term, known = expansion.only, expansion.information
        assert self._core is not None
        assert known is not None
        births = np.arange(len(term), dtype=np.int64)
        rows = self.as_core_rows(term.points)
        self._core.add_information(rows, births, term.last.core, known.matrix, known.noise, known.steps, weight)

    def compress(self, eps: float, n_support: int) -> tuple[float, float | None]:
        """Let points leave within the distance ``eps``, and on to ``n_support``.

        For a learner with the eviction Stop and without average: others keep more than the function. Returns the
        distance moved, and by how much the loss of all rows has changed, where the learner can tell.
        """
        self.kernel.check_psd(needed_by="compress")
        if self._core is None:
            return 0.0, None
        if not self._core.has_information and not self.is_second_order_sum:
            return self._core.compress(eps, n_support), None
        data, rkhs = self._core.eliminate(eps, n_support)
        return rkhs, data**2 / 2
