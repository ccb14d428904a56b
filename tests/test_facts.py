"""Every fact once: what a parameter is called, means, defaults to and may be is the same wherever it is shown."""

import importlib.machinery
import importlib.util
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import recipes
from onkel.docstrings import entries, section
from onkel.estimators import named
from onkel.parameters import COMMON, parameters_of
from onkel.parts import KERNELS, LOSSES, Polynomial

ROOT = Path(__file__).parents[1]
GENERIC = ["KernelClassifier", "KernelRegressor", "MultiKernelClassifier", "MultiKernelRegressor"]
ESTIMATORS = named.__all__
EMPTY = inspect.Parameter.empty


def script():
    loader = importlib.machinery.SourceFileLoader("facts", str(ROOT / "scripts" / "facts"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("facts", loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def defaults(thing):
    return {p.name: p.default for p in inspect.signature(thing).parameters.values()}


def documented(document):
    """Names of the Parameters section, each with its type and default, and with what is said of it."""
    section = re.search(r"^Parameters\n-{10}\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", document, re.DOTALL | re.MULTILINE)[1]
    found = re.findall(r"^(\w+) : (.*)\n((?:    .*\n?)*)", section, re.MULTILINE)
    return {name: (kind, " ".join(text.split())) for name, kind, text in found}


def learner_of(estimator):
    return re.sub("(Classifier|Regressor)$", "", estimator)


# -- the tables of the documentation


@loop
@pytest.mark.parametrize("path", ["docs/learners.md", "docs/parts.md", "src/onkel/recipes/__init__.py"])
def test_what_follows_from_the_table_is_written_down(path):
    text = (ROOT / path).read_text()
    assert script().TARGETS[path](text) == text, "run scripts/facts"


def test_the_page_of_learners_lists_every_learner_where_it_belongs():
    keeping, evicting = (ROOT / "docs/learners.md").read_text().split("**They make room when the budget is full**")
    for name in recipes.__all__:
        made = getattr(recipes, name)()
        if isinstance(made, onkel.parts.FirstOrder):
            where = keeping if isinstance(made.eviction, onkel.parts.Stop) else evicting
            assert f"\n| `{name}`" in where, name


# -- one default, shown everywhere


@loop
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_its_recipes_parameters(name):
    """Both write their parameters out: names and defaults agree, but for what a task or a stream decides."""
    cls, recipe = getattr(onkel, name), getattr(recipes, learner_of(name))
    shown, of_recipe = defaults(cls), defaults(recipe)
    regression = name.endswith("Regressor")
    assert set(COMMON) - set(shown) == ({"class_weight"} if regression else set())
    own = set(shown) - set(COMMON)
    assert set(of_recipe) - own <= {"budget", "epsilon", "quantile", "delta"}
    assert not {"epsilon", "quantile"} & own or regression
    assert own <= {*of_recipe, "regions"}  # which are not of a learner alone
    own.discard("regions")
    decided = {"loss"} | ({"eta"} if name == "OSKLRegressor" else set()) if regression else set()
    decided |= {n for n in own if shown[n] == "stream"}
    assert {n: shown[n] for n in own - decided} == {n: of_recipe[n] for n in own - decided}
    # What is said of a parameter is one object, which both declarations name.
    notes, of_recipe = parameters_of(cls), parameters_of(recipe)
    assert all(notes[n].note is of_recipe[n].note for n in own - decided)


@loop
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_makes_its_recipe_with_its_parameters(name):
    """Each parameter reaches the recipe: one that is out of its range is refused by name."""
    model = getattr(onkel, name)()
    model._recipe(None)
    for parameter in parameters_of(type(model)).values():
        if parameter.name not in COMMON and parameter.name != "horizon":
            with pytest.raises(ValueError, match=f"^{parameter.name} must be "):
                model.__class__(**{parameter.name: object()})._recipe(None)


def test_what_all_learners_share_has_the_defaults_that_are_promised():
    classes = [getattr(onkel, name) for name in ESTIMATORS]
    assert {cls.__name__: defaults(cls)["fit_intercept"] for cls in classes} == {
        name: name.endswith("Regressor") or name == "NewtonClassifier" for name in ESTIMATORS
    }
    makes_room = {name for name in ESTIMATORS if defaults(getattr(onkel, name))["budget"] == 500}
    made = {n: getattr(recipes, learner_of(n))() for n in ESTIMATORS if learner_of(n) not in ("Newton", "POLK")}
    assert makes_room == {name for name, recipe in made.items() if not isinstance(recipe.eviction, onkel.parts.Stop)}
    assert COMMON["degree"].limits.items() <= Polynomial.__dataclass_fields__["degree"].metadata.items()


@loop
@pytest.mark.parametrize("name", recipes.__all__)
def test_a_recipe_shows_plain_types(name):
    kinds = [parameter.annotation for parameter in inspect.signature(getattr(recipes, name)).parameters.values()]
    plain = (float, int, str, bool, float | str, float | None, float | str | None, int | None, str | onkel.parts.Loss)
    assert all(kind in plain for kind in kinds)


@pytest.mark.parametrize("name", ["KernelClassifier", "KernelRegressor"])
def test_river_has_the_parameters_of_all_learners(name):
    river = pytest.importorskip("onkel.river")
    shown = defaults(getattr(river, name))
    assert shown.keys() == {"recipe", "seed", *_told()} and next(iter(shown)) == "recipe"
    assert {n: shown[n] for n in _told()} == _told() | {"gamma": 1.0, "budget": 500}
    document = documented(getattr(river, name).__doc__)
    assert document.keys() == shown.keys()
    assert document["budget"][1] == "The largest number of support vectors. None means no bound."


def test_the_thin_learner_agrees():
    shown = defaults(onkel.Learner)
    assert {n: shown[n] for n in _told()} == _told() | {"gamma": 1.0}


def _told():
    from onkel.parameters import FunctionParameters, KernelParameters

    return {n: p.default for table in (KernelParameters, FunctionParameters) for n, p in parameters_of(table).items()}


def test_the_command_agrees():
    from onkel.cli import _options

    hints = inspect.get_annotations(_options.Learning, eval_str=True)
    for option, name in {"budget": "budget", "gamma": "gamma", "jobs": "n_jobs"}.items():
        assert getattr(_options.Learning, option) is None  # only what is given is passed on
        assert hints[option].__metadata__[0].help.startswith(COMMON[name].note.says)


# -- docstrings


@loop
@pytest.mark.parametrize("name", [*ESTIMATORS, *GENERIC])
def test_a_docstring_lists_exactly_the_parameters(name):
    cls = getattr(onkel, name)
    shown, document = defaults(cls), documented(inspect.getdoc(cls))
    assert set(document) == set(shown)
    for parameter in parameters_of(cls).values():
        kind, said = document[parameter.name]
        default = shown[parameter.name]
        written = f'"{default}"' if isinstance(default, str) else repr(default)
        assert default is EMPTY or kind.endswith(f"default={written}"), parameter.name
        assert said.startswith(parameter.note.says) and said.endswith("."), parameter.name
        assert "{" not in said
    assert parameters_of(cls).keys() == shown.keys()


@loop
@pytest.mark.parametrize("name", recipes.__all__)
def test_a_recipes_docstring_lists_exactly_its_parameters(name):
    recipe = getattr(recipes, name)
    shown = defaults(recipe)
    document = documented(recipe.__doc__) if shown else {}
    assert list(document) == list(shown)
    assert all(said.endswith(".") for _, said in document.values())
    assert "on the stream (" not in recipe.__doc__  # which is for those who see the stream
    for estimator in ESTIMATORS:
        if learner_of(estimator) == name:
            assert section(getattr(onkel, estimator).__doc__, "References") == section(recipe.__doc__, "References")
    assert section(recipe.__doc__, "References") or name == "Newton"


@loop
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_losses_of_a_docstring_are_those_that_are_taken(name):
    cls = getattr(onkel, name)
    if "loss" not in defaults(cls):
        return
    listed = re.findall(r'"(\w+)"', documented(cls.__doc__)["loss"][0].split("}")[0])
    first_row = {"X": [[1.0]], "y": [1.0]} | ({"classes": [0.0, 1.0]} if name.endswith("Classifier") else {})
    for loss in LOSSES:
        model = cls(loss=loss)
        if loss in listed:
            model.partial_fit(**first_row)
        else:
            with pytest.raises(ValueError, match=r"loss|eta"):
                model.partial_fit(**first_row)


def test_kernels_are_listed():
    kind = documented(onkel.SPAClassifier.__doc__)["kernel"][0]
    assert re.findall(r'"(\w+)"', kind.split("}")[0]) == list(KERNELS)


# -- ranges


def outside(limits, integer):
    """A value just outside each limit."""
    near = 1 if integer else 1e-9
    yield from (limits[name] for name in ("above", "below") if name in limits)
    yield from (limits[name] - near for name in ("at_least",) if name in limits)
    yield from (limits[name] + near * max(1, abs(limits[name])) for name in ("at_most",) if name in limits)


RANGES = [
    (name, parameter.name, value)
    for name in ESTIMATORS
    for parameter in parameters_of(getattr(onkel, name)).values()
    if parameter.name not in ("degree",)  # of another kernel
    for value in outside(parameter.limits, parameter.type in (int, int | None))
]


@loop
@pytest.mark.parametrize(("name", "parameter", "value"), RANGES)
def test_a_range_is_the_one_that_is_checked(name, parameter, value):
    if parameter == "horizon":  # `fit` knows better
        model = getattr(onkel, name)(horizon=value)
        learn = model.partial_fit
    else:
        learn = getattr(onkel, name)(**{parameter: value}).fit
    with pytest.raises(ValueError, match=rf"^{parameter} must be an? (number|integer) "):
        learn(np.eye(4), [0, 1, 0, 1])


def test_choices_are_the_ones_that_are_checked():
    functions = [getattr(recipes, name) for name in recipes.__all__]
    choices = [(recipe, p) for recipe in functions for p in parameters_of(recipe).values() if p.note.choices]
    assert len(choices) >= 8
    for recipe, parameter in choices:
        for choice in parameter.note.choices:
            recipe(**{parameter.name: choice})
        with pytest.raises(ValueError, match=f"^{parameter.name} must be one of "):
            recipe(**{parameter.name: "nonsense"})


def test_entries_say_name_type_range_and_default():
    text = entries([parameters_of(recipes.KLR)["shape"], COMMON["n_jobs"]], {})
    assert text.splitlines() == [
        "shape : float at least 1, default=2.0",
        "    γ of the first two: the larger, the fewer support vectors.",
        "n_jobs : int or None, default=None",
        "    Number of threads (-1: one per core); results do not depend on it. None means one thread.",
    ]


# -- what an addition touches: each of these is made in one place, of a copy of the package

TOY_PARAMETER = '    patience: Annotated[int, Note("How long to wait.", limits={"at_least": 1})] = 7\n'
TOY_LOSS = '''
@dataclass(frozen=True)
class Toy(Loss):
    """A toy."""

    name = "toy"
    regression = True
    piecewise_linear = True
    slant: float = number(0.5, above=0)


'''
TOY_NUMBER = """Slant = Annotated[float, Note("How slanted.", limits={"above": 0})]
"""
TOY_RECIPE = '''

@checked
def Toy(speed: parameters.Slant = 0.25, loss: parameters.LossChoice = "hinge") -> FirstOrder:
    """A toy.

    References
    ----------
    Toy 2000, "A Toy".
    """
    return FirstOrder(loss_named(loss), OnGradient(), GradientStep(eta=speed))
'''
TOY_CLASS = '''
__all__ += ["ToyClassifier", "ToyRegressor"]


@parameter_class
class ToyParameters(LearnerParameters):
    speed: parameters.Slant = 0.25
    budget: int | None = 5

    def _recipe(self, horizon):
        return recipes.Toy(speed=self.speed, loss=self._loss())


@estimator
class ToyClassifier(ToyParameters, LossParameters, KernelClassifierBase):
    """A toy.

    Examples
    --------
    """


@estimator
class ToyRegressor(ToyParameters, RegressionLossParameters, KernelRegressorBase):
    """A toy.

    Examples
    --------
    """
'''
TOY_RIVER = """

class ToyRegressor(unbudgeted.ToyParameters, RegressionLossParameters, Named, Regressor): ...


__all__ += ["ToyRegressor"]
"""
LOOK = """
import inspect, json, onkel, onkel.river, types
from onkel.cli._learners import make, names
from onkel.cli._options import Learning
source = types.SimpleNamespace(task="classification", is_table=False, scale=None, gamma=lambda width: 1.0)
shown = lambda c: {p.name: repr(p.default) for p in inspect.signature(c).parameters.values()}
classes = [n for n in onkel.__all__ if inspect.isclass(getattr(onkel, n)) and hasattr(getattr(onkel, n), "n_support_")]

def numbered(cls):
    model = object.__new__(cls)  # the learner itself does not know the toy parameter
    model.loss, model.slant = "toy", 0.25
    return model

river = {n: getattr(onkel.river, n) for n in onkel.river.named.__all__}
river |= {c.__name__: c for c in (onkel.river.KernelClassifier, onkel.river.KernelRegressor)}
print(json.dumps({
    "estimators": {n: [shown(getattr(onkel, n)), getattr(onkel, n).__doc__] for n in classes if n != "PlattClassifier"},
    "river": {n: [shown(c), c.__doc__] for n, c in river.items()},
    "recipe": [shown(onkel.recipes.Toy), onkel.recipes.Toy.__doc__],
    "command": sorted(names("regression")),
    "set": make("toy", source, Learning(set=["patience=9", "speed=2"]))["toy"].get_params(),
    "learned": onkel.ToyClassifier(gamma=1.0).fit([[0.0], [1.0]], [0, 1]).n_support_,
    "number": [numbered(cls)._recipe(None).loss.slant for cls in (onkel.PARegressor, river["PARegressor"])],
}))
"""


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    pytest.importorskip("river")
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "onkel"
    shutil.copytree(Path(onkel.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    core = Path(sys.modules["onkel._core"].__file__)
    if not (package / core.name).exists():
        shutil.copy(core, package)
    for path, before, addition in [
        ("parameters.py", "    degree: ", TOY_PARAMETER),
        ("parts/losses.py", "LOSSES: ", TOY_LOSS),
        ("recipes/parameters.py", "StepSize = ", TOY_NUMBER),
        ("estimators/parameters.py", "    epsilon: ", "    slant: Slant = 0.5\n"),
        ("estimators/parameters.py", "epsilon=self.epsilon", "slant=self.slant, "),
        ("estimators/parameters.py", "Epsilon, ", "Slant, "),
        ("recipes/unbudgeted.py", None, TOY_RECIPE),
        ("recipes/__init__.py", "__all__", "from onkel.recipes.unbudgeted import Toy\n\n"),
        ("estimators/unbudgeted.py", None, TOY_CLASS),
        ("river/named.py", None, TOY_RIVER),
    ]:
        text = (package / path).read_text()
        where = len(text) if before is None else text.index(before)
        (package / path).write_text(text[:where] + addition + text[where:])
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_common_parameter_is_one_row(looked):
    assert len(looked["estimators"]) == len(ESTIMATORS) + len(GENERIC) + 2
    assert len(looked["river"]) == len(ESTIMATORS) + 3
    for shown, document in [*looked["estimators"].values(), *looked["river"].values()]:
        assert shown["patience"] == "7"
        assert documented(document)["patience"] == ("int at least 1, default=7", "How long to wait.")
    assert looked["set"]["patience"] == 9


def test_a_loss_is_one_class_and_a_field_for_its_number(looked):
    for name, (shown, document) in [*looked["estimators"].items(), *looked["river"].items()]:
        takes = "loss" in shown and name.endswith("Regressor") and name != "NewtonRegressor"
        assert ('"toy"' in documented(document).get("loss", [""])[0]) == takes, name
        assert ("slant" in shown) == takes, name
        if takes:
            assert documented(document)["slant"] == ("float greater than 0, default=0.5", "How slanted.")
    assert looked["number"] == [0.25, 0.25]


def test_a_learner_is_a_recipe_and_its_classes(looked):
    assert "toy" in looked["command"]
    assert looked["learned"] == 2
    assert looked["set"]["speed"] == 2
    shown, document = looked["recipe"]
    assert shown == {"speed": "0.25", "loss": "'hinge'"}
    assert 'Toy 2000, "A Toy".' in document
    for name, loss in {"ToyClassifier": "'hinge'", "ToyRegressor": "'squared_error'"}.items():
        shown, document = looked["estimators"][name]
        assert (shown["speed"], shown["loss"], shown["budget"]) == ("0.25", loss, "5")
        assert documented(document)["speed"] == ("float greater than 0, default=0.25", "How slanted.")
