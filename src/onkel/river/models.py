"""Classifiers and regressors over any recipe: a `Learner` on the sparse rows of records."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Hashable, Iterator
from dataclasses import field, replace
from typing import Annotated, Any, TypeVar, dataclass_transform

import numpy as np
from scipy.special import ndtri

from onkel import recipes
from onkel.choice import LearnerHolder
from onkel.choice.growth import budget_of_one
from onkel.docstrings import complete
from onkel.estimators.generic import recipe_of
from onkel.estimators.making import described_parameters
from onkel.learner import Learner
from onkel.parameters import (
    COMMON,
    FunctionParameters,
    KernelParameters,
    Note,
    is_stream,
    parameter_class,
    parameters_of,
)
from onkel.parts import CallableKernel, Hedge, Kernel, Poisson, Quantile, Recipe, SecondOrder
from onkel.river.records import Columns, Floats, Record, check_finite_value, floats_of, weights_of
from onkel.utils.extras import needed
from onkel.utils.validation import check_finite, check_number

base: Any = needed("river.base", "river", "onkel.river")

T = TypeVar("T")
_CHOSEN = ("gamma", "lam", "relevances", "ranks", "kernel")  # what the stream may choose
_SHARED = tuple(parameters_of(KernelParameters) | parameters_of(FunctionParameters))  # what a `Learner` takes, too


@dataclass_transform(kw_only_default=True, eq_default=False)
def model(cls: type[T]) -> type[T]:
    """Turn a class of fields into a model for River, with a docstring that lists its parameters."""
    completed = parameter_class(cls)
    completed.__init__.__annotations__ = {name: parameter.type for name, parameter in parameters_of(completed).items()}
    described = described_parameters(completed, regression=issubclass(completed, Regressor))
    completed.__doc__ = complete(completed.__doc__, Parameters=described)
    return completed


@parameter_class
class RiverModel(KernelParameters, FunctionParameters, LearnerHolder):
    """What classifiers and regressors share: records become rows of a learner."""

    # Records are sparse, which a callable is not given, and there are no rows to take a width from before the first.
    kernel: Annotated[
        Any,
        replace(
            COMMON["kernel"].note,
            more="A Kernel is a part, a weighted sum of products of them, or a `Hedge` of several.",
            kind="{kernels} or Kernel",
        ),
    ] = "rbf"
    gamma: Annotated[float | str, replace(COMMON["gamma"].note, more="", kind="float")] = 1.0
    budget: int | None = 500
    seed: Annotated[int | None, Note("Of the learner's draws.", "None draws a new one each time.")] = None

    _task = ""

    def _recipe(self, horizon: int | None) -> Recipe:
        """What to learn with, for a stream of so many records, or of nobody knows how many."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _SHARED}
        chosen = [name for name in _CHOSEN if is_stream(getattr(self, name, None))]
        for name in ("relevances", "ranks"):
            if given[name] is not None and name not in chosen:
                raise ValueError(f"{name} must be None or 'stream': the features of records have names, and no order")
        until_chosen = {"gamma": 1.0, "relevances": None, "ranks": None, "kernel": "rbf"}
        given["budget"] = budget_of_one(given["budget"])  # sparse rows are one region
        recipe = self._recipe(getattr(self, "horizon", None))
        self._made_with = recipe
        learner = Learner(
            recipe,
            task=self._task,
            seed=random.randrange(2**31) if self.seed is None else self.seed,
            **given | {name: until_chosen[name] for name in chosen if name in given},
        )
        if "gamma" not in chosen or isinstance(self.kernel, Kernel):  # without which there is nothing else to choose
            chosen = [name for name in chosen if name == "lam"]
        self._begin_with(learner, chosen)
        if any(isinstance(each, CallableKernel) for each in learner.kernels):
            raise ValueError(
                "records are sparse rows, and a kernel of your own takes dense ones: use one of onkel's kernels"
            )
        self._columns = Columns()
        self._codes: dict[Hashable, int] = {}  # of a classifier's labels, in the order of appearance
        self._y = np.zeros(1)

    def _learn_row(self, x: Record, y: float, w: float, scores: bool = False) -> Floats | None:
        row = self._columns.row(x, learn=True)
        self._check_choosable(row)
        self._make_room()
        self._y[0] = y
        return self._learn_csr(row, self._y, None if w == 1.0 else weights_of(w, 1), scores=scores)

    def _score_row(self, x: Record) -> list[float]:
        row = self._columns.row(x, learn=False)
        self._make_room()
        scores: list[float] = self._learner.score_csr(row)[0].tolist()
        return scores

    def _learn_frame(self, X: Any, y: Floats, w: Any, scores: bool = False) -> Floats | None:
        rows = self._columns.rows(X, learn=True)
        self._check_choosable(rows)
        self._make_room()
        return self._learn_csr(rows, y, None if w is None else weights_of(w, len(y)), scores=scores)

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


