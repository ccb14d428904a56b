"""Import of support vector machines trained by scikit-learn or LIBSVM, which can then learn from a stream."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_is_fitted

from onkel import _core, recipes
from onkel.estimators.generic import KernelClassifier, KernelRegressor
from onkel.function import Coefficients, Expansion, Term
from onkel.models.compress import smaller
from onkel.parts import KERNELS, LIBSVM_KERNELS, Kernel, PlainKernel, Recipe
from onkel.utils.validation import MOST_FEATURES, check_number

Path = str | os.PathLike[str]
_DENSE = 0.25  # the fraction of non-zero values above which points are stored dense


@dataclass(frozen=True)
class _Machine:
    """The function ``sum_i coefficients[i] k(points[i], .) + constant``, and its task."""

    points: Any
    births: NDArray[np.int64]  # the rows that the points come from
    rows: int  # the number of training rows
    coefficients: NDArray[np.float64]
    constant: float
    kernel: Kernel
    classes: NDArray[Any] | None  # None: a regression

    def function(self) -> Expansion:
        """Return the machine's function."""
        coefficients = Coefficients(self.coefficients[None], np.array([self.constant]), np.empty((1, 0)))
        relevances, ghosts = self.kernel.relevances_of(self.points.shape[1]), np.zeros(len(self.births), bool)
        term = Term(self.kernel, relevances, self.points, self.births, ghosts, coefficients, coefficients)
        return Expansion((term,), self.rows)


def from_sklearn(svm: object, recipe: Recipe | None = None, *, budget: int | None = None, **settings: Any) -> Any:
    """Turn a fitted support vector machine of scikit-learn into an online learner.

    Its decision values are those of the machine. It then learns from new rows with `partial_fit`.

    Parameters
    ----------
    svm : SVC, NuSVC, SVR or NuSVR
        Fitted; of two classes, and with one of the named kernels.
    recipe : Recipe, default=None
        What to go on learning with. None is gradient descent on the machine's own loss: ``recipes.OGD()``.
    budget : int, default=None
        First compress the machine to so many support vectors (see `compress`), and keep to it from then on.
    **settings
        Other parameters of the estimator: ``average``, ``random_state``, ``n_jobs``, ``class_weight``.

    Returns
    -------
    KernelClassifier or KernelRegressor
        Fitted, with the machine's constant as its constant term.

    See Also
    --------
    from_libsvm : The same for a file of LIBSVM.
    export.to_libsvm : The way back.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> model = onkel.from_sklearn(SVC(gamma=2.0).fit(X[:100], y[:100]), onkel.recipes.Forgetron(), budget=30)
    >>> model.partial_fit(X[100:], y[100:]).n_support_ <= 30
    True
    """
    from sklearn.svm import SVC, SVR, NuSVC, NuSVR

    if not isinstance(svm, SVC | NuSVC | SVR | NuSVR):
        raise ValueError(f"expected an SVC, NuSVC, SVR or NuSVR of scikit-learn, got {type(svm).__name__}")
    check_is_fitted(svm)
    numbers = {"gamma": svm._gamma, "coef0": svm.coef0, "degree": svm.degree}
    names = [name for name, kernel in KERNELS.items() if kernel.elsewhere is not None]
    if svm.kernel not in names:
        raise ValueError(f"the kernel must be one of {', '.join(map(repr, names))}, and this SVM has {svm.kernel!r}")
    classes = svm.classes_ if isinstance(svm, SVC | NuSVC) else None
    if classes is not None and len(classes) != 2:
        raise ValueError(f"expected a machine of two classes, and this one has {len(classes)}")
    coefficients = svm.dual_coef_.toarray() if issparse(svm.dual_coef_) else svm.dual_coef_
    machine = _Machine(
        points=csr_array(svm.support_vectors_) if issparse(svm.support_vectors_) else svm.support_vectors_,
        births=svm.support_.astype(np.int64),
        rows=int(svm.shape_fit_[0]),
        coefficients=coefficients[0],
        constant=float(svm.intercept_[0]),
        kernel=_kernel(KERNELS[svm.kernel], numbers),
        classes=classes,
    )
    imported = _learner_of(machine, recipe, budget, settings)
    if hasattr(svm, "feature_names_in_"):
        imported.feature_names_in_ = svm.feature_names_in_
    return imported


