"""Parts in Python: they do what built-in ones do, in every company, and what goes wrong in them changes nothing."""

import copy
import os
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
import toy_parts as toys
from looping import loop
from onkel import parts, recipes
from onkel.parts.python import PythonAdmission, PythonEviction, PythonKernel, PythonLoss
from states import state_of

TASKS = ["binary", "multiclass", "regression"]


def stream(task, n=60, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.3] = 0
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    y = {"binary": score > 0, "multiclass": np.digitize(score, [-0.5, 0.5]), "regression": score}[task]
    return X, y.astype(np.float64)


def task_of(loss, several=False):
    return "regression" if loss.regression else "multiclass" if several else "binary"


def learned(recipe, X, y, **settings):
    learner = onkel.Learner(recipe, **{"gamma": 0.5, "seed": 3, **settings})
    learner.learn_rows(X, y, np.resize([1.0, 2.0, 0.5, 0.0], len(y)))
    return learner


def assert_same(one, other, rtol=1e-12):
    """Up to the last bits: the same points, coefficients and number of rows."""
    assert one.t == other.t
    np.testing.assert_array_equal(one.support()[1], other.support()[1])
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=rtol, atol=rtol)


def with_parts(loss=None, admission=None, eviction=None, **more):
    return parts.FirstOrder(
        loss or parts.HingeLoss(),
        admission or parts.OnGradient(),
        parts.GradientStep(eta=0.4, lam=0.01),
        eviction or parts.Stop(),
        **more,
    )


# -- the same as the built-in ones -----------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("several", [False, True], ids=["two", "several"])
@pytest.mark.parametrize("name", toys.LOSSES)
def test_loss(name, several):
    built_in, toy = parts.loss_named(name), toys.LOSSES[name]
    for fact in ("regression", "piecewise_linear", "logistic", "smooth", "starts"):
        assert getattr(toy, fact) == getattr(built_in, fact)
    X, y = stream(task := task_of(built_in, several))
    assert_same(*(learned(with_parts(loss), X, y, task=task, budget=20) for loss in (toy, built_in)))
    if built_in.smooth and name != "huber":  # whose number counts in deviations of the residuals in second order
        newton = (parts.SecondOrder(loss) for loss in (toy, built_in))
        assert_same(*(learned(recipe, X, y, task=task, budget=20) for recipe in newton), rtol=1e-9)


@loop
@pytest.mark.parametrize("task", TASKS)
def test_admission(task):
    X, y = stream(task)
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    built_in = recipes.SPA(eta=0.3, alpha=1.0, beta=2.0, loss=loss)
    toy = replace(built_in, admission=toys.LossSampling(alpha=1.0, beta=2.0))
    assert learned(toy, X, y, task=task).fingerprint() == learned(built_in, X, y, task=task).fingerprint()


@loop
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("name", ["Stop", "RemoveOldest", "RemoveRandom"])
@pytest.mark.parametrize("task", TASKS)
def test_eviction(task, name, batch_size, average):
    X, y = stream(task)
    loss = parts.SquaredError() if task == "regression" else parts.HingeLoss()
    made = []
    for eviction in (getattr(toys, name)(), getattr(parts, name)()):
        recipe = with_parts(loss, eviction=eviction, batch_size=batch_size)
        made.append(learned(recipe, X, y, task=task, budget=7, average=average))
        made[-1].flush()
    assert made[0].fingerprint() == made[1].fingerprint()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_eviction_that_remembers(task):
    X, y = stream(task, 200)
    built_in = recipes.Forgetron()
    toy = replace(built_in, eviction=toys.Forget())
    one, other = learned(toy, X, y, task=task, budget=7), learned(built_in, X, y, task=task, budget=7)
    assert_same(one, other, rtol=1e-9)
    state, expected = state_of(one), state_of(other)
    assert state.keys() == expected.keys()
    np.testing.assert_array_equal(state["update.eviction.mistakes"], expected["update.eviction.mistakes"])
    np.testing.assert_allclose(state["update.eviction.damage"], expected["update.eviction.damage"], rtol=1e-9)
    assert toy.eviction.mistakes == 0  # each learner has a copy of its own


def test_eviction_that_reweights():
    X, y = stream("binary")
    recipe = recipes.BPA(C=0.5)
    one = learned(replace(recipe, eviction=toys.ProjectOldestOnNewcomer()), X, y, budget=1)
    assert_same(one, learned(recipe, X, y, budget=1))


