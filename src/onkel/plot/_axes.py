"""What all displays share: the axes they draw on, and colours that print and that the colour-blind can tell apart."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.utils.extras import needed

# Okabe and Ito's, the first two for two classes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#666666")


def axes(ax: object) -> Any:
    """The axes to draw on: those given, or a new figure's."""
    pyplot = needed("matplotlib.pyplot", "plot", "a picture")
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def drawn_of(model: object) -> Any:
    """What is drawn of a model: the learner inside it if it is one of `onkel.river`, otherwise the model itself."""
    return getattr(model, "learner", model)


def draw_layers(ax: Any, rows: NDArray[np.int64], weights: NDArray[np.float64], names: list[str]) -> None:
    """Draw weights that add up to 1 as layers over the rows; of many, name those that matter at the end."""
    last = weights[-1]
    few = len(last) < len(COLOURS)
    named = [int(i) for i in np.argsort(-last)[: len(COLOURS) - 1] if few or last[i] >= 0.02]
    colours = {i: COLOURS[place] for place, i in enumerate(named)}
    order = [*named, *(i for i in range(len(last)) if i not in colours)]
    ax.stackplot(
        rows,
        weights[:, order].T,
        colors=[colours.get(i, "0.85") for i in order],
        labels=[names[i] if i in colours else "_others" for i in order],
    )
    ax.set(xlabel="rows", ylabel="weight", ylim=(0, 1), xlim=(rows[0], rows[-1]))
    ax.legend(loc="lower right", fontsize="small")


class Drawn:
    """A display that can be drawn, and knows where it was drawn last."""

    ax_: Any
    figure_: Any

    def plot(self, ax: object = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a figure.

        Returns
        -------
        self
        """
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax: object) -> None:
        raise NotImplementedError
