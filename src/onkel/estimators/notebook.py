"""The view of a fitted model in a notebook: scikit-learn's diagram, and below it what has been learned."""

from __future__ import annotations

from html import escape
from typing import Any

from onkel.inside import inside

_SHOWN = ("gamma_", "lam_")  # numbers that may have been chosen from the stream


def learned(model: object) -> dict[str, str]:
    """Return what a model has learned, as text; nothing before the first row.

    Examples
    --------
    >>> import onkel
    >>> learned(onkel.PerceptronClassifier(gamma=1.0).fit([[0.0], [1.0]], ["a", "b"]))["rows"]
    '2'
    """
    found = inside(model)
    learner = found.learner
    if learner is None or learner.n_features is None:
        return {}
    budget = "" if learner.budget is None else f" of at most {learner.budget:,}"
    facts = {
        "rows": f"{learner.t:,}",
        "features": f"{learner.n_features:,}",
        "support vectors": f"{learner.n_support:,}{budget}",
        "bytes": f"{found.estimator.nbytes_:,}",
    }
    for name in _SHOWN:
        value = getattr(found.estimator, name, None)
        if isinstance(value, float):
            facts[name.removesuffix("_")] = f"{value:.4g}"
    if len(getattr(found.estimator, "memory_weights_", ())) > 1:
        memory = found.estimator.memory_
        facts["memory"] = "all rows" if memory == float("inf") else f"{memory:,.0f} rows"
    if hasattr(found.estimator, "_progress"):
        facts["progressive loss"] = str(found.estimator._progress)
    return facts


class NotebookView:
    """Adds what was learned to scikit-learn's view of an estimator in a notebook."""

    def _repr_html_inner(self) -> str:
        shown: str = super()._repr_html_inner()  # type: ignore[misc]
        return shown + _table(learned(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += _table(learned(self))
        return shown


def _table(facts: dict[str, str]) -> str:
    cells = "".join(
        f'<tr><th style="text-align: left; padding-right: 1em">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table class="onkel-learned">{cells}</table>' if facts else ""
