"""`onkel info`: what a model file holds."""

from __future__ import annotations

import os
from typing import Any

from onkel.cli._options import Json
from onkel.cli.predict import Model


def info(*, model: Model, json: Json = False) -> None:
    """Say what a model file holds.

    \b
    Examples:
      onkel info a9a.onkel
      onkel info run-1/rows-000000300000.onkel --json
    """
    from onkel.cli._learners import parameters
    from onkel.cli._show import TITLES, print_facts, print_json
    from onkel.evaluate import learner_of
    from onkel.models.persistence import read

    loaded, header = read(model)
    facts = {**_learned(loaded), "bytes": os.path.getsize(model), **{k: header[k] for k in ("isa", "written_by")}}
    if json:
        print_json({"model": model, "parameters": parameters(loaded), **facts})
        return
    facts["learner"] = " ".join(repr(learner_of(loaded)).split())  # with the parameters that are not at their defaults
    print_facts({TITLES.get(name, name.replace("_", " ")): _text(value) for name, value in facts.items()})


def _learned(loaded: Any) -> dict[str, Any]:
    """What is fitted; nothing where nothing is."""
    from onkel.cli._data import plain
    from onkel.evaluate import learner_of

    model = learner_of(loaded)
    facts: dict[str, Any] = {"learner": type(model).__name__}
    if loaded is not model:
        facts["scaler"] = type(loaded.scaler).__name__
    if hasattr(model, "classes_"):
        facts["classes"] = [plain(label) for label in model.classes_.tolist()]
    if hasattr(model, "n_features_in_"):
        facts |= {"n_features": model.n_features_in_, "rows": model.t_}
        facts |= {"n_support": model.n_support_, "norm": model.norm_}
    return facts


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
