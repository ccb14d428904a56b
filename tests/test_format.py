"""The file format: names of its own, and no memory that a file does not account for."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onkel
from looping import loop
from onkel import parts
from onkel.files import format as names
from onkel.files import persistence
from onkel.regions import Condition
from states import state_of
from table import cases

DOCUMENT = Path(__file__).parents[1] / "docs" / "persistence.md"
X = np.random.default_rng(5).normal(size=(40, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


# -- names ------------------------------------------------------------------------------------------------------------


def documented():
    """The kinds of docs/persistence.md with their fields."""
    text = DOCUMENT.read_text("utf-8")
    rows = re.findall(r"^\| (`[A-Z].*?|an estimator) \| (.*?) \|$", text, re.MULTILINE)
    found = {
        kind: re.findall(r"`(.*?)`", fields) for kinds, fields in rows for kind in kinds.replace("`", "").split(", ")
    }
    estimators = re.search(r"^The estimators are (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    return found | dict.fromkeys(re.findall(r"`(.*?)`", estimators[1]), found.pop("an estimator"))


def test_every_name_of_the_format_is_documented_and_every_documented_name_is_there():
    known = {name: sorted(kind.fields.values()) for name, kind in names.kinds().items()}
    assert {name: sorted(fields) for name, fields in documented().items()} == known


KERNEL = {"learner": "update.", "basis": "basis."}


def documented_arrays():
    """The names of arrays in docs/persistence.md: a name that begins with a dot goes on from the one before it."""
    text = DOCUMENT.read_text("utf-8")
    section = text[text.index("### The state of a learner") : text.index("### What is checked")]
    found, whole = set(), ""
    for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        for name in re.findall(r"`(.*?)`", cell):
            whole = name if not name.startswith(".") else f"{whole.rpartition('.')[0]}{name}"
            found.add(whole)
    return found


def assert_documented(learner):
    known = documented_arrays()
    for name in state_of(learner):
        name = re.sub(r"^leaf[0-9]+\.", "leafN.", re.sub(r"^expert[0-9]+\.", "", name))
        # a kernel's own arrays are called as those of a learner with that kernel alone, an eviction's as its holder's
        name = re.sub(r"^update\.kernel[0-9]+\.", "update.kernelN.", name)
        name = re.sub(r"^update\.kernelN\.(learner|basis)\.(?!places)", lambda m: KERNEL[m[1]], name)
        name = re.sub(r"^update\.memory[0-9]+\.", "update.", name)  # a memory's as those of one alone
        assert name.replace("eviction.eviction.", "eviction.") in known


@loop
@cases(one_task=True, batch_size=[5])
def test_every_array_of_a_learner_is_documented(case, batch_size):
    learner = case.learner(batch_size=batch_size, budget=10)
    learner.learn_rows(*case.data(24))
    assert_documented(learner)


def test_every_array_of_parts_in_parts_is_documented():
    several = parts.Hedge((parts.RBF(0.5), parts.Linear()), "deterministic")
    inside = parts.GrowAtRandom(3.0, parts.KOMP(0.1))
    projecting = parts.FirstOrder(parts.SquaredError(), parts.OnGradient(), parts.GradientStep(0.1), inside)
    for kernel in (parts.RBF(0.5), several):
        learner = onkel.Learner(projecting, task="regression", kernel=kernel, budget=6)
        learner.learn_rows(X, X[:, 0])
        assert_documented(learner)


def test_every_array_of_experts_is_documented():
    learner = onkel.Learner(onkel.recipes.Newton(loss="squared_error"), task="regression", budget=6)
    learner.learn_rows(X, X[:, 0])
    learner = learner.divided(0, Condition((0,), (0.0,)), [learner.blank()], [learner.blank()])
    learner.learn_rows(X, X[:, 0])
    assert_documented(learner)


@pytest.fixture
def table(monkeypatch):
    """The table of names, to be changed by a test."""
    changed = dict(names.TABLE)
    monkeypatch.setattr(names, "TABLE", changed)
    caches = names.kinds, names._kinds_by_class
    for cache in caches:
        cache.cache_clear()
    yield changed
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def test_names_in_files_are_those_of_the_table(table, tmp_path):
    table["Stochastic"] = names.SavedClass("OGDClassifier", names.ESTIMATOR | {"_gamma": "width"})
    table["Gaussian"] = names.SavedClass("RBF", {"gamma": "width"})
    model = onkel.OGDClassifier(gamma=0.5, random_state=0).fit(X, Y)
    onkel.save(model, tmp_path / "model")
    saved = persistence.read_header(tmp_path / "model")["model"]
    assert saved["is"] == "Stochastic"
    assert saved["width"] == 0.5
    assert saved["learner"]["kernel"] == {"is": "Gaussian", "width": 0.5}
    loaded = onkel.load(tmp_path / "model")
    assert loaded.gamma_ == 0.5
    assert loaded._fingerprint() == model._fingerprint()
    saved["is"] = "OGDClassifier"
    assert "OGDClassifier" not in names.kinds()


def test_an_attribute_without_a_name_is_not_lost_in_silence(tmp_path):
    model = onkel.OGDClassifier(gamma=0.5, random_state=0).fit(X, Y)
    model.extra_ = 3
    with pytest.raises(ValueError, match="has no name for the attribute 'extra_' of a OGDClassifier"):
        onkel.save(model, tmp_path / "model")


# -- memory -----------------------------------------------------------------------------------------------------------

PROGRAM = """
import resource, sys
from pathlib import Path
import numpy as np
from scipy.sparse import csr_array
import onkel
from onkel.files import container

