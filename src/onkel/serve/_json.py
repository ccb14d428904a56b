"""Parsing of untrusted JSON: no constants that JSON does not have, no deep nesting, and large texts in pieces.

The interpreter's lock is held while a piece is parsed; parsing many megabytes in one piece would block every
prediction.
"""

from __future__ import annotations

import json
import re
from typing import Any

from onkel.serve._refusal import Refusal

_AT_ONCE = 2**16  # characters
_DEPTH = 3  # levels of containers that are parsed in pieces: {"inputs": [{"data": [...]}]}
_SPACE = re.compile(r"[ \t\n\r]*")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # the escape of a half of a surrogate pair


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def parsed(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body, or refuse the body.

    Examples
    --------
    >>> parsed(b'{"rows": [[1, 2]]}')
    {'rows': [[1, 2]]}
    >>> parsed(b"[1")
    Traceback (most recent call last):
    onkel.serve._refusal.Refusal: the body is not valid JSON: Expecting ',' delimiter: line 1 column 3 (char 2)
    """
    try:
        text = body.decode("utf-8")
        value = _DECODER.decode(text) if len(text) <= _AT_ONCE else _whole(text)
    except RecursionError:
        raise Refusal(400, "the body is not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise Refusal(400, f"the body is not valid JSON: {error}") from None
    if _HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refusal(422, "the body has text with half of a surrogate pair, which is no character") from None
    if not isinstance(value, dict):
        raise Refusal(400, f"the body is {_name(value)}; expected a JSON object")
    return value


def _whole(text: str) -> Any:
    value, at = _value(text, _skip(text, 0), 0)
    if (at := _skip(text, at)) != len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """A value and where it ends; the outer containers are parsed in pieces, everything else in one piece."""
    opening = text[at : at + 1]
    if depth > _DEPTH or opening not in ("{", "["):
        return _DECODER.raw_decode(text, at)
    closing = "}" if opening == "{" else "]"
    pairs: list[tuple[str, Any]] = []
    items: list[Any] = []
    at = _skip(text, at + 1)
    if text[at : at + 1] == closing:
        return ({} if opening == "{" else []), at + 1
    while True:
        if opening == "{":
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
            name, at = _DECODER.raw_decode(text, at)
            at = _after(text, at, ":")
        value, at = _value(text, at, depth + 1)
        if opening == "{":
            pairs.append((name, value))
        else:
            items.append(value)
        at = _skip(text, at)
        if text[at : at + 1] == closing:
            return (dict(pairs) if opening == "{" else items), at + 1
        at = _after(text, at, ",")


def _after(text: str, at: int, expected: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != expected:
        raise json.JSONDecodeError(f"Expecting '{expected}' delimiter", text, at)
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _name(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
