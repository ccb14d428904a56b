"""A classifier's decisions over a plane, drawn as SVG that needs no script: regions, rows, support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_COLOURS = 10  # of style.css
_SIDE = 400.0  # of the plot's longer side, in its own units
_MARGIN = 26.0
_SEAM = 0.5  # lines of cells overlap, so that nothing shines through between them


def surface(
    title: str,
    grid: Sequence[Sequence[int]],
    extent: Sequence[float],
    *,
    rows: Sequence[Sequence[float]] = (),
    support: Sequence[Sequence[float]] = (),
    classes: Sequence[object] = (),
    sure: Sequence[Sequence[int]] = (),
    sure_said: str = "",
    support_said: str = "support vectors",
) -> str:
    """Return a figure of the classes that are predicted over a rectangle.

    Parameters
    ----------
    title : str
    grid : list of lists of int
        The class of each cell, in lines from below.
    extent : list
        Left, right, bottom, top.
    rows : list of (x, y, class)
        Small dots in their class's colour.
    support : list of (x, y)
        Bold dots: the support vectors.
    classes : list, default=()
        Names for the legend.
    sure : list of lists of int, default=()
        For each cell whether the prediction is a confident one; dashed lines are drawn around those that are.
    sure_said : str, default=""
        What those lines are, for the legend.
    support_said : str, default="support vectors"
        What the bold dots are.

    Examples
    --------
    >>> html = surface("Two halves", [[0, 1], [0, 1]], (0.0, 1.0, 0.0, 1.0), support=[(0.25, 0.5)])
    >>> html.count("<rect"), html.count("<circle")
    (4, 1)
    """
    left, right, bottom, top = extent
    scale = _SIDE / max(right - left, top - bottom)
    width, height = (right - left) * scale, (top - bottom) * scale
    n_lines, n_columns = len(grid), len(grid[0])
    cell = width / n_columns, height / n_lines

    def place(x: float, y: float) -> str:
        return f'cx="{(x - left) * scale:.1f}" cy="{(top - y) * scale:.1f}"'

    regions = "".join(
        f'<rect x="{begin * cell[0]:.2f}" y="{(n_lines - 1 - i) * cell[1]:.2f}" width="{(end - begin) * cell[0]:.2f}" '
        f'height="{cell[1] + _SEAM:.2f}" fill="var(--s{line[begin] % _COLOURS})"/>'
        for i, line in enumerate(grid)
        for begin, end in _stretches(line)
    )
    dots = "".join(
        f'<circle {place(x, y)} r="2" fill="var(--s{int(k) % _COLOURS})"/>'
        for x, y, k in rows
        if left <= x <= right and bottom <= y <= top
    )
    points = "".join(f'<circle {place(x, y)} r="4.5"/>' for x, y in support)
    ticks = "".join(
        f'<text x="{(x - left) * scale:.1f}" y="{height + 16:.1f}" text-anchor="{anchor}">{x:.3g}</text>'
        for x, anchor in ((left, "start"), (right, "end"))
    ) + "".join(
        f'<text x="-5" y="{(top - y) * scale + shift:.1f}" text-anchor="end">{y:.3g}</text>'
        for y, shift in ((bottom, 0), (top, 10))
    )
    box = f"{-_MARGIN:g} -4 {width + _MARGIN + 4:.1f} {height + _MARGIN:.1f}"
    said = f"{title}: {len(support)} {support_said}" if support else title
    key = "".join(
        f'<span><i class="swatch" style="color: var(--s{k % _COLOURS})"></i> {escape(str(name))}</span> '
        for k, name in enumerate(classes)
    )
    dashes = f'<path class="border sure" d="{_borders(sure, cell)}"/>' if sure else ""
    if sure:
        key += f'<span><i class="swatch sure"></i> {escape(sure_said)}</span> '
    return (
        f'<figure class="surface"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="{box}" role="img" aria-label="{escape(said)}">'
        f'<g class="regions" shape-rendering="crispEdges">{regions}</g>'
        f'<path class="border" d="{_borders(grid, cell)}"/>{dashes}'
        f'<g class="rows">{dots}</g><g class="support">{points}</g>{ticks}</svg>'
        f'<p class="key">{key}<span><i class="swatch support"></i> {escape(support_said)}</span></p></figure>'
    )


def _stretches(line: Sequence[int]) -> list[tuple[int, int]]:
    """Where a line has one class, from and to.

    >>> _stretches([1, 1, 0, 2, 2])
    [(0, 2), (2, 3), (3, 5)]
    """
    changes = [i for i in range(1, len(line)) if line[i] != line[i - 1]]
    return list(zip([0, *changes], [*changes, len(line)], strict=True))


def _borders(grid: Sequence[Sequence[int]], cell: tuple[float, float]) -> str:
    """The lines between cells of different classes, as a path."""
    n_lines, pieces = len(grid), []
    for i, line in enumerate(grid):
        y = (n_lines - 1 - i) * cell[1]
        for j, known in enumerate(line):
            x = j * cell[0]
            if j and line[j - 1] != known:
                pieces.append(f"M{x:.1f},{y:.1f}v{cell[1]:.2f}")
            if i and grid[i - 1][j] != known:
                pieces.append(f"M{x:.1f},{y + cell[1]:.1f}h{cell[0]:.2f}")
    return "".join(pieces)
