"""The time to learn, beside a tuned SVC on the same rows: 11,000 of each set, and 26 generated classes.

Times are of the process. The SVC's parameters are those that a search found (newton_rivals.json), without the time of
that search; Newton chooses its own within its time. The whole sets are in svc_whole_bench.py.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.svm import SVC

import newton_data
import onkel
from figures import Figure, main, state

SETS = ("a9a", "cod-rna", "ijcnn1", "magic04")
ROWS = 11_000
RIVALS = json.loads(Path(__file__).with_name("newton_rivals.json").read_text())
SETTINGS = {"forget=1, relevances=None": {"forget": 1.0, "relevances": None}, "the default": {}}


def letters(rows: int = 15_000, classes: int = 26, features: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Classes of six clusters each, which overlap as those of handwriting do."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6 * classes, features))
    cluster = rng.integers(0, len(centres), rows)
    X = centres[cluster] + 0.5 * rng.normal(size=(rows, features))
    return (X / X.std(0)).astype(np.float32), cluster % classes


def seconds(model, X: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def compared(what: str, svc: SVC, train, test, goals: dict[str, float], **given) -> Iterator[Figure]:
    theirs = seconds(svc, *train)
    for setting, goal in goals.items():
        model = onkel.NewtonClassifier(random_state=0, **SETTINGS[setting], **given)
        ours = seconds(model, *train)
        name = f"{what}, {setting}, {model.score(*test):.2%} ({ours:.2f} s): speed"
        yield state(name, theirs / ours, "x", f"SVC, {svc.score(*test):.2%} ({theirs:.1f} s)", goal)


def figures() -> Iterator[Figure]:
    for name in SETS:
        (X, y), test = newton_data.split(name)
        few = np.random.default_rng(1).permutation(len(y))[:ROWS]
        test = tuple(part[:5000] for part in test)
        svc = SVC(cache_size=500, **RIVALS[name]["SVC"])
        yield from compared(f"{name}, {ROWS} rows", svc, (X[few], y[few]), test, dict.fromkeys(SETTINGS, 1.0))
    X, y = letters(18_000)
    train, test = (X[:15_000], y[:15_000]), (X[15_000:], y[15_000:])
    yield from compared(
        "26 classes, 15,000 rows, B = 1500",
        SVC(C=10.0),
        train,
        test,
        {"forget=1, relevances=None": 1.0},
        budget=1500,
    )


if __name__ == "__main__":
    main(figures)
