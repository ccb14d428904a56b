"""What the core promises when things go wrong: rows that fail, threads that are missing, forks, numbers far out."""

import itertools
import os
import pickle
import resource
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest

import onkel
import warm
from looping import loop
from onkel import parts, recipes
from onkel.parts import RBF, Hedge


class Stopped(Exception):
    """What a kernel raises when its time has come."""


class Kernel:
    """A gaussian kernel that raises at its n-th call."""

    def __init__(self, gamma=0.7):
        self.gamma = gamma
        self.calls, self.last = 0, None

    def __call__(self, X, S):
        self.calls += 1
        if self.calls == self.last:
            raise Stopped
        return np.exp(-self.gamma * ((X[:, None] - S[None]) ** 2).sum(-1))


def stream(n, seed=0, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] * X[:, -1] > 0.3).astype(float)


EVICTIONS = {
    "Stop": parts.Stop(),
    "RemoveRandom": parts.RemoveRandom(),
    "RemoveOldest": parts.RemoveOldest(),
    "RemoveSmallest": parts.RemoveSmallest(),
    "ShrinkAndRemoveOldest": parts.ShrinkAndRemoveOldest(),
    "ProjectOnNewcomer": parts.ProjectOnNewcomer(),
    "ProjectOnNeighbour": parts.ProjectOnNeighbour(),
    "ProjectOnNearest": parts.ProjectOnNearest(n_neighbours=2),
    "ResampleUniformly": parts.ResampleUniformly(cap=1.0),
    "ResampleByWeight": parts.ResampleByWeight(cap=1.0),
    "GrowAtRandom": parts.GrowAtRandom(beta=5.0, eviction=parts.RemoveSmallest()),
    "ProjectNewcomer": parts.ProjectNewcomer(),
    "AggressiveProjection": parts.AggressiveProjection(),
    "AggressiveProjection2008": parts.AggressiveProjection2008(),
    "ProjectCheapest": parts.ProjectCheapest(),
    "ProjectSmallest": parts.ProjectSmallest(),
    "KOMP": parts.KOMP(eps=0.3),
    "RandomPruning": parts.RandomPruning(eps=0.3),
}
GAUSSIAN_ONLY = {"Merge", "MoveIntoFeatures"}


def test_every_eviction_is_here():
    own = {name for name, part in parts.PARTS.items() if issubclass(part, parts.Eviction)}
    assert own == set(EVICTIONS) | GAUSSIAN_ONLY


def with_eviction(name, **more):
    step = parts.GradientStep(eta=0.5, lam=0.01)
    return parts.FirstOrder(parts.HingeLoss(), parts.OnGradient(), step, EVICTIONS[name], **more)


def check_rows_are_whole(make, X, y):
    """Raise at every call there is; the rows before are learned, the row is not, and the rest can follow."""
    whole = make(kernel := Kernel())
    whole.learn_rows(X[:0], y[:0])  # from now on it knows how many columns there are
    states = [whole.fingerprint()]
    calls = []  # before each row
    for i in range(len(y)):
        calls.append(kernel.calls)
        whole.learn_rows(X[i : i + 1], y[i : i + 1])
        states.append(whole.fingerprint())
    calls.append(kernel.calls)
    assert calls[-1] > len(y) // 2
    scores = whole.score_rows(X)
    for last in range(1, calls[-1] + 1):
        learner = make(kernel := Kernel())
        kernel.last = last
        with pytest.raises(Stopped):
            learner.learn_rows(X, y)
        kernel.last = None
        done = next(i for i in range(len(y)) if calls[i] < last <= calls[i + 1])
        assert learner.t == done
        assert learner.fingerprint() == states[done]
        assert np.isfinite(learner.coefficients).all() and np.isfinite(learner.score_rows(X)).all()
        learner.learn_rows(X[done:], y[done:])
        assert learner.fingerprint() == states[-1]
    np.testing.assert_array_equal(learner.score_rows(X), scores)


@loop
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("name", EVICTIONS)
def test_row_that_fails_changes_nothing(name, average):
    X, y = stream(12)
    recipe = with_eviction(name)
    check_rows_are_whole(lambda kernel: onkel.Learner(recipe, kernel=kernel, budget=4, average=average), X, y)


