"""How a benchmark states a figure: what it is, beside which peer and goal, at which level and peak of the processor.

A benchmark is a module with a generator of figures, and ends with ``main(generator)``. By itself it prints a line a
figure as soon as it is known, or JSON with ``--json``; ``run.py`` puts those of several benchmarks into one table.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import onkel
from onkel import _core


@dataclass(frozen=True)
class Figure:
    """A figure is a number, mostly a ratio to a peer that was timed in the same process."""

    bench: str
    name: str
    value: float
    unit: str  # "x", "%", "µs", "MB" …
    peer: str = ""  # what the ratio is to
    goal: float | None = None
    at_most: bool = False  # the goal is an upper bound
    level: str = ""  # the instruction set in use
    peak: float = 0.0  # 10^9 float32 multiply-adds a second, in the same process

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def cells(self) -> list[str]:
        goal = "" if self.goal is None else f"{'≤' if self.at_most else '≥'} {shown(self.goal, self.unit)}"
        verdict = {None: "", True: "met", False: "missed"}[self.met]
        return [self.name, shown(self.value, self.unit), self.peer, goal, verdict, self.level, f"{self.peak:.0f}"]

    def as_dict(self) -> dict:
        return {**asdict(self), "met": self.met}


def shown(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit if unit in 'x%' else ' ' + unit}"


def peak() -> float:
    """The processor's float32 multiply-adds a second, in 10^9, the best of a few short runs."""
    n = 192 * 20_000
    return n / best_seconds([lambda: _core.fma_peak(n, "float32")], repeats=5)[0] / 1e9


def state(
    name: str, value: float, unit: str, peer: str = "", goal: float | None = None, at_most: bool = False
) -> Figure:
    """A figure of the benchmark that runs, with the processor's level and peak at this moment."""
    bench = Path(sys.argv[0]).stem.removesuffix("_bench")
    return Figure(bench, name, float(value), unit, peer, goal, at_most, onkel.isa, peak())


def best_seconds(
    runs: Iterable[Callable[[], object]], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
):
    """The best time of each: they take turns, since the clock of a shared machine wanders."""
    runs = list(runs)
    best = [np.inf] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = clock()
            run()
            best[i] = min(best[i], clock() - start)
    return best


def main(figures: Callable[[], Iterator[Figure]]) -> None:
    """Print the figures as they come: lines for people, or with ``--json`` one object a line."""
    with threadpool_limits(1):
        for figure in figures():
            if "--json" in sys.argv:
                print(json.dumps(figure.as_dict(), ensure_ascii=False), flush=True)
            else:
                name, value, peer, goal, verdict, *_ = figure.cells()
                print(f"{name:68} {value:>12} {peer:34} {goal:>10} {verdict}", flush=True)
    if "--json" not in sys.argv:
        print(f"level {onkel.isa}, peak {peak():.0f} · 10⁹ float32 multiply-adds a second")
