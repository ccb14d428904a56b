"""The page of ``onkel compare --report``: learning curves, a table, and every learner's parameters."""

from __future__ import annotations

from typing import Any

from onkel.report._parts import Column, View, details, facts, page, plots, table

_QUALITY = {
    "accuracy": ("accuracy", "share", "high"),
    "auc": ("AUC", "number", "high"),
    "log_loss": ("log loss", "number", "low"),
    "rmse": ("RMSE", "number", "low"),
    "mae": ("MAE", "number", "low"),
    "held_out": ("held out", "number", ""),
}


def comparison(data: dict[str, Any], runs: list[dict[str, Any]]) -> str:
    """Return the page.

    Parameters
    ----------
    data : dict
        What the data is: `name`, `rows`, `n_features`, `task`, perhaps `classes`.
    runs : list of dict
        `learner`, `parameters` and `curve` (as :meth:`onkel.evaluate.Curve.to_dict` gives it) of each run.
    """
    names = [run["learner"] for run in runs]
    title = f"{names[0]} on {data['name']}" if len(names) == 1 else f"{len(names)} learners on {data['name']}"
    present = [q for q in _QUALITY if any(q in run["curve"] for run in runs)]
    main = present[0]
    label, kind, _ = _QUALITY[main]
    views = [
        View(f"{label[0].upper()}{label[1:]} so far", "rows", main, "rows", kind),
        View(f"{label[0].upper()}{label[1:]} against time", "seconds", main, "seconds", kind, log=True),
        View("Support vectors", "rows", "n_support", "rows", "count"),
    ]
    columns = [
        Column("learner", "learner", "text"),
        *(Column(q, *_QUALITY[q]) for q in present),
        Column("n_support", "support vectors", "count"),
        Column("seconds", "seconds", "seconds"),
        Column("speed", "rows/s", "count"),
    ]
    return page(
        title,
        facts(_facts(data)),
        plots([{**run["curve"], "name": run["learner"]} for run in runs], views),
        table(columns, [_last(run) for run in runs], swatches=True),
        details("Parameters", {run["learner"]: run["parameters"] for run in runs}),
        subtitle="Each row is predicted before it is learned from.",
    )


def _facts(data: dict[str, Any]) -> dict[str, Any]:
    shown = {"rows": data["rows"], "features": data["n_features"], "task": data["task"]}
    if "classes" in data:
        shown["classes"] = data["classes"]
    return shown


def _last(run: dict[str, Any]) -> dict[str, Any]:
    end = {name: values[-1] for name, values in run["curve"].items() if isinstance(values, list)}
    return {**end, "learner": run["learner"], "speed": end["rows"] / max(end["seconds"], 1e-9)}
