"""The mutants can still be run, and every promise of the README has a test and a mutant (docs/promises.md)."""

import ast
import re
from pathlib import Path

import pytest

from looping import loop
from mutant_runner import source
from mutants import MUTANTS

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def test_every_mutant_finds_what_it_changes():
    for mutant in MUTANTS:
        assert mutant.place, f"{mutant.promise}: its text is not in {mutant.file}, nor in one other file"
        assert mutant.broken(text := source(mutant.place)) != text, mutant.promise
        assert all((ROOT / name).exists() for name in mutant.test_files), mutant.promise


def lines_of_promises():
    """Yield the cells of the table in docs/promises.md: the promise, a test, and the mutant that the test kills."""
    for line in (ROOT / "docs" / "promises.md").read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| promise"):
            yield pytest.param(*(cell.strip() for cell in line.strip("|").split("|")), id=line.split("|")[1].strip())


@loop
@pytest.mark.parametrize(("promise", "test", "mutant"), lines_of_promises())
def test_every_promise_has_a_test_and_a_mutant(promise, test, mutant):
    file, _, name = test.strip("`").partition("::")
    functions = {node.name for node in ast.parse((TESTS / file).read_text("utf-8")).body if hasattr(node, "name")}
    assert name in functions
    (breaking,) = (each for each in MUTANTS if each.promise == mutant)
    files, _, words = breaking.tests.partition(" -k ")
    assert file in files.split()
    assert not words or any(word in name for word in re.split(r"\W+", words) if word not in ("and", "or", "not"))


def test_the_table_has_every_promise_of_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    promised = readme.partition("## What is promised")[2].partition("\n## ")[0]
    headlines = re.findall(r"^- \*\*(.*?)\.?\*\*", promised, re.MULTILINE)
    assert len(headlines) >= 7
    lines = [line.values[0] for line in lines_of_promises()]
    assert [line for line in headlines if not any(line in each for each in lines)] == []
