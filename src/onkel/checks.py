"""What onkel promises, as functions that you run over a part, a recipe or an estimator of your own.

Each check raises an ``AssertionError`` that says which promise is broken; where all is well it returns nothing. onkel's
own tests use them. `check_part`, `check_recipe` and `check_estimator` run all checks that apply, on small streams of
their own; the others take a function that makes a new learner, or a new estimator, and the rows.

>>> import onkel
>>> from onkel.parts.python import PythonEviction
>>> class RemoveNewest(PythonEviction):
...     def restore_budget(self, points, row, newest):
...         if points.too_many:
...             points.evict(newest)
>>> onkel.checks.check_part(RemoveNewest())
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier

from onkel import parts
from onkel.estimators.generic import KernelClassifier, KernelRegressor
from onkel.files.persistence import load, save
from onkel.inside import inside
from onkel.learner import Learner

Floats = NDArray[np.float64]
Make = Callable[[], Any]

__all__ = [
    "check_bad_input",
    "check_chunks",
    "check_estimator",
    "check_kernel",
    "check_loss",
    "check_memory",
    "check_part",
    "check_recipe",
    "check_reference",
    "check_saving",
    "stream",
]


def stream(
    task: str = "binary", n: int = 120, *, sparse: bool = False, dtype: str = "float64", seed: int = 0
) -> tuple[Any, Floats]:
    """Return rows and targets to check with: rows that come twice, rows of zeros, and a class that comes late.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    n : int
        How many rows; at least 20.
    sparse : bool
        Rows as CSR rather than dense.
    dtype : {"float64", "float32"}
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from onkel.checks import stream
    >>> X, y = stream("multiclass")
    >>> X.shape, np.unique(y)
    ((120, 4), array([0., 1., 2.]))
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(dtype)
    X[rng.random(X.shape) < 0.3] = 0
    X[5::9] = X[3]
    X[7] = 0
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    y = f if task == "regression" else (f > 0).astype(np.float64)
    if task == "multiclass":
        y[n // 3 :] += f[n // 3 :] > 1
    return csr_array(X) if sparse else X, y.astype(np.float64)


def _suited(loss: Any, X: Any, y: Floats) -> tuple[Any, Floats]:
    """The rows, with targets that the loss is for: counts are at least 0."""
    return X, np.abs(y) if loss == "poisson" or isinstance(loss, parts.Poisson) else y


# -- everything that applies ------------------------------------------------------------------------------------------


def check_part(part: parts.Part) -> None:
    """Check a part: by itself, where it is a loss or a kernel, and at work in a recipe with the simplest other parts.

    Parameters
    ----------
    part : Loss, Admission, Step, Eviction, Kernel, Prior, Dictionary or Memory
        Of onkel's own, or one in Python (:mod:`onkel.parts.python`).

    Examples
    --------
    >>> import onkel
    >>> from onkel.parts.python import PythonLoss
    >>> class WrongSlope(PythonLoss):
    ...     def value(self, z):
    ...         return max(0.0, 1.0 - z) ** 2
    ...     def slope(self, z):
    ...         return -1.0 if z < 1 else 0.0
    >>> onkel.checks.check_part(WrongSlope())
    Traceback (most recent call last):
    AssertionError: WrongSlope: the slope at z = -2.93 is -1, and its value changes by -7.86
    """
    if isinstance(part, parts.Kernel):
        check_kernel(part)
        check_recipe(_recipe_with(parts.HingeLoss()), kernel=part)
        return
    if isinstance(part, parts.Loss):
        check_loss(part)
        if part.smooth:
            check_recipe(parts.SecondOrder(part))
    check_recipe(_recipe_with(part))


def check_recipe(
    recipe: parts.Recipe, *, kernel: Any = "rbf", budget: int = 12, bounded: bool = True, tasks: Iterable[str] = ()
) -> None:
    """Check a recipe with every task, dense and sparse rows, float64 and float32.

    Parameters
    ----------
    recipe : Recipe
    kernel : str or Kernel
    budget : int
        Of support vectors.
    bounded : bool
        Whether the budget is a bound; `onkel.parts.GrowAtRandom` raises it.
    tasks : iterable of str
        By default all that the loss is for.

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_recipe(onkel.recipes.NORMA(), tasks=["binary"])
    """
    for task in tasks or (["regression"] if recipe.loss.regression else ["binary", "multiclass"]):
        for sparse, dtype in ((False, "float64"), (True, "float64"), (False, "float32")):
            X, y = _suited(recipe.loss, *stream(task, sparse=sparse, dtype=dtype))
            fixed: dict[str, Any] = {"task": task, "dtype": dtype, "fit_intercept": sparse}
            make = partial(Learner, recipe, kernel=kernel, gamma=0.6, budget=budget, seed=3, **fixed)
            check_chunks(make, X, y)
            check_saving(make, X, y)
        if bounded:
            check_memory(partial(make, average=False), *_suited(recipe.loss, *stream(task, 300, dtype="float32")))
        kind: Any = KernelRegressor if task == "regression" else KernelClassifier
        width: dict[str, Any] = {} if isinstance(kernel, parts.Kernel) else {"gamma": 0.6}
        model = partial(kind, recipe, kernel=kernel, budget=budget, random_state=0, **width)
        check_bad_input(model, *_suited(recipe.loss, *stream(task)))


def check_estimator(estimator: Any) -> None:
    """Check an estimator of onkel, a pipeline or a calibrated classifier, with its own parameters.

    Only a width that the first call's rows decide (``gamma="scale"`` or ``"auto"``) is replaced, by 0.6: it depends on
    how the stream is cut.

    Parameters
    ----------
    estimator : estimator
        It is cloned, and stays as it is.

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_estimator(onkel.SPAClassifier(budget=20, random_state=0))
    """
    by_first_call = [
        name
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "gamma" and isinstance(value, str) and value != "stream"
    ]

    def make() -> Any:
        return clone(estimator).set_params(**dict.fromkeys(by_first_call, 0.6))

    for task in ["binary", "multiclass"] if is_classifier(estimator) else ["regression"]:
        X, y = _suited(estimator.get_params().get("loss"), *stream(task))
        check_chunks(make, X, y)
        check_saving(make, X, y)
        check_bad_input(make, X, y)


# -- one promise each -------------------------------------------------------------------------------------------------


def check_chunks(make: Make, X: Any, y: Floats, weight: Floats | None = None) -> None:
    """Check that the cut of a stream into calls changes no bit, nor do blocks and threads.

    Parameters
    ----------
    make : callable
        Returns a new `Learner` or a new estimator, the same at every call.
    X, y : the stream
    weight : ndarray, default=None

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_chunks(lambda: onkel.Learner(onkel.recipes.SPA(), seed=1), *onkel.checks.stream())
    """
    n = X.shape[0]
    whole = make()
    expected = _learn(whole, X, y, weight)
    for cuts in ([1, 2, 3, n // 2], range(1, n)):
        model, scores = make(), []
        for rows in np.split(np.arange(n), list(cuts)):
            scores.append(_learn(model, X[rows], y[rows], None if weight is None else weight[rows], y))
        _assert_same(model, whole, f"{len(scores)} calls", "one call")
        _assert_same_scores(scores, expected, f"{len(scores)} calls")
    if isinstance(whole, Learner):
        for block_rows, n_jobs in ((1, 1), (7, 2)):
            model = make()
            model.n_jobs = n_jobs
            found = model.learn_rows(X, y, weight, scores=True, block_rows=block_rows)
            how = f"blocks of {block_rows} rows and {n_jobs} threads"
            _assert_same(model, whole, how, "blocks of 48 rows and 1 thread")
            _assert_same_scores([found], expected, how)


def check_saving(make: Make, X: Any, y: Floats) -> None:
    """Check that a model that was copied or saved in the middle of a stream, and loaded, goes on as if nothing had
    happened.

    A model that `onkel.save` refuses, since some of it is code, is copied only.

    Parameters
    ----------
    make : callable
        Returns a new `Learner` or a new estimator, the same at every call.
    X, y : the stream

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_saving(lambda: onkel.Learner(onkel.recipes.SPA(), seed=1), *onkel.checks.stream())
    """
    half = X.shape[0] // 2
    whole, model = make(), make()
    _learn(whole, X, y)
    _learn(model, X[:half], y[:half], None, y)
    again = {"copied": copy.deepcopy(model)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onkel"
        try:
            save(model, path)
        except ValueError as error:
            _require("no code" in str(error), f"onkel.save refuses the model: {error}")
        else:
            again["saved"] = load(path)
    for how, other in again.items():
        _assert_same(other, model, f"the model that was {how}", "the model")
        _learn(other, X[half:], y[half:], None, y)
        _assert_same(other, whole, f"a model that was {how} in the middle of the stream", "one that was not")


def check_memory(make: Make, X: Any, y: Floats) -> None:
    """Check that the budget holds after every row, and that a full model does not grow.

    Parameters
    ----------
    make : callable
        Returns a new `Learner` with a budget, the same at every call. An average keeps
        points that left: make it with ``average=False``.
    X, y : the stream

    Examples
    --------
    >>> import onkel
    >>> make = lambda: onkel.Learner(onkel.recipes.RBP(), budget=5)
    >>> onkel.checks.check_memory(make, *onkel.checks.stream())
    """
    learner = make()
    for i in range(X.shape[0]):
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        _require(
            learner.n_support <= learner.budget,
            f"after row {i} there are {learner.n_support} support vectors, and the budget is {learner.budget}",
        )
        points = len(learner.support()[1])
        _require(
            learner.n_support == points == learner.coefficients.shape[1],
            f"after row {i} there are {points} points for {learner.n_support} support vectors",
        )
    learner.learn_rows(X, y)
    before = learner.nbytes
    learner.learn_rows(X, y)
    _require(
        learner.nbytes <= before * 1.5 + 4096, f"{before} bytes became {learner.nbytes} when the same rows came again"
    )


def check_bad_input(make: Make, X: Any, y: Floats) -> None:
    """Check that an estimator refuses bad rows in one sentence, and that a refused call changes nothing.

    Parameters
    ----------
    make : callable
        Returns a new estimator, the same at every call.
    X, y : the stream
        Dense.

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_bad_input(lambda: onkel.OGDClassifier(gamma=1.0), *onkel.checks.stream())
    """
    model = make()
    _learn(model, X, y)
    scores, fingerprint = _scores(model, X), _fingerprint(model)
    nan, infinite = X[:9].copy(), X[:9].copy()
    nan[4, 2], infinite[4, 2] = np.nan, np.inf
    negative = np.full(9, -1.0)
    for what, rows, targets, options in (
        ("a row with NaN", nan, y[:9], {}),
        ("a row with infinity", infinite, y[:9], {}),
        ("a column too few", X[:9, :-1], y[:9], {}),
        ("a target too few", X[:9], y[:8], {}),
        ("no rows", X[:0], y[:0], {}),
        ("a negative weight", X[:9], y[:9], {"sample_weight": negative}),
        ("a missing target", X[:9], np.full(9, np.nan), {}),
    ):
        try:
            model.partial_fit(rows, targets, **options)
        except ValueError as error:
            _require(str(error), f"{what} is refused with an empty message")
        else:
            raise AssertionError(f"{what} is learned from")
        _require(_fingerprint(model) == fingerprint, f"{what} is refused, but has changed the model")
        _require(_scores(model, X).tobytes() == scores.tobytes(), f"{what} is refused, but has changed the scores")


def check_reference(
    make: Make, reference: Callable[[Any, Floats], Any], X: object, y: Floats, tolerance: float = 1e-9
) -> None:
    """Check that a learner's scores, each made before learning from its row, are those of a reference.

    Parameters
    ----------
    make : callable
        Returns a new `Learner`.
    reference : callable
        Takes the stream and returns the scores, ``(n_rows,)`` or ``(n_rows, n_outputs)``. Write it from the paper.
    X, y : the stream
    tolerance : float
        Relative to one more than the largest score.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> def perceptron(X, y):  # with the gaussian kernel of width 1; labels are 0 and 1
    ...     scores, points, signs = [], [], []
    ...     for x, label in zip(X, 2 * y - 1):
    ...         scores.append(sum(s * np.exp(-((x - p) ** 2).sum()) for p, s in zip(points, signs)))
    ...         if label * scores[-1] <= 0:
    ...             points.append(x)
    ...             signs.append(label)
    ...     return scores
    >>> make = lambda: onkel.Learner(onkel.recipes.Perceptron())
    >>> onkel.checks.check_reference(make, perceptron, *onkel.checks.stream())
    """
    found = _learn(make(), X, y)
    expected = np.asarray(reference(X, y), np.float64).reshape(found.shape)
    wrong = np.abs(found - expected) > tolerance * (1 + np.abs(expected).max(initial=0.0))
    row = int(np.argmax(wrong.any(axis=1)))
    _require(not wrong.any(), f"row {row} has the scores {found[row]}, and the reference has {expected[row]}")


def check_loss(loss: parts.Loss) -> None:
    """Check that a loss is at least 0, that its slope is its value's, and its curvature its slope's.

    Parameters
    ----------
    loss : Loss

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_loss(onkel.parts.Huber(epsilon=0.3))
    """
    from onkel import _core

    name, step = type(loss).__name__, 1e-5
    task = "regression" if loss.regression else "binary"

    def at(z: float) -> tuple[float, float, float]:
        # With y = 1, or 0 in a regression, the score is z.
        value, gradient, curvature, *_ = _core.evaluate_loss(loss.spec, task, [z], 0.0 if loss.regression else 1.0)
        return value, gradient[0], curvature

    compared = 0
    for z in np.round(np.linspace(-2.93, 2.87, 59), 2).tolist():
        (value, slope, curvature), up, down = at(z), at(z + step), at(z - step)
        _require(value >= 0, f"{name}: the value at z = {z:g} is {value:g}, below 0")
        if abs(up[1] - down[1]) > 0.01 * (1 + abs(slope)):
            continue  # a kink
        compared += 1
        change = (up[0] - down[0]) / (2 * step)
        _require(
            abs(change - slope) < 1e-4 * (1 + abs(slope)),
            f"{name}: the slope at z = {z:g} is {slope:g}, and its value changes by {change:.3g}",
        )
        if loss.smooth:
            change = (up[1] - down[1]) / (2 * step)
            _require(curvature >= 0, f"{name}: the curvature at z = {z:g} is {curvature:g}, below 0")
            _require(
                abs(change - curvature) < 1e-3 * (1 + abs(curvature)),
                f"{name}: the curvature at z = {z:g} is {curvature:g}, and its slope changes by {change:.3g}",
            )
    _require(compared > 40, f"{name}: its slope jumps nearly everywhere")


def check_kernel(kernel: parts.Kernel) -> None:
    """Check that a kernel is symmetric, the same in the core as in Python, and positive semidefinite if it says so.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> import onkel
    >>> onkel.checks.check_kernel(onkel.parts.RBF(0.5) * onkel.parts.Linear())
    """
    X, _ = stream(n=40)
    recipe = parts.FirstOrder(parts.SquaredError(), parts.Always(), parts.GradientStep(eta=1.0))

    def in_core(row: Any, rows: Any) -> Floats:
        learner = Learner(recipe, task="regression", kernel=kernel)
        learner.learn_rows(row, np.ones(1))  # a coefficient of 1: the scores are kernel values
        return learner.score_rows(rows)[:, 0]

    K = np.array([in_core(X[i : i + 1], X) for i in range(len(X))])
    size = 1 + np.abs(K).max()
    if not isinstance(kernel, parts.CallableKernel):
        sparse = np.array([in_core(csr_array(X[i : i + 1]), csr_array(X)) for i in range(len(X))])
        for what, other in (("its formula", kernel.matrix(X, X)), ("sparse rows", sparse)):
            apart = np.abs(K - other).max()
            _require(apart < 1e-8 * size, f"{kernel!r}: the core and {what} are {apart:.3g} apart")
    apart = np.abs(K - K.T).max()
    _require(apart < 1e-12 * size, f"{kernel!r}: k(x, x') and k(x', x) are {apart:.3g} apart")
    if kernel.psd:
        least = np.linalg.eigvalsh((K + K.T) / 2)[0]
        _require(least > -1e-8 * size, f"{kernel!r} has a matrix with the eigenvalue {least:.3g}, but claims to be psd")


def _require(kept: object, otherwise: str) -> None:
    if not kept:
        raise AssertionError(otherwise)


# -- models of both kinds ---------------------------------------------------------------------------------------------


def _recipe_with(part: parts.Part) -> parts.Recipe:
    """The simplest recipe with this part."""
    second: dict[str, Any] = {
        kind.__name__.lower(): part for kind in (parts.Prior, parts.Dictionary, parts.Memory) if isinstance(part, kind)
    }
    if second:
        return parts.SecondOrder(parts.LogLoss(), **second)
    needs_log_loss = isinstance(part, parts.Admission) and part.needs_log_loss
    eta = getattr(part, "eta", 0.3) if isinstance(part, parts.Admission) else 0.3
    if isinstance(part, parts.Loss):  # which may be steep: longer steps would diverge
        eta = 0.01
    first: dict[str, Any] = {
        "loss": parts.LogLoss() if needs_log_loss else parts.HingeLoss(),
        "admission": parts.OnGradient(),
        "step": parts.GradientStep(eta=eta),
        "eviction": parts.RemoveOldest(),
    }
    kinds = (parts.Loss, parts.Admission, parts.Step, parts.Eviction)
    return parts.FirstOrder(**first | {kind.__name__.lower(): part for kind in kinds if isinstance(part, kind)})


def _learn(model: Any, X: Any, y: Floats, weight: Floats | None = None, labels: Floats | None = None) -> Floats:
    """The scores of rows, each made before learning from it; ``labels`` are those of the whole stream."""
    if hasattr(model, "learn_rows"):
        return np.asarray(model.learn_rows(X, y, weight, scores=True))
    options: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
    if is_classifier(model):
        options["classes"] = np.unique(y if labels is None else labels)
    return np.asarray(model.predict_then_learn(X, y, **options)).reshape(X.shape[0], -1)


def _scores(model: Any, X: Any) -> Floats:
    if hasattr(model, "score_rows"):
        return np.asarray(model.score_rows(X))
    return np.asarray(model.decision_function(X) if is_classifier(model) else model.predict(X))


def _fingerprint(model: object) -> str:
    if isinstance(model, Learner):
        return model.fingerprint()
    fingerprint: str = inside(model).estimator._fingerprint()
    return fingerprint


def _assert_same(model: object, other: object, one: str, two: str) -> None:
    _require(_fingerprint(model) == _fingerprint(other), f"{one} and {two} have led to different states")


def _assert_same_scores(found: list[Any], expected: Floats, how: str) -> None:
    width = expected.shape[1]
    padded = np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in found])
    _require(padded.tobytes() == expected.tobytes(), f"{how} have led to other scores on the way")
