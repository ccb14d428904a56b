"""Classifiers and regressors for River, over any recipe (docs/river.md).

Records are dicts; their features may come and go, a missing one is 0, and so are all that no record had before. Labels
are of any kind and may appear at any time. The model is a `Learner` on sparse rows, so that a record costs the
features that it has.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import random
import reprlib
from array import array
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from onkel import recipes
from onkel.catalogue import LEARNERS, Named
from onkel.catalogue.docstrings import complete, entries, one_of
from onkel.choice import LearnerHolder
from onkel.estimators.sigmoids import Sigmoids, margins
from onkel.learner import Csr, Learner
from onkel.parameters import FunctionParameters, KernelParameters, Note, declare, parameters_of, with_note
from onkel.parts import KERNELS, CallableKernel, Hedge, Kernel, Recipe
from onkel.utils.extras import needed
from onkel.utils.validation import check_finite, check_number

base: Any = needed("river.base", "river", "onkel.river")

__all__ = ["KernelClassifier", "KernelRegressor", "PlattClassifier"]

Record = Mapping[Hashable, Any]
Floats = NDArray[np.float64]
Plan = tuple[tuple[Hashable, ...], NDArray[np.int32], NDArray[np.int64]]  # names by column, columns, offsets of one row


class _Columns:
    """Which column a feature has: in the order of appearance, and by name among those that appear together."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}
        self.width = 0  # the most columns that a record has asked for, those of a prediction included
        self._names: tuple[Hashable, ...] | None = None  # of the last record whose features all had columns
        self._plan: Plan | None = None

    def row(self, x: Record, learn: bool) -> Csr:
        """Return a record as a sparse row; features without a column come after all others, and to `learn` get it."""
        names = tuple(x)
        plan = self._plan if names == self._names else None
        ordered, features, offsets = plan or self._planned(names)
        try:
            values = array("d", map(x.__getitem__, ordered))
        except (TypeError, OverflowError):
            _refuse(x)
            raise
        if not math.isfinite(sum(values)):
            _refuse(x)
        if plan is None:
            self._keep(names, (ordered, features, offsets), learn)
        return (np.frombuffer(values) if names else np.empty(0)), features, offsets

    def rows(self, X: Any, learn: bool) -> Csr:
        """Return the rows of a data frame as sparse rows."""
        names = tuple(X.columns)
        plan = self._planned(names)
        try:
            values = X[list(plan[0])].to_numpy(dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"X must be numbers: {error}") from None
        check_finite("X", values, np.array(plan[0], object))
        self._keep(names, plan, learn)
        n, width = values.shape
        return values.ravel(), np.tile(plan[1], n), np.arange(n + 1, dtype=np.int64) * width

    def _planned(self, names: tuple[Hashable, ...]) -> Plan:
        new = sorted((name for name in names if name not in self.of), key=_by_name)
        column = {name: len(self.of) + i for i, name in enumerate(new)}
        column |= {name: self.of[name] for name in names if name not in column}  # of this record's features only
        ordered = tuple(sorted(names, key=column.__getitem__))
        features = np.array([column[name] for name in ordered], np.int32)
        return ordered, features, np.array([0, len(ordered)], np.int64)

    def _keep(self, names: tuple[Hashable, ...], plan: Plan, learn: bool) -> None:
        ordered, features, _ = plan
        if len(features):
            self.width = max(self.width, int(features[-1]) + 1)
        if learn:
            for name, column in zip(ordered, features.tolist(), strict=True):
                self.of.setdefault(name, column)
        if learn or all(name in self.of for name in names):
            self._names, self._plan = names, plan


def _by_name(name: Hashable) -> tuple[str, str]:
    return type(name).__name__, str(name)


def _refuse(x: Record) -> None:
    """Say which feature is no finite number, if one is not."""
    for name, value in x.items():
        _check_finite(f"feature {name!r}", value)


def _check_finite(what: str, value: Any) -> None:
    try:
        fine = math.isfinite(value)
    except (TypeError, OverflowError):  # text; an integer beyond all floats
        fine = False
    if not fine:
        raise ValueError(f"{what} is {reprlib.repr(value)}; expected a finite number")


_TAKES = parameters_of(KernelParameters) | parameters_of(FunctionParameters)
# There are no rows to take a width from before the first record, and records are sparse, which a callable is not given.
_TAKES["kernel"] = with_note(
    _TAKES["kernel"],
    more="A Kernel is a part, a weighted sum of products of them, or a `Hedge` of several.",
    kind="{kernels} or Kernel",
)
_CHOSEN = ("gamma", "lam", "relevances", "kernel")  # what the stream may choose
_TAKES["gamma"] = with_note(_TAKES["gamma"], more="", kind="float")


