"""Estimators over any recipe, named or custom."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import Note, parameter_class
from onkel.parts import Recipe


def recipe_of(recipe: Recipe | str) -> Recipe:
    """Return a recipe, or the one of a name with its defaults."""
    if not isinstance(recipe, str):
        return recipe
    if recipe not in recipes.__all__:
        raise ValueError(f"recipe must be a Recipe or one of {', '.join(recipes.__all__)}, got {recipe!r}")
    named: Recipe = getattr(recipes, recipe)()
    return named


@parameter_class
class RecipeParameter:
    """The parameter `recipe` of a generic estimator."""

    recipe: Annotated[
        Recipe | str,
        Note(
            'What to learn with: a named one, ``onkel.recipes.Forgetron()`` or ``"Forgetron"``, or your own choice of '
            "`onkel.parts`.",
            kind="Recipe or str",
        ),
    ] = field(kw_only=False)

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipe_of(self.recipe)


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
