"""The reasons why a cell is worse than the paper's, or a claim does not hold: ``reasons.tsv``.

The column `cause` says whose doing it is. All but "unknown", whose reason says what was tried, were measured, and the
reason has the figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from onkel_papers._lines import first_about, lines_of

CAUSES = {
    "paper": "the paper",  # it contradicts itself, or its rival is broken
    "tuning": "the parameters",  # others than the paper's lines have
    "rows": "fewer rows",
    "draw": "our own draw",
    "method": "the methods",  # what they do here
    "unknown": "unknown",
}


@dataclass(frozen=True)
class Reason:
    """A reason, and whose doing it is: a key of `CAUSES`."""

    cause: str
    text: str

    def __str__(self) -> str:
        """Return the reason as a page prints it."""
        return self.text if self.cause != "unknown" else f"{self.cause}; tried: {self.text}"


def reason(experiment: str, data: str, learner: str, metric: str) -> Reason | None:
    """Return the first reason for a place; for a claim `learner` is its name and `metric` is "claim".

    >>> str(reason("spa-table2", "SUSY", "Perceptron", "accuracy"))[:20]
    'one row in a hundred'
    """
    place = {"experiment": experiment, "data": data, "learner": learner, "metric": metric}
    found = first_about(lines_of("reasons.tsv"), place)
    return None if found is None else Reason(found["cause"], found["reason"])
