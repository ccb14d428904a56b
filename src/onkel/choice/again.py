"""What is needed to choose again: the loss that is watched, and a challenger that learns beside the learner."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.choice.change import BLOCK, RisingLoss, bounded
from onkel.learner import Learner

Floats = NDArray[np.float64]

PERIOD = 5 * BLOCK  # rows of the stream between two looks at the loss
SURE = 2.0  # standard errors by which a challenger must be better


class Watch:
    """The loss of a stream, looked at once in a `PERIOD` of rows."""

    def __init__(self) -> None:
        self.test = RisingLoss()
        self.losses = np.empty(0)  # of the rows since the last look

    def add(self, losses: Floats) -> None:
        """Take in the losses of some rows."""
        self.losses = np.concatenate([self.losses, losses])

    def forget(self) -> None:
        """Leave out the rows since the last look."""
        self.losses = np.empty(0)

    def look(self, task: str, unit: float) -> int | None:
        """Return for how many rows the loss has been higher, if it has risen."""
        blocks = bounded(task, self.losses, unit).reshape(-1, BLOCK).mean(axis=1) if len(self.losses) == PERIOD else []
        self.forget()
        for i, loss in enumerate(blocks):
            if self.test.add(float(loss)):
                return (self.test.blocks + len(blocks) - 1 - i) * BLOCK
        return None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as named arrays."""
        return {"losses": self.losses, "test": self.test.array()}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Self:
        """Return what `arrays` gave."""
        if not isinstance(arrays, dict) or set(arrays) != {"losses", "test"}:
            raise ValueError("a loss that is watched has losses and a test")
        watch = cls()
        watch.test = RisingLoss.from_array(arrays["test"])
        watch.losses = check_losses(arrays["losses"], (min(PERIOD - 1, np.size(arrays["losses"])),))
        return watch


class Trial:
    """A challenger, and what it and the incumbent have lost on the same rows since it was made."""

    def __init__(self, challenger: Learner, end: int, losses: Floats | None = None) -> None:
        self.challenger, self.end = challenger, end
        self.losses = np.empty((2, 0)) if losses is None else losses  # the incumbent's, the challenger's

    def add(self, incumbent: Floats, challenger: Floats) -> None:
        """Take in what both have lost on some rows."""
        self.losses = np.concatenate([self.losses, [incumbent, challenger]], axis=1)

    @property
    def is_won(self) -> bool:
        """Whether the challenger was better, by more than chance allows."""
        return surely_better(*self.losses)


def surely_better(incumbent: Floats, challenger: Floats) -> bool:
    """Whether the challenger has lost less on the same rows, by more than chance allows."""
    gains = incumbent - challenger
    return bool(gains.sum() > SURE * np.sqrt(((gains - gains.mean()) ** 2).sum()))


def check_losses(losses: Any, shape: tuple[int, ...]) -> Floats:
    """Return losses of this shape, or refuse them."""
    if not isinstance(losses, np.ndarray) or losses.dtype != np.float64 or losses.shape != shape:
        raise ValueError(f"losses must be numbers of the shape {shape}")
    if not np.isfinite(losses).all() or (losses < 0).any():
        raise ValueError("losses must be finite numbers, none of them negative")
    return losses
