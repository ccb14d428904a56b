"""The mutants can still be run: what they change is in its file, and the tests that they name are there."""

from pathlib import Path

from mutants import MUTANTS

ROOT = Path(__file__).parents[1]


def test_every_mutant_finds_what_it_changes():
    for mutant in MUTANTS:
        assert mutant.old in (ROOT / mutant.file).read_text("utf-8"), mutant.promise
        assert mutant.old != mutant.new, mutant.promise
        assert all((ROOT / name).exists() for name in mutant.test_files), mutant.promise
