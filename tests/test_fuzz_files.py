"""Files that nobody wrote: whatever the bytes, a refusal in one sentence or a model that works; never a crash.

Runs in a process of its own, so that a crash is a failed test. ONKEL_FUZZ_RUNS sets how many files.
"""

import os
import subprocess

import warm

PROGRAM = """
import json, random, sys, warnings
from pathlib import Path
import numpy as np
from scipy.sparse import csr_array
import onkel, onkel.regions
from model_files import signed, taken_apart

folder, runs, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
X = np.random.default_rng(0).normal(size=(30, 3))
y = (X[:, 0] > 0).astype(int)
batches = onkel.parts.FirstOrder(
    onkel.parts.HingeLoss(), onkel.parts.OnGradient(), onkel.parts.GradientStep(0.3), batch_size=7
)
SEEDS = {
    "dense": (onkel.SPAClassifier(gamma=0.5, random_state=1), X),
    "sparse": (onkel.OGDClassifier(gamma=0.5, fit_intercept=True, random_state=1), csr_array(np.where(X > 0, X, 0))),
    "float32": (onkel.OSKLClassifier(gamma=0.5, budget=5, random_state=1), X.astype("float32")),
    "inverse": (onkel.ProjectronClassifier(aggressive=True, gamma=0.5, budget=6, random_state=1), X),
    "pruned": (onkel.POLKClassifier(gamma=0.5, batch_size=4, random_state=1), X),
    "ghosts": (onkel.BOGDClassifier(gamma=0.5, budget=4, average=True, random_state=1), X),
    "features": (onkel.DualSGDClassifier(gamma=0.5, budget=4, n_components=9, k=2, random_state=1), X),
    "scaled": (
        onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(gamma=0.5, budget=5, random_state=1)), X
    ),
    "ranged": (
        onkel.StreamPipeline(onkel.StreamMinMaxScaler(), onkel.RBPClassifier(gamma=0.5, budget=5, random_state=1)), X
    ),
    "several": (
        onkel.MultiKernelClassifier(
            onkel.recipes.RBP(), kernels=["rbf", "poly"], combination="stochastic", gamma=0.5, budget=9, random_state=1
        ),
        X,
    ),
    "calibrated": (onkel.PlattClassifier(onkel.RBPClassifier(gamma=0.5, budget=5, random_state=1)), X),
    "second order": (onkel.NewtonClassifier(gamma=0.5, budget=5, random_state=1), X),
    "forgetting": (
        onkel.NewtonClassifier(gamma=0.5, lam=0.1, forget=0.9, budget=5, fit_intercept=True, random_state=1),
        csr_array(np.where(X > 0, X, 0)),
    ),
    "choosing": (onkel.NewtonClassifier(budget=5, class_weight="balanced", random_state=1), X),
    "sum": (
        onkel.MultiKernelClassifier(
            onkel.recipes.Newton(), kernels=["rbf", "laplacian"], combination="sum", gamma=0.5, budget=9, random_state=1
        ),
        X,
    ),
    "regions": (
        onkel.NewtonClassifier(gamma=0.5, lam=0.1, forget=0.9, relevances=None, ranks=None, budget=5, random_state=1), X
    ),
    "batches": (onkel.KernelClassifier(batches, gamma=0.5, kernel="poly", random_state=1), X),
}
NUMBERS = [0, -1, 1, 2, 3, 7, 16, 2**20, 2**31, 2**40, 2**63 - 1, -(2**63), 2**64, 0.5, -0.0, 1e-300, 1e308, True, None]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, 1.7e308]


def places(tree, path=()):
    yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def set_at(tree, path, value):
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def get_at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def change_bytes(content):
    content = bytearray(content)
    kind = rng.randrange(4)
    at = rng.randrange(len(content)) if rng.random() < 0.7 else rng.randrange(min(200, len(content)))
    if kind == 0:
        content[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        content = content[:at]
    elif kind == 2:  # splice
        other = rng.randrange(len(content))
        n = rng.randrange(64)
        content[at:at + n] = content[other:other + n]
    else:
        del content[at:at + rng.randrange(16)]
    return signed(bytes(content)) if rng.random() < 0.8 else bytes(content)


def change_meaning(pieces):
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(4)
        if kind == 0:  # a number of an array
            name = rng.choice(list(pieces.entries))
            try:
                values = pieces.array(name)
            except Exception:  # its entry was changed before
                continue
            if len(values):
                wild = SPECIAL if values.dtype.kind == "f" else [v for v in NUMBERS if type(v) is int and v < 2**63]
                with np.errstate(over="ignore"):
                    values[rng.randrange(len(values))] = rng.choice(wild)
            continue
        tree = pieces.header if kind < 3 else pieces.entries
        path = rng.choice([p for p in places(tree) if p])
        if kind == 2 and rng.random() < 0.5:  # a piece of the header in the place of another
            value = json.loads(json.dumps(get_at(tree, rng.choice([p for p in places(tree) if p]))))
        elif rng.random() < 0.2:
            value = rng.choice(["", "rbf", "x" * 40, [], {}, {"is": "tensor"}, {"is": "Learner"}, [1, 2]])
        else:
            value = rng.choice(NUMBERS)
        set_at(tree, path, value)


def use(model, rows):
    # what was loaded must work, or say why not: the file may hold wild numbers, but never make native code run wild
    try:
        if isinstance(model, onkel.preprocess.scalers.StreamScaler) and model.__sklearn_is_fitted__():
            model.partial_fit_transform(rows)
        if not hasattr(getattr(model, "estimator_", model), "_learner"):
            return
        model.predict(rows)
        model.partial_fit(rows[:5], model.classes_[np.zeros(5, int)])
        model.support_vectors_, model.regions_
        if len(model.regions_) == 1:
            model.dual_coef_, model.norm_
        onkel.merge([model, onkel.compress(model, n_support=3).model], budget=4)
    except (ValueError, FloatingPointError, TypeError):
        pass


warnings.simplefilter("ignore")
path, again = folder / "fuzzed.onkel", folder / "again.onkel"
contents = {}
for name, (model, rows) in SEEDS.items():
    model.partial_fit(rows, y, classes=[0, 1])
    if name == "regions":
        at, side = onkel.regions.Condition((0,), (0.0,)), model._learner.blank()
        model = model.__onkel_with_learner__(model._learner.divided(0, at, [side], [side, side]))
        model.partial_fit(rows, y)
    onkel.save(model, folder / name)
    contents[name] = (folder / name).read_bytes()
tried = refused = 0
while tried < runs:
    name = rng.choice(list(SEEDS))
    content = contents[name]
    deep = rng.random() < 0.6
    if deep:
        pieces = taken_apart(folder / name)
        change_meaning(pieces)
        pieces.write(path)
    else:
        path.write_bytes(change_bytes(content))
    tried += 1
    try:
        model = onkel.load(path)
    except (ValueError, OSError) as error:
        refused += 1
        assert "\\n" not in str(error) and len(str(error)) < 2000, str(error)
        continue
    except BaseException:
        (folder / "found.onkel").write_bytes(path.read_bytes())
        raise
    use(model, SEEDS[name][1])
    try:
        onkel.save(model, again)
    except (ValueError, FloatingPointError):
        continue
    try:
        onkel.load(again)
    except BaseException:
        (folder / "found.onkel").write_bytes(path.read_bytes())
        raise
print(f"{tried} files, {refused} refused")
assert refused > tried / 3
assert refused < tried
"""


def test_files_that_nobody_wrote(tmp_path):
    runs, seed = os.environ.get("ONKEL_FUZZ_RUNS", "500"), os.environ.get("ONKEL_FUZZ_SEED", "1")
    command = [warm.python(), "-X", "faulthandler", "-c", PROGRAM, tmp_path, runs, seed]
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path})
    print(done.stdout)
    assert done.returncode == 0, f"seed {seed}, files in {tmp_path}\n{done.stderr}"
