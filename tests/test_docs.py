"""What the documentation shows is true: doctests, docstrings of every public class, and the pages' examples."""

import contextlib
import doctest
import importlib
import inspect
import io
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import pytest

import onkel
import onkel_papers
import warm

ROOT = Path(__file__).parents[1]
MODULES = [
    "onkel",
    "onkel_papers",
    *(
        module.name
        for package in (onkel, onkel_papers)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if module.name != "onkel._core" and ">>> " in inspect.getsource(importlib.import_module(module.name))
    ),
]
CLASSES = [value for name in onkel.__all__ if inspect.isclass(value := getattr(onkel, name))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_public_classes_have_a_docstring_with_an_example():
    for cls in CLASSES:
        document = inspect.getdoc(cls)
        first = document.splitlines()[0]
        assert first.endswith("."), cls
        for section in ("Parameters", "Examples"):
            assert re.search(rf"^{section}\n-{{{len(section)}}}$", document, re.MULTILINE), (cls, section)
        assert ">>> " in document, cls
        assert "%(" not in document, cls
        for parameter in inspect.signature(cls).parameters:
            assert re.search(rf"^{parameter} : ", document, re.MULTILINE), (cls, parameter)


def test_public_methods_have_a_docstring():
    for cls in CLASSES:
        for method, value in inspect.getmembers(cls):
            if not method.startswith("_") and callable(value):
                assert inspect.getdoc(value), (cls, method)


def test_every_public_recipe_has_an_example():
    for name, recipe in inspect.getmembers(onkel.recipes, inspect.isfunction):
        if name[0].isupper():
            assert ">>> " in recipe.__doc__, name


# Examples whose output the page shows, and others: every one is run, by a test here or by the one that is named.
PAGES_WITH_OUTPUT = [
    "README.md",
    "docs/checks.md",
    "docs/deploy.md",
    "docs/kernels.md",
    "docs/learners.md",
    "docs/multikernel.md",
    "docs/river.md",
    "docs/start.md",
    "docs/streams.md",
    "docs/tutorial.md",
    "docs/uncertainty.md",
]
PAGES_WITHOUT_OUTPUT = [
    "docs/howto.md",
    "docs/index.md",
    "docs/persistence.md",
    "docs/streams-that-change.md",
    "docs/theory/bogd.md",
    "docs/theory/oskl.md",
    "docs/theory/spa.md",
    "docs/uncertainty.md",
]
RUN_ELSEWHERE = {
    "docs/from-svc.md": "test_examples.py",
    "docs/scale.md": "test_dask.py",
    "docs/serve.md": "test_serve_docs.py",
    "docs/stories.md": "test_examples.py",
}


def test_every_example_is_run():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    with_examples = {str(page.relative_to(ROOT)) for page in pages if "```python\n" in page.read_text()}
    assert with_examples == {*PAGES_WITH_OUTPUT, *PAGES_WITHOUT_OUTPUT, *RUN_ELSEWHERE}


@pytest.mark.parametrize("page", PAGES_WITH_OUTPUT)
def test_pages_print_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    examples = re.findall(r"```python\n(.*?)```\s*(?:[^`]*?)```text\n(.*?)```", text, re.DOTALL)
    assert examples, f"{page} must have a ```python block followed by a ```text block with its output"
    assert len(examples) == text.count("```python")
    for program, shown in examples:
        assert printed_by(program).strip() == shown.strip()


def printed_by(program):
    """What a program prints that starts with no names of its own; in this process, since imports take long."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a program shows them on the other stream
        exec(compile(program, "<example>", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES_WITHOUT_OUTPUT)
def test_pages_without_output_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for program in re.findall(r"^ *```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE):
        printed_by(textwrap.dedent(program))


def test_pages_refuse_what_they_say_they_refuse():
    blocks = re.findall(r"```pycon\n(.*?)```", (ROOT / "docs/from-svc.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        shown = doctest.DocTestParser().get_doctest(block, {}, "from-svc.md", None, None)
        assert doctest.DocTestRunner().run(shown).failed == 0


def commands(document):
    """Yield the commands of all ```console blocks, each with the output that is shown below it."""
    for block in re.findall(r"^```console\n(.*?)^```$", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines()
            n_more = next((i for i, line in enumerate(rest) if not line.startswith(">")), len(rest))
            lines = [first, *(line.removeprefix(">").removeprefix(" ") for line in rest[:n_more])]
            yield "\n".join(lines), "\n".join(rest[n_more:])


def without_times(text):
    """The text with the columns of times left out, and without spaces that only align."""
    kept, n_times = [], 0
    for line in text.strip().splitlines():
        words = line.split()
        if words[:1] and words[-1] in ("seconds", "rows/s"):
            n_times = 2 if words[-1] == "rows/s" else 1
        elif not words:
            n_times = 0
        kept.append(words[: len(words) - n_times] if n_times else words)
    return kept


@pytest.fixture(scope="module")
def onkel_of_a_shell():
    with tempfile.TemporaryDirectory() as folder, warm.command(Path(folder)) as path:
        yield path


@pytest.mark.parametrize("document", ["docs/cli.md", "docs/deploy.md"])
def test_a_shell_prints_what_a_document_shows(document, tmp_path, onkel_of_a_shell):
    folders = [onkel_of_a_shell, Path(sys.executable).parent, os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(map(str, folders))}
    environment.pop("ONKEL_DATA", None)
    status = 0
    for command, shown in commands(document):
        script = f"(exit {status}); {command}"  # for a command that asks how the last one ended
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        status = done.returncode
        assert without_times(done.stdout) == without_times(shown), command