def _is_stream(value: Any) -> bool:
    return isinstance(value, str) and value == "stream"


def _declared(cls: type[Any]) -> type[Any]:
    """Give a class the parameters that all learners share."""
    declare(cls, _TAKES, gamma=1.0, budget=500)
    own = cls.__annotations__
    cls.__annotations__ = {"recipe": own["recipe"], **{name: own[name] for name in _TAKES}, "seed": own["seed"]}
    completed = dataclass(repr=False, eq=False)(cls)
    completed.__init__.__annotations__ = {name: parameter.type for name, parameter in parameters_of(completed).items()}
    return completed


@_declared
class _KernelModel(LearnerHolder):
    """What classifiers and regressors share: records become rows of a learner."""

    recipe: Annotated[
        Recipe | str,
        Note('What to learn with: ``onkel.recipes.Forgetron()``, or its name, ``"Forgetron"``.', kind="Recipe or str"),
    ]
    seed: Annotated[int | None, Note("Of the learner's draws.", "None draws a new one each time.")] = None

    _task = ""

    def __post_init__(self) -> None:
        told = {name: getattr(self, name) for name in _TAKES}
        chosen = [name for name in _CHOSEN if _is_stream(getattr(self, name, None))]
        if told["relevances"] is not None and "relevances" not in chosen:
            raise ValueError("relevances must be None or 'stream': the features of records have names, and no order")
        untold = {"gamma": 1.0, "relevances": None, "kernel": "rbf"}
        self._recipe = _recipe_named(self.recipe) if isinstance(self.recipe, str) else self.recipe
        learner = Learner(
            self._recipe,
            task=self._task,
            seed=random.randrange(2**31) if self.seed is None else self.seed,
            **told | {name: untold[name] for name in chosen if name in told},
        )
        if "gamma" not in chosen or isinstance(told["kernel"], Kernel):  # without which there is nothing else to choose
            chosen = [name for name in chosen if name == "lam"]
        self._begin_with(learner, chosen)
        if any(isinstance(each, CallableKernel) for each in learner.kernels):
            raise ValueError(
                "records are sparse rows, and a kernel of your own takes dense ones: use one of onkel's kernels"
            )
        self._columns = _Columns()
        self._codes: dict[Hashable, int] = {}  # of a classifier's labels, in the order of appearance
        self._y = np.zeros(1)

    def _learn_row(self, x: Record, y: float, w: float, scores: bool = False) -> Floats | None:
        row = self._columns.row(x, learn=True)
        self._check_choosable(row)
        self._make_room()
        self._y[0] = y
        return self._learn_csr(row, self._y, None if w == 1.0 else _weights(w, 1), scores=scores)

    def _score_row(self, x: Record) -> list[float]:
        row = self._columns.row(x, learn=False)
        self._make_room()
        scores: list[float] = self._learner.score_csr(row)[0].tolist()
        return scores

    def _learn_frame(self, X: Any, y: Floats, w: Any, scores: bool = False) -> Floats | None:
        rows = self._columns.rows(X, learn=True)
        self._check_choosable(rows)
        self._make_room()
        return self._learn_csr(rows, y, None if w is None else _weights(w, len(y)), scores=scores)

    def _score_frame(self, X: Any) -> Floats:
        rows = self._columns.rows(X, learn=False)
        self._make_room()
        return self._learner.score_csr(rows)

    def _make_room(self) -> None:
        """Make room for as many features as records have asked for, and as many again."""
        if self._columns.width > (self._learner.n_features or 0):
            self._reach(max(16, 2 * self._columns.width))
        elif self._learner.n_features is None:
            self._reach(16)

    @property
    def learner(self) -> Learner:
        """What is inside: the thin learner of the records' rows, which `onkel.plot` draws."""
        return self._learner

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return self._learner.n_support

    @property
    def memory(self) -> float:
        """The memory with the largest weight, in rows, for second-order recipes."""
        return self._learner.memory

    @property
    def memory_weights(self) -> dict[float, float]:
        """The weight of each memory, by its length in rows, for second-order recipes."""
        return self._learner.memory_weights

    @property
    def memory_weights_history(self) -> tuple[Any, Floats]:
        """At most 256 row counts, and the weights of the memories after each of them (one line each)."""
        return self._learner.memory_weights_history

    @property
    def changes(self) -> list[int]:
        """The rows after which another kernel or λ took over, from row 4,096 on; at most the last 256."""
        return [] if self._choice is None else list(self._choice.changes)

    @property
    def feature_relevances(self) -> dict[Hashable, float]:
        """What the kernel multiplies each feature's share of the distance by: 1 on average, 1 for a new feature."""
        return self._by_feature(self._learner.kernels[-1].relevances_of(self._width))

    @property
    def feature_importances(self) -> dict[Hashable, float]:
        """How much each feature counts in the kernel, without its unit; the largest is 1."""
        if self._learner.n_features is None:
            return {}
        return self._by_feature(self._learner.expansion().terms[-1].importances)

    @property
    def _width(self) -> int:
        return self._learner.n_features or 0

    def _by_feature(self, values: Floats) -> dict[Hashable, float]:
        return {name: float(values[column]) for name, column in self._columns.of.items() if column < len(values)}

    @property
    def nbytes(self) -> int:
        """Bytes of the model in the core, which Python's own counts do not see."""
        return self._nbytes


