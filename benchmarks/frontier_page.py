"""The tables of docs/lab/frontier.md, in Markdown, from the figures that frontier_bench.py keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from frontier_learners import CLASSES, LEARNERS, OURS, REGRESSION, SETS

SEEDS = range(5)
GOALS = {
    **{"cal.housing": 51_000, "bike_hour": 46, "cpu.small": 2.80, "magic04": 87.6, "covtype": 82.3, "madelon": 65},
    **{"a9a": 84.95, "w7a": 98.55, "pendigits": 97.63, "spambase": 94.47, "cod-rna": 96.33},
}


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = ("", *heads)
    return "\n".join([row(heads), "|" + "---|" * len(heads), *map(row, rows)])


def in_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:#.4g}" if value >= 1 else f"{value:#.2g}"


SHOWN: dict[str, Callable[[float], str]] = {
    "accuracy": lambda value: f"{value:.2f}",
    "rmse": in_digits,
    "log loss": lambda value: f"{value:.3f}",
    "seconds": lambda value: f"{value:.1f}" if value >= 0.1 else f"{value:.2f}",
    "bytes": lambda value: f"{value / 1000:,.1f}" if value < 1000 else f"{value / 1000:,.0f}",
}


class Figures:
    """What is known, by set and learner."""

    def __init__(self, known: dict[str, dict[str, float]], names: list[str]) -> None:
        self.known = known
        self.names = names

    def runs(self, name: str, learner: str, figure: str) -> list[float]:
        found = (self.known.get(f"{name}/{learner}/{seed}", {}) for seed in SEEDS)
        return [run[figure] for run in found if figure in run]

    def mean(self, name: str, learner: str, figure: str) -> float:
        """Over the orders that were measured; nan if none was."""
        runs = self.runs(name, learner, figure)
        return float(np.mean(runs)) if runs else np.nan

    def cell(self, name: str, learner: str, figure: str, show: Callable[[float], str], sign: int) -> str:
        """The mean; of a score, in bold if better than Newton's, and with the number of orders if fewer than five."""
        mean, ours = self.mean(name, learner, figure), self.mean(name, "Newton", figure)
        if np.isnan(mean):
            return "–"
        shown = show(mean)
        if sign * mean > sign * ours and shown != show(ours):
            shown = f"**{shown}**"
        n_orders = len(self.runs(name, learner, figure))
        return f"{shown} ({n_orders})" if sign and n_orders < len(SEEDS) else shown

    def of_all(self, figure: str, kind: str, names: Iterable[str], sign: int = 0, learners=tuple(LEARNERS)) -> str:
        """One figure of the learners: a score of which more is better (`sign` 1), or less (-1), or a cost (0)."""
        wanted = [n for n in names if n in self.names and any(self.runs(n, m, figure) for m in learners)]
        cells = ([name, *(self.cell(name, m, figure, SHOWN[kind], sign) for m in learners)] for name in wanted)
        return table(learners, cells)

    def ours(self) -> str:
        """The default beside the isotropic learner on the same orders, and the goals."""
        rows = []
        for name in self.names:
            default, isotropic = (self.runs(name, learner, "held out") for learner in OURS)
            if len(default) != len(isotropic) or len(default) < 2:
                continue
            show = SHOWN["rmse" if name in REGRESSION else "accuracy"]
            gains = np.subtract(default, isotropic)
            error = float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
            gain = float(np.mean(gains))
            n_rows, n_features = (self.runs(name, OURS[0], size)[0] for size in ("rows", "features"))
            rows.append(
                [
                    f"{name}, {'RMSE' if name in REGRESSION else '%'}",
                    f"{n_rows:,.0f} × {n_features:.0f}",
                    *(show(float(np.mean(runs))) for runs in (isotropic, default)),
                    f"{'−' if gain < 0 else '+'}{show(abs(gain))} ± {show(error)}",
                    show(GOALS[name]) if name in GOALS else "–",
                ]
            )
        return table(("rows × features", "isotropic", "default", "difference", "goal"), rows)

    def median(self, learner: str, cost: str) -> str:
        """Over the sets that were measured."""
        means = [np.mean(runs) for name in self.names if (runs := self.runs(name, learner, cost))]
        return SHOWN[cost](float(np.median(means))) if means else "–"

    def summary(self) -> str:
        """One row a learner: whether it learns on, on how many sets it is better than Newton, what it costs."""
        rows = []
        for learner, kind in LEARNERS.items():
            pairs = [(n, *(self.mean(n, m, "held out") for m in (learner, "Newton"))) for n in self.names]
            both = [(n, theirs, ours) for n, theirs, ours in pairs if not np.isnan(theirs + ours)]
            wins = sum(theirs < ours if name in REGRESSION else theirs > ours for name, theirs, ours in both)
            costs = [self.median(learner, cost) for cost in ("seconds", "bytes")]
            better = "–" if learner == "Newton" else f"{wins} of {len(both)}"
            rows.append([learner, "yes" if kind.learns_on else "no", better, *costs])
        return table(("learns on", "better than Newton on", "median seconds", "median model, kB"), rows)


def print_page(known: dict[str, dict[str, float]], names: list[str]) -> None:
    figures = Figures(known, names)
    streaming = [name for name, learner in LEARNERS.items() if learner.learns_on]
    for title, text in (
        ("All learners", figures.summary()),
        ("Held-out RMSE", figures.of_all("held out", "rmse", REGRESSION, -1)),
        ("Held-out accuracy, %", figures.of_all("held out", "accuracy", CLASSES, 1)),
        ("Held-out log loss", figures.of_all("log loss", "log loss", CLASSES, -1)),
        ("Progressive RMSE", figures.of_all("progressive", "rmse", REGRESSION, -1, streaming)),
        ("Progressive accuracy, %", figures.of_all("progressive", "accuracy", CLASSES, 1, streaming)),
        ("Seconds to fit", figures.of_all("seconds", "seconds", SETS)),
        ("Pickled model, kB", figures.of_all("bytes", "bytes", SETS)),
        ("Default and isotropic", figures.ours()),
    ):
        print(f"\n### {title}\n\n{text}")
