"""`onkel info`: the contents of a model file."""

from __future__ import annotations

import os
from typing import Any

from onkel.cli._options import Json
from onkel.cli.predict import Model


def info(*, model: Model, json: Json = False) -> None:
    """Describe a model file.

    \b
    Examples:
      onkel info a9a.onkel
      onkel info run-1/rows-000000300000.onkel --json
    """
    from onkel.cli._learners import parameters
    from onkel.cli._rows import plain
    from onkel.cli._show import TITLES, bar, print_facts, print_json
    from onkel.files.persistence import read
    from onkel.inside import facts, inside

    loaded, header = read(model)
    its = inside(loaded)
    said: dict[str, Any] = {"learner": type(its.estimator).__name__, **facts(loaded)}
    if "classes" in said:
        said["classes"] = [plain(label) for label in said["classes"]]
    if its.learner is not None and "n_support" in said and "regions" not in said:
        said["norm"] = its.learner.norm  # as many kernel values as there are pairs of support vectors
    said |= {"bytes": os.path.getsize(model), **{k: header[k] for k in ("isa", "written_by")}}
    if json:
        print_json({"model": model, "parameters": parameters(loaded), **said})
        return
    importances, regions = said.pop("importances", {}), said.pop("regions", [])
    said["learner"] = " ".join(repr(its.estimator).split())  # with the parameters that are not at their defaults
    print_facts({TITLES.get(name, name.replace("_", " ")): _text(value) for name, value in said.items()})
    if regions:
        print("\nregions, in each of which experts of its own predict beside those of all rows")
        print("\n".join(f"  {region}" for region in regions))
    for note in _notes(said):
        print(f"\n{note}")
    if importances:
        print("\nimportance of features, independent of their units")
        print_facts({f"  {name}": bar(value) for name, value in importances.items()})


def _notes(said: dict[str, Any]) -> list[str]:
    """What some of the facts mean, and what can be done about them."""
    notes = []
    if str(said.get("memory", "all rows")) != "all rows":
        notes.append(
            f"memory {said['memory']}: of a short and longer memories of the stream, this one predicts best now; rows\n"
            "further back hardly count. Where the order of the rows means nothing, learn with --shuffle, or with\n"
            "--set forget=1, which remembers all rows alike."
        )
    if "strays" in said:
        notes.append(
            "strays: so many values of these columns are not of the column's kind, and were taken as gaps.\n"
            "--schema NAME=category,... makes a column what it should be."
        )
    return notes


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
