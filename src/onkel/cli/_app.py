"""The table of subcommands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from onkel.cli import compare, compress, data, evaluate, export, fit, info, merge, predict, reproduce, serve
from onkel.cli._guard import guarded

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: loading rich for it would double the time that --help takes
    pretty_exceptions_enable=False,
    help="""Online kernel learning on a budget, from files and pipes.

    \b
    Examples:
      onkel fit customers.csv --target churn
      onkel predict customers.onkel new.csv
      onkel evaluate mixture -l spa --budget 100
      onkel compare a9a.txt -l spa,oskl,bogd --budget 1500 --report a9a.html
      onkel fit a9a.txt -l spa --budget 1500 -o a9a.onkel
      onkel predict a9a.onkel a9a.t > labels.txt
      onkel export a9a.onkel --to onnx -o a9a.onnx
    """,
    epilog="DATA is a file, - for standard input, or the name of a data set (onkel data list).",
)
COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit.fit,
    "predict": predict.predict,
    "evaluate": evaluate.evaluate,
    "compare": compare.compare,
    "info": info.info,
    "export": export.export,
    "compress": compress.compress,
    "merge": merge.merge,
    "serve": serve.serve,
    "reproduce": reproduce.reproduce,
}
DATA_COMMANDS: dict[str, Callable[..., None]] = {"list": data.listed, "info": data.info, "get": data.get}

for name, command in COMMANDS.items():
    app.command(name)(guarded(command))

data_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The data sets of the papers, and generators.")
for name, command in DATA_COMMANDS.items():
    data_app.command(name)(guarded(command))
app.add_typer(data_app, name="data")


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and the instruction set in use.")
    ] = False,
) -> None:
    if version:
        import onkel
        from onkel._core import isa

        print(f"onkel {onkel.__version__}, instruction set {isa}")
        raise typer.Exit
