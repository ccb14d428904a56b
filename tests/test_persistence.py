"""Save and load: nothing is lost, nothing runs, nothing wrong is believed, what was there stays until it is done."""

import os
import pickle
import resource
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import safetensors
import safetensors.numpy
from scipy.sparse import csr_array
from sklearn.base import clone

import onkel
import warm
from looping import loop
from model_files import signed, taken_apart
from onkel import parts
from onkel.files import persistence
from states import state_of
from table import CASES, cases, cases_of

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
BINARY = (X[:, 0] * X[:, 1] > 0).astype(int)


def again(model, folder):
    onkel.save(model, folder / "model.onkel")
    return onkel.load(folder / "model.onkel")


def assert_same(model, other):
    assert type(model) is type(other)
    assert model._fingerprint() == other._fingerprint()
    assert model.get_params() == other.get_params()
    assert {n: str(v) for n, v in vars(model).items() if n.endswith("_")} == {
        n: str(v) for n, v in vars(other).items() if n.endswith("_")
    }


# -- nothing is lost --------------------------------------------------------------------------------------------------


@pytest.fixture
def no_fsync(monkeypatch):
    """A disk that is not waited for, where many files are written and none must outlive the test."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@loop
@cases(one_task=True, batch_size=[1, 5])
def test_saved_and_loaded_after_every_row(case, batch_size, tmp_path, no_fsync):
    rows, y = case.data(24)
    whole, cut = (case.learner(batch_size=batch_size, budget=10, seed=3) for _ in range(2))
    for i in range(len(rows)):
        expected = whole.learn_rows(rows[i : i + 1], y[i : i + 1], scores=True)
        cut = again(cut, tmp_path)
        assert cut.learn_rows(rows[i : i + 1], y[i : i + 1], scores=True).tobytes() == expected.tobytes()
        assert cut.fingerprint() == whole.fingerprint()


GO_ON = """
import os, sys
from pathlib import Path
import numpy as np
import onkel

os.fsync = lambda handle: None
for rest in Path(sys.argv[1]).glob("*.npz"):
    given = np.load(rest)
    model = onkel.load(rest.with_suffix(".onkel"))
    if isinstance(model, onkel.Learner):
        scores = model.learn_rows(given["X"], given["y"], scores=True)
    else:
        scores = model.predict_then_learn(given["X"], given["y"])
    np.save(rest.with_suffix(".npy"), scores)
    onkel.save(model, rest.with_suffix(".after"))