folder = Path(sys.argv[1])
path = folder / "model"
X = np.random.default_rng(0).normal(size=(20, 3))
y = (X[:, 0] > 0).astype(int)
p = onkel.parts


def fitted(model, rows=X, labels=y):
    return model.partial_fit(rows, labels, classes=np.unique(labels))


def learner(recipe=onkel.recipes.OGD(), rows=X, **settings):
    made = onkel.Learner(recipe, **settings)
    made.learn_rows(rows, y[: rows.shape[0]].astype(float))
    return made


several = onkel.parts.Hedge(tuple(p.RBF(0.1 * i) for i in range(1, 65)), "stochastic")
SEEDS = {
    "dense": fitted(onkel.OGDClassifier(gamma=0.5, budget=20)),
    "float32": fitted(onkel.OGDClassifier(gamma=0.5, budget=20), X.astype("float32")),
    "sparse": fitted(onkel.OGDClassifier(gamma=0.5), csr_array(X)),
    "features": fitted(onkel.DualSGDClassifier(gamma=0.5, budget=4, n_components=9, k=2)),
    "sparse features": fitted(onkel.DualSGDClassifier(gamma=0.5, budget=4, n_components=9, k=2), csr_array(X)),
    "outputs": learner(task="multiclass", rows=X[:0]),
    "several": learner(task="multiclass", rows=X[:0], kernel=several, budget=64),
    "second order": learner(onkel.recipes.Newton(), rows=X[:0], fit_intercept=True),
    "scaler": onkel.StreamStandardScaler().fit(X),
}


def set_features(header, tensors, n):
    inner = header["model"].get("learner", header["model"])
    inner["n_features"] = header["model"]["n_features"] = n


def emptied(header, tensors, n):
    # no points at all, of n features each
    set_features(header, tensors, n)
    for name in list(tensors):
        if name.endswith("basis.points"):
            tensors[name] = np.empty((0, n), tensors[name].dtype)
        elif name.endswith("basis.births"):
            tensors[name] = np.empty(0, np.int64)
        elif name.endswith("function.b"):
            tensors[name] = np.empty((0, 0))


def no_points(header, tensors, n):
    set_features(header, tensors, n)
    tensors["learner.state.basis.points"] = np.empty((0, n))


def components(header, tensors, count, n):
    set_features(header, tensors, n)
    header["model"]["learner"]["recipe"]["eviction"]["n_components"] = count


def outputs(header, tensors, n):
    for name in tensors:
        if name.endswith("function.outputs"):
            tensors[name][:] = n
        if name.endswith(".pending"):
            tensors[name] = np.empty((0, n))


def claimed_classes(header, tensors, n):
    header["model"]["n_classes"] = n


def columns(header, tensors, count):
    tensors["state.basis.births"] = np.full(count, -1)
    tensors["state.basis.points"] = np.zeros((count, 3))
    tensors["state.update.function.b"] = np.zeros((1, 16 + -(-count // 16) * 16))


def members(header, tensors, count):
    columns(header, tensors, count)
    tensors["state.basis.births"] = np.arange(count)
    tensors["state.update.members"] = np.arange(16, 16 + count)


def words(header, tensors, width):
    header["model"]["classes"] = {"is": "array", "dtype": f"<U{width}", "values": ["a", "b"]}
    del tensors["classes"]


HOSTILE = [
    ("dense", lambda h, t: set_features(h, t, 10_000_000)),
    ("dense", lambda h, t: no_points(h, t, 10_000_000)),
    ("dense", lambda h, t: emptied(h, t, 2**31 - 1)),
    ("float32", lambda h, t: set_features(h, t, 10_000_000)),
    ("sparse", lambda h, t: set_features(h, t, 2**31 - 1)),
    ("features", lambda h, t: components(h, t, 9, 10_000_000)),
    ("features", lambda h, t: components(h, t, 10**6, 3)),
    ("sparse features", lambda h, t: components(h, t, 9, 20_000_000)),
    ("outputs", lambda h, t: claimed_classes(h, t, 2**20)),
    ("outputs", lambda h, t: outputs(h, t, 2**20)),
    ("several", lambda h, t: claimed_classes(h, t, 2**20)),
    ("several", lambda h, t: outputs(h, t, 2**20)),
    ("second order", lambda h, t: columns(h, t, 10_000)),
    ("second order", lambda h, t: members(h, t, 10_000)),
    ("dense", lambda h, t: h["model"]["learner"].update(budget=2**62)),
    ("dense", lambda h, t: h["model"]["learner"]["recipe"].update(batch_size=2**31)),
    ("dense", lambda h, t: words(h, t, 250_000_000)),
    ("scaler", lambda h, t: h["model"].update(n_features=2**31 - 1)),
]
for name, model in SEEDS.items():
    onkel.save(model, folder / name)
for i, (name, change) in enumerate(HOSTILE):
    header, tensors = container.read(folder / name)
    change(header, tensors)
    container.write(folder / f"hostile {i}", header, tensors)
    assert (folder / f"hostile {i}").stat().st_size < 1_000_000, i
used = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (used + (192 << 20),) * 2)
for i, (name, _) in enumerate(HOSTILE):
    try:
        onkel.load(folder / f"hostile {i}")
        print(i, name, "loaded")
    except ValueError as error:
        print(i, name, error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
def test_loading_takes_no_memory_that_the_file_does_not_account_for(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "memory for" not in done.stdout, done.stdout  # refused before, not because, there was none
    assert len(done.stdout.splitlines()) == 18
