"""Prediction: one row at a time, blocks beside SVC at equal accuracy, and beside onnxruntime on the same model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import onkel
from data import load
from figures import Figure, best_seconds, main, state

ROWS = 8_000  # to learn from, and as many to predict
BUDGETS = (25, 50, 100, 200, 400, 800)
SETS = ("a9a", "cod-rna", "ijcnn1")


def halves(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = load(name)
    X = np.ascontiguousarray(StandardScaler().fit(X[:ROWS].toarray()).transform(X[: 2 * ROWS].toarray()), np.float32)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS : 2 * ROWS]


def newton(budget: int) -> onkel.NewtonClassifier:
    return onkel.NewtonClassifier(budget=budget, forget=1.0, relevances=None, random_state=0)


def latencies(call: Callable[[int], object], calls: int = 4000) -> tuple[float, float]:
    """The median and the 99th percentile of one call, in microseconds."""
    seconds = np.empty(calls)
    for i in range(calls):
        start = time.perf_counter()
        call(i)
        seconds[i] = time.perf_counter() - start
    return tuple(1e6 * np.percentile(seconds, (50, 99)))


def one_row(model: onkel.NewtonClassifier, X: np.ndarray) -> Iterator[Figure]:
    learner, rows = model._learner, X.astype(np.float64)
    for name, call in {
        "predict": lambda i: model.predict(X[i : i + 1]),
        "Learner.score": lambda i: learner.score(rows[i]),
    }.items():
        half, most = latencies(call)
        yield state(f"{name} of one row, {model.n_support_} points, {X.shape[1]} features, p50", half, "µs")
        yield state(f"{name} of one row, {model.n_support_} points, {X.shape[1]} features, p99", most, "µs")


def against_svc() -> Iterator[Figure]:
    """The smallest model that is as accurate as SVC, at the defaults of both."""
    for name in SETS:
        X, y, X_new, y_new = halves(name)
        rival = SVC().fit(X, y)
        theirs = rival.score(X_new, y_new)
        for budget in BUDGETS:
            model = newton(budget).fit(X, y)
            ours = model.score(X_new, y_new)
            if ours >= theirs:
                break
        slow, fast = best_seconds([partial(each.predict, X_new[:2000]) for each in (rival, model)], 3)
        what = f"predict on {name}, {model.n_support_} points, {ours:.2%} against {theirs:.2%}: rows/s"
        yield state(what, slow / fast, "x", f"SVC, {rival.support_.size} points", 10)
    yield from one_row(model, X_new)
    yield from against_onnx(model, X_new)


def against_onnx(model: onkel.NewtonClassifier, X: np.ndarray) -> Iterator[Figure]:
    try:
        import onnxruntime
    except ImportError:
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onkel.export.to_onnx(model).SerializeToString(), options)
    name = session.get_inputs()[0].name
    for rows in (1, 4096):
        block = X[:rows]
        theirs, ours = best_seconds(
            [lambda block=block: session.run(None, {name: block}), lambda block=block: model.predict(block)], 20
        )
        what = f"predict of {rows} rows, {model.n_support_} points: rows/s"
        yield state(what, theirs / ours, "x", "onnxruntime, the same model")


if __name__ == "__main__":
    main(against_svc)