@pytest.mark.parametrize("ball", [None, 0.5])
def test_ball_keeps_its_norm(ball):
    X, y = stream("binary")
    made = [
        learned(with_parts(eviction=eviction, ball=ball), X, y, budget=7)
        for eviction in (toys.RemoveOldest(), parts.RemoveOldest())
    ]
    assert made[0].fingerprint() == made[1].fingerprint()
    with pytest.raises(ValueError, match="which ProjectOldestOnNewcomer does not keep"):
        with_parts(eviction=toys.ProjectOldestOnNewcomer(), ball=1.0)


@loop
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("task", TASKS)
def test_kernel(task, dtype):
    X, y = stream(task, dtype=dtype)
    loss = parts.SquaredError() if task == "regression" else parts.HingeLoss()
    recipe = with_parts(loss, eviction=parts.RemoveOldest())
    made = [
        learned(recipe, X, y, task=task, kernel=kernel, budget=9, dtype=dtype)
        for kernel in (toys.RBF(0.5), parts.RBF(0.5))
    ]
    assert_same(*made, rtol=1e-5 if dtype == "float32" else 1e-12)
    plain = learned(recipe, X, y, task=task, kernel=toys.RBF(0.5).matrix, budget=9, dtype=dtype)
    assert plain.fingerprint() == made[0].fingerprint()


# -- in every company ------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", toys.LOSSES)
def test_all_parts_in_python(name, dtype, sparse):
    """Both densities, however the rows are cut, pickled on the way."""
    built_in = parts.loss_named(name)
    X, y = stream(task := task_of(built_in), dtype=dtype)
    rows = csr_array(X) if sparse else X
    kernel = toys.RBF(0.5)

    def make(loss, admission, eviction, kernel):
        recipe = with_parts(loss, admission, eviction)
        return onkel.Learner(recipe, task=task, kernel=kernel, budget=8, dtype=dtype, seed=1)

    whole = make(toys.LOSSES[name], toys.OnGradient(), toys.RemoveOldest(), kernel)
    scores = whole.learn_rows(rows, y, scores=True)
    cut = make(toys.LOSSES[name], toys.OnGradient(), toys.RemoveOldest(), kernel)
    for piece in np.split(np.arange(len(y)), [1, 2, 30]):
        cut.learn_rows(rows[piece], y[piece])
        cut = pickle.loads(pickle.dumps(cut))
    assert cut.fingerprint() == whole.fingerprint()
    expected = make(built_in, None, parts.RemoveOldest(), parts.RBF(0.5))
    wanted = expected.learn_rows(rows, y, scores=True)
    np.testing.assert_allclose(scores, wanted, atol=1e-9 if dtype == "float64" else 1e-4)


@loop
@pytest.mark.parametrize("combination", parts.COMBINATIONS)
def test_several_kernels(combination):
    X, y = stream("binary", 80)
    recipe = with_parts(toys.Hinge(), toys.OnGradient(), toys.RemoveOldest())
    kernels = parts.Hedge((parts.RBF(0.5), toys.RBF(2.0)), combination)
    built_in = with_parts(eviction=parts.RemoveOldest())
    one = learned(recipe, X, y, kernel=kernels, budget=10)
    other = learned(built_in, X, y, kernel=parts.Hedge((parts.RBF(0.5), parts.RBF(2.0)), combination), budget=10)
    np.testing.assert_allclose(one.score_rows(X, each=True), other.score_rows(X, each=True), atol=1e-9)


def test_parts_that_hold_parts():
    X, y = stream("binary", 80)
    grow = [parts.GrowAtRandom(beta=20.0, eviction=e) for e in (toys.RemoveOldest(), parts.RemoveOldest())]
    made = [learned(with_parts(eviction=eviction), X, y, budget=5) for eviction in grow]
    assert made[0].fingerprint() == made[1].fingerprint()


class ToyClassifier(onkel.OGDClassifier):
    """An estimator whose recipe and kernel have parts in Python."""

    toy = "eviction"

    def _recipe(self, horizon):
        made = super()._recipe(horizon)
        given = {"eviction": toys.RemoveOldest(), "loss": toys.Hinge(), "admission": toys.OnGradient()}
        return replace(made, **{"eviction": parts.RemoveOldest()} | {k: v for k, v in given.items() if k == self.toy})

    def _chosen_kernel(self):
        return toys.RBF(0.5) if self.toy == "kernel" else super()._chosen_kernel()


