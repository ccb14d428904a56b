"""`onkel export`: a saved model for other programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from typer import Option

from onkel.cli._guard import say
from onkel.cli.predict import Model


class Format(StrEnum):
    """The formats for other programs."""

    ONNX = "onnx"
    LIBSVM = "libsvm"
    C = "c"
    JSON = "json"


def export(
    *,
    model: Model,
    to: Annotated[Format, Option(help="What to write.")],
    output: Annotated[str, Option("--output", "-o", metavar="FILE", help="Where to write it.")],
) -> None:
    """Write a model file for other programs.

    \b
    Examples:
      onkel export a9a.onkel --to onnx -o a9a.onnx
      onkel export a9a.onkel --to libsvm -o a9a.model
      onkel export a9a.onkel --to c -o a9a.h

    The names in a C header begin with the name of the file. A scaler before LIBSVM's model becomes a file of its own,
    FILE.range.
    """
    import os
    import re

    import onkel
    from onkel.cli._data import check_writable
    from onkel.inside import inside
    from onkel.utils.files import write_atomically

    check_writable(output, model)
    loaded = onkel.load(model)
    if to is Format.ONNX:
        content = onkel.export.to_onnx(loaded).SerializeToString()
    elif to is Format.LIBSVM:
        is_scaled = bool(inside(loaded).transformers)
        content = onkel.export.to_libsvm(loaded, scaled=is_scaled).encode()
        if is_scaled:
            ranges = onkel.export.to_libsvm_range(loaded).encode()
            write_atomically(f"{output}.range", [ranges])
            say(f"{output}.range: scale the rows by it first (svm-scale -r)")
    elif to is Format.C:
        stem = os.path.basename(output).partition(".")[0]
        name = re.sub(r"^(?![A-Za-z])", "model_", re.sub(r"[^A-Za-z0-9_]", "_", stem))
        content = onkel.export.to_c(loaded, name=name).encode()
    else:
        content = onkel.export.to_json(loaded).encode()
    write_atomically(output, [content])
    say(f"{output}: {len(content):,} bytes")
