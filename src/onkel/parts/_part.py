"""What all parts are: a name, numbers in ranges, and the parts that they hold."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from onkel.utils.validation import check_number

# name, numbers, parts
Spec = tuple[str, dict[str, float], dict[str, Any]]


def number(default: object = MISSING, **limits: Any) -> Any:
    """Declare a dataclass field that holds a number in a range (see ``check_number``)."""
    return field(default=default, metadata=limits)


def held(kind: type[Part], default: type[Part]) -> Any:
    """Declare a dataclass field that holds a part of this kind, by default one of the class ``default``."""
    return field(default_factory=default, metadata={"kind": kind})


@dataclass(frozen=True)
class Part:
    """A named choice with its numbers, and with the parts that it holds, checked when it is made."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if "kind" not in f.metadata:
                check_number(f.name, value, **f.metadata)
            elif not isinstance(value, f.metadata["kind"]):
                raise ValueError(f"{f.name} must be a {f.metadata['kind'].__name__}, got {value!r}")

    @property
    def spec(self) -> Spec:
        """The part as the core takes it: its name, its numbers, and the parts that it holds."""
        members = {f.name: getattr(self, f.name) for f in fields(self)}
        numbers = {name: float(value) for name, value in members.items() if not isinstance(value, Part)}
        return type(self).__name__, numbers, {n: part.spec for n, part in members.items() if isinstance(part, Part)}