def toy_model(toy, sparse=False):
    X, y = stream("binary", 80)
    model = ToyClassifier(gamma=0.5, budget=20, random_state=0)
    model.toy = toy
    return model.fit(csr_array(X) if sparse else X, y), X


TOYS = ["loss", "admission", "eviction", "kernel"]


@loop
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("toy", TOYS)
def test_compress(toy, sparse):
    model, X = toy_model(toy, sparse)
    small, distance = onkel.compress(model, n_support=10)[:2]
    assert small.n_support_ == 10
    assert distance > 0
    assert np.isfinite(small.decision_function(X)).all()


@loop
@pytest.mark.parametrize("export", ["to_c", "to_json", "to_libsvm", "to_onnx"])
@pytest.mark.parametrize("toy", TOYS)
def test_export(toy, export):
    model, _ = toy_model(toy)
    write = getattr(onkel.export, export)
    if toy == "kernel":
        with pytest.raises(ValueError, match="kernel"):
            write(model)
        return
    if export == "to_onnx":
        pytest.importorskip("onnx")
    same, _ = toy_model("none")
    texts = [made.SerializeToString() if export == "to_onnx" else made for made in (write(model), write(same))]
    assert texts[0] == texts[1]


@loop
@pytest.mark.parametrize("toy", TOYS)
def test_a_file_holds_no_code(toy, tmp_path):
    recipe = with_parts(
        toys.Hinge() if toy == "loss" else None,
        toys.OnGradient() if toy == "admission" else None,
        toys.RemoveOldest() if toy == "eviction" else None,
    )
    X, y = stream("binary")
    learner = learned(recipe, X, y, kernel=toys.RBF(0.5) if toy == "kernel" else "rbf", budget=8)
    with pytest.raises(ValueError, match=r"is written in Python \(\w+\), and a file contains no code"):
        onkel.save(learner, tmp_path / "model")
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(learner))
    assert again.fingerprint() == learner.fingerprint()
    assert again.recipe == learner.recipe and copy.deepcopy(learner.recipe) == learner.recipe


def test_parts_are_told_apart_by_their_attributes():
    assert toys.LossSampling(beta=2.0) == toys.LossSampling(beta=2.0) != toys.LossSampling(beta=3.0)
    assert hash(toys.LossSampling(beta=2.0)) == hash(toys.LossSampling(beta=2.0))
    assert repr(toys.LossSampling(beta=2.0)) == "LossSampling(alpha=1.0, beta=2.0)"
    assert toys.RBF(2.0) == toys.RBF(2.0) != toys.RBF(3.0)
    assert toys.Huber(0.2) != toys.Huber(0.3)


def test_parts_are_checked_as_built_in_ones():
    with pytest.raises(ValueError, match="needs a piecewise linear loss, and Log is not one"):
        parts.FirstOrder(toys.Log(), parts.OnGradient(), parts.PassiveAggressiveStep(C=1.0))
    with pytest.raises(ValueError, match="LossSampling needs a loss at a score of 0"):
        with_parts(toys.Perceptron(), toys.LossSampling())
    with pytest.raises(ValueError, match="does not fit task"):
        onkel.Learner(with_parts(toys.SquaredError()))
    with pytest.raises(ValueError, match="Forget works row by row"):
        with_parts(eviction=toys.Forget(), batch_size=2)
    with pytest.raises(ValueError, match="a loss with a curvature, and Hinge has none"):
        parts.SecondOrder(toys.Hinge())


# -- what goes wrong -------------------------------------------------------------------------------------------------


class Stopped(Exception):
    """What a part raises when its time has come."""


class Clock:
    """Counts the calls of a part's methods, and raises at one of them."""

    calls, last, error = 0, None, Stopped

    def tick(self):
        type(self).calls += 1
        if self.calls == self.last:
            raise self.error

    @classmethod
    def until(cls, last):
        cls.calls, cls.last = 0, last


class TickingLoss(Clock, toys.Hinge):
    def value(self, z):
        self.tick()
        return super().value(z)

    def slope(self, z):
        self.tick()
        return super().slope(z)


class TickingAdmission(Clock, toys.OnGradient):
    def probability(self, row):
        self.tick()
        return super().probability(row)


class TickingForget(Clock, toys.Forget):
    def absorb(self, points, row):
        self.tick()
        return "insert"

    def restore_budget(self, points, row, newest):
        self.tick()
        super().restore_budget(points, row, newest)
        self.tick()

    def idle(self, points, row):
        self.tick()


