"""Pictures of rows and decisions in the plane, and of images, for an experiment's section of a report."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onkel import plot
from onkel.report import picture

_DOTS = 144  # an inch
_WIDTH = 5.0  # of a plane, in inches


def plane(title: str, drawn: Mapping[str, Any], grid: str, support: Any, support_said: str, sure_said: str = "") -> str:
    """Return a picture of classes over the plane, with rows and support vectors.

    Parameters
    ----------
    title : str
    drawn : dict
        ``extent`` (left, right, bottom, top), ``rows`` (x, y, class), and grids: lines from below of digits, each the
        class of a cell.
    grid : str
        The name of the grid that is drawn.
    support : array-like of shape (n_support, 2)
    support_said : str
        What these points are, for the legend.
    sure_said : str, default=""
        What the dashed lines are that surround the cells of grid ``sure`` with a 1; empty where there are none.
    """
    left, right, bottom, top = drawn["extent"]
    values = _digits(drawn[grid])
    n_lines, n_columns = values.shape
    horizontal, vertical = (
        low + (np.arange(n) + 0.5) * (high - low) / n
        for n, low, high in ((n_columns, left, right), (n_lines, bottom, top))
    )
    rows = np.array(drawn["rows"], dtype=np.float64)
    classes = [str(k) for k in range(int(max(values.max(), rows[:, 2].max())) + 1)]
    figure = _figure(_WIDTH, _WIDTH * (top - bottom) / (right - left) + 0.3)
    points = np.asarray(support, dtype=np.float64).reshape(-1, 2)
    ax = (
        plot.DecisionSurfaceDisplay(
            horizontal, vertical, values, "class", points, rows[:, :2], rows[:, 2].astype(int), classes
        )
        .plot(figure.subplots())
        .ax_
    )
    ax.set_aspect("equal")
    handles, labels = ax.get_legend_handles_labels()
    labels[-1] = support_said
    if sure_said:
        ax.contour(horizontal, vertical, _digits(drawn["sure"]), [0.5], colors="black", linestyles="dashed")
        handles += ax.plot([], [], color="black", linestyle="dashed")
        labels.append(sure_said)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return picture(title, _png(figure))


def images(title: str, named: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """Return a picture of grey images side by side, each under its name; 0 is black and 255 white."""
    figure = _figure(0.8 * len(named), 1.1)
    for ax, (name, pixels) in zip(figure.subplots(1, len(named), squeeze=False)[0], named.items(), strict=True):
        ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
        ax.set_axis_off()
        ax.set_title(name, fontsize="small")
    return picture(title, _png(figure))


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("the pictures of a report need the package matplotlib: pip install 'onkel[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def _digits(lines: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.array([[float(digit) for digit in line] for line in lines])


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_DOTS)
    return file.getvalue()
