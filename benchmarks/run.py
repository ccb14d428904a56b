"""All figures that can be measured in under ten minutes, in one table: ``run.py [--json] [--long] [bench ...]``.

With ``--record`` they are added to the record of figures (scripts/history), of which the site has a page.

Each benchmark is a process of its own, so that none inherits another's memory. The table is Markdown, as in
docs/lab/speed.md; a benchmark whose data or packages are missing says so on stderr and is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from figures import Figure

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER.parent / "build" / "bench"
QUICK = ("tile", "gram", "learner", "threads", "evictions", "svc", "predict", "streams", "river")
LONG = ("svc_whole", "long")


def figures_of(bench: str) -> list[Figure]:
    program = PROGRAMS / f"{bench}_bench"
    command = [program] if program.exists() else [sys.executable, FOLDER / f"{bench}_bench.py", "--json"]
    print(f"{bench} ...", file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"{bench} ended with exit code {done.returncode}", file=sys.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [Figure(**{name: value for name, value in entry.items() if name != "met"}) for entry in found]


def table(figures: list[Figure]) -> str:
    head = ["figure", "value", "beside", "goal", "", "level", "peak"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(figure.cells())} |" for figure in figures]
    return "\n".join(lines)


def main() -> None:
    asked = [word for word in sys.argv[1:] if not word.startswith("-")]
    benches = asked or (LONG if "--long" in sys.argv else QUICK)
    found = [figure for bench in benches for figure in figures_of(bench)]
    if "--record" in sys.argv:
        text = json.dumps([figure.as_dict() for figure in found])
        history = FOLDER.parent / "scripts" / "history"
        subprocess.run([sys.executable, history, "Speed"], input=text, text=True, check=True)
    if "--json" in sys.argv:
        print(json.dumps([figure.as_dict() for figure in found], ensure_ascii=False, indent=1))
        return
    print(table(found))
    goals = [figure.met for figure in found if figure.met is not None]
    print(
        f"\n{sum(goals)} of {len(goals)} goals are met. Peak: 10⁹ float32 multiply-adds a second, in the same process."
    )


if __name__ == "__main__":
    main()
