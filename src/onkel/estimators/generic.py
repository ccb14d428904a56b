"""Estimators over any recipe, named or custom."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from onkel.estimators.making import estimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import Note, parameter_class
from onkel.parts import Recipe


@parameter_class
class RecipeParameter:
    """The parameter `recipe` of a generic estimator."""

    recipe: Annotated[
        Recipe,
        Note("What to learn with: a named one (`onkel.recipes`) or your own choice of `onkel.parts`.", kind="Recipe"),
    ] = field(kw_only=False)

    def _recipe(self, horizon: int | None) -> Recipe:
        return self.recipe


@estimator
class KernelClassifier(RecipeParameter, KernelClassifierBase):
    """A classifier over any recipe.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.KernelClassifier(onkel.recipes.OGD(eta=1), gamma=1.0, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


@estimator
class KernelRegressor(RecipeParameter, KernelRegressorBase):
    """A regressor over any recipe.

    Examples
    --------
    >>> import onkel
    >>> recipe = onkel.recipes.OGD(eta=0.5, loss="squared_error")
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> model = onkel.KernelRegressor(recipe, gamma=2.0, n_epochs=50, random_state=0).fit(X, y)
    >>> model.predict([[1.0]]).round(2)
    array([1.])
    """
