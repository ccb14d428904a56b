"""`onkel info`: what a model file holds."""

from __future__ import annotations

from typing import Any

from onkel.cli._options import Json
from onkel.cli.predict import Model


def info(*, model: Model, json: Json = False) -> None:
    """Say what a model file holds: the learner, its parameters, what it has learned, who wrote it.

    \b
    Examples:
      onkel info a9a.onkel
      onkel info run-1/rows-000000300000.onkel --json
    """
    from onkel.cli._show import print_facts, print_json
    from onkel.persistence import read

    loaded, header = read(model)
    facts = _facts(loaded, header)
    if json:
        print_json(facts)
        return
    shown = {name.replace("_", " "): _text(value) for name, value in facts.items() if value is not None}
    print_facts(shown)


def _facts(loaded: Any, header: dict[str, Any]) -> dict[str, Any]:
    from onkel.cli._data import plain
    from onkel.cli._learners import parameters
    from onkel.evaluate import learner_of

    model = learner_of(loaded)
    facts: dict[str, Any] = {"learner": type(model).__name__}
    if loaded is not model:
        facts["scaler"] = type(loaded.scaler).__name__
    facts["parameters"] = parameters(loaded)
    if hasattr(model, "classes_"):
        facts["classes"] = [plain(label) for label in model.classes_.tolist()]
    fitted = {"n_features": "n_features_in_", "rows": "t_", "support_vectors": "n_support_", "bytes": "nbytes_", "norm": "norm_"}
    if hasattr(model, "_learner"):
        facts |= {name: getattr(model, attribute) for name, attribute in fitted.items()}
    facts["instruction_set"] = header.get("isa")
    facts["written_by"] = header.get("written_by")
    return facts


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" if " " not in str(item) else f"{name}={item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