@pytest.mark.parametrize("name", ["RemoveSmallest", "KOMP"])
def test_batch_that_fails_changes_nothing(name):
    X, y = stream(11)
    recipe = with_eviction(name, batch_size=3)

    def make(kernel):
        return onkel.Learner(recipe, kernel=kernel, budget=3)

    check_rows_are_whole(make, X, y)
    counted = make(kernel := Kernel())
    counted.learn_rows(X, y)
    before = kernel.calls
    counted.flush()
    for last in range(before + 1, kernel.calls + 1):
        learner = make(kernel := Kernel())
        learner.learn_rows(X, y)
        state, kernel.last = learner.fingerprint(), last
        with pytest.raises(Stopped):
            learner.flush()
        assert learner.fingerprint() == state
        kernel.last = None
        learner.flush()
        assert learner.fingerprint() == counted.fingerprint()


@loop
@pytest.mark.parametrize("recipe", [recipes.RBP(), recipes.Forgetron(), recipes.Newton()], ids=["RBP", "F", "Newton"])
@pytest.mark.parametrize("combination", ["deterministic", "spa"])
def test_row_of_several_kernels_that_fails_changes_nothing(recipe, combination):
    X, y = stream(10)

    def make(kernel):
        return onkel.Learner(recipe, kernel=Hedge((RBF(0.3), parts.CallableKernel(kernel)), combination), budget=6)

    check_rows_are_whole(make, X, y)


def test_row_of_a_new_class_that_fails_is_none():
    X, _ = stream(3)
    y = np.array([0.0, 1.0, 2.0])
    learner = onkel.Learner(with_eviction("RemoveSmallest"), task="multiclass", kernel=(kernel := Kernel()), budget=2)
    learner.learn_rows(X[:2], y[:2])
    kernel.last = kernel.calls + 2
    with pytest.raises(Stopped):
        learner.learn_rows(X[2:], y[2:])
    assert learner.n_outputs == 2


def test_compress_that_fails_changes_nothing():
    X, y = stream(12)
    recipe = parts.FirstOrder(parts.HingeLoss(), parts.Always(), parts.GradientStep(eta=0.5))
    counted = onkel.Learner(recipe, kernel=(kernel := Kernel()))
    counted.learn_rows(X, y)
    before = kernel.calls
    counted.compress(0.0, 5)
    for last in range(before + 1, kernel.calls + 1):
        learner = onkel.Learner(recipe, kernel=(kernel := Kernel()))
        learner.learn_rows(X, y)
        state, kernel.last = learner.fingerprint(), last
        with pytest.raises(Stopped):
            learner.compress(0.0, 5)
        assert learner.fingerprint() == state


def test_a_kernel_must_not_use_its_own_learner():
    learner = onkel.Learner(recipes.Perceptron(), kernel=lambda X, S: learner.score_rows(X) * np.ones((1, len(S))))
    with pytest.raises(RuntimeError, match="must not use the learner that it is part of"):
        learner.learn_rows(np.zeros((2, 1)), np.array([0.0, 1.0]))
    assert learner.t == 0
    assert learner.n_support == 0


# -- several second-order kernels ---------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("combination", parts.COMBINATIONS)
@pytest.mark.parametrize("budget", [None, 30])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_hedge_over_second_order(combination, budget, task):
    X, y = stream(200)
    y = y + X[:, 1] if task == "regression" else np.floor(np.abs(X[:, 0]) * 2).clip(0, 3) if task == "multiclass" else y
    kernels = (RBF(0.05), RBF(1.0), RBF(20.0))
    recipe = recipes.Newton(loss="squared_error") if task == "regression" else recipes.Newton()

    def make():
        return onkel.Learner(
            recipe, task=task, kernel=Hedge(kernels, combination), budget=budget, fit_intercept=True, seed=5
        )

    whole = make()
    whole.learn_rows(X, y)
    cut = make()
    for rows in np.split(np.arange(len(y)), [1, 2, 50, 51, 130]):
        cut.learn_rows(X[rows], y[rows])
        cut = pickle.loads(pickle.dumps(cut))
    assert cut.fingerprint() == whole.fingerprint()
    if budget is not None:
        # The points that terms of a sum share count once.
        assert (whole.n_support if combination == "sum" else whole.n_support_per_kernel.sum()) <= budget


