"""THE table: one row a named recipe. A new row goes through every promise, for each task, dtype and output.

A test over the table (`cases`) takes every learner through every task; the dtypes and outputs rotate, so that each
learner meets each of them in one test or another. ONKEL_WHOLE=1 (`make test-all`) crosses them instead.
"""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import looping
import onkel
from looping import WHOLE
from onkel import recipes
from reference.bogd import BOGD
from reference.bpa import BPA
from reference.bsgd import BSGD
from reference.common import Reference
from reference.dualsgd import DualSGD
from reference.forgetron import Forgetron
from reference.fsgd import FSGD
from reference.klr import KLR
from reference.newton import Newton
from reference.norma import NORMA
from reference.npbsgd import NPBSGD
from reference.ogd import OGD
from reference.oskl import OSKL
from reference.pa import PA
from reference.pegasos import Pegasos
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
    # its other faces, for the tests that go through all of them (`variants`)
    others: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    variant: str = ""  # where a recipe has several rows
    evicts: bool = False  # points leave at a full budget; the average then keeps their ghosts
    row_by_row: bool = False  # no mini-batches
    rows_as_given: bool = True  # the function is a sum over rows of the stream and nothing else
    vague: bool = False  # coefficients solve a system that may be nearly singular: known to fewer digits than scores
    grows: bool = False  # the budget is a law, not a bound

    @property
    def name(self) -> str:
        return self.recipe.__name__ + self.variant

    @property
    def tasks(self) -> list[str]:
        return (["binary", "multiclass"] if self.classifier else []) + (["regression"] if self.regressor else [])

    def example(self, task: str) -> dict[str, Any]:
        return self.typical.get(task, self.typical.get("classes", {}) if task != "regression" else {})

    def examples(self, task: str) -> list[dict[str, Any]]:
        return [self.example(task), *self.others.get("regression" if task == "regression" else "classes", [])]


eta = st.floats(0.05, 0.8)
# of the losses whose curvature goes beyond 1, where long steps explode
small_eta = st.floats(0.05, 0.2)
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
    shared = {
        "eta": eta,
        "loss": st.sampled_from(losses),
        "epsilon": st.floats(0, 0.5),
        "prune": st.sampled_from(["komp", "random"]),
        "eps": st.sampled_from([0.01, 0.1, 0.4]),
    }
    schedules = [{"lam": lam}, {"lam": st.sampled_from([0.01, 0.3]), "schedule": st.just("inverse")}]
    return st.one_of(*(st.fixed_dictionaries({**shared, **schedule}) for schedule in schedules))


def newton_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    losses = ["squared_error", "huber", "quantile"] if task == "regression" else ["log_loss", "squared_hinge"]
    level = {"quantile": st.floats(0.05, 0.95)} if task == "regression" else {}
    return st.fixed_dictionaries(
        {
            **level,
            "lam": st.floats(0.01, 2),
            "loss": st.sampled_from(losses),
            "spread": st.sampled_from([1.0, 2.5, 8.0]),
            "forget": st.sampled_from([1.0, 0.9, "stream", "stream"]),
        }
    )


def pa_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "C": st.floats(0.05, 3),
            "variant": st.sampled_from(["PA", "PA-I", "PA-II"]),
            "loss": st.just("epsilon_insensitive" if task == "regression" else "hinge"),
            "epsilon": st.floats(0, 0.5),
        }
    )


def pegasos_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "lam": st.floats(0.01, 0.5),
            "project": st.booleans(),
            "loss": st.sampled_from(["hinge", "perceptron", "log_loss"]),
        }
    )


def fsgd_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    smooth = ["squared_error", "epsilon_insensitive", "huber"] if task == "regression" else ["hinge", "log_loss"]
    rest = {
        "lam": st.sampled_from([0.01, 0.3]),
        "schedule": st.sampled_from(["constant", "inverse"]),
        "epsilon": st.floats(0.05, 0.5),
    }
    choices = [{"eta": eta, "loss": st.sampled_from(smooth), **rest}]
    if task != "regression":
        choices.append({"eta": small_eta, "loss": st.sampled_from(["squared_hinge", "exponential"]), **rest})
    return st.one_of(*map(st.fixed_dictionaries, choices))


radius = st.one_of(st.none(), st.floats(0.3, 3))


