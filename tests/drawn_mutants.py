"""Mutants that nobody wrote, of the lines that a change touches: `python tests/drawn_mutants.py [--most N]`.

universalmutator, from PyPI, rewrites lines of Python and of C++ by its rules; a few of what it makes are drawn, the
same ones for the same change. They are run as the written ones are (tests/mutant_runner.py), by the tests that the
written ones of the same folder name. One that lives fails nothing: it may be the same program in other words, or
harmless, and only a reader can tell. It is printed, so that whoever made the change sees where a test may be missing.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import ClassVar

from mutant_runner import ROOT, Mutant, Run, base_commit, git, installed_core, source
from mutants import MUTANTS

MUTATE = Path(sys.executable).with_name("mutate")


@dataclass(frozen=True)
class Drawn(Mutant):
    """A file with one line written otherwise."""

    whole: str = ""
    seconds: ClassVar[float | None] = 600.0  # a loop may have lost its end

    @cached_property
    def place(self) -> str:
        """The file that it changes."""
        return self.file

    def broken(self, text: str) -> str:
        """Return the file as it was drawn."""
        return self.whole


def changed_lines() -> dict[str, list[int]]:
    """Return the sources that differ from the base commit, each with the lines that are new there."""
    found: dict[str, list[int]] = {}
    words = ("--", "native/*.cpp", "src/*.py")  # headers declare what others name: most of their mutants do not compile
    for line in git("diff", "--unified=0", "--diff-filter=d", base_commit(), *words).splitlines():
        if line.startswith("+++ b/"):
            lines = found.setdefault(line.removeprefix("+++ b/"), [])
        elif place := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(place[1]), int(place[2] or 1)
            lines.extend(range(first, first + count))
    return found


def rewritten(file: str, lines: list[int]) -> Iterator[str]:
    """Yield what universalmutator makes of a file, one of these lines changed in each."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "lines")
        wanted.write_text("".join(f"{line}\n" for line in lines))
        language = "python" if file.endswith(".py") else "cpp"
        words = [MUTATE, ROOT / file, language, "--noCheck", "--lines", wanted, "--mutantDir", folder]
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for path in Path(folder).glob("*.mutant.*"):
            yield path.read_text()


def is_another_program(file: str, before: str, after: str) -> bool:
    """Whether a text is a program, and not the same one in other words; a module's binding counts as none."""
    if file.endswith(".py"):
        try:
            return meaning(before) != meaning(after)
        except SyntaxError:
            return False
    words = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-w",
        "-I",
        ROOT / "native",
        "-I",
        (ROOT / file).parent,
        "-x",
        "c++",
        "-",
    ]
    return subprocess.run(words, input=after, text=True, capture_output=True).returncode == 0


def meaning(text: str) -> str:
    """Return a program without its comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [
                each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            ]
    return ast.dump(tree)


def tests_of(file: str) -> str:
    """Return the test files that the written mutants of its folder name, or of the next folder above that has some."""
    for folder in Path(file).parents:
        near = [mutant for mutant in MUTANTS if Path(mutant.place).is_relative_to(folder)]
        if near:
            return " ".join(sorted({Path(name).relative_to("tests").as_posix() for m in near for name in m.test_files}))
    raise ValueError(f"no mutant is near {file}")


def drawn(file: str, lines: list[int]) -> Iterator[Drawn]:
    """Yield the mutants of a file, in an order that depends on nothing but themselves."""
    before, tests = source(file), tests_of(file)
    for text in sorted(set(rewritten(file, lines)), key=lambda text: hashlib.sha256(text.encode()).digest()):
        pairs = zip(before.split("\n"), text.split("\n"), strict=False)
        number, (old, new) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
        if not old.strip().startswith("//") and is_another_program(file, before, text):
            what = f"{file}, line {number}: {old.strip()!r} became {new.strip()!r}"
            yield Drawn(what, file, old, new, tests, text)


def some_of(files: dict[str, list[int]], most: int) -> list[Drawn]:
    """Return no more than so many: the first of each file, then the second of each, and so on."""
    in_turn = zip_longest(*(drawn(file, lines) for file, lines in files.items()))
    return list(islice((mutant for row in in_turn for mutant in row if mutant is not None), most))


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the lines that a change touches by rule, and see who notices.")
    parser.add_argument("--most", type=int, default=10, metavar="N", help="no more than so many (10)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at a time")
    parser.add_argument("--list", action="store_true", help="print the mutants that would be run, and stop")
    options = parser.parse_args()
    core = installed_core()
    if core is None or not MUTATE.exists():
        print("tests/drawn_mutants.py needs onkel as it is, and universalmutator (make drawn-mutants puts them there)")
        return 2
    mutants = some_of(changed_lines(), options.most)
    if options.list:
        print("\n".join(mutant.promise for mutant in mutants))
        return 0
    start = time.monotonic()
    run = Run(mutants, options.jobs, core, lives="LIVES", remembers=False)
    run()
    print(f"{len(mutants) - run.failed} of {len(mutants)} were noticed in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