@loop
@pytest.mark.parametrize("recipe", [recipes.Newton(), recipes.OGD(), recipes.RBP()], ids=["Newton", "OGD", "RBP"])
def test_hedge_over_one_kernel_is_that_learner(recipe):
    X, y = stream(300)
    alone = onkel.Learner(recipe, kernel=RBF(1.0), budget=40, average=False, seed=3)
    hedged = onkel.Learner(recipe, kernel=Hedge((RBF(1.0),), "deterministic"), budget=40, seed=3)
    alone.learn_rows(X, y)
    hedged.learn_rows(X, y)
    np.testing.assert_array_equal(hedged.score_rows(X, each=True), alone.score_rows(X))


def test_hedged_second_order_is_as_each_alone():
    """A divided budget and no weight in the functions: each member is the learner of its kernel and its stream."""
    X, y = stream(300)
    kernels = (RBF(0.1), RBF(2.0))
    hedged = onkel.Learner(recipes.Newton(), kernel=Hedge(kernels, "deterministic"), budget=60, seed=3)
    hedged.learn_rows(X, y)
    first = onkel.Learner(recipes.Newton(), kernel=kernels[0], budget=30, average=False, seed=3)
    first.learn_rows(X, y)
    np.testing.assert_array_equal(hedged.score_rows(X, each=True)[:, :1], first.score_rows(X))


# -- threads and processes -------------------------------------------------------------------------------------------


