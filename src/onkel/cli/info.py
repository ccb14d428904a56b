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
    structure = inside(loaded)
    known: dict[str, Any] = {"learner": type(structure.estimator).__name__, **facts(loaded)}
    if "classes" in known:
        known["classes"] = [plain(label) for label in known["classes"]]
    if structure.learner is not None and "n_support" in known and "regions" not in known:
        known["norm"] = structure.learner.norm  # as many kernel values as there are pairs of support vectors
    known |= {"bytes": os.path.getsize(model), **{k: header[k] for k in ("isa", "written_by")}}
    if json:
        print_json({"model": model, "parameters": parameters(loaded), **known})
        return
    importances, regions = known.pop("importances", {}), known.pop("regions", [])
    known["learner"] = " ".join(repr(structure.estimator).split())  # with the parameters that are not at their defaults
    print_facts({TITLES.get(name, name.replace("_", " ")): _text(value) for name, value in known.items()})
    if regions:
        print("\nregions, in each of which experts of its own predict beside those of all rows")
        print("\n".join(f"  {region}" for region in regions))
    for note in _notes(known):
        print(f"\n{note}")
    if importances:
        print("\nimportance of features, independent of their units")
        print_facts({f"  {name}": bar(value) for name, value in importances.items()})


def _notes(known: dict[str, Any]) -> list[str]:
    """What some of the facts mean, and what can be done about them."""
    notes = []
    if str(known.get("memory", "all rows")) != "all rows":
        notes.append(
            f"memory {known['memory']}: of a short and longer memories of the stream, this one predicts best now;\n"
            "rows further back hardly count. Where the order of the rows means nothing, learn with --shuffle,\n"
            "or with --set forget=1, which remembers all rows alike."
        )
    if "strays" in known:
        notes.append(
            "strays: so many values of these columns are not of the column's kind, and were taken as gaps.\n"
            "--schema NAME=category,... makes a column what it should be."
        )
    return notes


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
