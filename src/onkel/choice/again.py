"""What later choices need: a monitor of the loss, and a challenger that learns from the same rows as the incumbent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.choice.change import BLOCK, RisingLoss, bounded
from onkel.choice.stages import LONGEST_TRIAL
from onkel.learner import Learner
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]

PERIOD = 15 * BLOCK  # rows of the stream between two checks of the loss
MAX_LOSS = 1e100  # whose square is finite
SURE = 2.0  # standard errors by which a challenger must be better
SURE_EARLY = 4.0  # the same before the end of its trial
FIRST_LOOK = 32  # rows after which that is looked at, and then whenever they have doubled


class Watch:
    """Monitors the loss of a stream, which is checked once every `PERIOD` rows."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.test = RisingLoss()
        self.losses = np.empty(0)  # of the rows since the last check

    def add(self, losses: Floats) -> None:
        """Add the losses of some rows."""
        self.losses = np.concatenate([self.losses, np.minimum(losses, MAX_LOSS)])

    def clear(self) -> None:
        """Discard the rows since the last check."""
        self.losses = np.empty(0)

    def check(self, unit: float) -> int | None:
        """Check the loss; if it has risen, return for how many rows it has been higher."""
        losses, blocks = self.losses, []
        if len(losses) == PERIOD:
            blocks = bounded(self.task, losses, unit).reshape(-1, BLOCK).mean(axis=1).tolist()
        self.clear()
        for i, loss in enumerate(blocks):
            if self.test.add(loss):
                return (self.test.blocks + len(blocks) - 1 - i) * BLOCK
        return None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays."""
        return {"losses": self.losses, "test": self.test.array()}

    @classmethod
    def from_arrays(cls, task: str, arrays: Any) -> Self:
        """Restore the state from `arrays`."""
        if not isinstance(arrays, dict) or set(arrays) != {"losses", "test"}:
            raise ValueError("the watch of the loss must have the arrays losses and test")
        watch = cls(task)
        watch.test = RisingLoss.from_array(arrays["test"])
        watch.losses = check_losses(arrays["losses"], (min(PERIOD - 1, np.size(arrays["losses"])),))
        return watch


INCUMBENT, CHALLENGER = 0, 1


class Trial:
    """A challenger, with its losses and those of the incumbent on the same rows since it was created. The challenger
    learns from them when something is due."""

    def __init__(self, challenger: Learner, end: int, losses: Sequence[Floats] = ()) -> None:
        self.challenger, self.end = challenger, end
        self.losses = list(losses) or [np.empty(0), np.empty(0)]  # of the incumbent, of the challenger

    def with_losses(self, whose: int, losses: Floats) -> Trial:
        """Return the trial with further losses of the incumbent or of the challenger."""
        both = list(self.losses)
        both[whose] = np.concatenate([both[whose], np.minimum(losses, MAX_LOSS)])
        return Trial(self.challenger, self.end, both)

    @property
    def is_won(self) -> bool:
        """Whether the challenger was significantly better."""
        return self._is_better(SURE)

    @property
    def is_won_early(self) -> bool:
        """Whether it was so much better, at a row at which that is looked at, that the trial need not go on."""
        n = len(self.losses[INCUMBENT])
        return n == next_look(n - 1) and self._is_better(SURE_EARLY)

    def _is_better(self, errors: float) -> bool:
        return surely_better(self.losses[INCUMBENT], self.losses[CHALLENGER], errors)

    def next_due(self, t: int) -> int:
        """Return the next row after which the trial may be decided."""
        n = len(self.losses[INCUMBENT])
        return min(self.end, t + next_look(n) - n)

    def arrays(self) -> dict[str, Floats]:
        """Return the losses as named arrays."""
        return {"incumbent": self.losses[INCUMBENT], "challenger": self.losses[CHALLENGER]}

    def saved(self) -> dict[str, Any]:
        """Return the state as values that a file can contain."""
        return {"learner": self.challenger, "end": self.end, "losses": self.arrays()}

    @classmethod
    def from_saved(cls, values: Any, own: Learner, n_kept: int) -> Self:
        """Restore the challenger of a learner from `saved`; refuse values that it cannot have returned."""
        if not isinstance(values, dict) or set(values) != {"learner", "end", "losses"}:
            raise ValueError("a trial has a learner, an end and losses")
        challenger, end, losses = values["learner"], values["end"], values["losses"]
        if not isinstance(challenger, Learner) or not isinstance(losses, dict):
            raise ValueError("a challenger must be a Learner, with its losses")
        alike = ["task", "dtype", "sparse", "n_features", *["budget"] * (len(own.experts) == 1)]
        if any(getattr(own, name) != getattr(challenger, name) for name in alike):
            raise ValueError("the challenger must be a learner like the incumbent")
        check_number("the end of a trial", end, at_least=own.t, integer=True)
        check_number("the end of a trial", end, at_most=own.t + LONGEST_TRIAL, integer=True)
        check_number("the rows of the challenger", challenger.t, at_least=own.t - n_kept, at_most=own.t)
        if set(losses) != {"incumbent", "challenger"}:
            raise ValueError("a trial has the losses of the incumbent and of the challenger")
        both = [check_losses(losses[name], np.shape(losses[name])) for name in ("incumbent", "challenger")]
        if any(each.ndim != 1 for each in both) or len(both[0]) - len(both[1]) != own.t - challenger.t:
            raise ValueError("the losses of a trial must be those of the same rows")
        return cls(challenger, int(end), both)


def next_look(n: int) -> int:
    """Return the first number of rows above this one after which a trial is looked at."""
    return max(FIRST_LOOK, 1 << n.bit_length())


def surely_better(incumbent: Floats, challenger: Floats, errors: float) -> bool:
    """Whether the losses of the challenger on the same rows are smaller, by more than so many standard errors."""
    gains = incumbent - challenger
    largest = np.abs(gains).max(initial=0.0)
    if not largest > 0:
        return False
    gains = gains / largest  # whose squares are finite
    return bool(gains.sum() > errors * np.sqrt(((gains - gains.mean()) ** 2).sum()))


def check_losses(losses: Any, shape: tuple[int, ...]) -> Floats:
    """Return losses of this shape, or refuse them."""
    if not isinstance(losses, np.ndarray) or losses.dtype != np.float64 or losses.shape != shape:
        raise ValueError(f"losses must be numbers of the shape {shape}")
    if not np.isfinite(losses).all() or (losses < 0).any():
        raise ValueError("losses must be finite numbers, none of them negative")
    return losses
