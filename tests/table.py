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
from reference.bogd import BOGD
from reference.bpa import BPA
from reference.bsgd import BSGD
from reference.common import Reference
from reference.dualsgd import DualSGD
from reference.forgetron import Forgetron
from reference.norma import NORMA
from reference.npbsgd import NPBSGD
from reference.ogd import OGD
from reference.perceptron import Perceptron
from reference.polk import POLK
from reference.projectron import Projectron
from reference.rbp import RBP
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
    evicts: bool = False  # points leave at a full budget; the average then keeps their ghosts
    row_by_row: bool = False  # no mini-batches
    rows_as_given: bool = True  # the function is a sum over rows of the stream and nothing else
    grows: bool = False  # the budget is a law, not a bound

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


def budget_parameters(*own: str, losses: bool = True) -> Callable[[str], st.SearchStrategy[dict[str, Any]]]:
    """The learner's own parameters of these, and a loss for the task."""
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "eta": eta,
        "lam": lam,
        "lam_above": st.floats(0.01, 1),
        "cap": st.floats(0.3, 4),
        "sampling": st.sampled_from(["uniform", "weighted"]),
        "C": st.floats(0.1, 2),
        "variant": st.sampled_from(["simple", "nearest"]),
        "beta": st.floats(0.1, 1),
        "horizon": st.integers(1, 40),
        "n_components": st.integers(1, 20),
        "k": st.integers(1, 5),
    }

    def parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
        chosen = {name.removesuffix("_above"): strategies[name] for name in own}
        if losses:
            # steps of 1 / (lam t) are too long for the squared error
            steep = ["squared_error"] if "eta" in own else []
            names = [*steep, "epsilon_insensitive"] if task == "regression" else ["hinge", "perceptron"]
            chosen |= {"loss": st.sampled_from(names), "epsilon": st.floats(0, 0.5)}
        return st.fixed_dictionaries(chosen)

    return parameters


def for_both(**parameters: Any) -> dict[str, dict[str, Any]]:
    """Typical parameters, with a loss for regression where there is a choice."""
    loss = "squared_error" if "eta" in parameters else "epsilon_insensitive"
    return {"classes": parameters, "regression": parameters | {"loss": loss}}


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
    Named(recipes.RBP, RBP, onkel.RBPClassifier, evicts=True),
    Named(recipes.Forgetron, Forgetron, onkel.ForgetronClassifier, evicts=True),
    Named(
        recipes.NORMA,
        NORMA,
        onkel.NORMAClassifier,
        onkel.NORMARegressor,
        budget_parameters("eta", "lam"),
        for_both(eta=0.3, lam=0.02),
        evicts=True,
    ),
    *(
        Named(
            recipes.BPA,
            BPA,
            onkel.BPAClassifier,
            None,
            budget_parameters("C", "variant", losses=False),
            {"classes": {"C": 0.7, "variant": variant}},
            variant=f"-{variant}",
            evicts=True,
            row_by_row=True,
        )
        for variant in ("simple", "nearest")
    ),
    *(
        Named(
            recipes.BOGD,
            BOGD,
            onkel.BOGDClassifier,
            onkel.BOGDRegressor,
            budget_parameters("eta", "lam", "cap", "sampling"),
            for_both(eta=0.3, lam=0.02, cap=2.0, sampling=sampling),
            variant=f"-{sampling}",
            evicts=True,
        )
        for sampling in ("uniform", "weighted")
    ),
    *(
        Named(
            recipes.BSGD,
            BSGD,
            onkel.BSGDClassifier,
            onkel.BSGDRegressor,
            lambda task, rule=rule: budget_parameters("lam_above")(task).map(lambda p: p | {"maintenance": rule}),
            for_both(lam=0.1, maintenance=rule),
            variant=f"-{rule}",
            evicts=True,
            rows_as_given=rule == "remove",
        )
        for rule in ("remove", "merge")
    ),
    Named(
        recipes.NPBSGD,
        NPBSGD,
        onkel.NPBSGDClassifier,
        onkel.NPBSGDRegressor,
        budget_parameters("lam_above", "beta", "horizon"),
        for_both(lam=0.1, beta=0.5, horizon=300),
        evicts=True,
        grows=True,
    ),
    Named(
        recipes.DualSGD,
        DualSGD,
        onkel.DualSGDClassifier,
        onkel.DualSGDRegressor,
        budget_parameters("lam_above", "n_components", "k"),
        for_both(lam=0.1, n_components=30, k=3),
        evicts=True,
        rows_as_given=False,
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
            evicts=True,
        )
        for prune in ("komp", "random")
    ),
]
ESTIMATORS = list(
    dict.fromkeys(cls for named in TABLE for cls in (named.classifier, named.regressor) if cls is not None)
)
SMALL = 12  # a budget that every stream of the tests fills


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
        settings.setdefault("budget", SMALL if self.named.evicts else None)
        return onkel.Learner(recipe, task=self.task, dtype=self.dtype, average=self.average, **settings)

    def reference(self, parameters: dict[str, Any] | None = None, **settings: Any) -> Reference:
        parameters = self.named.example(self.task) if parameters is None else parameters
        settings.setdefault("budget", SMALL if self.named.evicts else None)
        if self.named.row_by_row:
            settings["batch_size"] = 1
        return self.named.reference(task=self.task, average=self.average, **parameters, **settings)

    def estimator(self, **settings: Any) -> Any:
        cls = self.named.regressor if self.task == "regression" else self.named.classifier
        budget = {"budget": SMALL} if self.named.evicts else {}
        settings = {"gamma": 0.5, "random_state": 3, **budget, **self.named.example(self.task), **settings}
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


def cases(
    dtypes: tuple[str, ...] = ("float64", "float32"),
    outputs: tuple[bool, ...] = (False, True),
    where: Callable[[Case], bool] = lambda case: True,
) -> Any:
    """Parametrise a test over the table."""
    chosen = [c for c in CASES if c.dtype in dtypes and c.average in outputs and where(c)]
    return pytest.mark.parametrize("case", chosen, ids=str)
