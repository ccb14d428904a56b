"""The sets and the learners of frontier_bench.py: each learner is a row of a table."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import onkel
from newton_bench import RIVALS

REGRESSION = ("cal.housing", "cal.housing, not scaled", "bike_hour", "cpu.small", "abalone")
CLASSES = (
    *("magic04", "covtype", "madelon", "spambase", "a9a", "pendigits", "w7a", "cod-rna", "ijcnn1"),
    *("susy", "texture", "german", "svmguide3", "mushrooms", "mnist"),
)
SETS = REGRESSION + CLASSES
N_FEATURES = 800  # of Nyström and random features: as many as Newton has points


class OnProcessor(BaseEstimator):
    """xRFM at its defaults on the processor; its `fit` asks for rows to choose the iteration by: the last fifth."""

    def __init__(self, regression: bool, seed: int) -> None:
        self.regression = regression
        self.seed = seed

    def fit(self, X, y):
        self.classes_, index = np.unique(y, return_inverse=True)
        y = np.asarray(y, np.float32) if self.regression else index
        xRFM = importlib.import_module("xrfm").xRFM
        self.model_ = xRFM(device="cpu", n_threads=1, random_state=self.seed, verbose=False)
        n = len(y) * 4 // 5
        self.model_.fit(X[:n], y[:n], X[n:], y[n:])
        return self

    def predict(self, X):
        predicted = self.model_.predict(X).ravel()
        return predicted if self.regression else self.classes_[predicted.astype(int)]

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def one_of(name: str, regressor: Any, classifier: Any, **settings) -> Any:
    return (regressor if name in REGRESSION else classifier)(**settings)


def linear(name: str) -> Any:
    return Ridge() if name in REGRESSION else LogisticRegression(max_iter=300)


def descent(name: str, seed: int) -> Any:
    loss = "squared_error" if name in REGRESSION else "log_loss"
    return one_of(name, SGDRegressor, SGDClassifier, loss=loss, random_state=seed)


def light(name: str, seed: int) -> Any:
    package = importlib.import_module("lightgbm")
    return one_of(name, package.LGBMRegressor, package.LGBMClassifier, random_state=seed, n_jobs=1, verbose=-1)


def of_scaled_target(name: str, model: Any) -> Any:
    return TransformedTargetRegressor(model, transformer=StandardScaler()) if name in REGRESSION else model


def tuned(name: str) -> Any:
    """An SVC or SVR with the parameters found on 5,000 training rows (`newton_bench.tuned`); None where none were."""
    found = json.loads(RIVALS.read_text()).get(name)
    if found is None:
        return None
    parameters = found["SVR" if name in REGRESSION else "SVC"]
    return of_scaled_target(name, one_of(name, SVR, SVC, cache_size=500, **parameters))


@dataclass(frozen=True)
class Learner:
    """How a learner is made of the name of a set and a seed, whether it goes on learning, and what limits it."""

    make: Callable[[str, int], Any]
    ours: bool = False
    learns_on: bool = False
    needs: str = "sklearn"
    most_rows: int | None = None


# In the order in which they are measured: those that take long come last.
LEARNERS = {
    "Newton": Learner(
        lambda name, seed: one_of(name, onkel.NewtonRegressor, onkel.NewtonClassifier, random_state=seed),
        ours=True,
        learns_on=True,
    ),
    "Newton, isotropic": Learner(
        lambda name, seed: one_of(
            name, onkel.NewtonRegressor, onkel.NewtonClassifier, random_state=seed, kernel="rbf", relevances=None
        ),
        ours=True,
        learns_on=True,
    ),
    "linear": Learner(lambda name, seed: linear(name)),
    "LightGBM": Learner(light, needs="lightgbm"),
    "HistGradientBoosting": Learner(
        lambda name, seed: one_of(
            name, HistGradientBoostingRegressor, HistGradientBoostingClassifier, random_state=seed
        )
    ),
    "RBFSampler + SGD": Learner(
        lambda name, seed: make_pipeline(
            RBFSampler(gamma="scale", n_components=N_FEATURES, random_state=seed), descent(name, seed)
        ),
        learns_on=True,
    ),
    "Nyström + SGD": Learner(
        lambda name, seed: make_pipeline(Nystroem(n_components=N_FEATURES, random_state=seed), descent(name, seed)),
        learns_on=True,
    ),
    "Nyström + linear": Learner(
        lambda name, seed: make_pipeline(Nystroem(n_components=N_FEATURES, random_state=seed), linear(name))
    ),
    "SVC or SVR, tuned": Learner(lambda name, seed: tuned(name)),
    "xRFM": Learner(
        lambda name, seed: of_scaled_target(name, OnProcessor(name in REGRESSION, seed)), needs="xrfm", most_rows=10_000
    ),
}
OURS = tuple(name for name, learner in LEARNERS.items() if learner.ours)
