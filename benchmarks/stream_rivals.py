"""The learners of stream_bench.py: each says of every row of a stream what it expects before it learns from it.

All are at their defaults. Rows are standardised as they come (cumulative means and deviations, the row's own value
among them), except those of streams that are not to be. LightGBM is trained anew after every 1,000 rows on all rows so
far; before that it predicts the mean or the most frequent class so far. MOA's learners run in Java, from the jar that
the package capymoa carries, which need not be importable.
"""

from __future__ import annotations

import functools
import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from stream_data import STREAMS

BUDGET = 400
RETRAINED = 1000  # rows after which LightGBM is trained anew
PIECE = 1000  # rows that Newton is handed at a time, which changes no bit
Figures = dict[str, float]
Measure = Callable[[str, np.ndarray, np.ndarray], Figures]


def error(stream: str, predicted: np.ndarray, y: np.ndarray) -> float:
    """Mistakes in %, or the RMSE."""
    if STREAMS[stream].regression:
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(100 * np.mean(predicted != y))


def standardised(stream: str, X: np.ndarray) -> np.ndarray:
    """Each row by the means and the deviations of the rows up to it."""
    if not STREAMS[stream].scaled:
        return X
    t = np.arange(1, len(X) + 1)[:, None]
    centred = X - X[0]  # for the digits
    mean = np.cumsum(centred, axis=0) / t
    deviation = np.sqrt(np.maximum(np.cumsum(centred**2, axis=0) / t - mean**2, 0.0))
    return (centred - mean) / np.where(deviation > 1e-12, deviation, 1.0)


# -- ours --------------------------------------------------------------------------------------------------------------


def newton(stream: str, X: np.ndarray, y: np.ndarray, **settings: Any) -> Figures:
    """The default with 400 points, behind a scaler of the stream."""
    regression = STREAMS[stream].regression
    inner = (onkel.NewtonRegressor if regression else onkel.NewtonClassifier)(**settings)
    model = onkel.StreamPipeline(onkel.StreamStandardScaler(), inner) if STREAMS[stream].scaled else inner
    known = {} if regression else {"classes": np.unique(y)}
    start = time.process_time()
    cuts = [slice(begin, begin + PIECE) for begin in range(0, len(y), PIECE)]
    scores = np.concatenate([model.predict_then_learn(X[piece], y[piece], **known) for piece in cuts])
    seconds = time.process_time() - start
    predicted = scores if regression else scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
    halves = np.array_split(np.arange(len(y)), 2)
    return {
        "error": error(stream, predicted, y),
        "first half": error(stream, predicted[halves[0]], y[halves[0]]),
        "second half": error(stream, predicted[halves[1]], y[halves[1]]),
        "seconds": seconds,
    }


# -- River and LightGBM ------------------------------------------------------------------------------------------------


