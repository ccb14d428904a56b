"""What all displays share: the axes they draw on, and colours that print and that the colour-blind can tell apart."""

from __future__ import annotations

from typing import Any

from onkel.utils.extras import needed

# Okabe and Ito's, the first two for two classes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#666666")


def axes(ax: Any) -> Any:
    """The axes to draw on: those given, or a new figure's."""
    pyplot = needed("matplotlib.pyplot", "plot", "a picture")
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


class Drawn:
    """A display that knows where it was drawn last."""

    ax_: Any
    figure_: Any

    def _on(self, ax: Any) -> Any:
        self.ax_ = axes(ax)
        self.figure_ = self.ax_.figure
        return self.ax_