def from_libsvm(
    path: Path,
    recipe: Recipe | None = None,
    *,
    budget: int | None = None,
    n_features: int | None = None,
    **settings: Any,
) -> Any:
    """Turn a model file written by LIBSVM's `svm-train` into an online learner.

    Parameters
    ----------
    path : str or path
        A model of two classes, or of a regression, with any kernel of LIBSVM that is computed from the rows. Any other
        file is refused with a ``ValueError``.
    recipe : Recipe, default=None
        What to go on learning with. None is gradient descent on the machine's own loss: ``recipes.OGD()``.
    budget : int, default=None
        First compress the machine to so many support vectors (see `compress`), and keep to it from then on.
    n_features : int, default=None
        Number of features of a row. None is the highest index in the file, which may be less than that.
    **settings
        Other parameters of the estimator: ``average``, ``random_state``, ``n_jobs``, ``class_weight``.

    Returns
    -------
    KernelClassifier or KernelRegressor
        Fitted, with the machine's constant as its constant term.

    See Also
    --------
    from_sklearn : The same for a machine of scikit-learn.
    export.to_libsvm : The way back.

    Examples
    --------
    >>> import onkel, os, tempfile
    >>> model = onkel.PAClassifier(gamma=1.0, random_state=0).fit([[0.0, 1.0], [2.0, 0.0]], [3, 7])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.txt")
    >>> with open(path, "w") as file:
    ...     size = file.write(onkel.export.to_libsvm(model))
    >>> onkel.from_libsvm(path).predict([[0.1, 0.9]])
    array([3])
    """
    if n_features is not None:
        check_number("n_features", n_features, at_least=1, at_most=MOST_FEATURES, integer=True)
    with open(path, "rb") as file:
        text = file.read()
    try:
        machine = _read(text, n_features)
    except ValueError as error:
        raise ValueError(f"cannot read {os.fspath(path)!r}: {error}") from None
    return _learner_of(machine, recipe, budget, settings)


def _learner_of(machine: _Machine, recipe: Recipe | None, budget: int | None, settings: dict[str, Any]) -> Any:
    """An estimator with the function of the machine."""
    regresses = machine.classes is None
    if recipe is None:
        recipe = recipes.OGD(loss="epsilon_insensitive" if regresses else "hinge")
    if budget is not None:
        check_number("budget", budget, at_least=1, integer=True)
    estimator: Any = (KernelRegressor if regresses else KernelClassifier)(
        recipe, kernel=machine.kernel, budget=budget, fit_intercept=True, **settings
    )
    estimator.n_features_in_ = int(machine.points.shape[1])
    if not regresses:
        estimator.classes_, estimator._open = machine.classes, False
    estimator._start(machine.points, horizon=None)
    function = machine.function()
    if budget is not None:
        function, *_ = smaller(function, estimator._learner, eps=None, n_support=budget)
    estimator._learner.set_expansion(function)
    return estimator


def _kernel(kind_of_kernel: type[PlainKernel], numbers: dict[str, Any]) -> Kernel:
    """A kernel with those of the parameters that it has."""
    has = kind_of_kernel().spec[1]
    kinds = {f.name: int if f.metadata.get("integer") else float for f in fields(kind_of_kernel) if f.name in has}
    return kind_of_kernel(**{name: kind(numbers[name]) for name, kind in kinds.items()})


# -- files of LIBSVM ---------------------------------------------------------------------------------------------------

_CLASSIFIES = {"c_svc": True, "nu_svc": True, "epsilon_svr": False, "nu_svr": False}
_KERNEL_NUMBERS = {name: tuple(kernel().spec[1]) for name, kernel in LIBSVM_KERNELS.items()}
_IGNORED = ("probA", "probB", "prob_density_marks")