"""
CUTS = {"learner-1": (1, 7), "learner-5": (33, 61), "estimator": (40,)}


@pytest.fixture(scope="module")
def resumed_elsewhere(tmp_path_factory):
    """Every case, saved after some of its rows, loaded in one other process, and gone on there."""
    folder = tmp_path_factory.mktemp("resumed")
    patch = pytest.MonkeyPatch()
    patch.setattr(os, "fsync", lambda handle: None)
    for case in cases_of(test_goes_on_in_another_process):
        rows, y = case.data(70)
        for kind, cuts in CUTS.items():
            for cut in cuts:
                model, _ = started(case, kind, rows, y, cut)
                onkel.save(model, folder / f"{case}-{kind}-{cut}.onkel")
                np.savez(folder / f"{case}-{kind}-{cut}.npz", X=rows[cut:], y=y[cut:])
    patch.undo()
    done = subprocess.run([warm.python(), "-c", GO_ON, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def started(case, kind, rows, y, cut):
    """A model that has learned from the first rows, and its scores of the others if it goes on."""
    if kind == "estimator":
        model = case.estimator(budget=20).partial_fit(rows[:cut], y[:cut], **case.labels(y))
        return model, pickle.loads(pickle.dumps(model)).predict_then_learn(rows[cut:], y[cut:])
    model = case.learner(batch_size=int(kind[-1]), budget=20, seed=3)
    model.learn_rows(rows[:cut], y[:cut])
    return model, pickle.loads(pickle.dumps(model)).learn_rows(rows[cut:], y[cut:], scores=True)


@loop
@cases()
def test_goes_on_in_another_process(case, resumed_elsewhere, no_fsync):
    rows, y = case.data(70)
    for kind, cuts in CUTS.items():
        for cut in cuts:
            name = f"{case}-{kind}-{cut}"
            model, scores = started(case, kind, rows, y, cut)
            if kind == "estimator":
                model.partial_fit(rows[cut:], y[cut:])
            else:
                model.learn_rows(rows[cut:], y[cut:])
            assert np.load(resumed_elsewhere / f"{name}.npy").tobytes() == scores.tobytes(), name
            onkel.save(model, resumed_elsewhere / "uninterrupted")
            assert (resumed_elsewhere / f"{name}.after").read_bytes() == (
                resumed_elsewhere / "uninterrupted"
            ).read_bytes()


@loop
@pytest.mark.parametrize(
    "labels",
    [
        BINARY,
        BINARY.astype(bool),
        BINARY.astype(np.int8),
        BINARY.astype(float) * 2,
        np.array(["no", "yes"])[BINARY],
        np.array(["nö", "a longer one"])[BINARY],
        np.array([b"no", b"yes"])[BINARY],
        np.array(["no", "yes"], object)[BINARY],
        np.arange(60) % 4 - 1,
    ],
    ids=lambda y: f"{y.dtype}-{len(np.unique(y))}",
)
def test_labels_and_their_type(labels, tmp_path):
    model = onkel.SPAClassifier(gamma=0.5, random_state=1).fit(X, labels)
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert_same(model, loaded)


def test_open_set_of_labels_stays_open(tmp_path):
    words = np.array(["pear", "fig", "pear", "kiwi"])
    model = onkel.OGDClassifier(gamma=0.5, random_state=0).partial_fit(X[:3], words[:3])
    loaded = again(model, tmp_path).partial_fit(X[3:4], words[3:])
    assert loaded.classes_.tolist() == ["pear", "fig", "kiwi"]
    assert_same(model.partial_fit(X[3:4], words[3:]), loaded)


def test_feature_names(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "ß", "quoted \"'\\"])
    loaded = again(onkel.OGDRegressor(gamma=0.5).fit(frame, X[:, 0]), tmp_path)
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert loaded.feature_names_in_.dtype == object
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "b"}))


@loop
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": True, "average": False}, {"budget": 7}], ids=str)
def test_sparse_rows(dtype, settings, tmp_path):
    rows = csr_array(np.where(np.abs(X) > 0.7, X, 0).astype(dtype))
    model = onkel.SPAClassifier(gamma=0.5, random_state=1, **settings).partial_fit(rows[:40], BINARY[:40], [0, 1])
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    scores = loaded.predict_then_learn(rows[40:], BINARY[40:])
    assert scores.tobytes() == model.predict_then_learn(rows[40:], BINARY[40:]).tobytes()


@loop
@pytest.mark.parametrize(
    "kernel",
    [
        parts.RBF(0.3),
        parts.RBF(0.3) + 0.5 * parts.Polynomial(degree=2, coef0=1.0),
        "laplacian",
        "linear",
        "poly",
        "sigmoid",
    ],
    ids=str,
)
def test_kernels(kernel, tmp_path):
    own = {"coef0": 1.0, "gamma": 0.1} if isinstance(kernel, str) else {}  # a part has numbers of its own
    model = onkel.OGDClassifier(kernel=kernel, **own, eta=0.01, random_state=0).fit(X, BINARY)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert loaded._learner.kernel == model._learner.kernel


def test_any_recipe_of_parts(tmp_path):
    recipe = parts.FirstOrder(parts.LogLoss(), parts.AuxiliaryCutoff(0.5), parts.GradientStep(0.3, 0.01), ball=2.0)
    model = onkel.KernelClassifier(recipe, gamma=0.5, class_weight={0: 2.0, 1: 0.5}, random_state=2).fit(X, BINARY)
    loaded = again(model, tmp_path)
    assert loaded.recipe == recipe
    assert_same(model, loaded)


def test_every_part_is_known_by_its_name():
    for name in ("LOSSES", "KERNELS"):
        assert set(getattr(parts, name).values()) <= set(parts.PARTS.values())
    used = {type(part) for c in CASES for part in vars(c.learner().recipe).values() if isinstance(part, parts.Part)}
    assert used <= set(parts.PARTS.values())
    assert not {parts.Part, parts.Loss, parts.Kernel, parts.CallableKernel} & set(parts.PARTS.values())


def test_not_fitted_yet(tmp_path):
    model = onkel.SPAClassifier(eta=np.float32(0.25), budget=np.int64(7), gamma=np.inf)
    loaded = again(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert not hasattr(loaded, "_learner")


def test_the_seed_drawn_from_a_generator_is_kept(tmp_path):
    model = onkel.OSKLClassifier(gamma=0.5, random_state=np.random.RandomState(3)).fit(X[:30], BINARY[:30])
    loaded = again(model, tmp_path)
    assert loaded.random_state == model._learner.seed
    a, b = (m.predict_then_learn(X[30:], BINARY[30:]) for m in (model, loaded))
    assert a.tobytes() == b.tobytes()
    assert_same(clone(loaded).fit(X, BINARY), clone(loaded).fit(X, BINARY))
    with pytest.raises(ValueError, match="random_state must be an integer or None"):
        onkel.save(onkel.OSKLClassifier(random_state=np.random.RandomState(3)), tmp_path / "new")


def test_equal_models_give_equal_bytes_that_safetensors_reads(tmp_path):
    model = onkel.SPAClassifier(gamma=0.5, random_state=1).fit(X, BINARY)
    again(again(model, tmp_path), tmp_path)
    onkel.save(model, tmp_path / "first.onkel")
    assert (tmp_path / "first.onkel").read_bytes() == (tmp_path / "model.onkel").read_bytes()
    arrays = safetensors.numpy.load_file(tmp_path / "first.onkel")
    for name, values in state_of(model._learner).items():
        np.testing.assert_array_equal(arrays[f"learner.state.{name}"], values)
    with safetensors.safe_open(tmp_path / "first.onkel", "np") as file:
        assert file.metadata()["format"] == "onkel"
    header = persistence.read_header(tmp_path / "first.onkel")
    assert header["isa"] == onkel.isa
    assert header["written_by"]["onkel"] == onkel.__version__


# -- nothing runs -----------------------------------------------------------------------------------------------------


def test_a_function_is_refused(tmp_path):
    model = onkel.OGDClassifier(kernel=lambda a, b: a @ b.T).fit(X, BINARY)
    for unsaved in (model, model._learner, onkel.OGDClassifier(kernel=len)):
        with pytest.raises(ValueError, match=r"kernel is a function .* a file contains no code"):
            onkel.save(unsaved, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class Mine(onkel.SPAClassifier):
    """A class that is not onkel's own."""


