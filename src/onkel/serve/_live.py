"""The live page of a served model: the parts of a report, which asks for its contents once a second."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import numpy as np
from sklearn.base import is_regressor

from onkel.parts import Linear
from onkel.preprocess.encoder import StreamEncoder
from onkel.report import View, page, plots, section
from onkel.serve._served import Served
from onkel.serve._tasks import Snapshot

_TIME = "seconds since the start"
_ALL, _LATEST = "all rows", "latest rows"
_MOST_FEATURES = 12


def live_page(served: Served, names: list[str]) -> str:
    """Return the page of a served model."""
    if is_regressor(served.snapshot.model):
        views = [
            View("RMSE before learning", "seconds", "rmse", _TIME),
            View("MAE before learning", "seconds", "mae", _TIME),
        ]
    else:
        views = [View("Accuracy before learning", "seconds", "accuracy", _TIME, "share")]
        if hasattr(served.snapshot.model, "predict_proba"):
            views.append(View("Log loss before learning", "seconds", "log_loss", _TIME))
    views.append(View("Support vectors", "rows", "n_support", "rows", "count"))
    empty = [{"name": name} for name in (_ALL, _LATEST)]
    links = [_links(names, served.name)] if len(names) > 1 else []
    source = f"/v2/models/{quote(served.name)}/live"
    script = (files(__package__) / "live.js").read_text("utf-8")
    return page(
        served.name,
        *links,
        f'<dl class="facts" data-state="{source}"></dl><p class="said" role="status"></p>',
        plots(empty, views),
        section("Features that matter", _list("features", "feature", "weight")),
        section("Recent refusals", _list("refusals", "time", "status", "sentence")),
        f"<script>\n{script}</script>",
        subtitle=f"{type(served.snapshot.inside.estimator).__name__}, live",
    )


def _links(names: list[str], own: str) -> str:
    """Links to the pages of the other models."""
    links = "".join(f'<a href="/models/{quote(name)}">{escape(name)}</a>' for name in names if name != own)
    return f'<nav class="contents">{links}</nav>'


def state(served: Served) -> dict[str, Any]:
    """Return the present contents of the page, as JSON."""
    facts, progress = served.facts(), served.progress
    curve = progress.series()
    values = progress.values()
    shown = {
        "rows learned": f"{facts['rows']:,}",
        **{_TITLES[name]: _written(name, value) for name, value in values.items()},
        "support vectors": f"{facts['n_support']:,}",
        **({} if facts["gamma"] is None else {"width (gamma)": f"{facts['gamma']:.4g}"}),
        "model": _bytes(facts["model_bytes"]),
        "waiting to be learned": f"{facts['queue_rows']:,} rows",
        "pending labels": f"{facts['pending_labels']:,}",
        "log": _bytes(facts["log_bytes"]),
        "version": str(facts["version"]),
    }
    own = {name: column for name, column in curve.items() if not name.startswith("latest_")}
    latest = {name.removeprefix("latest_"): column for name, column in curve.items() if name.startswith("latest_")}
    times = {name: curve[name] for name in ("rows", "seconds") if name in curve}
    return {
        "facts": shown,
        "said": served.broken or ("" if served.snapshot.is_fitted else "The model has learned nothing yet."),
        "series": [{"name": _ALL, **own}, {"name": _LATEST, **times, **latest}],
        "refusals": list(progress.refusals),
        "features": features(served.snapshot),
    }


def features(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the most important features, by relevances or by the weights of a linear kernel; none for other models.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDRegressor(kernel="linear", random_state=0).fit([[1.0, 0.0], [2.0, 0.0]], [1.0, 2.0])
    >>> [feature["feature"] for feature in features(Snapshot(model, ("a", "b"), 2, 0))]
    ['a', 'b']
    """
    learner = snapshot.inside.learner
    if learner is None or (learner.n_support == 0 and not learner.has_weights):
        return []
    if learner.has_weights:
        weights = np.abs(np.atleast_2d(snapshot.inside.estimator.coef_)).sum(axis=0)
    elif learner.kernels[learner.main_kernel].metric.scales:
        of_all = getattr(snapshot.inside.estimator, "importances_", None)
        weights = learner.expansion().terms[learner.main_kernel].importances if of_all is None else of_all
    elif isinstance(learner.kernel, Linear):
        weights = np.abs(learner.coefficients @ np.asarray(_dense(learner.support()[0]))).sum(axis=0)
    else:
        return []
    names = snapshot.names or tuple(f"column {i}" for i in range(len(weights)))
    if snapshot.inside.transformers and isinstance(snapshot.inside.transformers[-1], StreamEncoder):
        names = tuple(snapshot.inside.transformers[-1].get_feature_names_out().tolist())
    order = np.argsort(-weights, kind="stable")[:_MOST_FEATURES]
    return [{"feature": names[i], "weight": float(f"{weights[i]:.4g}")} for i in order.tolist()]


def _dense(points: Any) -> Any:
    return points.toarray() if hasattr(points, "toarray") else points


_TITLES = {"accuracy": "accuracy", "log_loss": "log loss", "rmse": "RMSE", "mae": "MAE"}


def _written(name: str, value: float) -> str:
    return f"{100 * value:.2f} %" if name == "accuracy" else f"{value:.4g}"


def _bytes(count: int) -> str:
    return f"{count / 1000:,.1f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def _list(name: str, *columns: str) -> str:
    """An empty table that the page's script fills, and hides as long as it is empty."""
    heads = "".join(f'<th class="text">{escape(column)}</th>' for column in columns)
    return (
        f'<div class="table" data-fill="{name}" data-columns="{" ".join(columns)}" tabindex="0">'
        f"<table><thead><tr>{heads}</tr></thead><tbody></tbody></table></div>"
    )
