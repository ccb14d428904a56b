"""Reading LIBSVM text over scikit-learn's reader, and what scaling adds to learning: ratios within one process."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import onkel
from figures import Figure, best_seconds, main, state
from onkel import streams
from onkel.streams import datasets
from onkel.streams._bytes import Bytes
from onkel.streams.datasets.store import found


def read(path, **options) -> int:
    with streams.open(path, **options) as stream:
        return sum(X.shape[0] for X, _ in stream)


def text(folder: Path, name: str) -> Path:
    """A data set's uncompressed text."""
    try:
        content = Bytes(found(name, datasets.info(name).files[0]))
    except (OSError, ImportError) as error:
        sys.exit(str(error))
    path = folder / f"{name}.libsvm"
    with open(path, "wb") as file:
        while block := content.read(1 << 20):
            file.write(block)
    return path


def reading() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a9a", "ijcnn1"):
            path = text(Path(folder), name)
            n_features = datasets.info(name).features
            theirs, given, looked_for = best_seconds(
                [
                    lambda path=path: load_svmlight_file(str(path)),
                    lambda path=path, n_features=n_features: read(path, n_features=n_features),
                    lambda path=path: read(path),
                ]
            )
            peer = "load_svmlight_file"
            yield state(f"reading {name} as LIBSVM text, n_features given", theirs / given, "x", peer, 10)
            yield state(f"reading {name} as LIBSVM text, n_features looked for", theirs / looked_for, "x", peer, 10)


def scaling() -> Iterator[Figure]:
    n_features = 54
    X = np.random.default_rng(0).normal(size=(20_000, n_features)).astype(np.float32)
    y = X[:, 0] > 0
    model = onkel.SPAClassifier(gamma=1 / n_features, budget=500, random_state=0)
    scalers = {"StreamStandardScaler": onkel.StreamStandardScaler(), "StreamMinMaxScaler": onkel.StreamMinMaxScaler()}

    def learn(scaler=None):
        learner = model.__class__(**model.get_params()) if scaler is None else onkel.StreamPipeline(scaler, model)
        learner.partial_fit(X, y, classes=[False, True])

    alone, *scaled = best_seconds([learn, *(lambda s=s: learn(s) for s in scalers.values())])
    for name, seconds in zip(scalers, scaled, strict=True):
        yield state(f"{name} before SPA, 500 points, {n_features} features: time", seconds / alone, "x", "SPA alone")


def figures() -> Iterator[Figure]:
    yield from reading()
    yield from scaling()


if __name__ == "__main__":
    main(figures)
