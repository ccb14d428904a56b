"""The table of named learners: one row each, written as the decorator of its recipe (:mod:`onkel.recipes`).

The recipe's signature has the learner's own parameters with their defaults; the row adds its paper and what its
estimators have otherwise. From both come the estimators, the docstrings and the tables of the documentation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from onkel.catalogue.docstrings import complete, entries, one_of
from onkel.catalogue.ranges import check
from onkel.parameters import COMMON, Parameter, parameters_of, with_note
from onkel.parts import LOSSES, FirstOrder, Recipe, SecondOrder

P = ParamSpec("P")
R = TypeVar("R", bound=Recipe)

TASKS = {"classification": "Classifier", "regression": "Regressor"}


@dataclass(frozen=True)
class Named:
    """A named learner: its recipe, its paper, and where the defaults of its estimators differ from the recipe's."""

    recipe: Callable[..., Recipe]
    takes: Mapping[str, Parameter]  # the recipe's parameters
    paper: str
    title: str
    defaults: Mapping[str, Mapping[str, Any]]  # by task; a task that is not there has no estimator

    @property
    def name(self) -> str:
        """As in ``onkel.recipes``."""
        return self.recipe.__name__

    @property
    def estimators(self) -> dict[str, str]:
        """The names of its estimators by task."""
        return {task: self.name + TASKS[task] for task in self.defaults}

    @property
    def averages(self) -> bool:
        """Whether its own output is the average of its functions."""
        recipe = self.recipe()
        return isinstance(recipe, FirstOrder | SecondOrder) and recipe.average

    def parameters(self, task: str) -> dict[str, Parameter]:
        """Return the learner's own parameters as its estimator for a task has them."""
        return {
            name: _streamed(replace(parameter, default=self.defaults[task].get(name, parameter.default)))
            for name, parameter in self.takes.items()
            if name not in COMMON and not (parameter.note.regression and task == "classification")
        }

    def losses(self, *tasks: str) -> list[str]:
        """Return the losses that the recipe takes, with the defaults of an estimator for one of the tasks.

        Examples
        --------
        >>> from onkel import recipes
        >>> LEARNERS["Newton"].losses("classification")
        ['squared_hinge', 'log_loss']
        """
        return [loss for loss in LOSSES if any(self._takes(loss, task) for task in tasks if task in self.defaults)]

    def _takes(self, loss: str, task: str) -> bool:
        if "loss" not in self.takes or LOSSES[loss].regression != (task == "regression"):
            return False
        given = {name: value for name, value in self.defaults[task].items() if name in self.takes and value != "stream"}
        try:
            self.recipe(**given | {"loss": loss})
        except ValueError:
            return False
        return True

    def words(self, *tasks: str) -> dict[str, str]:
        """What the braces in notes stand for in a docstring of this learner's."""
        return {"losses": one_of(self.losses(*tasks))}

    @property
    def reference(self) -> str:
        """The paper, as docstrings cite it."""
        return f'{self.paper}, "{self.title}".' if self.paper else ""


LEARNERS: dict[str, Named] = {}


def named(
    paper: str = "", title: str = "", *, regressor: Mapping[str, Any] | None = None, **defaults: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Enter a recipe into the table of learners; check what it is called with, and complete its docstring.

    Parameters
    ----------
    paper : str
        Its authors and year.
    title : str
        Of the paper.
    regressor : dict
        What the regressor's defaults are where they differ from the classifier's; None where there is no regressor.
    **defaults
        What the estimators' defaults are where they differ from the recipe's, or from those of all learners.
    """

    def enter(recipe: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(recipe)
        takes = parameters_of(recipe)

        @functools.wraps(recipe)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, value in (dict(zip(takes, args, strict=False)) | kwargs).items():
                if name in takes:  # otherwise the call is wrong, and says so
                    check(takes[name], value)
            return recipe(*args, **kwargs)

        tasks = {"classification": defaults} | ({} if regressor is None else {"regression": defaults | dict(regressor)})
        row = LEARNERS[recipe.__name__] = Named(checked, takes, paper, title, tasks)
        documented = [with_note(parameter, stream="") for parameter in takes.values()]
        checked.__doc__ = complete(
            recipe.__doc__, Parameters=entries(documented, row.words(*tasks)), References=row.reference
        )
        plain = [p.replace(annotation=takes[p.name].type) for p in signature.parameters.values()]
        checked.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
        return checked

    return enter


def _streamed(parameter: Parameter) -> Parameter:
    return replace(parameter, type=parameter.type | str) if parameter.note.stream else parameter