def run(program, **kwargs):
    done = subprocess.run(
        [warm.python(), "-X", "faulthandler", "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        **kwargs,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_that_cannot_start_are_done_without():
    program = """
    import numpy as np, onkel, resource
    X = np.random.default_rng(0).normal(size=(1000, 3))
    y = (X[:, 0] > 0).astype(float)
    prints = []
    for n_jobs in (1, 400):
        learner = onkel.Learner(onkel.recipes.OGD(), n_jobs=n_jobs)
        if n_jobs > 1:
            used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
            resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
        learner.learn_rows(X, y)
        prints.append((learner.fingerprint(), learner.score_rows(X).tobytes()))
    assert prints[0] == prints[1]
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    assert resource.RLIMIT_AS is not None
    run(program)


def test_predictions_are_let_in_between_blocks():
    """A learning call that waits at every row until a prediction of another thread is there."""
    program = """
    import threading, numpy as np, onkel
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(float)
    asked, predicted = threading.Event(), threading.Event()

    def kernel(A, S):
        if threading.current_thread() is learning:
            asked.set()
            predicted.wait(0.05)  # the other thread has 200 times as much to ask in
        return np.exp(-((A - S) ** 2).sum(1))[None]

    learner = onkel.Learner(onkel.recipes.OGD(eta=0.01), kernel=kernel)
    learning = threading.Thread(target=learner.learn_rows, args=(X, y))
    learning.start()
    assert asked.wait(60)
    learner.score_rows(X[:3])
    assert learner.t < 200
    predicted.set()
    learning.join()
    assert learner.t == 200
    """
    run(program)


def test_learning_calls_do_not_mix():
    """Two calls learn one after the other, whoever reads between their blocks."""
    X, y = stream(2000)
    learner = onkel.Learner(recipes.RBP(), budget=30)
    pieces = [slice(0, 1000), slice(1000, 2000)]
    learner.learn_rows(X[:1], y[:1])
    threads = [threading.Thread(target=learner.learn_rows, args=(X[p], y[p])) for p in pieces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    states = set()
    for order in itertools.permutations(pieces):
        alone = onkel.Learner(recipes.RBP(), budget=30)
        alone.learn_rows(X[:1], y[:1])
        for p in order:
            alone.learn_rows(X[p], y[p])
        states.add(alone.fingerprint())
    assert learner.fingerprint() in states


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_beside_a_learning_thread_is_no_trap():
    program = """
    import os, signal, threading, numpy as np, onkel
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(float)
    within, go_on = threading.Event(), threading.Event()

    def kernel(A, S):
        if threading.current_thread() is learning:
            within.set()
            go_on.wait(60)
        return np.exp(-((A - S) ** 2).sum(1))[None]

    busy, idle = onkel.Learner(onkel.recipes.OGD(), kernel=kernel), onkel.Learner(onkel.recipes.OGD())
    learning = None
    idle.learn_rows(X, y)
    learning = threading.Thread(target=busy.learn_rows, args=(X, y))
    learning.start()
    within.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        idle.score_rows(X)
        try:
            busy.score_rows(X)
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(3)
    _, status = os.waitpid(child, 0)
    go_on.set()
    learning.join()
    busy.score_rows(X)
    assert os.waitstatus_to_exitcode(status) == 0, status
    """
    run(program)


def test_open_labels_of_two_threads_are_all_kept():
    program = """
    import threading, time, numpy as np, onkel
    within, go_on = threading.Event(), threading.Event()

    def kernel(A, S):
        if threading.current_thread() is first and len(S) == 2:
            within.set()
            go_on.wait(60)
        return np.exp(-((A - S) ** 2).sum(1))[None]

    first = None
    model = onkel.OGDClassifier(kernel=kernel, random_state=0)
    model.partial_fit([[0.0], [1.0]], ["a", "b"])
    first = threading.Thread(target=model.partial_fit, args=([[2.0], [3.0]], ["a", "c"]))
    second = threading.Thread(target=model.partial_fit, args=([[4.0], [5.0]], ["d", "d"]))
    first.start()
    assert within.wait(60)
    second.start()
    for _ in range(100):  # until the second has said its label, where it can
        if "d" in model.classes_:
            break
        time.sleep(0.01)
    go_on.set()
    first.join()
    second.join()
    assert model.classes_.tolist() == ["a", "b", "c", "d"], model.classes_
    assert model._learner.n_outputs == 4 and model.t_ == 6
    assert model.predict([[5.0]]).tolist() == ["d"]
    """
    run(program)


def test_set_and_load_beside_learning():
    """Both take their turn: nothing is read while another thread changes it."""
    X, y = stream(3000)
    learner = onkel.Learner(recipes.RBP(), budget=50, kernel=Hedge((RBF(0.1), RBF(1.0), RBF(5.0)), "uniform"))
    learner.learn_rows(X[:200], y[:200])
    core, state = learner._core, learner._core.save()
    thread = threading.Thread(target=lambda: [learner.learn_rows(X, y) for _ in range(5)])
    thread.start()
    while thread.is_alive():
        core.load(state)
    thread.join()
    assert np.isfinite(learner.score_rows(X[:10])).all()


# -- the same function however the rows are cut ----------------------------------------------------------------------


@loop
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_column_of_a_point_that_left_may_be_infinite(label, average):
    X = np.array([[1e18, 0], [0, 1], [1e25, 5]], np.float32)
    y = np.array([1.0, 0.0, label])
    recipe = recipes.NORMA(eta=1.0)

    def make():
        return onkel.Learner(recipe, kernel="linear", budget=1, dtype="float32", average=average)

    cut = make()
    errors = []
    for i in range(3):
        try:
            cut.learn_rows(X[i : i + 1], y[i : i + 1])
        except FloatingPointError as error:
            errors.append(str(error))
    whole = make()
    try:
        whole.learn_rows(X, y)
    except FloatingPointError as error:
        assert errors == [str(error)]
    else:
        assert errors == []
    assert whole.fingerprint() == cut.fingerprint()
    if label == 0 and not average:  # a row that the last function is right about
        assert whole.t == 3


@pytest.mark.parametrize("recipe", [recipes.Newton(spread=1.0)], ids=["Newton"])
def test_column_of_a_candidate_that_left_may_be_infinite(recipe):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(60, 2)) * 1e18, [[1e25, 5.0]]]).astype(np.float32)
    y = (rng.random(61) > 0.5).astype(float)
    states = []
    for cuts in ([], list(range(1, 61))):
        learner = onkel.Learner(recipe, kernel="linear", budget=2, dtype="float32", seed=1)
        message = None
        for rows in np.split(np.arange(61), cuts):
            try:
                learner.learn_rows(X[rows], y[rows])
            except FloatingPointError as error:
                message = message or str(error)
        states.append((message, learner.fingerprint()))
    assert states[0] == states[1]


@loop
@pytest.mark.parametrize("cuts", [cuts for k in range(6) for cuts in itertools.combinations(range(1, 6), k)])
def test_class_of_weight_zero_among_open_labels(cuts):
    X, _ = stream(6)
    y = np.array(list("azabbb"))

    def learned(cuts):
        model = onkel.OGDClassifier(gamma=1.0, class_weight={"z": 0}, random_state=0)
        for rows in np.split(np.arange(6), cuts):
            model.partial_fit(X[rows], y[rows])
        return model

    whole, cut = learned([]), learned(list(cuts))
    assert whole.classes_.tolist() == cut.classes_.tolist() == ["a", "b"]
    assert whole._fingerprint() == cut._fingerprint()


# -- mini-batches, numbers from files, angles, parts that do not fit -------------------------------------------------


@loop
@pytest.mark.parametrize("name", ["Stop", "KOMP"])
@pytest.mark.parametrize("flushes", [(4,), (4, 5), (7, 8)])
def test_mini_batch_shrinks_once(name, flushes):
    """However often a mini-batch is flushed on its way, f <- (1 - eta lam) f + its rows."""
    eta, lam, size = 0.5, 0.4, 3
    eviction = replace(EVICTIONS[name], eps=1e-9) if name == "KOMP" else EVICTIONS[name]
    recipe = parts.FirstOrder(
        parts.SquaredError(), parts.Always(), parts.GradientStep(eta=eta, lam=lam), eviction, batch_size=size
    )
    X = 100.0 * np.arange(9)[:, None]  # so far apart that no row hears of another: every step is eta y / size
    y = np.ones(9)
    learner = onkel.Learner(recipe, task="regression")
    for i in range(9):
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        if i + 1 in flushes:
            learner.flush()
    batch = np.arange(9) // size
    expected = eta / size * (1 - eta * lam) ** (2 - batch)
    flushed_early = [i for i in range(9) if any(i < f < (batch[i] + 1) * size for f in flushes)]
    np.testing.assert_allclose(learner.score_rows(X)[:, 0], expected, rtol=1e-9)
    assert flushed_early


def test_polk_goes_on_after_fit_without_shrinking_twice():
    X = 100.0 * np.arange(6)[:, None]
    y = np.ones(6)
    settings = {"lam": 0.4, "eta": 0.5, "eps": 1e-9, "batch_size": 4}
    model = onkel.POLKRegressor(gamma=1.0, shuffle=False, fit_intercept=False, **settings)
    model.fit(X[:3], y[:3])  # flushes a mini-batch of three
    before = model.predict(X[:3])
    model.partial_fit(X[3:4], y[3:4])  # and here the mini-batch ends
    np.testing.assert_allclose(model.predict(X[:3]), before, rtol=1e-12)


def test_forgetron_with_fewer_than_no_mistakes_is_refused():
    X, y = stream(30)
    learner = onkel.Learner(recipes.Forgetron(), budget=5)
    learner.learn_rows(X, y)
    state = learner._core.save()
    name = next(name for name in state if name.endswith("eviction.mistakes"))
    state[name] = np.array([-5])
    with pytest.raises(ValueError, match="mistakes' must not be negative"):
        learner._core.load(state)


@loop
@pytest.mark.parametrize("x", [1e3, 1e6, 3e6, 1e9, 1e16, 1e17, -1e17, 1e22, 1e60])
def test_random_features_far_out(x):
    learner = onkel.Learner(recipes.DualSGD(n_components=16, k=1), budget=2, gamma=0.5, seed=1)
    X, y = stream(20, d=1)
    learner.learn_rows(X, y)
    frequencies, phases = learner._core.random_features()
    coefficients = learner.expansion().only.average.features
    features = np.sqrt(2 / 16) * np.cos(frequencies[:, 0] * x + phases)
    # so far out all kernel values are 0
    np.testing.assert_allclose(learner.score_rows(np.array([[x]])), [coefficients @ features], atol=1e-12)


@pytest.mark.parametrize("step", [parts.GradientStep(eta=0.25), parts.PegasosStep(lam=0.1)], ids=["eta", "none"])
def test_margin_sampling_has_the_eta_of_its_step(step):
    with pytest.raises(ValueError, match=r"MarginSampling has eta=0.5"):
        parts.FirstOrder(parts.LogLoss(), parts.MarginSampling(eta=0.5), step)
    parts.FirstOrder(parts.LogLoss(), parts.MarginSampling(eta=0.25), parts.GradientStep(eta=0.25))
