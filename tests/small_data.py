"""The papers' data sets in miniature: files of the right names and forms, a few rows each, and their table."""

import bz2
import hashlib
import lzma
from dataclasses import replace

import numpy as np

from onkel.streams import datasets

ROWS = 150
FEATURES = 6
SPARSE = ("a9a", "w7a", "w8a")  # with four times as many features, most of them 0
_PRESS = {".bz2": bz2.compress, ".xz": lzma.compress}


def rows(name):
    """Return rows and labels of -1 and 1 that a gaussian kernel can learn."""
    random = np.random.default_rng(sum(name.encode()))
    X = random.uniform(0, 1, size=(ROWS, FEATURES)).round(3)
    y = np.where((X[:, 0] - 0.5) * (X[:, 1] - 0.4) > 0, 1, -1)
    return (np.hstack([X[:, :4], np.zeros((ROWS, 3 * FEATURES + 2))]) if name.startswith(SPARSE) else X), y


def _text(dataset):
    X, y = rows(dataset.name)
    if dataset.format == "libsvm":
        lines = (
            f"{label:+d} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(x) if v)
            for x, label in zip(X, y, strict=True)
        )
    else:
        labels = np.where(y > 0, 2, 1) if dataset.task == "multiclass" else np.where(y > 0, "1.0", "0.0")
        put = (lambda x, v: [v, *x]) if dataset.format == "csv-first" else (lambda x, v: [*x, v])
        lines = (",".join(map(str, put(x.tolist(), label))) for x, label in zip(X, labels, strict=True))
    return "\n".join(lines) + "\n"


def write(folder):
    """Write all files that are LIBSVM text or tables to a folder; return the table of data sets that they are."""
    table = {}
    for name in datasets.names():
        dataset = datasets.info(name)
        if dataset.format not in ("libsvm", "csv", "csv-first") or dataset.task == "regression":
            continue
        (file,) = dataset.files
        content = _PRESS["." + file.name.rpartition(".")[2]](_text(dataset).encode())
        (folder / file.name).write_bytes(content)
        kept = replace(file, sha256=hashlib.sha256(content).hexdigest(), url=None)
        table[name] = replace(dataset, rows=ROWS, features=rows(name)[0].shape[1], files=(kept,))
    return table
