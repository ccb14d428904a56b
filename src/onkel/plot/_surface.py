"""A model of two features over the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor

from onkel.inside import fitted_learner, inside
from onkel.plot._axes import COLOURS, Drawn
from onkel.utils.validation import check_choice, check_number

Floats = NDArray[np.float64]
_RESPONSES = ("prediction", "probability", "std")


@dataclass
class DecisionSurfaceDisplay(Drawn):
    """What a model of two features says over the plane, with its support vectors and some rows.

    Classes are regions; where there is one score per row, or one probability, its shades show how sure the model is. Of
    a regressor the shades are its predictions, or their standard deviations. Circles are the support vectors. The line
    is where two classes are equally likely. ``display.ax_.legend()`` says which colour is which class.

    Parameters
    ----------
    horizontal, vertical : ndarray
        The grid's coordinates.
    values : ndarray of shape (len(vertical), len(horizontal))
        Scores, probabilities, indices of classes, predictions or standard deviations.
    kind : {"score", "probability", "class", "prediction", "std"}
        What the values are.
    support : ndarray of shape (n_support, 2)
    rows : ndarray of shape (n_rows, 2), default=None
    shades : ndarray of shape (n_rows,), default=None
        Indices of the rows' classes, or their targets.
    classes : list of str, default=()
        Names of the classes.
    features : pair of str, default=("feature 1", "feature 2")
        Names of the features.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> model = onkel.NewtonClassifier(budget=20, random_state=0).fit(X, y)
    >>> onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X, y, grid=40).values.shape
    (40, 40)
    """

    horizontal: Floats
    vertical: Floats
    values: Floats
    kind: str
    support: Floats
    rows: Floats | None = None
    shades: NDArray[Any] | None = None
    classes: Sequence[str] = ()
    features: tuple[str, str] = ("feature 1", "feature 2")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        response: str = "prediction",
        grid: int = 150,
        ax: Any = None,
    ) -> Self:
        """Ask a fitted model over the rectangle that holds the rows, and draw its answers.

        Parameters
        ----------
        model : a model of onkel
            Of two features.
        X : array-like or data frame of shape (n_rows, 2)
            Rows that give the rectangle, drawn as small dots. The columns of a frame name the axes.
        y : array-like of shape (n_rows,), default=None
            Their labels or targets, which colour the dots.
        response : {"prediction", "probability", "std"}, default="prediction"
            Of a classifier of two classes "prediction" is the score; "std" is a Newton regressor's.
        grid : int, default=150
            Points a side.
        ax : matplotlib axes, default=None

        Returns
        -------
        DecisionSurfaceDisplay
        """
        check_choice("response", response, _RESPONSES)
        check_number("grid", grid, at_least=2, integer=True)
        learner = fitted_learner(model, "a decision surface")
        rows = np.asarray(X, dtype=np.float64)
        if learner.n_features != 2 or rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"a decision surface needs two features, and this model has {learner.n_features}")
        margin = 0.05 * np.ptp(rows, axis=0)
        low, high = rows.min(axis=0) - margin, rows.max(axis=0) + margin
        horizontal, vertical = np.linspace(low[0], high[0], grid), np.linspace(low[1], high[1], grid)
        plane = np.column_stack([part.ravel() for part in np.meshgrid(horizontal, vertical)])
        columns = getattr(X, "columns", None)
        asked = plane if columns is None else type(X)(dict(zip(columns, plane.T, strict=True)))
        values, kind = _asked(model, asked, response)
        support = learner.support()[0]
        transformers = inside(model).transformers
        shown = np.asarray(support.toarray() if issparse(support) else support, dtype=np.float64).reshape(-1, 2)
        for transformer in reversed(transformers):
            shown = _unscaled(transformer, shown, rows)
        shades = None if y is None else np.asarray(y)
        classes = inside(model).classes
        if shades is not None and classes is not None:
            shades = np.searchsorted(classes, shades)
        named = [] if classes is None else [str(name) for name in classes]
        made = cls(horizontal, vertical, values.reshape(grid, grid), kind, shown, rows, shades, named)
        if columns is not None:
            made.features = str(columns[0]), str(columns[1])
        return made.plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw the surface."""
        from matplotlib.colors import ListedColormap

        where = self.horizontal, self.vertical, self.values
        if self.kind == "class":
            n_classes = int(self.values.max()) + 1
            palette = ListedColormap([COLOURS[i % len(COLOURS)] for i in range(n_classes)])
            ax.pcolormesh(*where, cmap=palette, vmin=-0.5, vmax=n_classes - 0.5, alpha=0.3, rasterized=True)
        elif self.kind in ("score", "probability"):
            middle = 0.0 if self.kind == "score" else 0.5
            reach = float(np.abs(self.values - middle).max()) or 1.0
            shading = _two_colours()
            drawn = ax.contourf(*where, np.linspace(middle - reach, middle + reach, 21), cmap=shading, alpha=0.8)
            ax.contour(*where, [middle], colors="black", linewidths=1)
            if self.kind == "probability":  # a score has no unit
                self.figure_.colorbar(drawn, ax=ax, label=self.kind)
        else:
            drawn = ax.contourf(*where, 20, cmap="viridis" if self.kind == "prediction" else "magma_r")
            self.figure_.colorbar(drawn, ax=ax, label="standard deviation" if self.kind == "std" else self.kind)
        if self.rows is not None:
            if self.shades is None:
                ax.scatter(*self.rows.T, s=4, color="0.3", linewidths=0)
            elif self.kind in ("prediction", "std"):
                ax.scatter(*self.rows.T, s=4, c=self.shades, cmap="viridis", linewidths=0)
            else:
                for k, name in enumerate(self.classes):
                    own = self.rows[self.shades == k]
                    ax.scatter(*own.T, s=4, color=COLOURS[k % len(COLOURS)], linewidths=0, label=f"class {name}")
        circles = {"facecolors": "none", "edgecolors": "black", "linewidths": 1.2, "label": "support vectors"}
        ax.scatter(*self.support.T, s=36, **circles)
        ax.set(xlim=self.horizontal[[0, -1]], ylim=self.vertical[[0, -1]])
        ax.set(xlabel=self.features[0], ylabel=self.features[1])


def _asked(model: Any, plane: Any, response: str) -> tuple[Floats, str]:
    """The model's answers at each point of the plane, and what they are."""
    if response == "std":
        return model.predict(plane, return_std=True)[1], "std"
    if is_regressor(model):
        return model.predict(plane), "prediction"
    classes = inside(model).classes
    assert classes is not None
    if len(classes) == 2:
        if response == "probability":
            return model.predict_proba(plane)[:, 1], "probability"
        return model.decision_function(plane), "score"
    return np.searchsorted(classes, model.predict(plane)).astype(np.float64), "class"


def _unscaled(scaler: Any, points: Floats, rows: Floats) -> Floats:
    """Points in the coordinates of the rows: a scaler of onkel moves and stretches each feature by itself."""
    first, second = scaler.transform(np.array([rows.min(axis=0), rows.max(axis=0)]))
    share = (points - first) / np.where(second > first, second - first, 1.0)
    return np.asarray(rows.min(axis=0) + share * np.ptp(rows, axis=0))


def _two_colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("two", [COLOURS[0], "white", COLOURS[1]])