@loop
@pytest.mark.parametrize("stranger", [Mine(), 3, {"is": "Learner"}, onkel.recipes.OGD(), parts.RBF()], ids=repr)
def test_only_onkels_own_are_saved(stranger, tmp_path):
    with pytest.raises(ValueError, match="expected an estimator of onkel or a Learner"):
        onkel.save(stranger, tmp_path / "model")


def test_a_learner_that_is_not_finite_is_refused(tmp_path):
    learner = onkel.Learner(onkel.recipes.Perceptron())
    with pytest.raises(FloatingPointError, match="row 0"):
        learner.learn([np.nan, 1.0], 1)
    learner.learn([0.0, 1.0], 1)
    expansion = learner.expansion()
    term = replace(expansion.only, points=np.array([[np.nan, 1.0]]))
    learner.set_expansion(replace(expansion, terms=(term,)))
    with pytest.raises(ValueError, match=r"points holds numbers that are not finite"):
        onkel.save(learner, tmp_path / "model")


# -- nothing wrong is believed ----------------------------------------------------------------------------------------


def small_model():
    return onkel.OGDClassifier(gamma=0.5, random_state=0).fit(X[:2, :1], [0, 1])


def model_in(folder):
    onkel.save(small_model(), folder / "model.onkel")
    return folder / "model.onkel"


@pytest.fixture
def model_file(tmp_path):
    return model_in(tmp_path)


def refusal(path):
    with pytest.raises(ValueError) as caught:
        onkel.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert message.count(". ") == 0  # one sentence
    return message


def test_any_changed_byte_is_noticed(model_file):
    content = model_file.read_bytes()
    for i in range(len(content)):
        change = (1, 0x20, 0x80)[i % 3]  # a digit, a case, a sign
        model_file.write_bytes(content[:i] + bytes([content[i] ^ change]) + content[i + 1 :])
        with pytest.raises(ValueError):
            onkel.load(model_file)
    model_file.write_bytes(content)
    onkel.load(model_file)


