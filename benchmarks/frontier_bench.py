"""Where the default learners stand: `frontier_bench.py RESULTS.json [--ours | --rivals | --page] [set ...]`.

Every learner of `frontier_learners.py` learns from the same orders of the same rows and is tested on the same others:
accuracy and log loss, or RMSE, with the seconds that `fit` takes (process time, one core) and the bytes of the pickled
model. A learner that can go on learning also predicts each row of the stream before it learns from it. Five orders are
measured, fewer where a learner has spent eight seconds on a set. Every figure is kept in RESULTS.json as soon as it
is known and not measured again, so that a run can be cut short and taken up.

--ours measures our own learners only, --rivals the others; --page measures nothing and prints the tables of
docs/lab/frontier.md. Rows are scaled as `newton_data.py` says. LightGBM comes with the extra "bench"; xRFM is measured
where it is installed (`pip install xrfm`, which needs torch).
"""

from __future__ import annotations

import functools
import importlib.util
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import newton_data
from frontier_learners import LEARNERS, REGRESSION, SETS
from frontier_page import SEEDS, print_page
from newton_bench import Results, timed

PATIENCE = 8.0  # seconds of process time on one set, after which a learner gets no further order
MOST_ROWS = {"covtype": 40_000, "mnist": 12_000}  # to learn from
MOST = 20_000  # of the other sets, and of rows to test on
SEEN_FIRST = 1000  # rows of a stream that a map to features is fitted to, without their labels
BLOCK = 10  # rows that are then predicted and learned from at a time: a call for each takes longer than the learning


@functools.cache
def split(name: str):
    """Training rows and at most MOST test rows."""
    train, (X, y) = newton_data.split(name)
    drawn = np.random.default_rng(0).permutation(len(y))[:MOST] if len(y) > MOST else slice(None)
    return train, (X[drawn], y[drawn])


def score(name: str, predicted: np.ndarray, y: np.ndarray) -> float:
    """The RMSE or the accuracy in %."""
    return float(np.sqrt(np.mean((predicted - y) ** 2)) if name in REGRESSION else 100 * np.mean(predicted == y))


def predictions_of_stream(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the model says of each row before it learns from it."""
    classes = {} if name in REGRESSION else {"classes": np.unique(y)}
    if hasattr(model, "predict_then_learn"):
        scores = model.predict_then_learn(X, y, **classes)
        if name in REGRESSION:
            return scores
        return classes["classes"][(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
    features, last = model[:-1], model[-1]
    Z = features.fit(X[:SEEN_FIRST]).transform(X)
    predicted = np.full(len(y), 0.0 if name in REGRESSION else classes["classes"][0])
    for begin in range(0, len(y), BLOCK):
        block = slice(begin, begin + BLOCK)
        if begin:
            predicted[block] = last.predict(Z[block])
        last.partial_fit(Z[block], y[block], **classes)
    return predicted


def measured(name: str, learner: str, seed: int) -> dict[str, float]:
    """Return the figures of one learner on one order of the rows."""
    kind = LEARNERS[learner]
    model = kind.make(name, seed)
    (X, y), (X_test, y_test) = split(name)
    order = np.random.default_rng(seed).permutation(len(y))[: MOST_ROWS.get(name, MOST)][: kind.most_rows]
    X, y = X[order], y[order]
    model, seconds = timed(lambda: model.fit(X, y))
    figures = {
        "held out": score(name, model.predict(X_test), y_test),
        "seconds": seconds,
        "bytes": float(len(pickle.dumps(model))),
        "rows": len(y),
        "features": X.shape[1],
    }
    if hasattr(model, "predict_proba"):
        figures["log loss"] = float(log_loss(y_test, model.predict_proba(X_test)))
    if kind.learns_on:
        figures["progressive"] = score(name, predictions_of_stream(name, kind.make(name, seed), X, y), y)
    return figures


def measure(results: Results, learners: list[str], names: list[str]) -> None:
    for learner in learners:
        kind = LEARNERS[learner]
        if importlib.util.find_spec(kind.needs) is None:
            print(f"{learner} is left out: the package {kind.needs} is not installed")
            continue
        importlib.import_module(kind.needs)  # not counted among the seconds of the first fit
        for name in (name for name in names if kind.make(name, 0) is not None):
            spent = 0.0
            for seed in SEEDS:
                if spent < PATIENCE:
                    key = f"{name}/{learner}/{seed}"
                    figures = results.get(key, lambda n=name, m=learner, s=seed: measured(n, m, s))
                    spent += figures["seconds"]


def main() -> None:
    """Measure what is not known yet, or print the page."""
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or len(flags) > 1 or not set(flags) <= {"--ours", "--rivals", "--page"}:
        raise SystemExit(__doc__)
    results, names = Results(Path(words[0])), words[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"There is no set {', '.join(sorted(unknown))}; there are {', '.join(SETS)}.")
    if flags == ["--page"]:
        print_page(results.known, names)
        return
    wanted = {"--ours": (True,), "--rivals": (False,)}.get(flags[0] if flags else "", (True, False))
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        measure(results, [name for name, learner in LEARNERS.items() if learner.ours in wanted], names)


if __name__ == "__main__":
    main()