@parameter_class
class Classifier(RiverModel, base.MiniBatchClassifier):  # type: ignore[misc]
    """Labels and class scores."""

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
        weights = None if w is None else weights_of(w, len(y))
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
        if not self._made_with.loss.logistic or (isinstance(self.kernel, Hedge) and not self.kernel.adds_up):
            what = "a vote" if isinstance(self.kernel, Hedge) else f"the loss {self._made_with.loss.name!r}"
            raise NotImplementedError(f"{what} has no probabilities: wrap it in onkel.river.PlattClassifier")

    @property
    def _labels(self) -> list[Any]:
        return list(self._codes)

    @property
    def _multiclass(self) -> bool:
        return True


@parameter_class
class Regressor(RiverModel, base.MiniBatchRegressor):  # type: ignore[misc]
    """Targets that are numbers."""

    _task = "regression"

    def learn_one(self, x: Record, y: float, w: float = 1.0) -> None:
        """Learn from a record `x` with target `y` and weight `w`."""
        check_finite_value("the target", y)
        self._made_with.loss.check_targets(np.array([y], np.float64))
        self._learn_row(x, y, w)

    def predict_one(self, x: Record, with_interval: bool = False, coverage: float = 0.9, **kwargs: Any) -> Any:
        """Return the prediction for a record; 0 before there is one.

        Parameters
        ----------
        x : dict
        with_interval : bool, default=False
            Whether to return an interval of River's instead (`river.conf`), as the deviations say that a second-order
            model expects; around others `river.conf.RegressionJackknife` makes one.
        coverage : float, default=0.9
            The fraction of the targets that intervals are to hold.
        """
        if with_interval:
            return self._interval(x, coverage)
        return float(self._made_with.loss.prediction(np.array(self._score_row(x)))[0])

    def _interval(self, x: Record, coverage: float) -> Any:
        check_number("coverage", coverage, above=0, below=1)
        if not isinstance(self._made_with, SecondOrder) or isinstance(self._made_with.loss, Quantile | Poisson):
            raise ValueError(
                "with_interval needs a model that knows the deviations of its targets, such as NewtonRegressor with "
                "the squared error: wrap this one in river.conf.RegressionJackknife"
            )
        mean = self.predict_one(x)
        deviation = float(self._learner.deviation_csr(self._columns.row(x, learn=False))[0])
        half = float(ndtri((1 + coverage) / 2)) * deviation if deviation > 0 else math.inf  # nothing is known at first
        return needed("river.conf", "river", "with_interval").Interval(mean - half, mean + half)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a data frame in order, as from records one after the other."""
        targets = floats_of("y", y)
        check_finite("y", targets)
        self._made_with.loss.check_targets(targets)
        self._learn_frame(X, targets, w)

    def predict_many(self, X: Any) -> Any:
        """Return the prediction for each row of a data frame."""
        pd = needed("pandas", "river", "predict_many")
        return pd.Series(self._made_with.loss.prediction(self._score_frame(X)[:, 0]), index=X.index, name=None)


@parameter_class
class RecipeParameter:
    """The parameter `recipe` of the models over any recipe."""

    recipe: Annotated[
        Recipe | str,
        Note('What to learn with: ``onkel.recipes.Forgetron()``, or its name, ``"Forgetron"``.', kind="Recipe or str"),
    ] = field(kw_only=False)

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipe_of(self.recipe)


@model
class KernelClassifier(RecipeParameter, Classifier):
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

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"recipe": recipes.OGD(loss="log_loss")}
        yield {"recipe": recipes.Forgetron(), "budget": 50}
        yield {"recipe": recipes.Projectron(), "budget": 50}
        yield {"recipe": recipes.SPA(beta=2.0), "gamma": 0.1, "budget": 50}
        yield {"recipe": recipes.DualSGD(lam=0.1, n_components=30, k=3), "gamma": 0.1, "budget": 50}
        yield {"recipe": recipes.Newton(lam=0.1), "gamma": 0.1, "budget": 50}


@model
class KernelRegressor(RecipeParameter, Regressor):
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

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"recipe": recipes.OGD(loss="epsilon_insensitive")}
        yield {"recipe": recipes.PA(loss="epsilon_insensitive"), "gamma": 0.01, "fit_intercept": True}
        yield {"recipe": recipes.Newton(lam=0.1, loss="squared_error"), "gamma": 0.01, "budget": 50}
