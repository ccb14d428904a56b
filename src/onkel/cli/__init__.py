"""The command `onkel`: one file for each subcommand (docs/cli.md).

Until a command does its work, nothing slow is loaded: NumPy, scikit-learn and the core are imported inside functions.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from onkel.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print(f"onkel: the command needs {error.name}: pip install 'onkel[cli]'", file=sys.stderr)
        sys.exit(1)
    app(prog_name="onkel")
