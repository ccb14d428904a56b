"""Chunk invariance, bit for bit: how rows are cut into calls, blocks and threads never changes a result."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import onkel
from interrupting import interrupted_midway
from looping import loop
from onkel import checks, parts, recipes
from onkel.utils.digest import Digest
from states import state_of
from table import CASES, cases, loop_by_learner, variants

ROWS = 300


def stream(case, n=ROWS):
    X, y = case.data(n, d=5)
    X[n // 2 :: 7] = X[3]  # duplicates
    if case.task == "multiclass":  # classes that appear late, in the middle of a block
        y[: n // 3] = np.minimum(y[: n // 3], 1)
        y[:20] = 0
    weight = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.2, 0.6, 0.1])
    return X, y, weight


def learned(case, cuts=(), block_rows=48, n_jobs=1, pickled=False, batch_size=1, data=None):
    """Learn a stream in pieces; return every score made on the way, and the learner."""
    X, y, weight = stream(case) if data is None else data
    # classes appear in the stream; the constant term is on, so that all columns take part
    learner = case.learner(gamma=0.6, fit_intercept=True, seed=9, n_jobs=n_jobs, batch_size=batch_size)
    width = int(y.max()) + 1 if case.task == "multiclass" else 1
    scores = []
    for rows in np.split(np.arange(len(X)), list(cuts)):
        part = learner.learn_rows(X[rows], y[rows], weight[rows], scores=True, block_rows=block_rows)
        scores.append(np.pad(part, ((0, 0), (0, width - part.shape[1]))))
        if pickled:
            learner = pickle.loads(pickle.dumps(learner))
    return np.concatenate(scores), learner


def assert_same(case, one, other):
    assert one[0].tobytes() == other[0].tobytes()
    assert one[1].fingerprint() == other[1].fingerprint()
    X = stream(case)[0]
    assert one[1].score_rows(X).tobytes() == other[1].score_rows(X).tobytes()


def halves(learner, X, y, weight):
    """A learner of the first half of the rows, and what to call to learn the second."""
    half = len(y) // 2 + 1  # inside a mini-batch
    learner.learn_rows(X[:half], y[:half], weight[:half])
    return lambda other: other.learn_rows(X[half:], y[half:], weight[half:], scores=True).tobytes()


def check_copy(learner, X, y, weight):
    """A copy is what saving and loading give, to the bit, and has nothing in common with what it was made from."""
    go_on = halves(learner, X, y, weight)
    copied, loaded = copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))
    before = learner.fingerprint()
    assert copied.fingerprint() == loaded.fingerprint() == before
    scores = go_on(learner)
    assert copied.fingerprint() == before
    assert go_on(copied) == scores == go_on(loaded)
    assert copied.fingerprint() == loaded.fingerprint() == learner.fingerprint() != before


@loop_by_learner
@cases()
def test_a_copy(case):
    for batch_size in (1, 4) if case.named.name == "POLK" else (1,):
        check_copy(case.learner(gamma=0.6, fit_intercept=True, seed=9, batch_size=batch_size), *stream(case))


@loop_by_learner
@cases(one_task=True)
def test_a_copy_of_sparse_rows(case):
    X, y, weight = stream(case)
    X[np.random.default_rng(3).random(X.shape) < 0.5] = 0
    check_copy(case.learner(gamma=0.6, seed=9), csr_array(X), y, weight)


@pytest.mark.parametrize("combination", ["uniform", "deterministic", "stochastic", "spa", "sum"])
@pytest.mark.parametrize("name", ["BSGD", "Projectron", "Newton"])
def test_a_copy_of_several_kernels(name, combination):
    X, y, weight = stream(CASES[0])
    recipe = recipes.BSGD(maintenance="merge") if name == "BSGD" else getattr(recipes, name)()
    other = parts.RBF(0.1) if name == "BSGD" else parts.Polynomial(0.5, 1.0, 2)
    kernel = parts.Hedge((parts.RBF(0.5), other), combination)
    check_copy(onkel.Learner(recipe, kernel=kernel, budget=20, seed=9), X, y, weight)


def test_a_copy_of_what_is_written_in_python():
    X, y, weight = stream(CASES[0])
    kernel = lambda x, S: np.exp(-((x - S) ** 2).sum(axis=1))[None]  # noqa: E731
    learner = onkel.Learner(recipes.Forgetron(), kernel=kernel, budget=20)
    go_on = halves(learner, X, y, weight)
    copied = copy.copy(learner)
    assert go_on(copied) == go_on(learner)
    assert copied.fingerprint() == learner.fingerprint()


@loop_by_learner
@cases(one_task=True)
def test_more_features_are_those_that_were_zero(case):
    X, y, weight = stream(case)
    more = np.zeros((len(X), 3))
    more[200:, 1] = X[200:, 0]
    wide = csr_array(np.hstack([X, more]))
    narrow, one = case.learner(gamma=0.6, seed=9), case.learner(gamma=0.6, seed=9)
    narrow.learn_rows(csr_array(X[:200]), y[:200], weight[:200])
    narrow.reach(8)
    one.learn_rows(wide[:200], y[:200], weight[:200])
    for each in (narrow, one):
        each.learn_rows(wide[200:], y[200:], weight[200:])
    assert narrow.fingerprint() == one.fingerprint()
    assert narrow.score_rows(wide).tobytes() == one.score_rows(wide).tobytes()
    with pytest.raises(ValueError, match="only sparse rows"):
        dense = case.learner()
        dense.learn_rows(X, y)
        dense.reach(8)


@loop_by_learner
@cases(one_task=True)
@pytest.mark.parametrize("sparse", [False, True])
def test_points_are_those_of_the_state(case, sparse):
    X, y, weight = stream(case)
    learner = case.learner(gamma=0.6, seed=9)
    learner.learn_rows(csr_array(X) if sparse else X, y, weight)
    state = state_of(learner)
    there = state["basis.births"] >= 0
    points, births = learner.support()
    np.testing.assert_array_equal(births, state["basis.births"][there])
    if sparse:
        arrays = state["basis.values"], state["basis.features"], state["basis.offsets"]
        np.testing.assert_array_equal(points.toarray(), csr_array(arrays, shape=(len(there), 5)).toarray()[there])
    else:
        np.testing.assert_array_equal(points, state["basis.points"][there])
    term = learner.expansion().terms[0]
    ghosts = state["basis.ghosts"][there] if "basis.ghosts" in state else np.zeros(len(births))
    np.testing.assert_array_equal(term.ghosts, ghosts)
    assert (~term.ghosts == (term.last.points != 0).any(axis=0)).mean() > 0.5


@loop_by_learner
@cases()
def test_row_by_row(case):
    checks.check_chunks(lambda: case.learner(gamma=0.6, fit_intercept=True, seed=9), *stream(case))


@loop_by_learner
@variants
def test_row_by_row_for_every_variant(case):
    assert_same(case, learned(case), learned(case, range(1, ROWS), pickled=True))


@loop_by_learner
@cases()
@settings(max_examples=8)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=8).map(sorted),
    block_rows=st.sampled_from([1, 7, 48, 96]),
    n_jobs=st.sampled_from([1, 2]),
    batch_size=st.sampled_from([1, 3]),
    pickled=st.booleans(),
)
def test_any_split_block_and_number_of_threads(case, cuts, block_rows, n_jobs, batch_size, pickled):
    whole = learned(case, batch_size=batch_size)
    assert_same(case, whole, learned(case, cuts, block_rows, n_jobs, pickled, batch_size))


@cases(one_task=True, loop=True)
def test_threads_and_blocks_of_predict(case):
    _, learner = learned(case)
    X = stream(case)[0]
    expected = learner.score_rows(X)
    row_by_row = np.concatenate([learner.score_rows(X[i : i + 1]) for i in range(len(X))])
    assert row_by_row.tobytes() == expected.tobytes()
    for block_rows in (1, 7, 48, 96):
        for learner.n_jobs in (1, 2, 3):
            assert learner.score_rows(X, block_rows=block_rows).tobytes() == expected.tobytes()


@loop
@pytest.mark.parametrize("rows", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "kernel",
    [
        parts.RBF(0.3) + 0.1 * parts.Linear(),
        parts.Hedge((parts.RBF(0.3, (1.0, 2.0)), parts.Laplacian(0.2)), "sum", start=20),
        parts.Hedge((parts.RBF(0.3), parts.RBF(0.3) * parts.Laplacian(0.1)), "deterministic"),
    ],
)
def test_rows_that_newton_prepares_ahead(kernel, dtype, rows):
    # rows join while others of their block wait, some of which have no weight
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(250, 6)) * (rng.random((250, 6)) < 0.5)).astype(dtype)
    y, weight = np.sin(X[:, 0] + X[:, 1]).astype(float), rng.choice([0.0, 1.0, 2.0], 250)
    found = set()
    for block_rows in (1, 48, 100):
        recipe = recipes.Newton(loss="squared_error", spread=1.0)
        learner = onkel.Learner(recipe, task="regression", kernel=kernel, budget=60, fit_intercept=True, dtype=dtype)
        scores = learner.learn_rows(rows(X), y, weight, scores=True, block_rows=block_rows)
        found.add((scores.tobytes(), learner.fingerprint()))
    assert len(found) == 1


def test_threads_share_large_matrices_and_tables():
    # what the cases above compute is too little to be shared
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 250))
    recipe = recipes.Newton(loss="squared_error", spread=1.0, forget=1.0)
    learned = []
    for n_jobs in (1, 2, 3):
        learner = onkel.Learner(recipe, task="regression", gamma=0.003, budget=800, n_jobs=n_jobs)
        learned.append(learner.learn_rows(X, np.sin(X[:, 0]), scores=True).tobytes())
    assert len(learner.support()[1]) == 800
    assert len(set(learned)) == 1


@loop
@cases(one_task=True)
def test_pickled_inside_a_mini_batch(case):
    # 100 is inside a batch of 7, whose rows wait and are state
    whole = learned(case, batch_size=7)
    assert_same(case, whole, learned(case, [100], batch_size=7, pickled=True))


@cases(one_task=True, loop=True)
def test_one_row_path(case):
    X, y, _ = stream(case)
    one, many = case.learner(seed=9), case.learner(seed=9)
    many.learn_rows(X, y)
    for x, label in zip(X, y, strict=True):
        one.learn(x, label)
    assert one.fingerprint() == many.fingerprint()
    np.testing.assert_array_equal(np.array([one.score(x) for x in X]).reshape(len(X), -1), many.score_rows(X))


@cases(one_task=True, loop=True)
def test_one_row_path_converts_lists_and_other_types(case):
    X, y, _ = stream(case)
    one, many = case.learner(seed=9), case.learner(seed=9)
    X = X[:20].astype(np.float32)
    many.learn_rows(X, y[:20])
    for i, (x, label) in enumerate(zip(X, y[:20], strict=True)):
        one.learn(x.tolist() if i % 2 else x, float(label))
    assert one.fingerprint() == many.fingerprint()


@cases(one_task=True, loop=True)
def test_decision_function_is_the_next_prediction(case):
    X, y, _ = stream(case)
    model = case.estimator()
    decide = model.predict if case.task == "regression" else model.decision_function
    model.partial_fit(X[:60], y[:60], **case.labels(y))
    for i in range(60, 120):
        before = decide(X[i : i + 1])
        assert before.tobytes() == model.predict_then_learn(X[i : i + 1], y[i : i + 1]).tobytes()


@cases(one_task=True, loop=True)
def test_estimator_calls(case):
    X, y, weight = stream(case)
    whole, parts, threads = case.estimator(), case.estimator(), case.estimator(n_jobs=2)
    expected = whole.predict_then_learn(X, y, **case.labels(y), sample_weight=weight)
    threads.partial_fit(X, y, **case.labels(y), sample_weight=weight)
    scores = []
    for rows in np.array_split(np.arange(len(X)), 7):
        scores.append(parts.predict_then_learn(X[rows], y[rows], **case.labels(y), sample_weight=weight[rows]))
        parts = pickle.loads(pickle.dumps(parts))
    assert np.concatenate(scores).tobytes() == expected.tobytes()
    fingerprints = {model._fingerprint() for model in (whole, parts, threads)}
    assert len(fingerprints) == 1


@cases(one_task=True)
def test_shrinking_over_thousands_of_rows(case):
    # thousands of shrinks fold the scale into the coefficients several times
    X, y = case.data(4000, d=5)
    data = X, y, np.ones(len(X))
    cuts = np.sort(np.random.default_rng(1).integers(0, 4000, 300))
    assert_same(case, learned(case, data=data), learned(case, cuts, data=data))


@cases(dtypes=("float32",), one_task=True)
def test_interrupted_and_continued(case):
    X, y = case.data(2000)
    learner = None

    def stream(rows):
        return X[rows % len(X)], y[rows % len(X)]

    def learn(n):
        nonlocal learner
        learner = case.learner(budget=200, seed=4, n_classes=3)
        given = stream(np.arange(n))
        return lambda: learner.learn_rows(*given), lambda: learner.t

    interrupted_midway(learn)
    t = learner.t
    uninterrupted = case.learner(budget=200, seed=4, n_classes=3)
    uninterrupted.learn_rows(*stream(np.arange(t + 3000)))
    learner.learn_rows(*stream(np.arange(t, t + 3000)))
    assert learner.fingerprint() == uninterrupted.fingerprint()


def test_the_fingerprint_sees_one_bit():
    case = CASES[0]
    _, learner = learned(case)
    state, shown = state_of(learner), []
    learner._core.show(lambda *array: shown.append((*array[:3], array[3].copy())))
    assert {name: values.tobytes() for name, _, _, values in shown} == {k: v.tobytes() for k, v in state.items()}
    assert all((dtype, shape[0]) == (state[name].dtype.str, len(state[name])) for name, dtype, shape, _ in shown)

    def digest():
        found = Digest()
        for array in shown:
            found.show(*array)
        return found.hex()

    assert digest() == learner.fingerprint()
    for name, _, _, values in shown:
        if values.size:
            values[0] ^= 1
            assert digest() != learner.fingerprint(), name
            values[0] ^= 1


@cases(one_task=True, loop=True)
def test_fit_is_a_function_of_its_seed(case):
    X, y, _ = stream(case)
    one, two, other = (
        case.estimator(random_state=seed, n_epochs=2, gamma="scale").fit(X, y)._learner for seed in (0, 0, 1)
    )
    assert one.fingerprint() == two.fingerprint() != other.fingerprint()
    assert one.t == 2 * len(X)


def test_a_flush_ends_a_mini_batch_once():
    recipe = parts.FirstOrder(parts.HingeLoss(), parts.OnGradient(), parts.GradientStep(eta=0.5, lam=0.5), batch_size=3)
    learner = onkel.Learner(recipe)
    rng = np.random.default_rng(0)
    learner.learn_rows(rng.normal(size=(4, 2)), np.array([0.0, 1.0, 0.0, 1.0]))
    waiting = learner.fingerprint()
    learner.flush()
    flushed = learner.fingerprint()
    assert flushed != waiting
    learner.flush()
    assert learner.fingerprint() == flushed


@pytest.mark.parametrize(
    "cls, parameters",
    [
        (onkel.ProjectronClassifier, {}),
        (onkel.ProjectronClassifier, {"aggressive": True}),
        (onkel.BPAClassifier, {"variant": "project"}),
        (onkel.BSGDClassifier, {"maintenance": "project"}),
        (onkel.POLKClassifier, {"budget": 20}),
    ],
)
def test_a_function_from_outside_is_learned_on_from_as_its_copy_is(cls, parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    made = []
    for copies in (False, True):
        model = cls(**{"budget": 8, "gamma": 0.5, "random_state": 0} | parameters).partial_fit(X[:40], y[:40])
        model = onkel.compress(model, n_support=6).model
        for i in range(40, 90):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            if copies:
                model = copy.deepcopy(model)
        made.append(model._fingerprint())
    assert made[0] == made[1]
