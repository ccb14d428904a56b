"""What keeps the project in order: workflows, the changelog and its releases, the record of figures, citations."""

import json
import re
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

import onkel

ROOT = Path(__file__).parents[1]
LOG = """# Changelog

## [Unreleased]

This will be version 1.0.0.

### Added

- a

## [0.9.0] - 2026-01-02

- b
"""


@pytest.fixture
def script(monkeypatch):
    """Loads a script as a module."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)

    def load(name):
        loader = SourceFileLoader(f"onkel_{name}", str(ROOT / "scripts" / name))
        module = module_from_spec(spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module

    return load


def commands(text):
    return {
        re.sub(r" [A-Z]+=\S+", "", line).strip() for line in re.findall(r"\bmake [a-z][a-zA-Z-]*(?: [A-Z]+=\S+)*", text)
    }


def test_continuous_integration_finds_the_commands_of_the_readme():
    found = subprocess.run([ROOT / "scripts" / "readme-commands"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["make demo", "make test"]
    assert "scripts/readme-commands" in (ROOT / ".ci" / "run").read_text()


def test_workflows_run_what_everybody_can_run():
    targets = {
        f"make {name}" for name in re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    }
    of_workflows = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text()
        of_workflows |= commands("\n".join(re.findall(r"- run: (.*)", text)))
        assert not (unpinned := re.findall(r"uses: (\S+@(?![0-9a-f]{40}\b)\S+)", text)), unpinned
        assert "permissions: {}" in text
    of_ci = commands("\n".join(re.findall(r"^make .*$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)))
    assert of_workflows <= targets and of_ci <= targets
    assert of_ci <= of_workflows  # what runs at each landing runs for everybody else too


def test_the_changelog_is_of_the_form_that_it_names():
    log = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## (.*)$", log, re.MULTILINE)
    assert sections[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in sections[1:])
    kinds = re.findall(r"^### (.*)$", log, re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    if len(sections) == 1:  # before the first release there is nothing that has changed for a reader
        assert kinds == ["Added"]


def test_a_release_has_the_notes_of_its_section(script):
    release = script("release")
    assert release.notes_of(LOG, "1.0.0") == "### Added\n\n- a"
    assert release.notes_of(LOG, "0.9.0") == "- b" and release.notes_of(LOG, "2.0.0") == ""
    dated = release.dated(LOG, "1.0.0", "2026-11-19")
    assert "## [Unreleased]\n\n## [1.0.0] - 2026-11-19\n\n### Added" in dated
    assert release.notes_of(dated, "1.0.0") == "### Added\n\n- a"
    with pytest.raises(SystemExit, match=r"has a section for version 1\.0\.0 already"):
        release.dated(dated, "1.0.0", "2026-11-20")
    assert release.notes_of((ROOT / "CHANGELOG.md").read_text(), onkel.__version__)


def test_a_record_is_added_and_shown(script, tmp_path):
    history = script("history")
    history.FILE = tmp_path / "history.jsonl"
    assert history.page(history.records()).endswith("There is no record yet.")
    figure = {"bench": "b", "name": "speed", "value": 0.5, "unit": "x", "peer": "SVC", "goal": 0.7, "level": "v3"}
    history.add("Speed", [figure])
    history.add("Speed", [figure | {"value": 1.5}, {"bench": "b", "name": "size", "value": 2000.0, "unit": "MB"}])
    lines = [line for line in history.page(history.records()).splitlines() if line.startswith("| s")]
    assert lines == ["| speed, beside SVC | ≥ 0.70x | 0.50x | **1.50x** |", "| size |  | – | 2,000 MB |"]


def test_the_record_can_be_read(script):
    for record in script("history").records():
        assert record.keys() == {"kind", "date", "commit", "machine", "figures"} and json.dumps(record)
        assert all({"bench", "name", "value", "unit"} <= figure.keys() for figure in record["figures"])


def test_the_citation_has_what_a_reader_needs():
    text = (ROOT / "CITATION.cff").read_text()
    for field in ("cff-version: 1.2.0", "message:", "title:", "type: software", "authors:", "license: BSD-3-Clause"):
        assert re.search(rf"(?m)^{re.escape(field)}", text), field
