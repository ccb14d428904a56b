"""What the documentation shows is true: doctests, docstrings of every public class, and the pages' examples."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onkel

ROOT = Path(__file__).parents[1]
MODULES = ["onkel", *(m.name for m in pkgutil.walk_packages(onkel.__path__, "onkel.") if m.name != "onkel._core")]
CLASSES = [name for name in onkel.__all__ if inspect.isclass(getattr(onkel, name))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


@pytest.mark.parametrize("name", CLASSES)
def test_public_classes_have_a_docstring_with_an_example(name):
    cls = getattr(onkel, name)
    document = inspect.getdoc(cls)
    first = document.splitlines()[0]
    assert first.endswith(".")
    for section in ("Parameters", "Examples"):
        assert re.search(rf"^{section}\n-{{{len(section)}}}$", document, re.MULTILINE), section
    assert ">>> " in document
    assert "%(" not in document
    for parameter in inspect.signature(cls).parameters:
        assert re.search(rf"^{parameter} : ", document, re.MULTILINE), parameter


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_a_docstring(name):
    for method, value in inspect.getmembers(getattr(onkel, name)):
        if not method.startswith("_") and callable(value):
            assert inspect.getdoc(value), method


def test_every_public_recipe_has_an_example():
    for name, recipe in inspect.getmembers(onkel.recipes, inspect.isfunction):
        if name[0].isupper():
            assert ">>> " in recipe.__doc__, name


@pytest.mark.parametrize("page", ["README.md", "docs/streams.md"])
def test_pages_print_what_they_show(page):
    text = (ROOT / page).read_text()
    examples = re.findall(r"```python\n(.*?)```\s*(?:[^`]*?)```text\n(.*?)```", text, re.DOTALL)
    assert examples, f"{page} must have a ```python block followed by a ```text block with its output"
    assert len(examples) == text.count("```python")
    for program, shown in examples:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
        assert done.stdout.strip() == shown.strip()
