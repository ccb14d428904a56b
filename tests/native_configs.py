"""Every learner as a line of text, for the C++ tests: what Python hands over to the core, caught on its way.

`tests/native/configs.hpp` reads the lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import onkel
from onkel import recipes
from onkel.parts import COMBINATIONS, RBF, Hedge, Laplacian, Linear, Polynomial, Sigmoid
from table import CASES, SMALL, VARIANTS

KERNELS = [
    RBF(0.5),
    Laplacian(0.3),
    RBF(0.5) + 0.1 * Polynomial(degree=2),
    RBF(2.0, (2.0, 0.5)),
    Laplacian(0.3, (0.0, 1.0, 3.0)),
    RBF(0.5, (1.0, 2.0), ((), (-1.0, 0.0, 0.0, 1.0))),
    Linear(),
    Sigmoid(0.3),
    0.5 * RBF(0.1) * Polynomial(degree=2) + Laplacian(1.0) * Linear(),
]
SEVERAL = (RBF(0.5), Polynomial(degree=2), Linear(), RBF(0.1) + Laplacian(1.0), RBF(0.2) * Laplacian(0.1))
INDEFINITE = (*SEVERAL, Sigmoid(0.2))


def learners() -> Iterator[tuple[str, onkel.Learner, bool]]:
    """Yield (name, learner, whether its rows are sparse): each row of the table in several faces."""
    kernels = itertools.cycle(KERNELS)
    faces = {("float64", True): False, ("float32", False): False, ("float64", False): True, ("float32", True): True}
    for case in (*CASES, *VARIANTS):
        sparse = faces[case.dtype, case.average]
        for batch_size in {case.batch_size(case.parameters, wanted) for wanted in (1, 5)}:
            kernel = next(kernels)
            made = {"n_classes": 2, "fit_intercept": sparse, "seed": 3, "budget": SMALL, "batch_size": batch_size}
            try:
                learner = case.learner(kernel=kernel, **made)
            except ValueError:  # needs the gaussian kernel, or a positive semidefinite one
                learner = case.learner(kernel=RBF(0.5), **made)
            yield f"{case}-{batch_size}-{learner.kernel.name}{'-sparse' * sparse}", learner, sparse
    members = [recipes.RBP(), recipes.SPA(eta=0.5), recipes.BOGD(eta=0.3), recipes.Projectron(), recipes.Forgetron()]
    pair = Hedge((RBF(0.5), Laplacian(0.2, (2.0, 1.0, 0.5), ((), (-1.0, 0.5, 1.0)))), "sum", start=10)
    for sparse in (False, True):
        learner = onkel.Learner(recipes.Newton(), kernel=pair, budget=20, fit_intercept=True, seed=2)
        yield f"Hedge-Newton-sum{'-sparse' * sparse}", learner, sparse
    for recipe, combination, sparse in itertools.product(members, COMBINATIONS, (False, True)):
        hedge = Hedge(SEVERAL if recipe.eviction.needs_psd else INDEFINITE, combination)
        learner = onkel.Learner(recipe, kernel=hedge, budget=20, dtype="float32" if sparse else "float64", seed=2)
        eviction = type(recipe.eviction).__name__
        yield f"Hedge-{eviction}-{combination}{'-sparse' * sparse}", learner, sparse


def line(name: str, learner: onkel.Learner, sparse: bool) -> str:
    """Return the line of a learner over three features."""
    with mock.patch("onkel.settings._core.Learner") as core:
        learner.blank().started(3, sparse)
    return " ".join([name.replace(" ", "-"), *_words(core.call_args.kwargs)])


def _words(settings: dict[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        if key == "kernels":
            for stream, (terms, (scales, ranks)) in value:
                yield f"kernel={stream}"
                yield from (f"scale={scale!r}" for scale in scales)
                for knots in ranks:
                    yield "ranks=" + ",".join(repr(number) for numbers in knots for number in numbers)
                for weight, factors in terms:
                    yield f"term={float(weight)!r}"
                    for factor in factors:
                        yield from _part("factor", *factor)
        elif key == "hedge" and value is not None:
            yield from (f"hedge={value[0]}", *(f"{name}={number!r}" for name, number in value[1].items()))
        elif isinstance(value, tuple):
            yield from _part(key, *value)
        elif value is not None:
            yield f"{key}={int(value) if isinstance(value, bool) else value}"


def _part(key: str, name: str, numbers: dict[str, float], parts: dict[str, Any]) -> Iterator[str]:
    yield f"{key}={name}"
    yield from (f"{key}.{parameter}={float(number)!r}" for parameter, number in numbers.items())
    for inner, spec in parts.items():
        yield from _part(f"{key}/{inner}", *spec)


def write_configs(path: Path) -> None:
    """Write the lines of all learners."""
    path.write_text("".join(line(*learner) + "\n" for learner in learners()))
