"""How learners follow streams that change: `stream_bench.py [--learner NAME ...] [--seed N ...] [--page] [stream ...]`.

Every learner of `stream_rivals.py` predicts each of the first 20,000 rows of the streams of `stream_data.py` before it
learns from it. A figure is kept, with version and machine, in benchmarks/stream_figures.json as soon as it is known,
and not measured again without `--anew`, so that a run can be cut short and taken up. Seconds are process time. `--page`
measures nothing and prints the table of docs/lab/streams-that-change.md.

By default Newton is measured, with 400 points. Others are asked for by name, or all with `--learner all`; those whose
package is not installed are left out. `pip install lightgbm river`; for MOA `pip install --no-deps capymoa`, and Java.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import onkel
from newton_bench import Results
from stream_data import STREAMS, rows_of
from stream_rivals import LEARNERS

FIGURES = Path(__file__).with_name("stream_figures.json")
OURS = "Newton"
# What the comparison began with, measured with an earlier version on another machine, with other draws of the streams
# that are generated: the best rival, and the goal.
EARLIER = {
    "Agrawal, abrupt": (8.2, 8),
    "Agrawal, gradual": (18.1, 13),
    "RBF, fast": (13.5, 13.5),
    "RBF, slow": (7.9, 9),
    "rules among 50 features": (7.5, 8.5),
    "one-hot categories": (19.8, 20),
    "RandomTree": (23.5, 25),
    "movingSquares, scaled": (2.7, 3),
    "movingSquares": (2.7, 1.6),
    "transientChessboard": (7.5, 6.5),
    "MV": (0.9, 1.5),
    "steps of 30 features": (2.0, 1.9),
    "bike_hour": (46.2, 45),
    "cal.housing, shuffled": (51_004, 51_000),
    "elec": (None, 4.4),
    "LED": (None, 24.2),
    "SEA": (None, 11.6),
    "Hyperplane": (None, 8.1),
    "STAGGER": (None, 0.06),
    "Sine": (None, 0.8),
    "Mixed": (None, 1.1),
    "outdoorStream": (None, 7.0),
    "interchangingRBF": (None, 0.25),
    "Friedman, abrupt": (None, 1.76),
}


@functools.cache
def machine() -> str:
    """The processor, and the instruction set in use."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor()
    return f"{name}, {onkel.isa}"


@functools.cache
def version(package: str) -> str:
    """The version of a package; of our own with the commit."""
    if package != "onkel":
        return importlib.metadata.version(package)
    command = ["git", "-C", str(FIGURES.parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"{onkel.__version__} {commit}".strip()


def measured(learner: str, stream: str, seed: int) -> dict[str, float | str]:
    """The figures of one learner on one stream."""
    X, y = rows_of(stream, seed)
    kind = LEARNERS[learner]
    with threadpool_limits(1):
        figures = kind.measure(stream, X, y)
    return {**figures, "rows": len(y), "version": version(kind.needs), "machine": machine()}


def shown(value: float | None) -> str:
    if value is None or np.isnan(value):
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def page(known: dict[str, dict]) -> str:
    """The table: Newton, and the rivals that have been measured on the most streams."""

    def mean(learner: str, stream: str) -> float:
        found = [each["error"] for key, each in known.items() if key.startswith(f"{learner}|{stream}|")]
        return float(np.mean(found)) if found else np.nan

    columns = [name for name in LEARNERS if any(not np.isnan(mean(name, stream)) for stream in STREAMS)]
    heads = ["stream", *columns, "best rival, earlier", "goal"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for stream in STREAMS:
        ours = mean(OURS, stream)
        cells = [stream]
        for name in columns:
            cell = shown(mean(name, stream))
            cells.append(f"**{cell}**" if mean(name, stream) < ours and cell != shown(ours) else cell)
        best, goal = EARLIER.get(stream, (None, None))
        met = goal is not None and ours <= goal
        cells += [shown(best), "–" if goal is None else f"{shown(goal)}{', met' if met else ''}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not known yet, or print the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--learner", action="append", choices=["all", *LEARNERS])
    words.add_argument("--seed", action="append", type=int, help="of generated streams; 1 by default")
    words.add_argument("--page", action="store_true")
    words.add_argument("--anew", action="store_true")
    words.add_argument("streams", nargs="*", metavar="stream", help="by default all of them")
    told = words.parse_args()
    if unknown := set(told.streams) - set(STREAMS):
        words.error(f"{min(unknown)} is none of the streams {', '.join(STREAMS)}")
    results = Results(FIGURES)
    if told.page:
        print(page(results.known))
        return
    asked = told.learner or [OURS]
    for learner in list(LEARNERS) if "all" in asked else asked:
        if not LEARNERS[learner].is_here:
            print(f"{learner} is left out: the package {LEARNERS[learner].needs}, or what it needs, is not installed")
            continue
        for stream in filter(LEARNERS[learner].takes, told.streams or STREAMS):
            for seed in told.seed or [1]:
                if STREAMS[stream].seeds or seed == 1:
                    key = f"{learner}|{stream}|{seed}"
                    results.get(key, functools.partial(measured, learner, stream, seed), anew=told.anew)


if __name__ == "__main__":
    main()
