"""Refusals of the service: an HTTP status, one sentence and, where there is one, the row at fault."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is not served, and why.

    Parameters
    ----------
    status : int
        The HTTP status.
    sentence : str
        What is wrong, where, and what was expected.
    row : int, default=None
        The row at fault, counted from 0 within the request.

    Examples
    --------
    >>> Refusal(422, "row 3 has 2 numbers; expected 4", 3).answer()
    {'error': 'row 3 has 2 numbers; expected 4', 'row': 3}
    """

    def __init__(self, status: int, sentence: str, row: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.row = row

    def answer(self) -> dict[str, object]:
        """Return the body of the answer."""
        return {"error": self.sentence} | ({} if self.row is None else {"row": self.row})