def row_by_row(model: Any, stream: str, X: np.ndarray, y: np.ndarray) -> Figures:
    """One of River's learners."""
    start, predicted = time.process_time(), []
    for row, target in zip(standardised(stream, X).tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        predicted.append(model.predict_one(x))
        model.learn_one(x, target)
    seconds = time.process_time() - start
    known = np.array([0 if each is None else each for each in predicted], float)
    return {"error": error(stream, known, y), "seconds": seconds}


def of_river(classifier: str | None, regressor: str | None, **settings: Any) -> Measure:
    """A learner of River's by its place."""

    def measure(stream: str, X: np.ndarray, y: np.ndarray) -> Figures:
        place, name = str(regressor if STREAMS[stream].regression else classifier).split(".")
        return row_by_row(getattr(importlib.import_module(f"river.{place}"), name)(**settings), stream, X, y)

    return measure


def light(stream: str, X: np.ndarray, y: np.ndarray) -> Figures:
    """LightGBM, trained anew on all rows so far."""
    package = importlib.import_module("lightgbm")
    regression = STREAMS[stream].regression
    kind = package.LGBMRegressor if regression else package.LGBMClassifier
    so_far = np.mean if regression else lambda labels: np.bincount(labels).argmax()
    start = time.process_time()
    before = [y[0] * 0, *(so_far(y[:n]) for n in range(1, min(RETRAINED, len(y))))]
    predicted = np.concatenate([before, np.zeros(len(y) - len(before))])
    for begin in range(RETRAINED, len(y), RETRAINED):
        model = kind(n_jobs=1, verbose=-1, random_state=1).fit(X[:begin], y[:begin])
        predicted[begin : begin + RETRAINED] = model.predict(X[begin : begin + RETRAINED])
    return {"error": error(stream, predicted, y), "seconds": time.process_time() - start}


# -- MOA ---------------------------------------------------------------------------------------------------------------


@functools.cache
def jar() -> Path | None:
    """MOA's jar, if it is here and there is a Java to run it; the package itself is not loaded."""
    package = importlib.util.find_spec("capymoa")
    places = [] if package is None else [Path(place) for place in package.submodule_search_locations or ()]
    found = next((path for place in places if (path := place / "jar" / "moa.jar").exists()), None)
    return found if shutil.which("java") else None


def of_moa(classifier: str | None, regressor: str | None) -> Measure:
    """A learner of MOA's by its name; seconds are the processor's, as MOA counts them."""

    def measure(stream: str, X: np.ndarray, y: np.ndarray) -> Figures:
        regression = STREAMS[stream].regression
        kinds = "numeric" if regression else "{" + ",".join(map(str, range(int(y.max()) + 1))) + "}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "stream.arff")
            with open(path, "w") as file:
                file.write("@relation stream\n")
                file.writelines(f"@attribute x{i} numeric\n" for i in range(X.shape[1]))
                file.write(f"@attribute y {kinds}\n@data\n")
                for row, target in zip(standardised(stream, X).tolist(), y.tolist(), strict=True):
                    file.write(",".join(map(repr, [*row, target])) + "\n")
            task, judge = "EvaluatePrequential", "BasicClassificationPerformanceEvaluator"
            if regression:
                task, judge = "EvaluatePrequentialRegression", "BasicRegressionPerformanceEvaluator"
            words = f"{task} -l ({regressor if regression else classifier}) -s (ArffFileStream -f {path}) -e {judge}"
            command = ["java", "-XX:+UseSerialGC", "-cp", str(jar()), "moa.DoTask", f"{words} -i {len(y)} -f {len(y)}"]
            lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        heads, values = (next(line for line in lines if line.startswith("learning")), lines[-1])
        found = dict(zip(heads.split(","), values.split(","), strict=False))
        right = float(found["root mean squared error" if regression else "classifications correct (percent)"])
        seconds = float(found["evaluation time (cpu seconds)"])
        return {"error": right if regression else 100 - right, "seconds": seconds}

    return measure


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learner:
    """What measures it, for which of the two tasks there is one, and the package that it needs."""

    measure: Measure
    needs: str
    classes: bool = True
    targets: bool = True

    def takes(self, stream: str) -> bool:
        return self.targets if STREAMS[stream].regression else self.classes

    @property
    def is_here(self) -> bool:
        return jar() is not None if self.needs == "capymoa" else importlib.util.find_spec(self.needs) is not None


ARF_REGRESSOR = "meta.AdaptiveRandomForestRegressor"
LEARNERS = {
    "Newton": Learner(functools.partial(newton, budget=BUDGET, random_state=0), "onkel"),
    "Newton, default budget": Learner(functools.partial(newton, random_state=0), "onkel"),
    "LightGBM, retrained": Learner(light, "lightgbm"),
    "HAT": Learner(
        of_river("tree.HoeffdingAdaptiveTreeClassifier", "tree.HoeffdingAdaptiveTreeRegressor", seed=1), "river"
    ),
    "kNN": Learner(of_river("neighbors.KNNClassifier", "neighbors.KNNRegressor"), "river"),
    "ARF": Learner(of_river("forest.ARFClassifier", "forest.ARFRegressor", seed=1), "river"),
    "SRP": Learner(of_river("ensemble.SRPClassifier", "ensemble.SRPRegressor", seed=1), "river"),
    "MOA's ARF": Learner(of_moa("meta.AdaptiveRandomForest", ARF_REGRESSOR), "capymoa"),
    "MOA's SRP": Learner(of_moa("meta.StreamingRandomPatches", None), "capymoa", targets=False),
    "MOA's SGBT": Learner(
        of_moa("meta.StreamingGradientBoostedTrees", "meta.StreamingGradientBoostedRegression"), "capymoa"
    ),
    "MOA's kNN": Learner(of_moa("lazy.kNN", None), "capymoa", targets=False),
    "MOA's SAMkNN": Learner(of_moa("lazy.SAMkNN", None), "capymoa", targets=False),
    "MOA's HAT": Learner(of_moa("trees.HoeffdingAdaptiveTree", None), "capymoa", targets=False),
    "MOA's SOKNL": Learner(of_moa(None, "meta.SelfOptimisingKNearestLeaves"), "capymoa", classes=False),
    "MOA's AMRules": Learner(of_moa(None, "rules.AMRulesRegressor"), "capymoa", classes=False),
}
