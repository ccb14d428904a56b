"""Upgrade of models in format version 1, which onkel 0.1.0 wrote, to the current version.

Scores stay the same. In version 1 there was one kind of recipe, fields had the names of Python attributes, and a
learner that chose its width or λ kept the first rows of its stream in its own state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from onkel.files.container import NotAModel
from onkel.files.tree import Reader
from onkel.learner import Learner

Tree = dict[str, Any]

_FITTED = {
    "classes_": "classes",
    "gamma_": "gamma",
    "n_features_in_": "n_features",
    "feature_names_in_": "feature_names",
    "_open": "open_labels",
    "_learner": "learner",
}
_AROUND = {"scaler_": "fitted_scaler", "estimator_": "fitted_estimator"}


def upgraded(reader: Reader, tree: Any) -> Any:
    """Return the model of a tree of version 1."""
    try:
        return reader.value(_upgraded(_with_arrays(tree, reader), reader))
    except NotAModel:
        raise
    except KeyError as error:
        raise NotAModel(f"a part of its model lacks the field {error}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise NotAModel(f"its model is not valid: {error}") from None


def _with_arrays(tree: Any, reader: Reader, *place: str) -> Any:
    """The tree with its arrays in their places, so that they are moved together with their fields."""
    if isinstance(tree, list):
        return [_with_arrays(item, reader, *place, str(i)) for i, item in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    if tree.get("is") == "tensor":
        return reader.value(tree, *place)
    is_tuple = tree.get("is") == "tuple"  # whose items are numbered from its own place
    return {name: _with_arrays(member, reader, *place, *(() if is_tuple else (name,))) for name, member in tree.items()}


def _upgraded(tree: Any, reader: Reader) -> Any:
    if isinstance(tree, list):
        return [_upgraded(item, reader) for item in tree]
    if not isinstance(tree, dict):
        return tree
    members = {name: _upgraded(member, reader) for name, member in tree.items()}
    kind = members.get("is")
    if kind == "Learner":
        return _learner(members, reader)
    if kind in ("StreamPipeline", "PlattClassifier"):
        return _renamed(members, _AROUND)
    if isinstance(kind, str) and kind in _PARTS:
        return _PARTS[kind](members)
    if isinstance(kind, str) and "fitted" in members:
        return _estimator(members)
    return members


def _recipe(members: Tree) -> Tree:
    step = members["step"]
    if step.get("is") != "NewtonStep":
        return {**_renamed(members, {"budget": "eviction"}), "is": "FirstOrder"}
    numbers = {"lam": 0.01, "hard": 0.1, "spread": 8.0, "forget": 1.0} | step
    return {
        "is": "SecondOrder",
        "loss": members["loss"],
        "prior": {"is": "GaussianPrior", "lam": numbers["lam"]},
        "dictionary": {"is": "GrowingDictionary", "spread": numbers["spread"], "easy_slope": numbers["hard"]},
        "memory": {"is": "FadingMemory", "forget": numbers["forget"]},
        "average": members["average"],
    }


def _grow_at_random_or_project(members: Tree) -> Tree:
    projection = {"is": "ProjectOnNearest", "n_neighbours": members["n_neighbours"]}
    return {"is": "GrowAtRandom", "beta": members["beta"], "eviction": projection}


_PARTS: dict[str, Callable[[Tree], Tree]] = {
    "Recipe": _recipe,
    "GrowAtRandomOrProject": _grow_at_random_or_project,
}


def _estimator(members: Tree) -> Tree:
    """An estimator or a scaler: fitted attributes have become ordinary fields."""
    fitted = _renamed(members.pop("fitted"), _FITTED)
    parameters = members.get("parameters")
    if isinstance(parameters, dict) and "kernel" in parameters:
        parameters.setdefault("relevances", None)  # which did not exist
    if members.get("statistics", fitted) is None:
        members.pop("statistics")
    learner = fitted.get("learner")
    return members | fitted | (learner if isinstance(learner, dict) and "choice" in learner else {})


def _renamed(members: Tree, names: dict[str, str]) -> Tree:
    return {names.get(name, name): member for name, member in members.items()}


def _learner(members: Tree, reader: Reader) -> Any:
    """A learner; where gamma or lam was "stream", with the choice, which an estimator has beside its learner."""
    chosen = [name for name in ("gamma", "lam") if members.pop(name, None) == "stream"]
    state = {name.replace(".budget.", ".eviction."): values for name, values in members["state"].items()}
    first = {name.removeprefix("first."): state.pop(name) for name in list(state) if name.startswith("first.")}
    learner: Any = {**members, "state": state}
    if state and members["recipe"]["is"] == "SecondOrder" and not _has_the_same_arrays(learner, reader):
        learner = rebuilt(learner, reader)
    if not chosen:
        return learner
    complete = bool(state) and not first
    return {"learner": learner, "choice": {"chosen": chosen, "complete": complete, "rows": first or None}}


def _blank(learner: Tree, reader: Reader) -> Learner:
    blank: Learner = reader.value({**learner, "state": {}, "n_features": None, "sparse": False})
    return blank


def _has_the_same_arrays(learner: Tree, reader: Reader) -> bool:
    core = _blank(learner, reader).started(n_features=1, sparse=learner["sparse"] is True)
    return set(core.save()) == set(learner["state"])


def rebuilt(learner: Tree, reader: Reader) -> Learner:
    """Return a second-order learner with the function of a state, and nothing else that was learned."""
    names = ("t", "basis.", "update.function.")
    state = {name: values for name, values in learner["state"].items() if name.startswith(names)}
    state["update.pending_slots"] = np.empty(0, np.int64)
    state["update.pending"] = np.empty((0, int(state["update.function.outputs"].item())))
    # A first-order learner has the same function and nothing else.
    loss = learner["recipe"]["loss"]
    recipe = {
        "is": "FirstOrder",
        "loss": loss,
        "admission": {"is": "Always"},
        "step": {"is": "GradientStep", "eta": 1.0},
    }
    same: Learner = reader.value({**learner, "recipe": recipe, "budget": None, "state": state})
    expansion = same.expansion()
    term = expansion.only
    counts = (term.last.points != 0).any(axis=0) | (term.average.points != 0).any(axis=0)  # candidates do not count yet
    last, average = (replace(c, points=c.points[:, counts]) for c in (term.last, term.average))
    kept = {"points": term.points[counts], "births": term.births[counts], "ghosts": term.ghosts[counts]}
    restored = _blank(learner, reader)
    restored.set_expansion(replace(expansion, terms=(replace(term, last=last, average=average, **kept),)))
    return restored