def _recipe_named(name: str) -> Recipe:
    if name not in LEARNERS:
        raise ValueError(f"recipe must be a Recipe or one of {', '.join(LEARNERS)}, got {name!r}")
    recipe: Recipe = LEARNERS[name].recipe()
    return recipe


def _documented(cls: type[Any]) -> type[Any]:
    """Complete a class's docstring with its parameters."""
    words = {"kernels": one_of(KERNELS), "output": ""}
    cls.__doc__ = complete(cls.__doc__, Parameters=entries(parameters_of(_KernelModel).values(), words))
    return cls


def _floats(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def _weights(w: Any, n: int) -> Floats:
    weights = np.broadcast_to(_floats("w", w), (n,)).copy()
    check_finite("w", weights)
    check_number("the least of w", float(weights.min(initial=0)), at_least=0)
    return weights


@_documented
class KernelClassifier(_KernelModel, base.MiniBatchClassifier):  # type: ignore[misc]
    """A classifier over any recipe, for River.

    There are probabilities for recipes with the log loss; wrap the others in a `PlattClassifier`.

    Examples
    --------
    >>> import onkel
    >>> from onkel.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> forgetron = KernelClassifier(onkel.recipes.Forgetron(), gamma=0.1, budget=100)
    >>> model = preprocessing.StandardScaler() | forgetron
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    True
    >>> forgetron.n_support
    100
    """

    _task = "multiclass"

    def learn_one(self, x: Record, y: Hashable, w: float = 1.0) -> None:
        """Learn from a record `x` with label `y` and weight `w`."""
        self._learn_label(x, y, w)

    def _learn_label(self, x: Record, y: Hashable, w: float, scores: bool = False) -> Floats | None:
        code = self._codes.get(y)
        if code is not None:
            return self._learn_row(x, code, w, scores)
        # a refused row makes no label known
        before = copy.deepcopy((self._learner, self._choice)) if w else (self._learner, self._choice)
        try:
            scores_before = self._learn_row(x, len(self._codes), w, scores)
        except BaseException:
            self._learner, self._choice = before
            raise
        if w:
            self._codes[y] = len(self._codes)
        return scores_before

    def predict_one(self, x: Record, **kwargs: Any) -> Any:
        """Return the most likely label of a record; None before there is one."""
        if not self._codes:
            return None
        scores = self._score_row(x)
        return self._labels[scores.index(max(scores))]

    def predict_proba_one(self, x: Record, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label known so far, for recipes with the log loss."""
        self._check_probabilities()
        if not self._codes:
            return {}
        scores = self._score_row(x)
        top = max(scores)
        shares = [math.exp(score - top) for score in scores]
        total = sum(shares)
        return {label: share / total for label, share in zip(self._codes, shares, strict=True)}

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a data frame in order, as from records one after the other."""
        self._learn_labels(X, y, w)

    def _learn_labels(self, X: Any, y: Any, w: Any, scores: bool = False) -> Floats | None:
        known = dict(self._codes)
        weights = None if w is None else _weights(w, len(y))
        counts = [True] * len(y) if weights is None else (weights != 0).tolist()
        labels = list(y)
        codes = [known.setdefault(label, len(known)) if c else 0 for label, c in zip(labels, counts, strict=True)]
        try:
            return self._learn_frame(X, np.array(codes, np.float64), weights, scores)
        finally:  # an interruption may have come before some labels
            n_known = max(len(self._codes), self._learner.n_outputs)
            self._codes = dict(itertools.islice(known.items(), n_known))

    def predict_many(self, X: Any) -> Any:
        """Return the most likely label of each row of a data frame."""
        pd = needed("pandas", "river", "predict_many")
        if not self._codes:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        best = self._score_frame(X).argmax(axis=1).tolist()
        return pd.Series([self._labels[i] for i in best], index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each label known so far, for the rows of a data frame."""
        pd = needed("pandas", "river", "predict_proba_many")
        self._check_probabilities()
        scores = self._score_frame(X) if self._codes else np.zeros((len(X), 0))
        shares = np.exp(scores - scores.max(axis=1, initial=-np.inf, keepdims=True))
        return pd.DataFrame(shares / shares.sum(axis=1, keepdims=True), index=X.index, columns=self._labels)

    def _check_probabilities(self) -> None:
        if not self._recipe.loss.logistic or (isinstance(self.kernel, Hedge) and not self.kernel.adds_up):
            what = "a vote" if isinstance(self.kernel, Hedge) else f"the loss {self._recipe.loss.name!r}"
            raise NotImplementedError(f"{what} has no probabilities: wrap it in onkel.river.PlattClassifier")

    @property
    def _labels(self) -> list[Any]:
        return list(self._codes)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"recipe": recipes.OGD(loss="log_loss")}
        yield {"recipe": recipes.Forgetron(), "budget": 50}
        yield {"recipe": recipes.Projectron(), "budget": 50}
        yield {"recipe": recipes.SPA(beta=2.0), "gamma": 0.1, "budget": 50}
        yield {"recipe": recipes.DualSGD(lam=0.1, n_components=30, k=3), "gamma": 0.1, "budget": 50}
        yield {"recipe": recipes.Newton(lam=0.1), "gamma": 0.1, "budget": 50}


@_documented
class KernelRegressor(_KernelModel, base.MiniBatchRegressor):  # type: ignore[misc]
    """A regressor over any recipe with a loss for regression, for River.

    Examples
    --------
    >>> import onkel
    >>> from onkel.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> recipe = onkel.recipes.Newton(loss="squared_error")
    >>> model = preprocessing.StandardScaler() | KernelRegressor(recipe, gamma=0.01, budget=50, fit_intercept=True)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get() < 1.0
    True
    """

    _task = "regression"

    def learn_one(self, x: Record, y: float, w: float = 1.0) -> None:
        """Learn from a record `x` with target `y` and weight `w`."""
        _check_finite("the target", y)
        self._learn_row(x, y, w)

    def predict_one(self, x: Record, **kwargs: Any) -> float:
        """Return the prediction for a record; 0 before there is one."""
        return self._score_row(x)[0]

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a data frame in order, as from records one after the other."""
        targets = _floats("y", y)
        check_finite("y", targets)
        self._learn_frame(X, targets, w)

    def predict_many(self, X: Any) -> Any:
        """Return the prediction for each row of a data frame."""
        pd = needed("pandas", "river", "predict_many")
        return pd.Series(self._score_frame(X)[:, 0], index=X.index, name=None)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"recipe": recipes.OGD(loss="epsilon_insensitive")}
        yield {"recipe": recipes.PA(loss="epsilon_insensitive"), "gamma": 0.01, "fit_intercept": True}
        yield {"recipe": recipes.Newton(lam=0.1, loss="squared_error"), "gamma": 0.01, "budget": 50}


# -- the named learners ----------------------------------------------------------------------------------------------


def _named(row: Named, task: str) -> type[Any]:
    """Return a named learner's class: the parameters and defaults of its estimator, with a constant term and a width
    that the stream chooses, since there are no rows to take one from before the first record."""
    own, given = row.parameters(task), row.defaults[task]
    shared = {"budget": 500, "fit_intercept": True} | {name: given[name] for name in _TAKES if name in given}
    if shared.get("gamma", "scale") == "scale":
        shared["gamma"] = "stream"
    fields = own | {name: replace(p, default=shared.get(name, p.default)) for name, p in _TAKES.items()}
    fields["seed"] = parameters_of(_KernelModel)["seed"]
    above: type[Any] = KernelRegressor if task == "regression" else KernelClassifier

    def __init__(self: Any, **told: Any) -> None:
        strange = next((name for name in told if name not in fields), None)
        if strange is not None:
            raise TypeError(f"{row.estimators[task]} has no parameter {strange!r}; expected one of {', '.join(fields)}")
        for name, parameter in fields.items():
            setattr(self, name, told.get(name, parameter.default))
        chosen = [name for name in _CHOSEN if _is_stream(getattr(self, name, None))]
        self.recipe = row.recipe(**{name: getattr(self, name) for name in own if name not in chosen})
        self.__post_init__()

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    signature += [inspect.Parameter(n, keyword, default=p.default, annotation=p.type) for n, p in fields.items()]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]

    @classmethod  # type: ignore[misc]
    def _unit_test_params(cls: Any) -> Iterator[dict[str, Any]]:
        yield {
            "gamma": 0.1,
            "budget": 50,
            **({"lam": 0.1} if own.get("lam") and own["lam"].default == "stream" else {}),
        }

    words = {"kernels": one_of(KERNELS), "output": ""} | row.words(task)
    name = row.estimators[task]
    document = f"`onkel.{name}` for River, with a constant term and a width that the stream chooses.\n\n    Examples\n"
    document += (
        f"    --------\n    >>> from onkel.river import {name}\n    >>> {name}(budget=100).budget\n    100\n    "
    )
    members = {
        "__init__": __init__,
        "__doc__": complete(document, Parameters=entries(fields.values(), words)),
        "__module__": __name__,
        "_unit_test_params": _unit_test_params,
    }
    return type(name, (above,), members)


NAMED = {row.estimators[task]: _named(row, task) for row in LEARNERS.values() for task in row.estimators}
globals().update(NAMED)
__all__ += NAMED


class PlattClassifier(base.Wrapper, base.MiniBatchClassifier):  # type: ignore[misc]
    """Probabilities for a classifier without any: Platt's sigmoids, learned along with it, for River.

    As `onkel.PlattClassifier`: the sigmoids see each record's scores made before the classifier learned from it.

    Parameters
    ----------
    classifier
        A `KernelClassifier` of this module.
    forget
        The weight of earlier records falls by this factor with every record; that of the first ones falls faster.

    Examples
    --------
    >>> import onkel
    >>> from onkel.river import KernelClassifier, PlattClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> projectron = KernelClassifier(onkel.recipes.Projectron(), gamma=0.1, budget=100)
    >>> model = preprocessing.StandardScaler() | PlattClassifier(projectron)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss()).get() < 0.4
    True
    """

    def __init__(self, classifier: KernelClassifier, forget: float = 0.999) -> None:
        if not isinstance(classifier, KernelClassifier):
            raise ValueError(f"classifier must be a KernelClassifier of onkel.river, got {type(classifier).__name__}")
        self.classifier = classifier
        self.forget = forget
        self._sigmoids = Sigmoids(forget, binary=False)

    @property
    def _wrapped_model(self) -> KernelClassifier:
        return self.classifier

    def learn_one(self, x: Record, y: Hashable, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from a record `x` with label `y` and weight `w`."""
        scores = self.classifier._learn_label(x, y, w, scores=True)
        assert scores is not None
        if w:
            self._sigmoids.learn(margins(scores[0].tolist()), self.classifier._codes[y], w)

    def predict_proba_one(self, x: Record, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label known so far."""
        labels = self.classifier._codes
        if not labels:
            return {}
        seen = margins(self.classifier._score_row(x))
        return dict(zip(labels, self._sigmoids.probabilities(seen), strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = None, **kwargs: Any) -> None:
        """Learn from the rows of a data frame in order, as from records one after the other."""
        weights = [1.0] * len(y) if w is None else _weights(w, len(y)).tolist()
        width = len(self.classifier._codes)
        before = copy.deepcopy(vars(self.classifier))
        try:
            scores = self.classifier._learn_labels(X, y, w, scores=True)
        except BaseException:  # some rows may have been learned from, whose scores the sigmoids have not seen
            self.classifier.__dict__.update(before)
            raise
        assert scores is not None
        for row, label, weight in zip(scores.tolist(), y, weights, strict=True):
            if weight:
                code = self.classifier._codes[label]
                width = max(width, code + 1)  # a label has a score from the row on that brought it
                self._sigmoids.learn(margins(row[:width]), code, weight)

    def predict_proba_many(self, X: Any, **kwargs: Any) -> Any:
        """Return the probability of each label known so far, for the rows of a data frame."""
        pd = needed("pandas", "river", "predict_proba_many")
        labels = self.classifier._labels
        scores = self.classifier._score_frame(X) if labels else np.zeros((len(X), 0))
        probabilities = (
            [self._sigmoids.probabilities(row) for row in map(margins, scores.tolist())] if labels else scores
        )
        return pd.DataFrame(probabilities, index=X.index, columns=labels)

    def predict_many(self, X: Any, **kwargs: Any) -> Any:
        """Return the most probable label of each row of a data frame."""
        pd = needed("pandas", "river", "predict_many")
        probabilities = self.predict_proba_many(X)
        if not len(probabilities.columns):
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        return pd.Series([probabilities.columns[i] for i in probabilities.to_numpy().argmax(axis=1)], index=X.index)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": KernelClassifier(recipes.Forgetron(), budget=50)}
