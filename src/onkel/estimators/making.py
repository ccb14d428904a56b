"""How a class becomes an estimator: a dataclass whose fields are its parameters, with a docstring that lists them."""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterable
from typing import Any, TypeVar, dataclass_transform

from onkel import recipes
from onkel.docstrings import complete, entries, one_of, section
from onkel.parameters import COMMON, parameter_class, parameters_of
from onkel.parts import KERNELS, Recipe
from onkel.recipes.checked import losses_of

T = TypeVar("T")

# What to use in place of parameters of SVC.
FROM_SVC = {
    "C": "use lam, the strength of the prior, which is 1/C for NewtonClassifier (lam='stream' chooses it)",
    "nu": "use lam, the strength of the prior, and budget, the largest number of support vectors",
    "probability": "learners with the log loss have predict_proba; wrap the others in a PlattClassifier",
    "cache_size": "there is no cache: only the support vectors are kept",
    "max_iter": "fit passes n_epochs times over the rows",
    "tol": "fit passes n_epochs times over the rows",
    "shrinking": "budget bounds the support vectors",
    "decision_function_shape": "decision_function has a column for each class where there are more than two",
    "break_ties": "predict takes the class with the highest score",
    "verbose": "onkel.evaluate.progressive and the command show how learning goes",
    "epsilon": "the loss has no tube; loss='epsilon_insensitive' has one, in the regressors that take it",
}

FUNCTION_ATTRIBUTES = """\
kernel_ : Kernel
    The kernel in use; where relevances were learned, the one that has them; of two such, the one of larger weight.
relevances_ : ndarray of shape (n_features,)
    The factor of each feature's part of the distance in `kernel_`; their mean is 1.
importances_ : ndarray of shape (n_features,)
    The same independent of the units of the features: times the spread of the support vectors; the largest is 1.
feature_importances_ : ndarray of shape (n_features,)
    The same with the sum 1, as scikit-learn's tools expect them.
dual_coef_ : ndarray of shape (1 or n_classes, n_support)
    Coefficients of the predicting function.
intercept_ : ndarray of shape (1 or n_classes,)
n_support_ : int
norm_ : float
    RKHS norm of the last function."""

_CLASSES = "classes_ : ndarray of shape (n_classes,)"
_LAM = """\
lam_ : float
    The λ in use."""
_COMMON_ATTRIBUTES = """\
support_vectors_ : ndarray of shape (n_support, n_features)
support_ : ndarray of shape (n_support,)
    The support vectors' positions in the stream (rows of non-zero weight, in the order learned from).
t_ : int
    Number of rows learned from.
sparsity_ : float
    The fraction of the rows that are not support vectors.
nbytes_ : int
    Size of the model in bytes.
gamma_ : float
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features,), where X has names"""


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[T]) -> type[T]:
    """Turn a class of fields into an estimator; add the parameters to its docstring if it has an example and none."""
    completed = parameter_class(cls)
    completed.__init__.__annotations__ = {name: parameter.type for name, parameter in parameters_of(completed).items()}
    _answer_svc(completed)
    if completed.__doc__ and "Examples\n" in completed.__doc__ and "Parameters\n" not in completed.__doc__:
        completed.__doc__ = _documented(completed)
    return completed


def svc_hint(name: str, given: Iterable[str], known: Container[str]) -> str | None:
    """Return what replaces the first parameter of scikit-learn's SVC and SVR among names that an estimator lacks.

    >>> svc_hint("NewtonClassifier", ["shrinking"], ["budget"])
    "NewtonClassifier has no parameter 'shrinking' of SVC: budget bounds the support vectors"
    """
    of_svc = next((each for each in given if each in FROM_SVC and each not in known), None)
    return None if of_svc is None else f"{name} has no parameter {of_svc!r} of SVC: {FROM_SVC[of_svc]}"


def _answer_svc(cls: type[Any]) -> None:
    """Make a class explain what replaces the parameters of scikit-learn's SVC and SVR that it does not have."""
    make, known = cls.__init__, parameters_of(cls)

    @functools.wraps(make)
    def __init__(self: object, *args: Any, **given: Any) -> None:
        hint = svc_hint(cls.__name__, given, known)
        if hint is not None:
            raise TypeError(hint)
        make(self, *args, **given)

    cls.__init__ = __init__


def _documented(cls: type[Any]) -> str:
    has = parameters_of(cls)
    attributes = [
        _CLASSES if "class_weight" in has else "",
        _LAM if hasattr(cls, "lam_") else "",
        getattr(cls, "_function_attributes", FUNCTION_ATTRIBUTES),
        _COMMON_ATTRIBUTES,
    ]
    learner = getattr(recipes, re.sub("(Classifier|Regressor)$", "", cls.__name__), None)
    return complete(
        cls.__doc__,
        Parameters=described_parameters(cls, regression="class_weight" not in has),
        Attributes="\n".join(text for text in attributes if text),
        References=section(getattr(learner, "__doc__", ""), "References"),
    )


def described_parameters(cls: type[Any], regression: bool) -> str:
    """Return the section on the parameters of a class, its own before those of all learners."""
    has = parameters_of(cls)
    declared = dict.fromkeys(name for each in cls.__mro__ for name in vars(each).get("__annotations__", {}))
    own = [has[name] for name in declared if name in has and name not in COMMON]
    return entries(own + [has[name] for name in COMMON if name in has], _words(cls, regression))


def _words(cls: type[Any], regression: bool) -> dict[str, str]:
    """What the braces in notes stand for in the docstring of a class."""
    kernels = one_of(KERNELS)
    if "recipe" in parameters_of(cls):
        return {"kernels": kernels, "output": ""}

    def recipe(**given: Any) -> Recipe:
        made = object.__new__(cls)  # with the defaults of its fields
        vars(made).update(given)
        return cls._recipe(made, None)  # type: ignore[no-any-return]

    output = ": the average" if recipe().average else ": the last one"
    return {"kernels": kernels, "output": output, "losses": losses_of(recipe, regression)}