def test_any_missing_or_added_byte_is_noticed(model_file):
    content = model_file.read_bytes()
    for length in [*range(0, 200), *range(200, len(content), 17), len(content) - 1]:
        model_file.write_bytes(content[:length])
        refusal(model_file)
    model_file.write_bytes(content + b"\0")
    assert "checksum" in refusal(model_file)
    model_file.write_bytes(signed(content + b"\0"))
    assert "arrays take" in refusal(model_file)


def test_what_is_no_file_of_ours(tmp_path):
    (tmp_path / "empty").touch()
    assert "it is empty" in refusal(tmp_path / "empty")
    assert "it is a directory" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refusal(tmp_path / "pipe")
    safetensors.numpy.save_file({"a": X}, tmp_path / "foreign")
    assert "does not begin" in refusal(tmp_path / "foreign")
    (tmp_path / "pickled").write_bytes(pickle.dumps(small_model()))
    assert "does not begin" in refusal(tmp_path / "pickled")
    with pytest.raises(FileNotFoundError):
        onkel.load(tmp_path / "missing")


def test_a_later_format_is_named(model_file):
    model_file.write_bytes(signed(model_file.read_bytes().replace(b'"version":"2"', b'"version":"7"')))
    assert "format is version 7, and this version of onkel reads version 2" in refusal(model_file)


def set_number(ending, value, at=0):
    def change(pieces):
        pieces.array(ending)[at] = value

    return change


def set_header(value, *path):
    def change(pieces):
        place = pieces.header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def set_entry(ending, **changes):
    return lambda pieces: pieces.entries[pieces.name(ending)].update(changes)


def drop(ending):
    """Leave an array out, of the header's two lists and of the data."""

    def change(pieces):
        name = pieces.name(ending)
        pieces.header["model"]["learner"]["state"].pop(ending)
        begin, end = pieces.entries.pop(name)["data_offsets"]
        del pieces.data[begin:end]
        for entry in pieces.entries.values():
            entry["data_offsets"] = [o - (end - begin if o > begin else 0) for o in entry["data_offsets"]]

    return change


def empty(ending):
    """An array of no rows in place of one of some."""

    def change(pieces):
        drop(ending)(pieces)
        name = f"learner.state.{ending}"
        pieces.entries = {
            name: {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]},
            **pieces.entries,
        }
        pieces.header["model"]["learner"]["state"][ending] = {"is": "tensor"}

    return change


