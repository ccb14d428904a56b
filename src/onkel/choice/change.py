"""Detecting that a loss has risen: an e-detector (Shin, Ramdas and Rinaldo 2024).

Rows are considered in blocks. The mean loss ``x`` of a block, between 0 and 1, is compared with an upper bound ``m`` on
the mean of the reference blocks: their own mean plus two standard errors. As long as the loss does not rise, the
expectation of ``1 + c(x/m - 1)`` is at most 1 for any bet ``0 < c < 1``. The product of such factors, restarted
whenever it is below 1 and averaged over several bets, then reaches `ALARM` at most once in `ALARM` blocks on average,
whatever the distribution of the losses. Blocks during which a bet is winning become reference blocks only after it has
lost.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 16  # rows: a bet wins little with one block, so that a test of long ones would be slow
LEAST = 24  # reference blocks before the first block that is tested
LATEST = 12  # blocks that the loss is near to after a change
ALARM = 30_000.0
BETS = (1 / 16, 1 / 4, 1 / 2)
LONGEST = 3000  # blocks for which a bet may win without an alarm; then they become reference blocks


class RisingLoss:
    """The reference blocks (number, mean and squares), the wealth of the bets, and the blocks since one is winning."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.won = [1.0] * len(BETS)
        self.since: list[float] = []

    @property
    def blocks(self) -> int:
        """The number of blocks for which the loss has been nearer to the latest blocks than to the reference."""
        level = (self.mean + float(np.mean(self.since[-LATEST:]))) / 2
        below = np.cumsum([0.0, *(loss - level for loss in self.since)])
        return len(self.since) - int(np.argmin(below))

    def add(self, loss: float) -> bool:
        """Add the mean loss of a block; return whether the loss has risen."""
        self.since.append(loss)
        if self.count >= LEAST:
            error = math.sqrt(self.squares / (self.count - 1) / self.count)
            most = self.mean + 2 * error + 3 / (BLOCK * self.count)
            self.won = [max(won, 1.0) * (1 + c * (loss / most - 1)) for won, c in zip(self.won, BETS, strict=True)]
            if sum(self.won) >= ALARM * len(BETS):
                return True
        if max(self.won) <= 1 or len(self.since) >= LONGEST:
            for each in self.since:
                self.count += 1
                before = self.mean
                self.mean += (each - before) / self.count
                self.squares += (each - before) * (each - self.mean)
            self.since = []
        return False

    def array(self) -> Floats:
        """Return the state as numbers."""
        return np.array([self.count, self.mean, self.squares, *self.won, *self.since])

    @classmethod
    def from_array(cls, numbers: Any) -> Self:
        """Restore the state from `array`; refuse numbers that it cannot have returned."""
        test, least = cls(), 3 + len(BETS)
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.float64 or numbers.ndim != 1:
            raise ValueError("the test of the loss must be numbers")
        if not least <= len(numbers) < least + LONGEST or not (np.isfinite(numbers) & (numbers >= 0)).all():
            raise ValueError(f"the test of the loss must be {least} finite numbers or more, none of them negative")
        count, test.mean, test.squares, *rest = numbers.tolist()
        test.count, test.won, test.since = int(count), rest[: len(BETS)], rest[len(BETS) :]
        if test.count != count:
            raise ValueError("the test of the loss must count whole blocks")
        return test


def bounded(task: str, losses: Floats, unit: float) -> Floats:
    """Return losses between 0 and 1: one minus the probability of the label, or ``e²/(e² + unit)``."""
    if task == "regression":
        return losses / (losses + unit) if unit > 0 else (losses > 0).astype(np.float64)
    return -np.expm1(-losses)