@loop
@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt], ids=["raises", "interrupted"])
@pytest.mark.parametrize("part", [TickingLoss, TickingAdmission, TickingForget])
def test_row_that_fails_changes_nothing(part, error, monkeypatch):
    monkeypatch.setattr(part, "error", error)
    X, y = stream("binary", 14)
    toy = part()
    recipe = with_parts(**{toy.kind: toy})

    def make():
        return onkel.Learner(recipe, gamma=0.5, budget=4)

    part.until(None)
    whole = make()
    whole.learn_rows(X[:0], y[:0])  # from now on it knows how many columns there are
    calls, states = [0], [whole.fingerprint()]
    for i in range(len(y)):
        whole.learn_rows(X[i : i + 1], y[i : i + 1])
        calls.append(part.calls)
        states.append(whole.fingerprint())
    for last in range(1, calls[-1] + 1):
        part.until(last)
        learner = make()
        with pytest.raises(error):
            learner.learn_rows(X, y)
        done = next(i for i in range(len(y)) if calls[i] < last <= calls[i + 1])
        assert learner.t == done
        assert learner.fingerprint() == states[done]
        assert np.isfinite(learner.score_rows(X)).all()
        learner.learn_rows(X[done:], y[done:])
        assert learner.fingerprint() == states[-1]


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="no signals here")
def test_interruption_in_a_part():
    """Ctrl-C reaches Python inside of the part."""
    X, y = stream("binary", 40)

    class Interrupted(toys.RemoveOldest):
        def restore_budget(self, points, row, newest):
            super().restore_budget(points, row, newest)
            if row.t == 30:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000):
                    pass

    learner = onkel.Learner(with_parts(admission=parts.Always(), eviction=Interrupted()), budget=5, gamma=0.5)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_rows(X, y)
    assert learner.t == 29
    assert learner.n_support == 5


class Wrong(PythonEviction):
    """Does one wrong thing."""

    def __init__(self, restore_budget=None, absorb=None, state=None, **facts):
        self.doing, self.saying, self.keeping = restore_budget, absorb, state
        for name, value in facts.items():
            setattr(self, name, value)

    def absorb(self, points, row):
        return "insert" if self.saying is None else self.saying

    def restore_budget(self, points, row, newest):
        if self.doing is not None:
            self.doing(points, row, newest)

    def state(self):
        return self.keeping or {}


def evict_twice(points, row, newest):
    points.evict(newest)
    points.evict(newest)


def never_ends(points, row, newest):
    pass


@loop
@pytest.mark.parametrize(
    ("part", "error", "sentence"),
    [
        (Wrong(never_ends), ValueError, "Wrong.restore_budget left 3 support vectors, and the budget is 2"),
        (Wrong(evict_twice), IndexError, "there is no support vector in slot 0"),
        (Wrong(lambda p, r, n: p.evict(-1)), IndexError, "there is no support vector in slot -1"),
        (Wrong(lambda p, r, n: p.evict(99)), IndexError, "there is no support vector in slot 99"),
        (Wrong(lambda p, r, n: p.kernel_row(99)), IndexError, "there is no support vector in slot 99"),
        (Wrong(lambda p, r, n: p.add(n, [1.0])), ValueError, "its reweights must be true"),
        (Wrong(lambda p, r, n: p.add(n, [1.0, 2.0]), reweights=True), ValueError, "one coefficient for each of the 1"),
        (Wrong(lambda p, r, n: p.add(n, [np.nan]), reweights=True), ValueError, "finite coefficients, got nan"),
        (Wrong(lambda p, r, n: p.scale(-1.0)), ValueError, "a finite factor of at least 0, got -1.0"),
        (Wrong(absorb="absorbed"), ValueError, "its row_by_row must be true"),
        (Wrong(absorb="maybe"), ValueError, "must return 'insert', 'refuse' or 'absorbed', got 'maybe'"),
        (Wrong(state={"a": np.zeros((2, 2))}), ValueError, "float64 or int64, and 'a' is not"),
        (Wrong(state={"a": np.zeros(2, np.float32)}), ValueError, "float64 or int64, and 'a' is not"),
        (PythonEviction(), NotImplementedError, "PythonEviction must have a method restore_budget"),
    ],
)
def test_wrong_evictions_are_refused(part, error, sentence):
    X, y = stream("binary")
    learner = onkel.Learner(with_parts(admission=parts.Always(), eviction=part), budget=2, gamma=0.5)
    with pytest.raises(error, match=sentence):
        learner.learn_rows(X, y)
    assert learner.t <= 2


