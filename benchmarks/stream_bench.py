"""How learners follow streams that change: `stream_bench.py [--results FILE] [--rows N] [--whole] [stream ...]`.

Every learner predicts each row before it learns from it, in the rows' own order, with its default constructor (Newton
with a budget of 400). Features are standardised as they come (`StreamStandardScaler`, River's `StandardScaler`), or
left as they are where they share a unit. Newton and River's learners see the first N rows of each stream, and with
`--whole` Newton sees all of them. Times are of one core (process time). Every figure is kept in the file of results, if
one is named, as soon as it is known and not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import dummy, ensemble, forest, linear_model, neighbors, preprocessing, tree
from river.datasets import synth

import onkel

WHOLE = 100_000  # of the streams that are generated
ONE_UNIT = ("movingSquares", "interchangingRBF", "transientChessboard")
FILES = ("elec", *ONE_UNIT, "outdoorStream", "covtype.20k")


def _sudden(first: Any, second: Any, n: int) -> Any:
    """A stream that becomes another one in the middle."""
    return synth.ConceptDriftStream(first, second, seed=1, position=n // 2, width=max(1, n // 100))


GENERATORS: dict[str, Callable[[int], Any]] = {
    "SEA": lambda n: _sudden(synth.SEA(variant=0, noise=0.1, seed=1), synth.SEA(variant=3, noise=0.1, seed=2), n),
    "Agrawal": lambda n: _sudden(
        synth.Agrawal(classification_function=0, seed=1), synth.Agrawal(classification_function=3, seed=2), n
    ),
    "LED": lambda n: _sudden(
        synth.LED(noise_percentage=0.1, irrelevant_features=True, seed=1),
        synth.LEDDrift(noise_percentage=0.1, irrelevant_features=True, n_drift_features=4, seed=2),
        n,
    ),
    "RandomRBFDrift": lambda n: synth.RandomRBFDrift(
        seed_model=1, seed_sample=1, n_classes=4, n_features=10, n_centroids=50, change_speed=1e-3, n_drift_centroids=50
    ),
    "Hyperplane": lambda n: synth.Hyperplane(seed=1, n_features=10, n_drift_features=5, mag_change=1e-3),
}
REGRESSION = {"FriedmanDrift": lambda n: synth.FriedmanDrift("lea", position=(n // 4, n // 2, 3 * n // 4), seed=1)}
STREAMS = (*FILES, "switching", *GENERATORS, *REGRESSION)


def rows_of(name: str, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The first n rows of a stream, or all of them; labels are class numbers."""
    if name in FILES:
        X, y = onkel.datasets.load(name)
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    elif name == "switching":
        chunks = list(onkel.streams.generators.switching(WHOLE, period=WHOLE // 10))
        X, y = (np.concatenate([chunk[i] for chunk in chunks]) for i in (0, 1))
    else:
        made = (GENERATORS | REGRESSION)[name](n or WHOLE).take(n or WHOLE)
        pairs = [(list(map(float, x.values())), target) for x, target in made]
        X, y = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    X, y = X[:n], y[:n]
    return X, y if name in REGRESSION else np.unique(y, return_inverse=True)[1]


# -- learners: what they predicted for each row before they learned from it -----------------------------------------


def newton(name: str, X: np.ndarray, y: np.ndarray, **settings: Any) -> tuple[np.ndarray, Any]:
    """Scores of NewtonClassifier or -Regressor, each made before learning from its row."""
    made = onkel.NewtonRegressor if name in REGRESSION else onkel.NewtonClassifier
    model = made(budget=400, random_state=0, **settings)
    if name not in ONE_UNIT:
        model = onkel.StreamPipeline(onkel.StreamStandardScaler(), model)
    known = {} if name in REGRESSION else {"classes": np.unique(y)}
    pieces = []
    for begin in range(0, len(y), 1000):
        piece = slice(begin, begin + 1000)
        pieces.append(model.predict_then_learn(X[piece], y[piece], **known))
    return np.concatenate(pieces), model


RIVALS: dict[str, Callable[[], Any]] = {
    "ARF": lambda: forest.ARFClassifier(seed=1),
    "SRP": lambda: ensemble.SRPClassifier(seed=1),
    "HAT": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "KNN": neighbors.KNNClassifier,
    "LR+ADWIN": lambda: ensemble.ADWINBaggingClassifier(linear_model.SoftmaxRegression(), seed=1),
    "no change": dummy.NoChangeClassifier,
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ARF": lambda: forest.ARFRegressor(seed=1),
    "HAT": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
    "KNN": neighbors.KNNRegressor,
}
SCALED = ("KNN", "LR+ADWIN")  # trees do not mind


def rival(name: str, which: str, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[Any, dict[int, float] | None]]:
    """What one of River's learners predicted for each row, with the probabilities where it has some."""
    regression = name in REGRESSION
    model = (REGRESSORS if regression else RIVALS)[which]()
    if which in SCALED and name not in ONE_UNIT:
        model = preprocessing.StandardScaler() | model
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        if regression:
            yield model.predict_one(x), None
        else:
            proba = model.predict_proba_one(x)
            yield (max(proba, key=proba.__getitem__) if proba else 0), proba
        model.learn_one(x, target)


# -- figures --------------------------------------------------------------------------------------------------------


def of_classes(predicted: np.ndarray, y: np.ndarray, likelihoods: np.ndarray) -> dict[str, float]:
    """Mistakes in %, kappa-temporal (against the label before) and the log loss."""
    accuracy = float(np.mean(predicted == y))
    persistent = float(np.mean(y[1:] == y[:-1]))
    return {
        "mistakes": 100 * (1 - accuracy),
        "kappa_t": (accuracy - persistent) / (1 - persistent) if persistent < 1 else float("nan"),
        "log_loss": float(np.mean(-np.log(np.maximum(likelihoods, 1e-15)))),
    }


def of_newton(name: str, n: int | None, **settings: Any) -> dict[str, Any]:
    X, y = rows_of(name, n)
    start = time.process_time()
    scores, model = newton(name, X, y, **settings)
    seconds = time.process_time() - start
    inner = getattr(model, "estimator_", model)
    facts = {"rows": len(y), "rows_per_s": len(y) / seconds, "bytes": int(inner.nbytes_), "gamma": float(inner.gamma_)}
    facts |= {"memory": float(inner.memory_), "points": int(inner.n_support_)}
    if name in REGRESSION:
        return facts | {"rmse": float(np.sqrt(np.mean((scores - y) ** 2)))}
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(y)), scores])
    odds = scores - scores.max(axis=1, keepdims=True)
    likelihoods = np.exp(odds[np.arange(len(y)), y]) / np.exp(odds).sum(axis=1)
    return facts | of_classes(scores.argmax(axis=1), y, likelihoods)


