"""Where two features meet: saved classes × what takes a model, kernels × evictions, estimators × exports.

The tables make themselves of the library's own, so that a new class, kernel, eviction, command or export joins by being
there. A pair works, with a result that is checked, or is refused in one sentence that is on file here (`REFUSALS`).
What is known to fail is on file, too, with its reason: `FAILURES` are strictly expected, so that mending one without
taking it out of the table is a failure as well.
"""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from dataclasses import MISSING, fields

import numpy as np
import pytest
import typer
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin, RegressorMixin, clone

import onkel
from exported import READERS
from formulas import Expansion, distance
from looping import WHOLE, loop
from onkel import _public, recipes
from onkel.cli._app import COMMANDS, app
from onkel.estimators import named
from onkel.files.format import kinds
from onkel.inside import inside
from onkel.parts import (
    KERNELS,
    PARTS,
    RBF,
    CallableKernel,
    Eviction,
    FirstOrder,
    GradientStep,
    HingeLoss,
    Laplacian,
    Linear,
    OnGradient,
    Polynomial,
    SecondOrder,
    kernel_named,
)

LABELS = {"binary": np.array([-1, 1]), "multiclass": np.array([2, 5, 9])}


def data(task, n=40, seed=0):
    """Rows that text and both densities hold exactly, and their targets."""
    rng = np.random.default_rng(seed)
    X = (0.7 * rng.normal(size=(n, 3))).round(2)
    X[rng.random(X.shape) < 0.2] = 0
    score = np.sin(2 * X[:, 0]) + X[:, 1]
    if task not in LABELS:
        return X, score.round(3)
    return X, LABELS[task][np.digitize(score, [0.0] if task == "binary" else [-0.4, 0.4])]


# -- the models --------------------------------------------------------------------------------------------------------

SETTINGS = {
    "gamma": 0.5,
    "budget": 10,
    "random_state": 0,
    "fit_intercept": True,
    "n_components": 20,
    "kernels": [RBF(0.5), Laplacian(0.5), Polynomial(degree=2)],
}


def plain_model(cls, task):
    """An estimator or learner of a class, not fitted, small enough to be full after a few rows."""
    takes = inspect.signature(cls).parameters
    chosen = {name: value for name, value in SETTINGS.items() if name in takes}
    if "recipe" in takes:
        chosen["recipe"] = recipes.OGD(loss="squared_error" if task == "regression" else "hinge")
    if "task" in takes:
        chosen["task"] = task
    return cls(**chosen)


def tasks_of(cls):
    if issubclass(cls, ClassifierMixin):
        return ["binary", "multiclass"]
    return ["regression"] if issubclass(cls, RegressorMixin) else ["binary", "multiclass", "regression"]


def pipeline(task):
    made = onkel.NORMARegressor if task == "regression" else onkel.SPAClassifier
    return onkel.StreamPipeline(onkel.StreamStandardScaler(), plain_model(made, task))


def table_pipeline(task):
    return onkel.make_stream_pipeline(pipeline(task).estimator)


# Those that are made of others; the rest are made of their parameters.
WRAPPERS = {
    "StreamPipeline": {"StreamPipeline": pipeline, "StreamPipeline of a table": table_pipeline},
    "PlattClassifier": {
        "PlattClassifier": lambda task: onkel.PlattClassifier(plain_model(onkel.SPAClassifier, task)),
        "PlattClassifier of a pipeline": lambda task: onkel.PlattClassifier(pipeline(task)),
    },
}
SAVED = {name: kind.cls for name, kind in sorted(kinds().items()) if not kind.is_part}
MODELS = {
    (called, task): (lambda make=make, task=task: make(task))
    for name, cls in SAVED.items()
    for called, make in WRAPPERS.get(name, {name: lambda task, cls=cls: plain_model(cls, task)}).items()
    for task in (tasks_of(cls)[:1] if hasattr(cls, "transform") else tasks_of(cls))
}
NAMES = list(dict.fromkeys(name for name, _ in MODELS))


def learn(model, X, y):
    if isinstance(model, onkel.Learner):
        codes = np.unique(y, return_inverse=True)[1] if model.task != "regression" else y
        model.learn_rows(X, codes.astype(np.float64))
        return model
    if hasattr(model, "transform"):
        return model.partial_fit(X)
    # the two labels are told before, the three are found on the way
    told = {"classes": LABELS["binary"]} if set(y) == {-1, 1} and not hasattr(model, "classes_") else {}
    return model.partial_fit(X, y, **told)


def fitted(name, task):
    return learn(MODELS[name, task](), *data(task))


