"""Reading LIBSVM text over scikit-learn's reader, and what scaling adds to learning: ratios within one process."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onkel.streams.datasets._store import found
from sklearn.datasets import load_svmlight_file

import onkel
from onkel import streams
from onkel.streams import datasets
from onkel.streams._bytes import Bytes

REPEATS = 7


def best(work) -> float:
    seconds = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds


def read(path, **options) -> int:
    with streams.open(path, **options) as stream:
        return sum(X.shape[0] for X, _ in stream)


def text(folder: Path, name: str) -> Path:
    """A data set's uncompressed text."""
    try:
        content = Bytes(found(name, datasets.info(name).files[0]))
    except (OSError, ImportError) as error:
        print(error)
        sys.exit()
    path = folder / f"{name}.libsvm"
    with open(path, "wb") as file:
        while block := content.read(1 << 20):
            file.write(block)
    return path


def reading() -> None:
    print("LIBSVM text from a file, bytes included: MB/s, and over scikit-learn's load_svmlight_file (the goal is 10x)")
    print(f"{'data':9}{'MB':>6}{'n_features':>13}{'MB/s':>8}{'over scikit-learn':>20}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a9a", "ijcnn1"):
            path = text(Path(folder), name)
            size, n_features = path.stat().st_size / 1e6, datasets.info(name).features
            theirs = best(lambda path=path: load_svmlight_file(str(path)))
            for label, options in (("given", {"n_features": n_features}), ("looked for", {})):
                ours = best(lambda path=path, options=options: read(path, **options))
                print(f"{name:9}{size:6.1f}{label:>13}{size / ours:8.0f}{theirs / ours:19.1f}x")


def scaling() -> None:
    print("\nStreamPipeline with a scaler over the same learner alone: SPA, 500 support vectors, float32, time of both")
    print(f"{'features':>9}{'standard':>10}{'min-max':>9}")
    for n_features in (8, 54, 123):
        X = np.random.default_rng(0).normal(size=(20_000, n_features)).astype(np.float32)
        y = X[:, 0] > 0
        model = onkel.SPAClassifier(gamma=1 / n_features, budget=500, random_state=0)

        def learn(scaler=None, X=X, y=y, model=model):
            learner = model.__class__(**model.get_params()) if scaler is None else onkel.StreamPipeline(scaler, model)
            learner.partial_fit(X, y, classes=[False, True])

        alone = best(learn)
        standard, ranged = (
            best(lambda s=s: learn(s)) for s in (onkel.StreamStandardScaler(), onkel.StreamMinMaxScaler())
        )
        print(f"{n_features:9}{standard / alone:9.2f}x{ranged / alone:8.2f}x")


if __name__ == "__main__":
    reading()
    scaling()
