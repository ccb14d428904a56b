"""The results of whole runs: mean and spread of each cell, as tables that are part of the package.

``onkel reproduce NAME --recorded`` shows them without running anything; ``--record FOLDER`` replaces the cells in the
tables of a folder by those of a run. The tables of docs/reproduction.md and of docs/reproduction are made of them.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from onkel_papers._files import write_whole
from onkel_papers._lines import Line, lines_of
from onkel_papers.verdict import Findings, Measured, TableEntry

_CELLS = ("experiment", "data", "learner", "metric", "mean", "sd", "runs", "share", "note")
_SETS = ("experiment", "data", "rows", "majority", "paper_rows", "seconds", "run", "note", "missing")
_FILE_OF_SETS = "sets.tsv"


def recorded(experiment: str, data: Iterable[str] | None = None) -> Findings:
    """Return the recorded results of an experiment.

    Parameters
    ----------
    experiment : str
    data : iterable of str, default=None
        The data sets; None: all.

    Examples
    --------
    >>> found = recorded("bogd-table2", ["german"])
    >>> [entry.ours for entry in found.entries if entry.learner == "OGD"][0]
    Measured(mean=29.84, sd=0.675, runs=20)
    """
    found = Findings(experiment)
    for line in lines_of("measured", _FILE_OF_SETS):
        if line["experiment"] == experiment and (data is None or line["data"] in data):
            rows, majority = (float(line[name]) if line[name] else None for name in ("rows", "majority"))
            about = {"rows": None if rows is None else int(rows), "majority": majority, "note": line["note"]}
            found.sets[line["data"]] = {**about, "paper_rows": int(line["paper_rows"]), "run": line["run"]}
            if line["missing"]:
                found.sets[line["data"]]["missing"] = line["missing"]
            found.spent += float(line["seconds"] or 0)
    for line in lines_of("measured", f"{experiment.partition('-')[0]}.tsv"):
        if line["experiment"] == experiment and line["data"] in found.sets:
            place = line["data"], line["learner"], line["metric"]
            found.enter(*place, _measured(line), line["note"], float(line["share"] or 1))
    return found.completed()


def _measured(line: Line) -> Measured | None:
    if not line["mean"]:
        return None
    return Measured(float(line["mean"]), float(line["sd"]) if line["sd"] else None, int(line["runs"]))


def record(findings: Iterable[Findings], folder: str | os.PathLike[str]) -> None:
    """Write whole runs into the tables of a folder, replacing the cells that they contain."""
    cells: dict[str, dict[tuple[str, ...], Line]] = {}
    sets: dict[tuple[str, ...], Line] = {}
    for found in findings:
        of_paper = cells.setdefault(f"{found.experiment.partition('-')[0]}.tsv", {})
        for data, about in found.sets.items():
            sets[found.experiment, data] = _set_line(found, data, about)
        for entry in found.entries:
            if entry.ours is not None or entry.note:
                of_paper[found.experiment, entry.data, entry.learner, entry.metric] = _cell_line(found, entry)
    for name, lines in cells.items():
        _merge(Path(folder) / name, _CELLS, 4, lines)
    _merge(Path(folder) / _FILE_OF_SETS, _SETS, 2, sets)


def _cell_line(found: Findings, entry: TableEntry) -> Line:
    ours = entry.ours
    numbers = {
        "mean": "" if ours is None else f"{ours.mean:.6g}",
        "sd": "" if ours is None or ours.sd is None else f"{ours.sd:.3g}",
        "runs": "" if ours is None else str(ours.runs),
        "share": "" if entry.share == 1 else f"{entry.share:.4g}",
    }
    place = {"experiment": found.experiment, "data": entry.data, "learner": entry.learner, "metric": entry.metric}
    return {**place, **numbers, "note": entry.note}


def _set_line(found: Findings, data: str, about: dict[str, Any]) -> Line:
    known = {name: "" if about.get(name) is None else str(about[name]) for name in ("rows", "paper_rows", "note")}
    majority = about.get("majority")
    return {
        "experiment": found.experiment,
        "data": data,
        **known,
        "majority": "" if majority is None else f"{majority:.4f}",
        "seconds": f"{found.spent / len(found.sets):.0f}",
        "run": "" if about.get("rows") is None else about.get("run") or date.today().isoformat(),
        "missing": about.get("missing", ""),
    }


def _merge(path: Path, columns: tuple[str, ...], n_keys: int, lines: dict[tuple[str, ...], Line]) -> None:
    """Replace the lines of a table that have the same keys; insert new ones after those of their set."""
    kept: dict[tuple[str, ...], Line] = {}
    if path.exists():
        for line in csv.DictReader(path.read_text("utf-8").splitlines(), delimiter="\t"):
            kept[tuple(line[name] for name in columns[:n_keys])] = line
    kept |= lines
    order = {place: n for n, place in enumerate(dict.fromkeys(key[:2] for key in kept))}
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept[key] for key in sorted(kept, key=lambda key: order[key[:2]]))
    write_whole(path, text.getvalue())
