"""Each floor of the house knows only those below it, and no package reaches into another's private names."""

import ast
import re
from pathlib import Path

import pytest

from looping import loop

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onkel"
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
    ["river", "batch", "dask"],
    ["_public"],
    ["reproduce", "serve"],
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


def imports(path):
    """Yield the onkel modules that a file imports, each with the names that it takes from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "onkel":
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "onkel":
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


def test_the_core_knows_only_the_floors_below():
    for path in sorted((ROOT / "native").rglob("*.[ch]pp")):
        own = path.relative_to(ROOT / "native").parts[0]
        for included in re.findall(r'#include "(\w+)/', path.read_text()):
            assert floor_of(included, NATIVE) <= floor_of(own, NATIVE), f"{path} includes {included}/"