FITTED = ("model",)
LEARNER = (*FITTED, "learner")
HUGE = 2**60
WRONG = {
    # numbers of the arrays
    "NaN coefficient": (set_number("function.b", np.nan), "b' holds a number that is not finite"),
    "infinite point": (set_number("basis.points", np.inf), "points' holds a number that is not finite"),
    "birth after the end": (
        set_number("basis.births", 2),
        "births' must hold rows of the stream, of which there are 2",
    ),
    "birth before the start": (set_number("basis.births", -2), "births' must hold rows of the stream"),
    "a hole with a point": (set_number("basis.births", -1), "points' must be zero where there is no point"),
    "weight of no point": (set_number("function.b", 1.0, at=9), "b' must be zero where there is no point"),
    "scale of zero": (set_number("function.scale", 0.0), "scale' must be between"),
    "negative scale": (set_number("function.scale", -1.0), "scale' must be between"),
    "negative time": (set_number("state.t", -1), "'t' must be between 0 and 2^62"),
    "huge time": (set_number("state.t", 2**62 + 1), "'t' must be between 0 and 2^62"),
    "other count": (set_number("state.t", 5), "ticks' must be the number of rows, 5"),
    "negative ticks": (set_number("function.ticks", -1), "ticks' must not be negative"),
    "no outputs": (set_number("function.outputs", 0), "outputs' must be between 1 and 2^20"),
    "too many outputs": (set_number("function.outputs", HUGE), "outputs' must be between 1 and 2^20"),
    "more outputs than weights": (set_number("function.outputs", 2), "b' must hold one row for each output"),
    # arrays
    "missing array": (drop("update.function.b"), "state lacks 'update.function.b'"),
    "array that only the model names": (
        lambda p: p.header["model"]["learner"]["state"].update(extra={"is": "tensor"}),
        "it has no array 'learner.state.extra', which its model needs",
    ),
    "array that only the file names": (
        lambda p: p.header["model"]["learner"]["state"].pop("t"),
        "state lacks 't'",
    ),
    "count without a number": (empty("t"), "'t' must hold one number"),
    "births without a number": (empty("basis.births"), "points' must hold one point for each birth"),
    "overlapping arrays": (set_entry("basis.points", data_offsets=[0, 16]), "must be at bytes"),
    "huge shape": (set_entry("basis.points", shape=[HUGE, HUGE]), "must be at bytes"),
    "huge shape of nothing": (set_entry("update.pending", shape=[0, 2**63]), "must be at bytes"),
    "negative shape": (set_entry("basis.points", shape=[-2, 1]), "integers of at least 0"),
    "shape of words": (set_entry("basis.points", shape=["2", 1]), "integers of at least 0"),
    "shape of truth": (set_entry("basis.points", shape=[2, True]), "integers of at least 0"),
    "other type": (set_entry("basis.points", dtype="I64"), "has the wrong type or width"),
    "unknown type": (set_entry("basis.points", dtype="F8_E4M3"), "which onkel does not write"),
    "other width": (set_entry("basis.points", shape=[1, 2]), "has the wrong type or width"),
    "three dimensions": (set_entry("basis.points", shape=[2, 1, 1]), "must have one or two dimensions"),
    "no entry": (lambda p: p.entries.update(x=3), "must have a dtype, a shape and data_offsets"),
    # the header
    "no model": (set_header(None, "model"), "it holds no model"),
    "a part for a model": (set_header({"is": "RBF", "gamma": 1.0}, "model"), "it holds no model"),
    "unknown estimator": (
        set_header("SVC", "model", "is"),
        "the model is of kind 'SVC', which this version of onkel does not know",
    ),
    "code for a kernel": (
        set_header({"is": "os.system"}, *LEARNER, "kernel"),
        "learner.kernel is of kind 'os.system', which this",
    ),
    "base class for a part": (
        set_header({"is": "Kernel"}, *LEARNER, "kernel"),
        "learner.kernel is of kind 'Kernel', which this",
    ),
    "callable kernel": (set_header({"is": "CallableKernel"}, *LEARNER, "kernel"), "does not know"),
    "loss for a kernel": (set_header({"is": "HingeLoss"}, *LEARNER, "kernel"), "kernel must be a Kernel"),
    "kernel for a loss": (set_header({"is": "Linear"}, *LEARNER, "recipe", "loss"), "loss must be a Loss"),
    "name that is no name": (set_header(["RBF"], *LEARNER, "kernel", "is"), "where the name of a kind was expected"),
    "gamma out of range": (set_header(-1.0, *LEARNER, "kernel", "gamma"), "gamma must be a number greater than 0"),
    "huge gamma": (set_header(10**400, *LEARNER, "kernel", "gamma"), "learner.kernel is not a valid RBF"),
    "unknown field of a part": (
        set_header(1.0, *LEARNER, "kernel", "sigma"),
        "learner.kernel is not a valid RBF: it has a field 'sigma', which this version of onkel does not know",
    ),
    "unknown field of a learner": (set_header(1.0, *LEARNER, "relevances"), "it has a field 'relevances', which"),
    "unknown field of an estimator": (set_header(1.0, "model", "weights"), "it has a field 'weights', which"),
    "unknown parameter": (
        set_header(1.0, "model", "parameters", "power"),
        "the model is not a valid OGDClassifier: it has a parameter 'power', which this version of onkel does not know",
    ),
    "missing field of a part": (
        lambda p: p.header["model"]["learner"]["recipe"]["step"].pop("eta"),
        "learner.recipe.step is not a valid GradientStep: it lacks the field 'eta'",
    ),
    "members of an array": (
        set_header({"is": "array", "dtype": "<U1"}, *FITTED, "classes"),
        "classes is not a valid array: expected dtype and values, found ['dtype']",
    ),
    "parts that do not fit": (
        set_header({"is": "MarginSampling", "eta": 1.0}, *LEARNER, "recipe", "admission"),
        "MarginSampling needs log_loss",
    ),
    "huge number of features": (set_header(HUGE, *LEARNER, "n_features"), "n_features must be an integer"),
    "huge number of classes": (set_header(HUGE, *LEARNER, "n_classes"), "n_classes must be an integer"),
    "huge number of threads": (set_header(HUGE, "model", "parameters", "n_jobs"), "n_jobs must be an integer"),
    "other number of features": (set_header(2, *LEARNER, "n_features"), "has the wrong type or width"),
    "huge budget": (set_header(2**80, *LEARNER, "budget"), "learner is not a valid Learner"),
    "negative seed": (set_header(-1, *LEARNER, "seed"), "seed must be an integer"),
    "no seed": (lambda p: p.header["model"]["learner"].pop("kernel"), "it lacks the field 'kernel'"),
    "unknown task": (set_header("ranking", *LEARNER, "task"), "task must be one of"),
    "other task": (set_header("multiclass", *LEARNER, "task"), "the state has 1 outputs, fewer than the 2 classes"),
    "sparse by word": (set_header("no", *LEARNER, "sparse"), "sparse must be True or False"),
    "sparse after all": (set_header(True, *LEARNER, "sparse"), "state lacks 'basis.offsets'"),
    "averaged after all": (set_header(True, *LEARNER, "average"), "state lacks 'update.function.c'"),
    "state of another kind": (set_header([1], *LEARNER, "state"), "state must hold arrays"),
    "arrays of words": (set_header("one", *LEARNER, "state", "t"), "state must hold arrays"),
    "width out of range": (set_header(0.0, *FITTED, "gamma"), "gamma must be a number"),
    "features in disagreement": (set_header(7, *FITTED, "n_features"), "the learner has 1 features, not 7"),
    "names in disagreement": (
        set_header({"is": "array", "dtype": "object", "values": ["a", "b"]}, *FITTED, "feature_names"),
        "feature_names must be 1 strings, got 2",
    ),
    "attribute's name for a field's": (set_header(5, *FITTED, "norm_"), "it has a field 'norm_', which"),
    "method for a field": (set_header(5, *FITTED, "predict"), "it has a field 'predict', which"),
    "one class": (
        set_header({"is": "array", "dtype": "<U1", "values": ["a"]}, *FITTED, "classes"),
        "classes must be different labels, at least two of them",
    ),
    "strings that do not fit": (
        set_header({"is": "array", "dtype": "<U1", "values": ["a", "bb"]}, *FITTED, "classes"),
        "2 strings of up to 2 characters cannot be an array of <U1",
    ),
    "wide strings": (
        set_header({"is": "array", "dtype": "<U900000000", "values": ["a", "b"]}, *FITTED, "classes"),
        "2 strings of up to 1 characters cannot be an array of <U900000000",
    ),
    "strings that are numbers": (
        set_header({"is": "array", "dtype": "<U1", "values": [1, 2]}, *FITTED, "classes"),
        "expected str values",
    ),
    "part for a learner": (set_header({"is": "RBF", "gamma": 1.0}, *LEARNER), "learner must be a Learner"),
    "fitted without a learner": (
        lambda p: p.header["model"].pop("learner"),
        "it has fitted attributes, but no learner",
    ),
}


