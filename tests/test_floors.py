"""Each floor of the house knows only those below it, and no package reaches into another's private names."""

import ast
import importlib
import re
import runpy
from pathlib import Path

import pytest

from looping import loop

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onkel"
PAPERS = ROOT / "src" / "onkel_papers"
# From the ground up, with what is in each; modules on one floor know each other. scripts/facts writes docs/design.md
# from it.
PYTHON = [
    {
        "utils": "checks of arguments, files written whole, extras",
        "_core": "what native/ is compiled to",
        "parameters": "what the parameters of all learners mean",
        "docstrings": "docstrings that list parameters",
    },
    {"parts": "what recipes are made of"},
    {"recipes": "the learners as choices of parts"},
    {
        "settings": "what a learner is told before its first row",
        "regions": "regions and their conditions, as values",
        "function": "the fitted function as a value",
        "learner": "the thin learner: rows, scores, function, copies, state",
        "inside": "what is inside a model: its structure, and facts about it",
    },
    {"choice": "what the stream decides about a learner: it observes rows and losses, and hands back a learner"},
    {
        "coverage": "levels of intervals and sets, tracked by how often they cover",
        "estimators": "scikit-learn's contract, labels and targets, the named classes",
    },
    {"streams": "readers; tables; data sets; generators"},
    {"preprocess": "encoder, scalers, pipeline"},
    {"models": "compress, merge, import, `export/`"},
    {"files": "save, load, checkpoint"},
    {"partitions": "learning from partitions of the rows: pure functions that know no engine"},
    {
        "fading": "measures of the latest rows",
        "evaluate": "learning curves",
        "checks": "the promises, for anybody's parts",
    },
    {"report": "pages for any browser", "plot": "displays"},
    {"river": "classes for River", "dask": "Dask's collections, and workers for partitions"},
    {"_public": "every public name"},
    {"serve": "the service"},
    {"cli": "the command"},
    {"__main__": "the command as `python -m onkel`", "__init__": "the public names, each loaded when it is asked for"},
]
NATIVE = [
    {"isa": "vector routines, one source compiled per instruction set"},
    {"linalg": "buffers, views of rows, draws, the archive of named arrays; factors and inverses of matrices"},
    {"basis": "points and kernel values: dense, sparse, callable, pool and views, random features"},
    {"loop": "the loop; `Scored`; functions and their average; what an update may provide"},
    {"first_order": "losses, admissions, steps; `evictions/` with a file for each rule"},
    {"second_order": "posteriors, their memories and weights"},
    {"experts": "experts with regions; hedges; what makes the learners of a configuration"},
    {
        "search": "the search for relevances",
        "partitions": "what learners of partitions share: a span, sums of rows",
    },
    {"io": "LIBSVM text, statistics of scalers"},
    {"bind": "the only place that knows Python"},
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


def test_no_two_classes_have_one_name():
    """Classes for River and Dask are called as those that they stand for."""
    rooms = {}
    for path in PYTHON_FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and room(path) not in ("river", "dask"):
                rooms.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in rooms.items() if len(paths) > 1} == {}


SAVING = {"_state", "_load", "save", "load", "_saved_fields", "_from_saved_fields"}


@loop
@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_state_leaves_the_core_only_to_become_a_file(path):
    """What saves a core, or asks a model for what is saved, is in onkel.files or called by pickle."""
    if room(path) in ("files", "serve"):  # the service writes the files of `onkel.files`
        return
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Attribute) or node.attr not in SAVING:
                continue
            owner = ast.unparse(node.value)
            asks_core = node.attr in ("save", "load") and owner.split(".")[-1] in ("_core", "core")
            asks_model = node.attr.startswith("_") and owner != "super()"
            if asks_core or asks_model:
                assert path.name == "learner.py", f"{path}: {ast.unparse(node)} in {function.name}"
                assert function.name in SAVING | {"__getstate__", "__setstate__"}, function.name


@pytest.fixture(scope="module")
def documented():
    """The names of each module that the reference documents."""
    site = runpy.run_path(str(ROOT / "scripts" / "site"))
    modules = {name: importlib.import_module(name) for _, name, _ in site["SECTIONS"]}
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