def outputs(model, X):
    """All that a model says of rows."""
    if isinstance(model, onkel.Learner):
        return model.score_rows(X)
    methods = [m for m in ("transform", "predict", "decision_function", "predict_proba") if hasattr(model, m)]
    return np.hstack([np.asarray(getattr(model, m)(X)).reshape(len(X), -1) for m in methods])


def same(one, other, task):
    """Two models say the same, and go on saying the same after more rows, to the bit."""
    X, y = data(task, seed=1)
    np.testing.assert_array_equal(outputs(one, X), outputs(other, X))
    one, other = (learn(copy.deepcopy(model), X, y) for model in (one, other))
    np.testing.assert_array_equal(outputs(one, X), outputs(other, X))


# -- what takes a model ------------------------------------------------------------------------------------------------


COMMAND_LINE = typer.main.get_command(app)


class Refused(ValueError):
    """A command ended with a sentence."""


class Bench:
    """A fitted model, where it is saved, and the command line."""

    def __init__(self, name, task, folder, capsys):
        self.name, self.task, self.folder, self._capsys = name, task, folder, capsys
        self.model = fitted(name, task)
        self.file = folder / "model.onkel"
        onkel.save(self.model, self.file)

    def new(self):
        return MODELS[self.name, self.task]()

    def command(self, *words):
        """Return what a command prints; one sentence and an exit code are a refusal, anything else is an error."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            COMMAND_LINE([*map(str, words)], prog_name="onkel")
        out, err = self._capsys.readouterr()
        if not end.value.code:
            return out
        assert end.value.code in (1, 2) and not out
        assert err.startswith("onkel: ") and err.count("\n") == 1, err
        raise Refused(err.removeprefix("onkel: ").strip())


def saves(bench):
    same(bench.model, onkel.load(bench.file), bench.task)


def pickles(bench):
    same(bench.model, pickle.loads(pickle.dumps(bench.model)), bench.task)


def copies(bench):
    same(bench.model, copy.deepcopy(bench.model), bench.task)
    if not isinstance(bench.model, onkel.Learner):
        again = learn(clone(bench.model), *data(bench.task))
        np.testing.assert_array_equal(*(outputs(model, data(bench.task)[0]) for model in (bench.model, again)))


def checkpoints(bench):
    checkpointer, resumed = onkel.Checkpointer(bench.folder / "run", every=10), bench.new()
    checkpointer.resume(resumed)  # of nothing
    checkpointer.save(bench.model, skip=40)
    assert onkel.Checkpointer(bench.folder / "run", every=10).resume(resumed) == (None, 40)
    same(bench.model, resumed, bench.task)


def info(bench):
    said = bench.command("info", bench.file)
    assert type(inside(bench.model).estimator).__name__ in said
    assert "support vectors" in said or not hasattr(bench.model, "n_support_")


def info_json(bench):
    facts = json.loads(bench.command("info", bench.file, "--json"))
    assert facts["model"] == str(bench.file) and facts["parameters"]
    for ours, theirs in (("n_support", "n_support_"), ("rows", "t_"), ("n_features", "n_features_in_")):
        if hasattr(bench.model, theirs):
            assert facts[ours] == getattr(bench.model, theirs)


def predicts(bench):
    X, y = data(bench.task, seed=1)
    lines = (f"{t} {' '.join(f'{i + 1}:{v}' for i, v in enumerate(x) if v)}\n" for x, t in zip(X, y, strict=True))
    rows = bench.folder / "rows.txt"
    rows.write_text("".join(lines))
    printed = bench.command("predict", bench.file, rows, "--json").splitlines()
    assert [json.loads(line)["prediction"] for line in printed] == bench.model.predict(X).tolist()


def exports(to):
    def by_command(bench):
        target = bench.folder / "exported.out"
        bench.command("export", bench.file, "--to", to, "-o", target)
        options = {"c": {"name": "exported"}, "libsvm": {"scaled": isinstance(bench.model, onkel.StreamPipeline)}}
        made = getattr(onkel.export, f"to_{to}")(bench.model, **options.get(to, {}))
        expected = made if isinstance(made, str) else made.SerializeToString()
        assert target.read_bytes() == (expected.encode() if isinstance(expected, str) else expected)

    return by_command


def compresses(bench):
    small, moved, n_support, _ = onkel.compress(bench.model, n_support=5)
    before, after = inside(bench.model).learner, inside(small).learner
    assert n_support == after.n_support <= 5 < before.n_support
    bench.command("compress", bench.file, "--n-support", 5, "-o", bench.folder / "small.onkel")
    same(small, onkel.load(bench.folder / "small.onkel"), bench.task)
    certified(Expansion.of(before), Expansion.of(after), moved)
    X, y = data(bench.task, seed=1)
    if isinstance(bench.model, onkel.NewtonRegressor):
        assert (small.predict(X, return_std=True)[1] > 0).all()
    learn(small, X, y)


def merges(bench):
    X, y = data(bench.task)
    other = learn(bench.new(), X + 0.25, y)
    onkel.save(other, bench.folder / "other.onkel")
    bench.command("merge", bench.file, bench.folder / "other.onkel", "-o", bench.folder / "both.onkel")
    same(onkel.merge([bench.model, other]).model, onkel.load(bench.folder / "both.onkel"), bench.task)
    both, moved, *_ = onkel.merge([bench.model, other], weights=[0.25, 2.0])
    one, two, made = (inside(model).learner for model in (bench.model, other, both))
    if not isinstance(made.recipe, SecondOrder):  # which add up what they know
        certified(Expansion.of(one).combined(0.25, Expansion.of(two), 2.0), Expansion.of(made), moved)
    assert made.t == one.t + two.t
    same(both, pickle.loads(pickle.dumps(both)), bench.task)
    learn(both, X, y)


def evaluates(bench):
    X, y = data(bench.task, n=120)
    chunks = [(X[i : i + 30], y[i : i + 30]) for i in range(0, 120, 30)]
    curve = onkel.evaluate.progressive(bench.new(), chunks)
    assert curve.last.rows == 120 and np.isfinite(curve[curve.metric]).all()


def ranges(bench):
    assert onkel.export.to_libsvm_range(bench.model).startswith("x\n-1 1\n1 ")


EXPORTS = [
    name.removeprefix("to_") for name in onkel.export.__all__ if name.startswith("to_") and name != "to_libsvm_range"
]
# Action: what it tries of the library, and how.
ACTIONS = {
    "save": ("save", saves),
    "pickle": ("", pickles),
    "copy": ("", copies),
    "checkpoint": ("Checkpointer.save Checkpointer.resume Checkpointer.run Checkpointer.fit", checkpoints),
    "info": ("onkel info", info),
    "info --json": ("onkel info", info_json),
    "predict": ("onkel predict", predicts),
    **{f"export {to}": (f"onkel export to_{to}", exports(to)) for to in EXPORTS},
    "export ranges": ("to_libsvm_range", ranges),
    "compress": ("compress onkel compress", compresses),
    "merge": ("merge onkel merge", merges),
    "evaluate": ("progressive progressive_steps", evaluates),
}


def test_nothing_that_takes_a_model_is_left_out():
    found = {
        f"onkel {name}"
        for name, command in COMMANDS.items()
        if "model" in inspect.signature(command).parameters or name == "merge"
    }
    places = (_public, onkel.export, onkel.evaluate)
    functions = [(name, getattr(place, name)) for place in places for name in place.__all__]
    functions += [(f"Checkpointer.{name}", f) for name, f in inspect.getmembers(onkel.Checkpointer, inspect.isfunction)]
    for name, function in functions:
        if inspect.isfunction(function) and {"model", "models", "est", "estimator"} & {
            *inspect.signature(function).parameters
        }:
            found.add(name)
    assert found == {word for words, _ in ACTIONS.values() for word in re.findall(r"onkel \w+|\S+", words)}


# Actions, models and the sentence with which they are refused.
REFUSALS = [
    ("compress|merge", "MultiKernel.*", "compress and merge need a function of one kernel, and this .* has several"),
    ("merge", "StreamPipeline.*", "scalers have different statistics"),
    ("merge", "Platt.*", "calibrated cannot be merged"),
    ("compress|merge|predict|export .*", "Stream.*(Scaler|Encoder)", "needs a learned function, which a Stream"),
    ("predict", "Learner", "holds a .*Learner, which knows no labels"),
    (
        "evaluate",
        "Learner|Stream.*(Scaler|Encoder)",
        "predict_then_learn.*got (Learner|Stream)",
    ),
    ("export (onnx|json|libsvm|ranges)", "Platt.*", "Platt's sigmoids cannot be exported"),
    ("export ranges", "(?!Stream).*", "has no scaler|several kernels|knows no random"),
    ("export libsvm", "DualSGD.*", "LIBSVM knows no random features"),
    ("export libsvm", "MultiKernel.*", "LIBSVM knows one kernel"),
]


def on_file(table, action, name):
    """What a table says of a pair, or nothing."""
    said = [words for actions, names, words in table if re.fullmatch(actions, action) and re.fullmatch(names, name)]
    return said[0] if said else ""


def tasks(name):
    """The tasks of a model; those of named learners, which differ in their parameters only, take turns."""
    found = [task for called, task in MODELS if called == name]
    is_named = name in named.__all__
    return [found[NAMES.index(name) % len(found)]] if is_named and not WHOLE else found


@pytest.mark.parametrize("name", NAMES)
def test_every_saved_class_meets_everything_that_takes_a_model(name, tmp_path, capsys):
    for task in tasks(name):
        (folder := tmp_path / task).mkdir()
        bench = Bench(name, task, folder, capsys)
        for action in ACTIONS:
            if sentence := on_file(REFUSALS, action, name):
                with pytest.raises(ValueError, match=sentence) as refused:
                    ACTIONS[action][1](bench)
                assert "\n" not in str(refused.value)
            else:
                ACTIONS[action][1](bench)


# -- kernels × evictions × densities -------------------------------------------------------------------------------


def quadratic(A, B):
    return (A @ B.T / 2 + 1) ** 2


CROSSED_KERNELS = {name: kernel_named(name, gamma=0.5) for name in KERNELS}
CROSSED_KERNELS |= {
    "sum": RBF(0.5) + 0.5 * Linear(),
    "product": RBF(0.2) * Linear(),
    "callable": CallableKernel(quadratic),
}
EVICTIONS = {name: cls for name, cls in PARTS.items() if issubclass(cls, Eviction)}


def eviction_named(name):
    """An eviction with numbers that make it work on a few rows."""
    cls = EVICTIONS[name]
    needed = {f.name: 0.5 for f in fields(cls) if f.default is f.default_factory is MISSING}
    small = {f.name: value for f in fields(cls) for value in [{"n_components": 20, "k": 2}.get(f.name)] if value}
    return cls(**needed, **small)


def certified(function, other, moved):
    """The distance that was reported is the one that the formula gives, whatever rounding in double could change."""
    norm = float(abs(function.squared_norm())) ** 0.5
    assert abs(moved - distance(function, other)) <= 1e-5 * max(norm, 1e-12)


def cross(kernel_name, eviction_name):
    """Train on both densities; compress and merge, and recompute what was certified."""
    kernel, eviction = CROSSED_KERNELS[kernel_name], eviction_named(eviction_name)
    recipe = FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5), eviction)
    X, y = data("multiclass")
    for dense, convert in enumerate((csr_array, np.asarray)):
        average = (list(CROSSED_KERNELS).index(kernel_name) + list(EVICTIONS).index(eviction_name) + dense) % 2 == 0
        settings = {"kernel": kernel, "budget": 12, "fit_intercept": True, "average": average, "random_state": 0}
        blank = onkel.KernelClassifier(recipe, **settings)
        if eviction.needs_gaussian and kernel_name != "rbf":
            with pytest.raises(ValueError, match=f"^{eviction_name} needs the gaussian kernel, and .* {kernel.name}$"):
                blank.fit(convert(X), y)
            continue
        if eviction.needs_psd and not kernel.psd:
            with pytest.raises(
                ValueError, match=f"^{eviction_name} needs a positive semidefinite kernel, and .* is not one$"
            ):
                blank.fit(convert(X), y)
            continue
        one, other = (clone(blank).fit(convert(X[i::2]), y[i::2]) for i in range(2))
        f, g = Expansion.of(one._learner), Expansion.of(other._learner)
        np.testing.assert_allclose(one.decision_function(convert(X)), f.scores(X), rtol=0, atol=1e-9)

        if not kernel.psd:
            with pytest.raises(ValueError, match=r"^compress needs a positive semidefinite kernel, and .* is not one$"):
                onkel.compress(one, n_support=4)
        else:
            small, moved, *_ = onkel.compress(one, n_support=4)
            assert small.n_support_ <= 4
            certified(f, Expansion.of(small._learner), moved)
            near, within, *_ = onkel.compress(one, eps=moved / 2)
            assert within <= moved / 2 or moved < 1e-6
            certified(f, Expansion.of(near._learner), within)

        both = f.combined(0.25, g, 2.0)
        for budget in (None, 5) if kernel.psd else (None,):
            made, moved, *_ = onkel.merge([one, other], weights=[0.25, 2.0], budget=budget)
            certified(both, Expansion.of(made._learner), moved)
            assert budget is None or made.n_support_ <= budget
            assert budget is not None or moved == 0.0


@pytest.mark.parametrize("eviction", EVICTIONS)
def test_distances_are_what_compress_and_merge_certify(eviction):
    for kernel in CROSSED_KERNELS:
        cross(kernel, eviction)


# -- a callable kernel that is interrupted × evictions -------------------------------------------------------------


def interrupt_everywhere(eviction):
    """Interrupt each call of the kernel in turn: a row is learned whole or not at all, and learning goes on."""
    calls, stop = 0, None

    def kernel(x, S):
        nonlocal calls
        calls += 1
        if calls == stop:
            raise KeyboardInterrupt
        return quadratic(x, S)

    recipe = FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5), eviction_named(eviction))
    blank = onkel.Learner(recipe, kernel=kernel, budget=5)
    X, y = data("binary", n=14)
    y = (y > 0).astype(np.float64)
    sizes, states = [], []  # after so many rows
    for n in range(len(y) + 1):
        learner = blank.blank()
        learner.learn_rows(X[:n], y[:n])
        sizes.append(learner.n_support)
        states.append(learner.fingerprint())
    calls = 0
    blank.blank().learn_rows(X, y)
    for number in range(1, calls + 1):
        calls, stop = 0, number
        learner = blank.blank()
        with pytest.raises(KeyboardInterrupt):
            learner.learn_rows(X, y)
        stop = None
        assert learner.n_support == sizes[learner.t]  # first of all: the rest of a half-done row cannot be read
        assert learner.fingerprint() == states[learner.t]
        learner.learn_rows(X[learner.t :], y[learner.t :])
        assert learner.fingerprint() == states[-1]


@loop
@pytest.mark.parametrize("eviction", [name for name in EVICTIONS if not eviction_named(name).needs_gaussian])
def test_an_interrupted_kernel_leaves_whole_rows(eviction):
    interrupt_everywhere(eviction)


# -- estimators × exports ------------------------------------------------------------------------------------------

PREDICTORS = [name for name in NAMES if not hasattr(SAVED[name.split()[0]], "transform")]


def test_every_export_has_a_reader():
    assert set(READERS) == set(EXPORTS)


def scores_of(model, X):
    if isinstance(model, onkel.Learner):
        return model.score_rows(X)
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return np.asarray(scores).reshape(len(X), -1)


def classes_of(model, scores):
    if isinstance(model, onkel.Learner):
        return np.arange(max(2, scores.shape[1]))
    return model.classes_


def export_is_read(model, task, to, folder):
    """Export a model, read it as another program would, and compare scores and labels."""
    X = data(task, n=60, seed=2)[0]
    scaled = to == "libsvm" and isinstance(model, onkel.StreamPipeline)  # LIBSVM's rows go through svm-scale first
    options = {"dtype": "float64"} if to == "onnx" else {"scaled": True} if scaled else {}
    made = getattr(onkel.export, f"to_{to}")(model, **options)
    found, predicted = READERS[to](made, model.transformers_[0].transform(X) if scaled else X, folder)
    scores = scores_of(model, X)
    if to == "c" and isinstance(model, onkel.PlattClassifier):  # whose header has the scores that the sigmoids see
        np.testing.assert_allclose(
            found, scores_of(model.estimator_, X), rtol=0, atol=1e-9 * max(1.0, abs(found).max())
        )
        found = None
    parts = [scores]
    if hasattr(model, "scores_per_kernel"):  # a vote hangs on each of them
        parts += [s.reshape(len(X), -1) for s in np.moveaxis(model.scores_per_kernel(X), 1, 0)]
    sure = np.ones(len(X), bool)
    if task != "regression":
        margins = [abs(s[:, 0]) if s.shape[1] == 1 else np.diff(np.sort(s)[:, -2:])[:, 0] for s in parts]
        sure = np.min(margins, axis=0) > 1e-6
    assert sure.mean() > 0.8
    if found is not None:
        np.testing.assert_allclose(found[sure], scores[sure], rtol=0, atol=1e-9 * max(1.0, abs(scores).max()))
    if task == "regression":
        return np.testing.assert_allclose(predicted, scores[:, 0], rtol=0, atol=1e-9 * max(1.0, abs(scores).max()))
    known = classes_of(model, scores)
    expected = known[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]
    predicted = known[predicted.astype(int)] if to == "c" else predicted  # which has indices
    np.testing.assert_array_equal(predicted[sure], expected[sure])


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_export_predicts_what_the_model_predicts(name, tmp_path):
    for task in tasks(name):
        model = fitted(name, task)
        for to in EXPORTS:
            if sentence := on_file(REFUSALS, f"export {to}", name):
                with pytest.raises(ValueError, match=sentence):
                    export_is_read(model, task, to, tmp_path)
            else:
                export_is_read(model, task, to, tmp_path)
