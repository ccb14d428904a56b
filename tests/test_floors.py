"""Each floor of the house knows only those below it, and no package reaches into another's private names."""

import ast
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

from looping import loop

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onkel"
PAPERS = ROOT / "src" / "onkel_papers"
# From the ground up; modules on one line know each other.
PYTHON = [
    ["utils", "_core", "parameters"],
    ["parts"],
    ["catalogue"],
    ["recipes"],
    ["settings", "state", "expansion", "learned_function", "learner", "sums", "inside"],
    ["choice"],
    ["estimators"],
    ["streams"],
    ["preprocess"],
    ["models"],
    ["files"],
    ["partitions"],
    ["fading", "evaluate", "checks"],
    ["report", "plot"],
    ["river", "dask"],
    ["_public"],
    ["serve"],
    ["cli"],
    ["__main__", "__init__"],
]
NATIVE = [
    ["isa"],
    ["linalg"],
    ["basis"],
    ["loop", "first_order", "second_order", "experts"],
    ["search", "partitions"],
    ["io"],
    ["bind"],
]
# What a floor may use of one above it, and why.
EXCEPTIONS = {
    ("models", "_public"): "a converter may name any public class, which is loaded when it is asked for",
    ("files", "_public"): "a file may name any public class, which is loaded when it is asked for",
}


def floor_of(name, floors):
    (found,) = [i for i, names in enumerate(floors) if name in names]
    return found


def imports(path, package="onkel"):
    """Yield the modules of a package that a file imports, each with the names that it takes from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package:
                    yield alias.name, None


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


PYTHON_FILES = sorted(path for path in SOURCE.rglob("*.py"))


@loop
@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_knows_only_the_floors_below(path):
    own = room(path)
    for module, name in imports(path):
        words = module.split(".")[1:]
        other = words[0] if words else name
        if other is None or other == own or (not (SOURCE / other).exists() and not (SOURCE / f"{other}.py").exists()):
            continue
        if (own, other) in EXCEPTIONS:
            continue
        assert floor_of(other, PYTHON) <= floor_of(own, PYTHON), f"{own} imports {module}, which lies above it"


@loop
@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_package_reaches_into_anothers_private_names(path):
    own = room(path)
    for module, name in imports(path):
        words = [*module.split(".")[1:], *([name] if name else [])]
        if not words or words[0] in (own, "_core", "_public"):
            continue
        private = [word for word in words if word.startswith("_") and not word.startswith("__")]
        assert not private, f"{own} takes {private[0]} of onkel.{words[0]}"


@pytest.fixture(scope="module")
def documented():
    """The names of each module that the reference documents."""
    site = runpy.run_path(str(ROOT / "scripts" / "site"))
    modules = {name: pkgutil.resolve_name(name) for name in site["SECTIONS"]}
    return {name: {*site["public"](module)} for name, module in modules.items()}


PAPERS_FILES = sorted(PAPERS.rglob("*.py"))


@loop
@pytest.mark.parametrize("path", PAPERS_FILES, ids=lambda path: path.relative_to(PAPERS).as_posix())
def test_the_papers_take_only_public_names_of_onkel(path, documented):
    for module, name in imports(path):
        assert module in documented, f"{path.name} takes of {module}, which the reference does not document"
        public = name is None or name in documented[module] or f"{module}.{name}" in documented
        assert public, f"{path.name} takes {name} of {module}, which is not public"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("onkel."):
            private = [word for word in ast.unparse(node).split(".") if re.match("_(?!_)", word)]
            assert not private, f"{path.name} uses {ast.unparse(node)}"


def test_only_the_command_knows_of_the_papers():
    knowing = {path for path in PYTHON_FILES if list(imports(path, "onkel_papers"))}
    assert knowing == {SOURCE / "cli" / "reproduce.py"}


def test_the_core_knows_only_the_floors_below():
    for path in sorted((ROOT / "native").rglob("*.[ch]pp")):
        own = path.relative_to(ROOT / "native").parts[0]
        for included in re.findall(r'#include "(\w+)/', path.read_text()):
            assert floor_of(included, NATIVE) <= floor_of(own, NATIVE), f"{path} includes {included}/"
