"""Rounds: the minimum of ``sum of losses + lam/2 |w|^2`` over the functions of a span, in a few passes over the rows.

A pass that sums the information as well costs as much as dozens that sum the slope alone. The steps are therefore those
of L-BFGS with ``lam I + H`` as the initial Hessian, where ``H`` comes from a sample of the rows or from an earlier
pass. If the predicted decrease of a step is below the tolerance, ``H`` is summed at that function, and if the predicted
decrease then still is, the descent has converged. The squared error needs one such pass, and its step is exact.

Descents run side by side, one for each kernel and region: a pass over the rows answers what all of them ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.partitions.spans import Sums

Floats = NDArray[np.float64]

MAX_PAIRS = 20  # of steps and changes of the slope that L-BFGS keeps
SUFFICIENT = 1e-4  # the fraction of the linear decrease that a step must achieve (Armijo)
MAX_HALVINGS = 20


@dataclass(frozen=True)
class DescentState:
    """The whole state of a descent between two rounds."""

    w: Floats  # coordinates of the best function so far, (n_outputs, n)
    half: Floats  # the lower half of the information that defines the metric of the steps
    value: float = math.inf  # of the objective at w
    slope: Floats | None = None  # of the objective at w; None before the first round
    pairs: tuple[tuple[Floats, Floats], ...] = ()
    fresh: bool = False  # whether the information was summed at w
    scale: float = 1.0  # of the next step
    squares: float = 0.0  # Sums.squares at w
    rows_summed: int = 0  # over which the value is a sum
    rounds: int = 0
    done: bool = False


Asked = tuple[Floats, bool]  # a function, and whether the information is to be summed at it
Step = Generator[Asked, Sums, DescentState]


@dataclass
class Descent:
    """The rules of a descent.

    A step asks at most once for the sums of all rows at a function, slopes in coordinates, and is sent them.
    """

    lam: float
    tolerance: float
    quadratic: bool
    _metric: tuple[Floats, Any] | None = field(default=None, repr=False)

    def step(self, now: DescentState) -> Step:
        """Carry out one round, or find that there is nothing left to do."""
        if now.slope is None:
            return (yield from self._at(now, now.w, informed=self.quadratic or not len(now.half)))
        direction = self._direction(now)
        promise = -dot(now.slope, direction)  # twice the decrease that the quadratic model predicts
        if self.quadratic:
            return self._exact(now, direction)
        if promise / 2 <= self.tolerance * now.value or now.scale < 0.5**MAX_HALVINGS:
            return replace(now, done=True) if now.fresh else (yield from self._at(now, now.w, informed=True))
        trial = now.w + now.scale * direction
        reached = yield from self._at(now, trial, informed=False)
        if not reached.value <= now.value - SUFFICIENT * now.scale * promise:
            return replace(now, scale=_shorter(now, reached.value, promise), rounds=reached.rounds)
        assert reached.slope is not None
        pair = now.scale * direction, reached.slope - now.slope
        kept = (*now.pairs, pair)[-MAX_PAIRS:] if dot(*pair) > 0 else now.pairs
        return replace(reached, pairs=kept)

    def _at(self, now: DescentState, w: Floats, informed: bool) -> Step:
        sums = yield w, informed
        return DescentState(
            w,
            half=sums.half if informed else now.half,
            value=sums.loss + self.lam / 2 * dot(w, w),
            slope=sums.slopes + self.lam * w,
            pairs=now.pairs,
            fresh=informed,
            squares=sums.squares,
            rows_summed=sums.rows,
            rounds=now.rounds + 1,
        )

    def _exact(self, now: DescentState, direction: Floats) -> DescentState:
        """The exact step of the squared error, and the sums over the rows after it."""
        assert now.slope is not None
        w = now.w + direction
        value = now.value + dot(now.slope, direction) / 2
        squares = 2 * (value - self.lam / 2 * dot(w, w))
        slope = np.zeros_like(now.slope)
        return replace(now, w=w, value=value, slope=slope, squares=squares, done=True)

    def _direction(self, now: DescentState) -> Floats:
        """The L-BFGS step (Nocedal and Wright, Algorithm 7.4)."""
        assert now.slope is not None
        q = now.slope
        shares = []
        for s, y in reversed(now.pairs):
            share = dot(s, q) / dot(s, y)
            shares.append(share)
            q = q - share * y
        r = self._solve(now, q)
        if now.pairs:  # scales the metric so that it agrees with the last change of the slope
            s, y = now.pairs[-1]
            r = dot(s, y) / dot(y, self._solve(now, y)) * r
        for (s, y), share in zip(now.pairs, reversed(shares), strict=True):
            r = r + (share - dot(y, r) / dot(s, y)) * s
        return -r

    def _solve(self, now: DescentState, q: Floats) -> Floats:
        if self._metric is None or self._metric[0] is not now.half:
            self._metric = now.half, _core.Precision(now.half, q.shape[1], self.lam)
        solution: Floats = self._metric[1].solve(np.ascontiguousarray(q))
        return solution


Totals = Callable[[Mapping[int, Asked]], Mapping[int, Sums]]
After = Callable[[int, DescentState], None]


def run(
    descents: Sequence[Descent],
    begin: Sequence[DescentState],
    total: Totals,
    rounds: int,
    after: After = lambda number, now: None,
) -> list[DescentState]:
    """Descend side by side until all have converged, or for this many rounds of each in all.

    ``total`` answers what the descents with these numbers ask; ``after`` is called with the number and the state of
    each that has done a round. What one of them does is the same whatever the others do.
    """
    states = list(begin)
    while True:
        steps: dict[int, Step] = {}
        asked: dict[int, Asked] = {}
        for number, descent in enumerate(descents):
            while number not in asked and not states[number].done and states[number].rounds < rounds:
                step = descent.step(states[number])
                try:
                    asked[number], steps[number] = next(step), step
                except StopIteration as ended:  # it needed no rows
                    states[number] = ended.value
        if not asked:
            return states
        answers = total(asked)
        for number, step in steps.items():
            states[number] = _ended(step, answers[number])
            after(number, states[number])


def _ended(step: Step, sums: Sums) -> DescentState:
    """The state at the end of a step that has been told what it asked for."""
    try:
        step.send(sums)
    except StopIteration as ended:
        state: DescentState = ended.value
        return state
    raise AssertionError("a step asks once")


def _shorter(now: DescentState, value: float, promise: float) -> float:
    """The minimum, within bounds, of the parabola that interpolates the objective along a failed step."""
    excess = value - now.value + now.scale * promise
    least = now.scale * now.scale * promise / (2 * excess) if math.isfinite(excess) and excess > 0 else 0.0
    return min(max(least, 0.1 * now.scale), 0.5 * now.scale)


def dot(a: Floats, b: Floats) -> float:
    """Return the inner product, rounded once: its bits do not depend on an order of summation or on a library."""
    return math.fsum((a * b).ravel().tolist())