def klr_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "sampling": st.sampled_from(["none", "margin", "auxiliary", "auxiliary", "auxiliary"]),
            "auxiliary": st.sampled_from(["shift", "scale", "cutoff"]),
            "shape": st.one_of(st.just(1.0), st.floats(1, 20)),
            "cutoff": st.floats(-0.5, 2),
            "eta": st.floats(0.05, 1.5),
            "R": radius,
        }
    )


def oskl_parameters(task: str) -> st.SearchStrategy[dict[str, Any]]:
    smooth = ["squared_error", "epsilon_insensitive", "huber"] if task == "regression" else ["log_loss", "hinge"]
    rest = {"R": radius, "epsilon": st.floats(0.05, 0.5)}
    choices = [{"G": st.floats(0.5, 2), "eta": st.floats(0.05, 0.4), "loss": st.sampled_from(smooth), **rest}]
    if task != "regression":
        choices.append({"G": st.floats(1, 2), "eta": small_eta, "loss": st.just("exponential"), **rest})
    return st.one_of(*map(st.fixed_dictionaries, choices))


TABLE = [
    Named(recipes.Perceptron, Perceptron, onkel.PerceptronClassifier),
    Named(
        recipes.PA,
        PA,
        onkel.PAClassifier,
        onkel.PARegressor,
        pa_parameters,
        {"classes": {"C": 0.3}, "regression": {"C": 0.3, "loss": "epsilon_insensitive"}},
        {
            "classes": [{"variant": "PA"}, {"variant": "PA-II", "C": 0.5}],
            "regression": [
                {"variant": "PA", "loss": "epsilon_insensitive"},
                {"variant": "PA-II", "C": 0.5, "loss": "epsilon_insensitive"},
            ],
        },
    ),
    Named(
        recipes.Pegasos,
        Pegasos,
        onkel.PegasosClassifier,
        None,
        pegasos_parameters,
        {"classes": {"lam": 0.05}},
        {"classes": [{"lam": 0.05, "project": True}, {"lam": 0.02, "project": True, "loss": "log_loss"}]},
    ),
    Named(
        recipes.FSGD,
        FSGD,
        onkel.FSGDClassifier,
        onkel.FSGDRegressor,
        fsgd_parameters,
        {
            "classes": {"eta": 0.3, "lam": 0.02, "schedule": "inverse"},
            "regression": {"eta": 0.3, "lam": 0.02, "schedule": "inverse", "loss": "squared_error"},
        },
        {
            "classes": [
                {"eta": 0.3, "lam": 0.02},
                *({"eta": 0.1, "lam": 0.02, "loss": loss} for loss in ("squared_hinge", "log_loss", "exponential")),
            ],
            "regression": [
                *({"eta": 0.3, "lam": 0.02, "loss": loss} for loss in ("epsilon_insensitive", "huber")),
                {"eta": 0.3, "lam": 0.02, "loss": "quantile", "quantile": 0.2},
            ],
        },
    ),
    Named(
        recipes.KLR,
        KLR,
        onkel.KLRClassifier,
        None,
        klr_parameters,
        {"classes": {"eta": 0.5, "shape": 3.0, "R": 1.0}},
        {
            "classes": [
                {"eta": 0.5, "sampling": "none"},
                {"eta": 0.5, "sampling": "none", "R": 1.0},
                {"eta": 1.2, "sampling": "margin"},
                {"eta": 1.2, "sampling": "margin", "R": 1.0},
                {"eta": 0.5, "shape": 3.0},
                {"eta": 0.5, "auxiliary": "scale", "shape": 3.0},
                {"eta": 0.5, "auxiliary": "scale", "shape": 3.0, "R": 1.0},
                {"eta": 0.5, "auxiliary": "cutoff", "cutoff": 0.3},
                {"eta": 0.5, "auxiliary": "cutoff", "cutoff": 0.3, "R": 1.0},
            ]
        },
    ),
    Named(
        recipes.OSKL,
        OSKL,
        onkel.OSKLClassifier,
        onkel.OSKLRegressor,
        oskl_parameters,
        {
            "classes": {"G": 1.5, "eta": 0.4, "R": 3.0},
            "regression": {"G": 1.5, "eta": 0.3, "R": 3.0, "loss": "squared_error"},
        },
        {
            "classes": [
                {"G": 1.5, "eta": 0.4},
                {"G": 2.0, "eta": 0.1, "loss": "exponential"},
                {"G": 2.0, "eta": 0.1, "loss": "exponential", "R": 1.0},
            ],
            "regression": [
                {"G": 1.5, "eta": 0.3, "loss": "squared_error"},
                {"G": 1.5, "eta": 0.3, "loss": "huber", "epsilon": 0.5},
                {"G": 1.5, "eta": 0.3, "loss": "epsilon_insensitive", "R": 1.0},
            ],
        },
    ),
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
    Named(recipes.Forgetron, Forgetron, onkel.ForgetronClassifier, evicts=True, row_by_row=True),
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
    *(
        Named(
            recipes.NPBSGD,
            NPBSGD,
            onkel.NPBSGDClassifier,
            onkel.NPBSGDRegressor,
            lambda task, rule=rule: budget_parameters("lam_above", "beta", "horizon")(task).map(
                lambda p: p | {"maintenance": rule}
            ),
            for_both(lam=0.1, beta=0.5, horizon=300, maintenance=rule),
            variant="" if rule == "remove" else f"-{rule}",
            evicts=True,
            row_by_row=rule == "project",
            grows=True,
        )
        for rule in ("remove", "project")
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
    Named(
        recipes.Newton,
        Newton,
        onkel.NewtonClassifier,
        onkel.NewtonRegressor,
        newton_parameters,
        {"classes": {"lam": 0.1}, "regression": {"lam": 0.1, "loss": "squared_error"}},
        {
            "classes": [
                {"lam": 0.1, "loss": "squared_hinge"},
                {"lam": 0.1, "forget": 1.0},
                {"lam": 0.1, "spread": 2.0, "forget": 0.98},
            ],
            "regression": [
                {"lam": 0.1, "forget": 1.0, "loss": "squared_error"},
                {"lam": 0.1, "spread": 2.0, "forget": 0.98, "loss": "squared_error"},
                {"lam": 0.1, "loss": "huber"},
                {"lam": 0.1, "loss": "quantile", "quantile": 0.8},
            ],
        },
        evicts=True,
        row_by_row=True,
        vague=True,
    ),
]
ESTIMATORS = list(
    dict.fromkeys(cls for named in TABLE for cls in (named.classifier, named.regressor) if cls is not None)
)
SMALL = 12  # a budget that every stream of the tests fills


@dataclass(frozen=True)
class Case:
    """A row of the table at one task, dtype and output; `variant` counts through its examples."""

    named: Named
    task: str
    dtype: str
    average: bool
    variant: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        return self.named.examples(self.task)[self.variant]

    def batch_size(self, parameters: dict[str, Any], wanted: int) -> int:
        """A ball works row by row, and so do some evictions: no mini-batches with them."""
        by_row = self.named.row_by_row or parameters.get("R") is not None or parameters.get("project")
        return 1 if by_row else wanted

    def learner(self, parameters: dict[str, Any] | None = None, batch_size: int = 1, **settings: Any) -> onkel.Learner:
        parameters = self.parameters if parameters is None else parameters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of choices that a paper's bound does not cover, which work all the same
            recipe = self.named.recipe(**parameters)
        if isinstance(recipe, onkel.parts.FirstOrder):
            recipe = replace(recipe, batch_size=self.batch_size(parameters, batch_size))
        settings.setdefault("budget", SMALL if self.named.evicts else None)
        return onkel.Learner(recipe, task=self.task, dtype=self.dtype, average=self.average, **settings)

    def reference(self, parameters: dict[str, Any] | None = None, batch_size: int = 1, **settings: Any) -> Reference:
        parameters = self.parameters if parameters is None else parameters
        settings["batch_size"] = self.batch_size(parameters, batch_size)
        settings.setdefault("budget", SMALL if self.named.evicts else None)
        return self.named.reference(task=self.task, average=self.average, **parameters, **settings)

    def estimator(self, **settings: Any) -> Any:
        cls = self.named.regressor if self.task == "regression" else self.named.classifier
        budget = {"budget": SMALL} if self.named.evicts else {}
        settings = {"gamma": 0.5, "random_state": 3, **budget, **self.parameters, **settings}
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
        number = f"-{self.variant}" if self.variant else ""
        return f"{self.named.name}-{self.task}-{self.dtype}-{'average' if self.average else 'last'}{number}"


# Neighbours differ in both: two of them hold both dtypes and both outputs.
FACES = [("float64", False), ("float32", True), ("float64", True), ("float32", False)]
CASES = [Case(named, task, *face) for named in TABLE for task in named.tasks for face in FACES]


def cases_at(dtype: str, average: bool) -> list[Case]:
    """Return every learner and task at one dtype and output, for what depends on neither."""
    return [case for case in CASES if (case.dtype, case.average) == (dtype, average)]


def cases(
    dtypes: tuple[str, ...] = ("float64", "float32"),
    outputs: tuple[bool, ...] = (False, True),
    where: Callable[[Case], bool] = lambda case: True,
    one_task: bool = False,
    loop: bool = False,
    **crossed: Iterable[Any],
) -> Callable[[Callable[..., None]], Any]:
    """Parametrise a test over the table.

    Every learner goes through every task (through one at a time, with `one_task`) and through all values of the
    arguments in `crossed`. In a quick run the dtypes and outputs take turns, from case to case and, since the test's
    name says where the turns begin, from test to test. With `loop` a quick run makes one test of all cases.
    """
    values = list(itertools.product(*crossed.values()))

    def parametrise(test: Callable[..., None]) -> Any:
        chosen = itertools.product(suitable, values) if WHOLE else some(zlib.crc32(test.__name__.encode()))
        rows = [pytest.param(case, *own, id="-".join([str(case), *map(str, own)])) for case, own in chosen]
        parametrised = pytest.mark.parametrize(["case", *crossed], rows)(test)
        return looping.loop(parametrised) if loop else parametrised

    suitable = [c for c in CASES if c.dtype in dtypes and c.average in outputs and where(c)]

    def some(turn: int) -> Iterator[tuple[Case, tuple[Any, ...]]]:
        for _, of_one in itertools.groupby(suitable, key=lambda c: c.named.name):
            tasks = [list(faces) for _, faces in itertools.groupby(of_one, key=lambda c: c.task)]
            for choice in [tasks] if one_task else [[faces] for faces in tasks]:
                for own in values:
                    faces = choice[(turn + turn // 4) % len(choice)]
                    yield faces[turn % len(faces)], own
                    turn += 1

    return parametrise


# One test a learner, which goes through its tasks.
loop_by_learner = looping.loop_by(lambda case, **others: case.named.name)


def in_turn(turns: dict[str, Iterable[Any]], **crossed: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Parametrise a test over the product of `crossed`; the values of `turns` take turns, as dtypes do in `cases`."""
    return taking_turns(list(itertools.product(*turns.values())), 1, turns, crossed)


def in_pairs(turns: dict[str, Iterable[Any]], **crossed: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """As `in_turn`, where each row of the product meets every value of each of `turns`, of which the first has the
    most values: two dtypes and two densities are two tests then, not four."""
    values = [list(each) for each in turns.values()]
    faces = [
        tuple(each[(i + step) % len(each)] for i, each in zip((0, *start), values, strict=True))
        for start in itertools.product(*(range(len(each)) for each in values[1:]))
        for step in range(len(values[0]))
    ]
    return taking_turns(faces, len(values[0]), turns, crossed)


def taking_turns(
    faces: list[tuple[Any, ...]], at_once: int, turns: dict[str, Iterable[Any]], crossed: dict[str, Iterable[Any]]
) -> Callable[[Callable[..., None]], Any]:
    """Parametrise a test over the product of `crossed`, each with the next so many of the faces."""
    places = list(itertools.product(*map(enumerate, crossed.values())))

    def parametrise(test: Callable[..., None]) -> Any:
        rows = []
        for place in places:
            turn = zlib.crc32(test.__name__.encode()) + sum(number for number, _ in place)
            first = turn * at_once % len(faces)
            for face in faces if WHOLE else faces[first : first + at_once]:
                values = [*(value for _, value in place), *face]
                rows.append(pytest.param(*values, id="-".join(getattr(v, "__name__", str(v)) for v in values)))
        return pytest.mark.parametrize([*crossed, *turns], rows)(test)

    return parametrise


def cases_of(test: Callable[..., None]) -> list[Case]:
    """Return the cases that a test was parametrised with."""
    return [arguments["case"] for _, arguments in looping.arguments_of(test)]


# The other faces of each row, at one dtype and output: for the tests of what a face could break.
VARIANTS = [
    Case(named, task, "float64", average=True, variant=variant)
    for named in TABLE
    for task in named.tasks
    for variant in range(1, len(named.examples(task)))
]
variants = pytest.mark.parametrize("case", VARIANTS, ids=str)
# One case a task, for what does not depend on the learner.
ONE_A_TASK = [c for c in CASES if c.named.recipe is recipes.OGD and c.dtype == "float64" and c.average]
one_a_task = pytest.mark.parametrize("case", ONE_A_TASK, ids=str)