def _read(text: bytes, n_features: int | None) -> _Machine:
    """The machine in the text of a file, or an error."""
    head, begin = _head(text)

    def word(name: str, choices: Any) -> str:
        if name not in head:
            raise ValueError(f"it has no line {name!r} before its support vectors")
        if len(head[name]) != 1 or head[name][0] not in choices:
            raise ValueError(f"its {name} must be one of {', '.join(choices)}, got {_shown(head[name])}")
        return head[name][0]

    def numbers(name: str, count: int, whole: bool = False) -> list[float]:
        if name not in head:
            raise ValueError(f"it has no line {name!r} before its support vectors")
        try:
            found = [float(int(item)) if whole else float(item) for item in head[name]]
        except (ValueError, OverflowError):
            found = []
        if len(found) != count or not np.isfinite(found).all():
            kind = "integer" if whole else "number"
            raise ValueError(f"its {name} must be {count} {kind}{'s' * (count > 1)}, got {_shown(head[name])}")
        return found

    classifies = _CLASSIFIES[word("svm_type", _CLASSIFIES)]
    kernel_type = word("kernel_type", _KERNEL_NUMBERS)
    kernel = {name: numbers(name, 1, whole=name == "degree")[0] for name in _KERNEL_NUMBERS[kernel_type]}
    if numbers("nr_class", 1, whole=True) != [2]:
        raise ValueError(f"expected a machine of two classes, and this one has {_shown(head['nr_class'])}")
    constant = 0.0 - numbers("rho", 1)[0]
    coefficients, points = _points(text, begin, n_features)
    total = int(numbers("total_sv", 1, whole=True)[0])
    if total != len(coefficients):
        raise ValueError(f"it claims {total} support vectors, and has {len(coefficients)}")
    classes = None
    if classifies:
        labels = numbers("label", 2, whole=True)
        if labels[0] == labels[1]:
            raise ValueError(f"its two labels must differ, got {_shown(head['label'])}")
        classes = np.sort(np.array(labels, np.int64))
        if labels[0] < labels[1]:  # a positive value predicts the first label there, and the greater label here
            coefficients, constant = -coefficients, 0.0 - constant
    return _Machine(
        points=points,
        births=np.arange(total),
        rows=max(1, total),
        coefficients=coefficients,
        constant=constant,
        kernel=_kernel(LIBSVM_KERNELS[kernel_type], kernel),
        classes=classes,
    )


def _head(text: bytes) -> tuple[dict[str, list[str]], int]:
    """The lines before the support vectors, by their first words, and where those begin."""
    known = {"svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv", *_IGNORED}
    known.update(name for names in _KERNEL_NUMBERS.values() for name in names)
    head: dict[str, list[str]] = {}
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        words = text[begin : min(end, begin + 100_000)].decode("ascii", "replace").split()
        begin = end + 1
        if words == ["SV"]:
            return head, begin
        if not words or words[0] not in known:
            raise ValueError(f"it is not a LIBSVM model: its line {len(head) + 1} is {_shown(words)}")
        if words[0] in head:
            raise ValueError(f"it has two lines {words[0]!r}")
        head[words[0]] = words[1:]
    raise ValueError("it is not a LIBSVM model: it has no line 'SV'")


def _points(text: bytes, begin: int, n_features: int | None) -> tuple[NDArray[np.float64], Any]:
    """Coefficients and points, which are written in the file like labels and rows."""
    coefficients, values, features, offsets, _, _, _, parse_error = _core.read_libsvm(
        text,
        begin=begin,
        last=True,
        max_rows=2**62,
        labelled=True,
        zero_based=False,
        width=n_features or MOST_FEATURES,
        skip=False,
        single=False,
    )
    if parse_error is not None:
        line, column, expected, found = parse_error
        line += text.count(b"\n", 0, begin) + 1
        got = repr(found.decode("utf-8", "backslashreplace")) if found else "nothing"
        raise ValueError(f"line {line}, column {column}: expected {expected}, got {got}")
    width = n_features or int(features.max(initial=0)) + 1
    points = csr_array((values, features, offsets), shape=(len(coefficients), width))
    return coefficients, points.toarray() if points.nnz >= _DENSE * len(coefficients) * width else points


def _shown(words: list[str]) -> str:
    """A value found in a file, shortened to fit into a sentence."""
    text = " ".join(words)
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
