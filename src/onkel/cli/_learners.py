"""Learners by name, and their parameters as text."""

from __future__ import annotations

import ast
import inspect
from typing import Any, get_type_hints

from onkel.cli._guard import Misused
from onkel.cli._options import Learning, Scale

_ENDINGS = {"classification": "Classifier", "regression": "Regressor"}  # of the estimators' names, by task
_WORDS = {"true": True, "false": False, "none": None}


def names(task: str) -> dict[str, type[Any]]:
    """Return the estimators of the named learners for a task, by the learners' names.

    >>> names("classification")["spa"].__name__, "klr" in names("regression")
    ('SPAClassifier', False)
    """
    from onkel.estimators import named

    ending = _ENDINGS[task]
    found = {name.removesuffix(ending).lower(): getattr(named, name) for name in named.__all__ if name.endswith(ending)}
    return dict(sorted(found.items()))


def make(wanted: str, source: Any, options: Learning) -> dict[str, Any]:
    """Create the learners in a comma-separated list of names ("all": every one), with the given options."""
    task = source.task
    known = names(task)
    picked = list(known) if wanted == "all" else list(dict.fromkeys(wanted.lower().split(",")))
    for name in picked:
        if name not in known:
            other = next((t for t in _ENDINGS if t != task and name in names(t)), None)
            reason = f"there is no learner {name!r} for {task}" if other else f"there is no learner {name!r}"
            raise Misused(f"{reason}; expected one of {', '.join(known)}" + ("" if other else f" (for {task})"))
    chosen = [_assignment(text) for text in options.set or []]
    given = {"budget": options.budget, "n_jobs": options.jobs, "class_weight": options.class_weight}
    common: dict[str, Any] = {"random_state": options.seed}
    common |= {name: getattr(value, "value", value) for name, value in given.items() if value is not None}
    _check_used(chosen, {name: known[name] for name in picked})
    models = {}
    for name in picked:
        own = {**common, **_own(name, known[name], chosen)}
        width = options.gamma or inspect.signature(known[name]).parameters["gamma"].default
        if "gamma" not in own and (options.gamma is not None or width in ("scale", "auto")):
            own["gamma"] = source.gamma(width)
        models[name] = _prepared(known[name](**own), source, options)
    return models


def _assignment(text: str) -> tuple[str, str, str]:
    """Learner (or nothing), parameter and value of an assignment.

    >>> _assignment("eta=0.5"), _assignment("spa.eta=0.5")
    (('', 'eta', '0.5'), ('spa', 'eta', '0.5'))
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Misused(f"--set {text}: expected a parameter and its value, such as eta=0.5")
    learner, _, parameter = name.rpartition(".")
    return learner.lower(), parameter, value


def _own(name: str, cls: type[Any], chosen: list[tuple[str, str, str]]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {
        parameter: _value(hints[parameter], value)
        for learner, parameter, value in chosen
        if learner in ("", name) and parameter in inspect.signature(cls).parameters
    }


def _value(kind: object, text: str) -> Any:
    """The value of a parameter: the text itself where the estimator takes a string, otherwise its value in Python.

    >>> [_value(kind, text) for kind, text in [(float, "0.5"), (int | None, "none"), (bool, "true"), (str, "1")]]
    [0.5, None, True, '1']
    """
    if kind is str:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _check_used(chosen: list[tuple[str, str, str]], classes: dict[str, type[Any]]) -> None:
    for learner, parameter, _ in chosen:
        if learner and learner not in classes:
            raise Misused(f"--set {learner}.{parameter}: {learner!r} is not one of the learners {', '.join(classes)}")
        asked = {name: cls for name, cls in classes.items() if learner in ("", name)}
        valid = sorted({p for cls in asked.values() for p in inspect.signature(cls).parameters})
        if parameter not in valid:
            raise Misused(f"{', '.join(asked)}: no parameter {parameter!r}; expected one of {', '.join(valid)}")


def _prepared(estimator: Any, source: Any, options: Learning) -> Any:
    """An estimator in a pipeline with the transformer that prepares its rows."""
    import onkel

    if source.is_table:
        return onkel.make_stream_pipeline(estimator, schema=source.schema, dtype=options.dtype.value)
    return estimator if source.scale is None else onkel.StreamPipeline(scaler(source.scale), estimator)


def scaler(scale: Scale) -> Any:
    """Return a new one-pass scaler."""
    import onkel

    return onkel.StreamStandardScaler() if scale is Scale.STANDARD else onkel.StreamMinMaxScaler()


def parameters(model: object) -> dict[str, Any]:
    """Return the parameters of a learner as JSON values."""
    from onkel.inside import inside

    values = inside(model).parameters
    return {k: v if isinstance(v, str | int | float | bool | None) else repr(v) for k, v in values.items()}
