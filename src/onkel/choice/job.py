"""What is being chosen: work that the rows after some row carry, a fixed amount each (``docs/choices.md``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.choice.steps import Steps
from onkel.utils.validation import check_number

FIRST, BETTER = -1, -2  # what a job is about, if no leaf


class Job:
    """A question that was asked after a row, and how far the work on it is.

    What was asked is state. How much work was done is a function of the row: what has become of it is not copied,
    pickled or saved, and is made again where it is not there.

    Parameters
    ----------
    about : int
        The number of the leaf that is to be divided, `FIRST` for one of the first choices, `BETTER` for a later one.
    begun : int
        The row after which it was asked.
    n_rows : int
        The rows that it is about: so many before that row.
    n_outputs, n_features : int
        Those of the learner then.
    """

    NAMES = ("about", "begun", "n_rows", "n_outputs", "n_features")

    def __init__(self, about: int, begun: int, n_rows: int, n_outputs: int, n_features: int) -> None:
        self.about, self.begun, self.n_rows = about, begun, n_rows
        self.n_outputs, self.n_features = n_outputs, n_features
        self.forget()

    def forget(self) -> None:
        """Let all work be done again, as after an interruption."""
        self._steps: Steps[Any] | None = None
        self._spent = 0.0
        self.ended: int | None = None  # the row that carried the last of the work
        self._at_a_time = math.inf
        self.takeover: int | None = None  # the row after which the answer is put to use
        self.found: Any = None  # the answer
        self.error: ArithmeticError | None = None  # why there is none

    def carry(self, t: float, allowed: float, begin: Callable[[], Steps[Any]]) -> None:
        """Do the work that the rows up to row `t` carry."""
        if self.ended is not None:
            return
        until = (t - self.begun) * allowed
        try:
            if self._steps is None:
                self._steps = begin()
                self._spent = next(self._steps)
            while self._spent < until:
                self._spent += self._steps.send(until - self._spent)
            return
        except StopIteration as end:
            self.found = end.value
        except ArithmeticError as error:
            self.error = error
        except BaseException:
            self.forget()
            raise
        self.ended = self.begun + (0 if allowed == math.inf else int(self._spent // allowed) + 1)

    def taken_over_after(self, n_rows: int, at_a_time: float) -> None:
        """Let what was found learn from so many rows, those that came meanwhile, and those that come before it has, a
        number of them with each row that comes."""
        assert self.ended is not None
        self._at_a_time = at_a_time = max(2.0, at_a_time)
        self.takeover = self.ended + math.ceil((n_rows + self.ended - self.begun) / (at_a_time - 1))

    @property
    def is_lost(self) -> bool:
        """Whether no work is done, or none that was is there."""
        return self._steps is None and self.ended is None

    def is_due(self, t: int) -> bool:
        """Whether the answer is to be put to use."""
        return self.takeover is not None and t >= self.takeover

    def replayed(self, t: int) -> float:
        """How many rows what was found has learned from when it was given those that the rows up to row `t` carry."""
        assert self.ended is not None
        return math.inf if self.takeover is None or t >= self.takeover else self._at_a_time * (t - self.ended)

    def __getstate__(self) -> tuple[int, ...]:
        return tuple(getattr(self, name) for name in self.NAMES)

    def __setstate__(self, state: tuple[int, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def array(self) -> NDArray[np.int64]:
        """Return the state as numbers."""
        return np.array(self.__getstate__(), np.int64)

    @classmethod
    def from_array(cls, numbers: Any, t: int) -> Self:
        """Restore the state from `array`; refuse numbers that it cannot have returned."""
        if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64 or numbers.shape != (len(cls.NAMES),):
            raise ValueError(f"what is being chosen must be {len(cls.NAMES)} whole numbers")
        job = cls(*numbers.tolist())
        check_number("the row of a question", job.begun, at_least=1, at_most=t, integer=True)
        check_number("the rows of a question", job.n_rows, at_least=1, at_most=job.begun, integer=True)
        for name in ("n_outputs", "n_features"):
            check_number(f"the {name} of a question", getattr(job, name), at_least=1, integer=True)
        check_number("what a question is about", job.about, at_least=BETTER, integer=True)
        return job
