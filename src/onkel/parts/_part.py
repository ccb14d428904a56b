"""What all parts are: a name and numbers in ranges."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from onkel._checks import check_number

Spec = tuple[str, dict[str, float]]


def number(default: Any = MISSING, **limits: Any) -> Any:
    """Declare a dataclass field that holds a number in a range (see ``check_number``)."""
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Part:
    """A named choice with its numbers, checked when it is made."""

    def __post_init__(self) -> None:
        for f in fields(self):
            check_number(f.name, getattr(self, f.name), **f.metadata)

    @property
    def spec(self) -> Spec:
        """The part as the core takes it: its name and its numbers."""
        return type(self).__name__, {f.name: float(getattr(self, f.name)) for f in fields(self)}
