"""How a command ends: 0, or 1 with one sentence, or 2 where it was called wrongly, or 130 after Ctrl-C."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer


class Misused(ValueError):
    """The command was called wrongly: exit code 2."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on where the command stopped and what was saved."""


def say(message: str) -> None:
    """Print a message on standard error."""
    if sys.stderr is not None:
        print(f"onkel: {message}", file=sys.stderr)


class _Closed(io.TextIOBase):
    """A replacement for a closed standard output, which raises an error only when it is written to."""

    def write(self, text: str) -> int:
        raise ValueError("standard output is closed")


def _reserve_standard_streams() -> None:
    """Replace closed standard streams, or the next file opened would take their place."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn refusals into one sentence on standard error and an exit code."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            with warnings.catch_warnings(), contextlib.ExitStack() as streams:
                if None in (sys.stdin, sys.stdout, sys.stderr):
                    _reserve_standard_streams()
                if sys.stdout is None:
                    streams.enter_context(contextlib.redirect_stdout(_Closed()))
                warnings.simplefilter("ignore")
                for kind in (RuntimeWarning, UserWarning):
                    warnings.simplefilter("default", kind)
                # Names are checked where the rows are read.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                warnings.filterwarnings("ignore", "column .* of its first")  # said at the end, of all rows
                warnings.showwarning = lambda message, *_: say(f"warning: {message}")
                command(**options)
                sys.stdout.flush()
        except BrokenPipeError:  # the reader has stopped, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Misused as error:
            _end(2, error)
        except KeyboardInterrupt as error:
            _end(130, str(error) or "interrupted")
        except OSError as error:
            _end(1, f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error)
        except (ValueError, ImportError, MemoryError) as error:
            _end(1, str(error) or "out of memory")

    return run


def _end(code: int, message: object) -> None:
    say(str(message).strip().replace("\n", " "))
    raise typer.Exit(code)
