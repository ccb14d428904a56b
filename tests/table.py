"""THE table: one row a named recipe. A new row goes through every promise, for each task, dtype and output."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import onkel
from onkel import recipes
from reference.common import Reference
from reference.ogd import OGD
from reference.perceptron import Perceptron
from reference.polk import POLK
from reference.projectron import Projectron
from reference.spa import SPA


@dataclass(frozen=True)
class Named:
    """A named recipe, its estimators, the parameters to try it with, and its oracle."""

    recipe: Callable[..., onkel.parts.Recipe]
    reference: type[Reference]
    classifier: type | None = None
    regressor: type | None = None
    # hypothesis strategy of valid parameters, given the task
    parameters: Callable[[str], st.SearchStrategy[dict[str, Any]]] = lambda task: st.just({})
    # one good choice, for the tests that do not search; it must make the learner shrink, sample, ... if it can
    typical: dict[str, dict[str, Any]] = field(default_factory=dict)
    variant: str = ""  # where a recipe has several rows
    row_by_row: bool = False  # no mini-batches

    @property
    def name(self) -> str:
        return self.recipe.__name__ + self.variant

    @property
    def tasks(self) -> list[str]:
        return (["binary", "multiclass"] if self.classifier else []) + (["regression"] if self.regressor else [])

    def example(self, task: str) -> dict[str, Any]:
        return self.typical.get(task, self.typical.get("classes", {}) if task != "regression" else {})


eta = st.floats(0.05, 0.8)
lam = st.sampled_from([0.0, 0.01, 0.3])


def ogd_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    losses = ["squared_error", "epsilon_insensitive"] if task == "regression" else ["hinge", "perceptron"]
    return st.fixed_dictionaries(
        {"eta": eta, "lam": lam, "loss": st.sampled_from(losses), "epsilon": st.floats(0, 0.5)}
    )


def spa_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "eta": st.floats(0.05, 2),
            "alpha": st.floats(0.2, 2),
            "beta": st.floats(0.5, 5),
            "loss": st.just("epsilon_insensitive" if task == "regression" else "hinge"),
            "epsilon": st.floats(0, 0.5),
        }
    )


def projectron_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"eta": st.floats(0.05, 1), "aggressive": st.booleans(), "rule": st.sampled_from(["2009", "2008"])}
    )


def polk_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    losses = ["squared_error", "epsilon_insensitive"] if task == "regression" else ["hinge", "perceptron"]
    return st.fixed_dictionaries(
        {
            "eta": eta,
            "lam": lam,
            "loss": st.sampled_from(losses),
            "epsilon": st.floats(0, 0.5),
            "prune": st.sampled_from(["komp", "random"]),
            "eps": st.sampled_from([0.01, 0.1, 0.4]),
        }
    )


TABLE = [
    Named(recipes.Perceptron, Perceptron, onkel.PerceptronClassifier),
    Named(
        recipes.OGD,
        OGD,
        onkel.OGDClassifier,
        onkel.OGDRegressor,
        ogd_parameters,
        {
            "classes": {"eta": 0.3, "lam": 0.02},
            "regression": {"eta": 0.3, "lam": 0.02, "loss": "squared_error"},
        },
    ),
    Named(
        recipes.SPA,
        SPA,
        onkel.SPAClassifier,
        onkel.SPARegressor,
        spa_parameters,
        {
            "classes": {"eta": 0.5, "alpha": 1.0, "beta": 2.0},
            "regression": {"eta": 0.5, "alpha": 1.0, "beta": 2.0, "loss": "epsilon_insensitive"},
        },
    ),
    *(
        Named(
            recipes.Projectron,
            Projectron,
            onkel.ProjectronClassifier,
            None,
            projectron_parameters,
            {"classes": {"eta": 0.3, "aggressive": aggressive}},
            variant="++" if aggressive else "",
            row_by_row=True,
        )
        for aggressive in (False, True)
    ),
    *(
        Named(
            recipes.POLK,
            POLK,
            onkel.POLKClassifier,
            onkel.POLKRegressor,
            polk_parameters,
            {
                "classes": {"eta": 0.3, "lam": 0.02, "eps": 0.1, "prune": prune},
                "regression": {"eta": 0.3, "lam": 0.02, "eps": 0.1, "prune": prune, "loss": "squared_error"},
            },
            variant=f"-{prune}",
        )
        for prune in ("komp", "random")
    ),
]
ESTIMATORS = list(
    dict.fromkeys(cls for named in TABLE for cls in (named.classifier, named.regressor) if cls is not None)
)


@dataclass(frozen=True)
class Case:
    """A row of the table at one task, dtype and output."""

    named: Named
    task: str
    dtype: str
    average: bool

    def learner(self, parameters: dict[str, Any] | None = None, batch_size: int = 1, **settings: Any) -> onkel.Learner:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of choices that a paper's bound does not cover, which work all the same
            recipe = self.named.recipe(**(self.named.example(self.task) if parameters is None else parameters))
        recipe = replace(recipe, batch_size=1 if self.named.row_by_row else batch_size)
        return onkel.Learner(recipe, task=self.task, dtype=self.dtype, average=self.average, **settings)

    def reference(self, parameters: dict[str, Any] | None = None, **settings: Any) -> Reference:
        parameters = self.named.example(self.task) if parameters is None else parameters
        if self.named.row_by_row:
            settings["batch_size"] = 1
        return self.named.reference(task=self.task, average=self.average, **parameters, **settings)

    def estimator(self, **settings: Any) -> Any:
        cls = self.named.regressor if self.task == "regression" else self.named.classifier
        settings = {"gamma": 0.5, "random_state": 3, **self.named.example(self.task), **settings}
        return cls(average=self.average, **settings)

    def data(self, n: int, d: int = 4, seed: int = 0, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
        """Rows that are neither trivial nor hopeless, and their targets or class indices."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)).astype(self.dtype)
        score = np.sin(2 * X[:, 0]) + X[:, 1 % d] * X[:, 0] + 0.3 * rng.normal(size=n)
        if self.task == "regression":
            return X, np.asarray(score, np.float64)
        cuts = [0.0] if self.task == "binary" else np.quantile(score, np.arange(1, n_classes) / n_classes)
        return X, np.digitize(score, cuts).astype(np.float64)

    def labels(self, y: np.ndarray) -> dict[str, Any]:
        """What a first partial_fit must be told of the labels."""
        return {} if self.task == "regression" else {"classes": np.arange(3 if self.task == "multiclass" else 2)}

    def __str__(self) -> str:
        return f"{self.named.name}-{self.task}-{self.dtype}-{'average' if self.average else 'last'}"


CASES = [
    Case(named, task, dtype, average)
    for named in TABLE
    for task in named.tasks
    for dtype in ("float64", "float32")
    for average in (False, True)
]


def cases(dtypes: tuple[str, ...] = ("float64", "float32"), outputs: tuple[bool, ...] = (False, True)) -> Any:
    """Parametrise a test over the table."""
    chosen = [c for c in CASES if c.dtype in dtypes and c.average in outputs]
    return pytest.mark.parametrize("case", chosen, ids=str)
