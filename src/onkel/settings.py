"""What a learner is told before its first row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from onkel import _core
from onkel.parts import Hedge, Kernel, Recipe, SecondOrder, kernel_named
from onkel.utils.validation import check_choice, check_flag, check_number, check_seed

UNBOUNDED = 2**62


@dataclass(frozen=True)
class Settings:
    """What a learner is told before its first row (`Learner` documents it): all that a file has besides its state."""

    recipe: Recipe
    task: str
    kernel: Kernel
    budget: int | None
    average: bool
    fit_intercept: bool
    n_classes: int
    dtype: str
    seed: int

    @classmethod
    def checked(
        cls,
        recipe: Recipe,
        *,
        task: str,
        kernel: str | Kernel | Callable[[Any, Any], Any],
        gamma: float,
        degree: int,
        coef0: float,
        relevances: Sequence[float] | None,
        ranks: Sequence[ArrayLike | None] | None,
        budget: int | None,
        average: bool | None,
        fit_intercept: bool,
        n_classes: int,
        dtype: str,
        seed: int,
    ) -> Self:
        """Return settings from what a user gives, or refuse them in one sentence."""
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe must be a Recipe, for example onkel.recipes.SPA(), got {recipe!r}")
        check_choice("task", task, ("binary", "multiclass", "regression"))
        check_choice("dtype", dtype, ("float64", "float32"))
        check_flag("fit_intercept", fit_intercept)
        check_number("n_classes", n_classes, at_least=1, at_most=2**20, integer=True)
        check_seed("seed", seed)
        if budget is not None:
            check_number("budget", budget, at_least=1, at_most=2**62, integer=True)
        if average is not None:
            check_flag("average", average)
        if recipe.loss.regression != (task == "regression"):
            raise ValueError(f"loss {recipe.loss.name!r} does not fit task {task!r}")
        found = kernel_named(kernel, gamma=gamma, degree=degree, coef0=coef0)
        if relevances is not None:
            found = found.with_relevances(relevances)
        if ranks is not None:
            found = found.with_ranks(ranks)
        recipe.check_kernel(found, budget)
        if average is None:  # several kernels vote with their last functions, as in the paper
            average = recipe.average and not isinstance(found, Hedge)
        return cls(recipe, task, found, budget, bool(average), bool(fit_intercept), n_classes, dtype, int(seed))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels: one, or those of a hedge."""
        return self.kernel.kernels if isinstance(self.kernel, Hedge) else (self.kernel,)

    @property
    def budget_of_a_function(self) -> int:
        """The budget of all kernels together, or of each."""
        if self.budget is None:
            return UNBOUNDED
        divided = isinstance(self.kernel, Hedge) and not self.kernel.shares_budget
        return self.budget // len(self.kernels) if divided else self.budget

    @property
    def combination(self) -> str:
        """How the functions make a prediction: the "sum" of the only one, or the "mean" or the "vote" of several."""
        if not isinstance(self.kernel, Hedge):
            return "sum"
        return "mean" if self.kernel.adds_up or self.task == "regression" else "vote"

    @property
    def is_second_order_sum(self) -> bool:
        """Whether it is a sum of second-order learners."""
        return isinstance(self.kernel, Hedge) and self.kernel.adds_up and isinstance(self.recipe, SecondOrder)

    def core(self, n_features: int, sparse: bool, n_outputs: int) -> _core.Learner:
        """Return a core of these settings that has learned nothing, for rows of so many features."""
        for kernel in self.kernels:
            if kernel.metric.width > n_features:
                raise ValueError(
                    f"the kernel's metric has {kernel.metric.width} features, and the rows have {n_features}"
                )
        numbers = self.kernel.numbers if isinstance(self.kernel, Hedge) else (0,)
        return _core.Learner(
            recipe=self.recipe.spec,
            kernels=list(zip(numbers, [kernel.formula_spec for kernel in self.kernels], strict=True)),
            hedge=self.kernel.hedge if isinstance(self.kernel, Hedge) else None,
            task=self.task,
            dtype=self.dtype,
            sparse=sparse,
            n_features=n_features,
            n_outputs=n_outputs,
            budget=self.budget_of_a_function,
            average=self.average,
            constant=self.fit_intercept,
            seed=self.seed,
        )
