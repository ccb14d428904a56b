"""What there is to know of a parameter, written once.

A parameter's name, type and default stand where Python has them: as a field of an estimator or of what it inherits, or
in a recipe's signature (:mod:`onkel.recipes`). A :class:`Note` on its type says the rest: the sentence that explains it
and the range it must lie in. Where several declare the same parameter, type and note are an alias of
:mod:`onkel.recipes.parameters`. Docstrings, checks, and the help of the command read these. Nothing here needs NumPy,
so that ``onkel --help`` is quick.

>>> COMMON["budget"].default, COMMON["budget"].note.says
(None, 'The largest number of support vectors.')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_origin

T = TypeVar("T")


@dataclass(frozen=True)
class Note:
    """What a parameter's name, type and default do not say.

    Words in braces, such as ``{losses}``, stand for what depends on the class that is documented.
    """

    says: str = ""  # a sentence, which the command's help shows alone
    more: str = ""  # further sentences for the docstrings
    kind: str = ""  # the type as a docstring has it, where the annotation does not tell
    choices: tuple[str, ...] = ()
    part: type[Any] | None = None  # whose number of that name it becomes: the part has its range
    limits: Mapping[str, Any] = field(default_factory=dict)  # otherwise its range, as `check_number` takes it
    stream: str = ""  # what "stream" chooses, where an estimator may leave it to the stream


@dataclass(frozen=True)
class Parameter:
    """A parameter as its signature or its field declares it."""

    name: str
    type: Any
    default: Any  # `inspect.Parameter.empty` where there is none
    note: Note

    @property
    def optional(self) -> bool:
        """Whether it may be None."""
        return type(None) in get_args(self.type)

    @property
    def limits(self) -> Mapping[str, Any]:
        """Its range as `check_number` takes it: its own, or that of the part's number that it becomes."""
        if self.note.part is None:
            return self.note.limits
        limits = self.note.part.__dataclass_fields__[self.name].metadata
        return {name: limit for name, limit in limits.items() if name != "integer"}