@loop
@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_with_a_right_checksum(change, message, tmp_path, no_fsync):
    model_file = model_in(tmp_path)
    pieces = taken_apart(model_file)
    pieces.write(model_file)
    onkel.load(model_file)  # nothing but the change is wrong with it
    change(pieces)
    pieces.write(model_file)
    assert any(words in refusal(model_file) for words in message.split("|")), refusal(model_file)


def test_repeated_names(model_file):
    content = model_file.read_bytes()
    for old, new in ((b"basis.points", b"basis.births"), (b'\\"gamma\\"', b'\\"coef0\\"')):
        model_file.write_bytes(signed(content.replace(old, new)))
        assert "twice" in refusal(model_file)


@loop
@pytest.mark.parametrize("text", [b"[" * 2000, b"1e999", b"NaN", b"9" * 5000, b"{", b"\xff", b"[]", b"3"])
def test_json_that_is_none(text, tmp_path):
    model_file = model_in(tmp_path)
    pieces = taken_apart(model_file)
    pieces.write(model_file)
    content = model_file.read_bytes()
    begin, end = content.find(b'"header":"') + 10, content.find(b'"},"classes')
    length = int.from_bytes(content[:8], "little") - (end - begin) + len(text)
    model_file.write_bytes(signed(length.to_bytes(8, "little") + content[8:begin] + text + content[end:]))
    refusal(model_file)