class Answer(PythonAdmission):
    def __init__(self, answer):
        self.answer = answer

    def probability(self, row):
        return self.answer


class Curve(PythonLoss):
    def __init__(self, **answers):
        self.answers = answers

    def value(self, z):
        return self.answers.get("value", 1.0)

    def slope(self, z):
        return self.answers.get("slope", -1.0)

    def curvature(self, z):
        return self.answers.get("curvature", 0.0)


@loop
@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"admission": Answer(1.5)}, ValueError, r"Answer.probability must be between 0 and 1, got 1.5 at row 0"),
        ({"admission": Answer(float("nan"))}, ValueError, "must be between 0 and 1, got nan"),
        ({"admission": Answer("all")}, ValueError, "could not convert"),
        ({"admission": Answer(None)}, TypeError, "NoneType"),
        ({"admission": PythonAdmission()}, NotImplementedError, "must have a method probability"),
        ({"loss": Curve(value=-1.0)}, ValueError, "Curve.value must be a number of at least 0, got -1.0 at z = -?0.0"),
        ({"loss": Curve(value=float("inf"))}, ValueError, "Curve.value must be a number"),
        ({"loss": Curve(slope=float("nan"))}, ValueError, "Curve.slope must be a number, got nan"),
        ({"loss": Curve(curvature=-1.0)}, ValueError, "Curve.curvature must be a number of at least 0"),
        ({"loss": PythonLoss()}, NotImplementedError, "must have a method value"),
    ],
)
def test_wrong_answers_are_refused(wrong, error, sentence):
    X, y = stream("binary")
    learner = onkel.Learner(with_parts(**wrong), gamma=0.5)
    with pytest.raises(error, match=sentence):
        learner.learn_rows(X, y)
    assert learner.t == 0


def test_kernel_without_a_matrix_is_refused():
    learner = onkel.Learner(with_parts(), kernel=PythonKernel())
    with pytest.raises(NotImplementedError, match="must have a method matrix"):
        learner.learn_rows(*stream("binary"))


def test_what_a_method_is_given_is_there_for_its_call_only():
    kept = []

    class Keeps(toys.RemoveOldest):
        def restore_budget(self, points, row, newest):
            super().restore_budget(points, row, newest)
            kept[:] = [points, row]

        def __deepcopy__(self, memo):
            return self

    X, y = stream("binary")
    learned(with_parts(admission=parts.Always(), eviction=Keeps()), X, y, budget=3)
    for attribute in ("slots", "births", "coefficients", "budget"):
        with pytest.raises(RuntimeError, match="only during the call"):
            getattr(kept[0], attribute)
    with pytest.raises(RuntimeError, match="only during the call"):
        kept[0].evict(0)
    with pytest.raises(RuntimeError, match="only during the call"):
        _ = kept[1].scores


def test_row_is_what_it_says():
    rows = []

    class Looks(PythonAdmission):
        def probability(self, row):
            rows.append((row.t, row.y, row.weight, row.scores, row.z, row.loss, row.gradient))
            rows[-1] += (row.mistake, row.self_kernel, row.kernel_row)
            return 1.0

    X, y = stream("binary", 5)
    learner = onkel.Learner(with_parts(admission=Looks()), gamma=0.5, fit_intercept=True)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    for i in range(5):
        score = learner.score_rows(X[i : i + 1])[0] if i else np.zeros(1)
        learner.learn_rows(X[i : i + 1], y[i : i + 1], np.array([2.0]))
        t, label, weight, scores, z, loss, gradient, mistake, self_kernel, kernel_row = rows[-1]
        sign = 2 * y[i] - 1
        assert (t, label, weight) == (i + 1, sign, 2.0)
        np.testing.assert_allclose(scores, score, atol=1e-14)
        assert z == pytest.approx(sign * score[0]) and mistake == (z <= 0)
        assert loss == pytest.approx(max(0.0, 1 - z))
        np.testing.assert_allclose(gradient, [-sign] if z < 1 else [0.0])
        assert self_kernel == pytest.approx(1 + (5 / 16) ** 2)
        np.testing.assert_allclose(kernel_row, K[i, learner.support()[1][: len(kernel_row)]], rtol=1e-12)