def of_rival(name: str, which: str, n: int | None) -> dict[str, Any]:
    X, y = rows_of(name, n)
    start = time.process_time()
    made = list(rival(name, which, X, y))
    facts = {"rows": len(y), "rows_per_s": len(y) / (time.process_time() - start)}
    predicted = np.array([value for value, _ in made], dtype=float)
    if name in REGRESSION:
        return facts | {"rmse": float(np.sqrt(np.mean((predicted - y) ** 2)))}
    likelihoods = np.array([(proba or {}).get(label, 0.0) for (_, proba), label in zip(made, y.tolist(), strict=True)])
    return facts | of_classes(predicted, y, likelihoods)


def table(results: dict[str, Any], rows: str) -> str:
    """The mistakes in % (RMSE for targets), a stream a row."""
    learners = list(dict.fromkeys(key.split("|")[1] for key in results if key.endswith(f"|{rows}")))
    lines = [" | ".join(["stream", *learners]), "|".join("---" for _ in range(len(learners) + 1))]
    for name in STREAMS:
        own = [results.get(f"{name}|{learner}|{rows}", {}) for learner in learners]
        shown = [f"{each.get('mistakes', each.get('rmse', float('nan'))):.2f}" for each in own]
        if any(own):
            lines.append(" | ".join([name, *shown]))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--results", type=Path, metavar="FILE")
    arguments.add_argument("--rows", type=int, default=5000)
    arguments.add_argument("--whole", action="store_true", help="Newton on all rows, too")
    arguments.add_argument("--learner", action="append", dest="learners", help="by default all of them")
    arguments.add_argument("streams", nargs="*", metavar="stream", help="by default all of them")
    told = arguments.parse_args()
    if unknown := set(told.streams) - set(STREAMS):
        arguments.error(f"{min(unknown)} is none of the streams {', '.join(STREAMS)}")
    results = json.loads(told.results.read_text()) if told.results and told.results.exists() else {}

    def keep(key: str, measure: Callable[[], dict[str, Any]]) -> None:
        if key not in results:
            results[key] = measure()
            print(key, {name: round(value, 4) for name, value in results[key].items()}, flush=True)
            if told.results:
                told.results.write_text(json.dumps(results, indent=1, sort_keys=True))

    for name, whole in itertools.product(told.streams or STREAMS, (False, True)):
        n, rows = (None, "all") if whole else (told.rows, str(told.rows))
        if whole and not told.whole:
            continue
        for forget in ("stream", 1.0):
            label = "Newton" if forget == "stream" else "Newton, forget=1"
            if not told.learners or label in told.learners:
                keep(f"{name}|{label}|{rows}", lambda n=n, name=name, forget=forget: of_newton(name, n, forget=forget))
        for which in () if whole else REGRESSORS if name in REGRESSION else RIVALS:
            if not told.learners or which in told.learners:
                keep(f"{name}|{which}|{rows}", lambda n=n, name=name, which=which: of_rival(name, which, n))
    print(table(results, str(told.rows)))
    if told.whole:
        print(table(results, "all"))


if __name__ == "__main__":
    main()