def test_a_header_longer_than_the_file(model_file):
    content = model_file.read_bytes()
    for length in (len(content) - 7, 2**40, 2**64 - 1):
        model_file.write_bytes(signed(length.to_bytes(8, "little") + content[8:]))
        assert f"its header claims {length} bytes, and the file has {len(content)}" in refusal(model_file)


def sparse_state():
    rows = csr_array(np.where(np.abs(X) > 0.5, X, 0))
    learner = onkel.Learner(onkel.recipes.OGD(), seed=1)
    learner.learn_rows(rows[:20], BINARY[:20].astype(float))
    return learner, state_of(learner)


@loop
@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("basis.offsets", 1, -5),
        ("basis.offsets", 1, 2**40),
        ("basis.offsets", -1, 2**40),
        ("basis.offsets", 0, 1),
        ("basis.features", 0, -1),
        ("basis.features", 0, 3),
        ("basis.features", 0, 2**31),
        ("basis.features", 1, 0),
        ("basis.values", 0, np.nan),
    ],
)
def test_native_refuses_sparse_points(name, at, value):
    learner, state = sparse_state()
    before = learner.fingerprint()
    state[name][at] = value
    with pytest.raises(ValueError, match=f"state '{name}'"):
        learner._core.load(state)
    assert learner.fingerprint() == before


@loop
@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([0, 0], "rows of the current mini-batch, in order"),
        ([2, 1], "in order"),
        ([0, 2], "rows of the current mini-batch"),
        ([1, 99], "slots that have a point"),
        ([-1, 2], "rows of the current mini-batch"),
        ([-99, 2], "slots that have a point"),
    ],
)
def test_native_refuses_waiting_rows(slots, message):
    recipe = parts.FirstOrder(parts.HingeLoss(), parts.Always(), parts.GradientStep(0.1), batch_size=3)
    learner = onkel.Learner(recipe)
    learner.learn_rows(X[:8], BINARY[:8].astype(float))
    state = state_of(learner)
    assert len(state["update.pending_slots"]) == 2
    learner._core.load(state)
    first = int(state["update.pending_slots"][0]) - 1
    state["update.pending_slots"][:] = np.array(slots) + first
    with pytest.raises(ValueError, match=message):
        learner._core.load(state)


def test_native_refuses_huge_learners():
    learner = onkel.Learner(onkel.recipes.OGD())
    with pytest.raises(ValueError, match="less than 2"):
        learner.started(2**31)
    features = onkel.Learner(onkel.recipes.DualSGD(n_components=10**6))
    with pytest.raises(ValueError, match="random features times features"):
        features.started(1000, sparse=True)
    with pytest.raises(ValueError, match="n_classes"):
        onkel.Learner(onkel.recipes.OGD(), task="multiclass", n_classes=2**20 + 1)


# -- what was there stays until it is done ----------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(model_file, monkeypatch):
    before = model_file.read_bytes()
    big = onkel.OGDClassifier(gamma=0.5, random_state=0).fit(X, BINARY)

    def full(*_):
        raise OSError(28, "No space left on device")

    for broken in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, broken, full)
            with pytest.raises(OSError, match="No space"):
                onkel.save(big, model_file)
        assert [p.name for p in model_file.parent.iterdir()] == [model_file.name]
        assert model_file.read_bytes() == before


def test_a_full_disk_leaves_the_old_file(model_file):
    before = model_file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))  # no file may be longer: what a full disk looks like
    try:
        with pytest.raises(OSError):
            onkel.save(onkel.OGDClassifier(gamma=0.5, random_state=0).fit(X, BINARY), model_file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p.name for p in model_file.parent.iterdir()] == [model_file.name]
    assert model_file.read_bytes() == before


def test_everything_is_on_the_disk_before_the_name_is(model_file, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1])
    onkel.save(small_model(), model_file)
    assert calls == ["fsync", "replace", "fsync"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "model")
    onkel.save(small_model(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "model").is_file()
    onkel.load(tmp_path / "link")
