"""Whether a loss has left what it was: an e-detector (Shin, Ramdas and Rinaldo 2024).

Rows are looked at in blocks. A block's mean loss ``x``, between 0 and 1, is compared with the mean ``m`` that the
blocks of before may have at most: their own and two standard errors. While the loss does not rise ``1 + c(x/m - 1)``
has a mean of at most 1 for any bet ``0 < c < 1``. The product of such factors, begun anew whenever it is below 1 and
averaged over several bets, then reaches `ALARM` at most once in `ALARM` blocks on average, whatever the distribution of
the losses. Blocks while a bet wins wait until it has lost before they count as blocks of before.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 48  # rows
LEAST = 8  # blocks before the first that is judged
ALARM = 10_000.0
BETS = (1 / 16, 1 / 4, 1 / 2)
LONGEST = 1000  # blocks that may win without an alarm; then they count as before


class RisingLoss:
    """The blocks that count as before, in number, mean and squares; what bets have won; the blocks since one wins."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.won = [1.0] * len(BETS)
        self.since: list[float] = []

    @property
    def blocks(self) -> int:
        """For how many blocks the loss has been nearer to the last ones than to what it was."""
        level = (self.mean + float(np.mean(self.since[-4:]))) / 2
        below = np.cumsum([0.0, *(loss - level for loss in self.since)])
        return len(self.since) - int(np.argmin(below))

    def add(self, loss: float) -> bool:
        """Take in a block's mean loss; return whether the loss has risen."""
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
        """Return all of it as numbers."""
        return np.array([self.count, self.mean, self.squares, *self.won, *self.since])

    @classmethod
    def from_array(cls, numbers: Any) -> Self:
        """Return what `array` gave; refuse what it cannot have given."""
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
