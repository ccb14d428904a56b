"""What an installed onkel weighs: its modules, its memory at import, its files; docs/packaging.md has figures."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import onkel
import onkel_papers

EXTRAS = {"matplotlib", "pandas", "polars", "pyarrow", "rich", "typer", "river", "onnx", "pooch", "dask", "starlette"}
MEGABYTE = 1_000_000
ROOT = Path(__file__).parents[1]


def after(*statements):
    """The modules that are loaded, and the resident bytes, after statements in a new process."""
    ask = (
        "import json, sys\n"
        "def resident():\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "start = resident()\n"
        "{}\n"
        "print(json.dumps([sorted({{m.split('.')[0] for m in sys.modules}}), resident() - start]))\n"
    )
    program = ask.format("\n".join(statements))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules, grown = json.loads(done.stdout.splitlines()[-1])
    return set(modules), grown


def test_importing_onkel_loads_no_library():
    modules, grown = after("import onkel")
    assert not modules & {"numpy", "scipy", "sklearn", *EXTRAS}
    assert grown < 10 * MEGABYTE


def test_an_estimator_loads_what_onkel_is_installed_with_and_no_extra():
    modules, grown = after("import onkel", "onkel.NewtonClassifier()")
    of_others, grown_by_others = after(  # scikit-learn looks for pandas and others itself
        "import joblib, numpy, scipy.optimize, scipy.sparse, scipy.special",
        "import sklearn.base, sklearn.isotonic, sklearn.metrics, sklearn.svm, sklearn.utils.validation",
    )
    assert "sklearn" in modules
    assert not (modules - of_others) & EXTRAS
    assert grown - grown_by_others < 20 * MEGABYTE  # what is onkel's own


def test_what_is_installed_is_small():
    core = Path(onkel._core.__file__)
    folders = [Path(package.__file__).parent for package in (onkel, onkel_papers)]
    python = sum(path.stat().st_size for folder in folders for path in folder.rglob("*.py"))
    assert core.stat().st_size < 6 * MEGABYTE
    assert python < 2 * MEGABYTE


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    recipe = (ROOT / "packaging" / "conda-forge" / "meta.yaml").read_text()
    built_with = project["build-system"]["requires"]
    run_with = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["cli"]
    for needed in built_with + run_with:
        assert f"- {needed.replace('>=', ' >=')}\n" in recipe, needed
    assert f'version = "{onkel.__version__}"' in recipe
