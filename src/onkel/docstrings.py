"""Docstrings in numpydoc's form, completed with what :mod:`onkel.parameters` knows.

A class or a recipe writes what only it can say: its summary and its example. The sections in between are made here.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import get_args

from onkel.parameters import Parameter
from onkel.utils.validation import range_in_words

_WIDTH = 112
_LAST = re.compile(r"^(References|Examples)\n-+$", re.MULTILINE)  # the sections that come last


def complete(document: str | None, **sections: str) -> str:
    """Return a docstring with these sections, where they are not empty, before its references and examples."""
    text = inspect.cleandoc(document or "")
    start = _LAST.search(text)
    before, after = (text[: start.start()], [text[start.start() :]]) if start else (text, [])
    titles = [f"{name}\n{'-' * len(name)}\n{body}" for name, body in sections.items() if body]
    return "\n\n".join([before.rstrip(), *titles, *after]) + "\n"


def section(document: str | None, name: str) -> str:
    """Return what a section of a docstring says; nothing where there is no such section.

    >>> section(section.__doc__, "References")
    ''
    """
    found = re.search(rf"^{name}\n-+\n(.*?)(?=\n\n|\Z)", inspect.cleandoc(document or ""), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def entries(parameters: Iterable[Parameter], words: Mapping[str, str]) -> str:
    """Return the lines on some parameters: name, type, range and default, and what is said of them."""
    return "\n".join(_entry(parameter, words) for parameter in parameters)


def one_of(names: Iterable[str]) -> str:
    """Return a choice as numpydoc writes it.

    >>> one_of(["hinge", "log_loss"])
    '{"hinge", "log_loss"}'
    """
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def _entry(parameter: Parameter, words: Mapping[str, str]) -> str:
    note = parameter.note
    stream = f'"stream" chooses {note.stream} on the stream (:mod:`onkel.choice.choosing`).'
    sentences = [note.says, note.more, stream if note.stream else ""]
    body = " ".join(sentence.format_map(words) for sentence in sentences if sentence)
    lines = textwrap.wrap(body, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{parameter.name} : {_kind(parameter, words)}", *(f"    {line}" for line in lines)])


def _kind(parameter: Parameter, words: Mapping[str, str]) -> str:
    note = parameter.note
    plain = {NoneType, str} if note.stream else {NoneType}  # "or None" and "stream" are added below
    types = [each.__name__ for each in get_args(parameter.type) or (parameter.type,) if each not in plain]
    kind = one_of(note.choices) if note.choices else note.kind.format_map(words) or " or ".join(types)
    limits = range_in_words(**parameter.limits)
    kind = f"{kind} {limits}" if limits else kind
    if parameter.optional and not kind.endswith("None"):
        kind += " or None"
    if note.stream and '"stream"' not in kind:
        kind += ' or "stream"'
    if parameter.default is inspect.Parameter.empty:
        return kind
    default = f'"{parameter.default}"' if isinstance(parameter.default, str) else repr(parameter.default)
    return f"{kind}, default={default}"