def parameters_of(thing: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters that a function or a dataclass declares, by name.

    Examples
    --------
    >>> def step(eta: Annotated[float, Note("Step size η.")] = 0.5) -> None: ...
    >>> parameters_of(step)["eta"].note.says
    'Step size η.'
    """
    if is_dataclass(thing):
        defaults = {f.name: inspect.Parameter.empty if f.default is MISSING else f.default for f in fields(thing)}
    else:
        defaults = {p.name: p.default for p in inspect.signature(thing).parameters.values()}
    # A class that declares a field anew, with another default, need not repeat what is said of it.
    declaring = [cls for cls in thing.__mro__ if is_dataclass(cls)] if isinstance(thing, type) else [thing]
    hints = [_annotations(each) for each in declaring]
    found = {name: [hint[name] for hint in hints if name in hint] for name in defaults}
    return {name: Parameter(name, _bare(found[name][0]), defaults[name], _note(found[name])) for name in defaults}


@cache
def _annotations(declaring: Callable[..., Any]) -> dict[str, Any]:
    return inspect.get_annotations(declaring, eval_str=True)


def _bare(hint: object) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _note(hints: list[Any]) -> Note:
    annotated = (get_args(hint)[1:] for hint in hints if get_origin(hint) is Annotated)
    return next((note for notes in annotated for note in notes if isinstance(note, Note)), Note())


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameter_class(cls: type[T]) -> type[T]:
    """Turn a class into a dataclass whose fields are parameters, for estimators to inherit."""
    return dataclass(kw_only=True, repr=False, eq=False)(cls)


def is_stream(value: object) -> bool:
    """Whether a parameter is left to the stream to choose."""
    return isinstance(value, str) and value == "stream"


# -- what all learners share ------------------------------------------------------------------------------------------


@parameter_class
class KernelParameters:
    """The parameters of a learner with one kernel."""

    kernel: Annotated[
        Any,
        Note(
            "How similar two rows are.",
            "A Kernel is a part, or a weighted sum of products of them (`onkel.parts`); a callable is called as "
            "``kernel(x[None], S)`` for each row with the support vectors S.",
            kind="{kernels} or Kernel or callable",
            stream='"rbf", "laplacian" or a sum of both; "linear" among thousands of sparse features',
        ),
    ] = "rbf"
    relevances: Annotated[
        Any,
        Note(
            'What each feature\'s share of the distance is multiplied by, with the kernels "rbf" and "laplacian".',
            "None stands for 1 everywhere. A mean other than 1 becomes part of `gamma_`.",
            kind="array-like of shape (n_features,)",
            stream='them, together with the width (`gamma` must be "stream" then, otherwise they are 1),',
        ),
    ] = None
    ranks: Annotated[
        Any,
        Note(
            'What is added to each feature, with the kernels "rbf" and "laplacian": its rank among these numbers.',
            "They stand in ascending order at equal steps of rank, such as quantiles; None, of all features or of one, "
            "stands for no ranks.",
            kind="sequence of array-like, one for each feature",
            stream='them, together with the width (`gamma` must be "stream" then, otherwise there are none),',
        ),
    ] = None


@parameter_class
class FunctionParameters:
    """What a learner is told besides its recipe and its kernel."""

    gamma: Annotated[
        float | str,
        Note(
            "The kernel's width.",
            '"scale" and "auto" are those of :class:`sklearn.svm.SVC`, fixed by the rows of the first call.',
            kind='{{"scale", "auto", "stream"}} or float',
            limits={"above": 0},
            stream='the width of kernel "rbf"',
        ),
    ] = "scale"
    degree: Annotated[int, Note('Degree of kernel "poly".', limits={"at_least": 1, "at_most": 100})] = 3
    coef0: Annotated[float, Note('Constant term of kernels "poly" and "sigmoid".')] = 0.0
    budget: Annotated[
        int | None,
        Note("The largest number of support vectors.", "None means no bound.", limits={"at_least": 1}),
    ] = None
    average: Annotated[
        bool | None,
        Note(
            "Whether to predict with the average of all functions so far rather than with the last one.",
            "None is the learner's own choice{output}. The average of a learner that evicts keeps all its points: "
            "its memory grows.",
        ),
    ] = None
    fit_intercept: Annotated[bool, Note("Whether to learn a constant term: the kernel becomes k + (5/16)^2.")] = False


@parameter_class
class FittingParameters:
    """How an estimator learns."""

    n_epochs: Annotated[int, Note("Passes over the rows in `fit`.", limits={"at_least": 1})] = 1
    shuffle: Annotated[
        bool,
        Note(
            "Whether `fit` takes the rows in a new random order in each epoch.",
            "`partial_fit` never shuffles.",
        ),
    ] = True
    random_state: Annotated[
        Any, Note("Seeds the shuffling and the learner's own draws.", kind="int, RandomState or None")
    ] = None
    coverage: Annotated[
        Any,
        Note(
            "Fractions of the rows that `predict_interval` or `predict_set` are to cover on any stream.",
            "Rows are then learned from one at a time, and `coverage_` is what was covered of late "
            "(docs/uncertainty.md). None keeps no account.",
            kind="tuple of float, such as (0.9,), or None",
        ),
    ] = None
    n_jobs: Annotated[
        int | None, Note("Number of threads (-1: one per core); results do not depend on it.", "None means one thread.")
    ] = None


@parameter_class
class ClassifierParameters:
    """What only a classifier is told."""

    class_weight: Annotated[
        dict[Any, float] | str | None,
        Note(
            "Multiplies the weights of a class's rows.",
            '"balanced" gives rare classes more: in `fit` as scikit-learn does; on a stream '
            "``(n + 10 C) / (C (n_c + 10))``, at most 100, with the rows, classes and rows of the class so far.",
            kind='dict or "balanced"',
        ),
    ] = None


COMMON: dict[str, Parameter] = {
    name: parameter
    for table in (KernelParameters, FunctionParameters, FittingParameters, ClassifierParameters)
    for name, parameter in parameters_of(table).items()
}
