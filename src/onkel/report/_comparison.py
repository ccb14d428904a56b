"""The page of ``onkel compare --report``: learning curves, a table, and every learner's parameters."""

from __future__ import annotations

from typing import Any

from onkel.report._parts import Column, View, bars, details, facts, page, plots, table

_QUALITY = {
    "accuracy": ("accuracy", "share", "high"),
    "auc": ("AUC", "number", "high"),
    "log_loss": ("log loss", "number", "low"),
    "rmse": ("RMSE", "number", "low"),
    "mae": ("MAE", "number", "low"),
    "held_out": ("held out", "number", ""),
}


_LATELY = ("accuracy", "log_loss", "rmse")  # that are known over a fading window, too
_SUBTITLE = "Each row is predicted before it is learned from. Lately is over about the last thousand rows."
_CHANGES = " Triangles mark where a learner replaced what it had chosen."


def comparison(data: dict[str, Any], runs: list[dict[str, Any]]) -> str:
    """Return the page.

    Parameters
    ----------
    data : dict
        What the data is: `name`, `rows`, `n_features`, `task`, perhaps `classes`.
    runs : list of dict
        `learner`, `parameters` and `curve` (as :meth:`onkel.evaluate.Curve.to_dict` gives it) of each run, and
        `importances` of the features where its kernel has learned them.
    """
    names = [run["learner"] for run in runs]
    title = f"{names[0]} on {data['name']}" if len(names) == 1 else f"{len(names)} learners on {data['name']}"
    present = [q for q in _QUALITY if any(q in run["curve"] for run in runs)]
    main = present[0]
    label, kind, _ = _QUALITY[main]
    views = [
        View(f"{label.capitalize()} so far", "rows", main, "rows", kind),
        View(f"{label.capitalize()} against time", "seconds", main, "seconds", kind, log=True),
        View("Support vectors", "rows", "n_support", "rows", "count"),
    ]
    known = {column for run in runs for column in run["curve"]}
    lately = [q for q in _LATELY if f"window_{q}" in known]
    views[1:1] = [
        View(f"Recent {_QUALITY[q][0]}", "window_rows", f"window_{q}", "rows", _QUALITY[q][1]) for q in lately
    ]
    if "memory" in known:
        views.append(
            View("Memory that the stream asks for, in rows", "memory_rows", "memory", "rows", "count", log_y=True)
        )
    columns = [
        Column("learner", "learner", "text"),
        *(Column(q, *_QUALITY[q]) for q in present),
        *(Column(f"recent_{q}", f"recent {_QUALITY[q][0]}", *_QUALITY[q][1:]) for q in lately),
        Column("n_support", "support vectors", "count"),
        Column("seconds", "seconds", "seconds"),
        Column("speed", "rows/s", "count"),
    ]
    importances = {run["learner"]: run["importances"] for run in runs if run.get("importances")}
    return page(
        title,
        facts(_facts(data)),
        plots([{**run["curve"], "name": run["learner"]} for run in runs], views),
        table(columns, [_last(run) for run in runs], swatches=True),
        *([bars("Importance of features", importances)] if importances else []),
        details("Parameters", {run["learner"]: run["parameters"] for run in runs}),
        subtitle=_SUBTITLE + (_CHANGES if "changes" in known else ""),
    )


def _facts(data: dict[str, Any]) -> dict[str, Any]:
    shown = {"rows": data["rows"], "features": data["n_features"], "task": data["task"]}
    if "classes" in data:
        shown["classes"] = data["classes"]
    return shown


def _last(run: dict[str, Any]) -> dict[str, Any]:
    end = {name: values[-1] for name, values in run["curve"].items() if isinstance(values, list) and values}
    return {**end, "learner": run["learner"], "speed": end["rows"] / max(end["seconds"], 1e-9)}
