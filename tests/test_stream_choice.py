"""gamma="stream" and lam="stream": chosen on the first rows, which are the same however they come, and then dropped."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from choosing import Chooses
from looping import loop
from onkel import recipes
from onkel.choice import StreamChoice
from onkel.choice.stages import FIRST
from table import ONE_A_TASK, cases, one_a_task

LAST = FIRST[-1]


def stream(case, n, width=1.0):
    X, y = case.data(n, d=3)
    return X * X.dtype.type(width), y


def new(case):
    return Chooses(onkel.Learner(case.learner().recipe, task=case.task, budget=20, seed=1), ["gamma"])


@loop
@one_a_task
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("cuts", [[1, 3, 4, 5, 9, 64], [63, 200, 257, 1000], [300, 1024]])
def test_the_same_for_any_cuts(case, cuts, sparse):
    X, y = stream(case, 1200)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(X))
    rows = csr_array(X) if sparse else X
    whole, parts, scores = new(case), new(case), []
    expected = whole.learn_rows(rows, y, weight, scores=True)
    for piece in np.split(np.arange(len(X)), cuts):
        made = parts.learn_rows(rows[piece], y[piece], weight[piece], scores=True)
        scores.append(np.pad(made, ((0, 0), (0, expected.shape[1] - made.shape[1]))))
        parts = pickle.loads(pickle.dumps(parts))
    assert np.concatenate(scores).tobytes() == expected.tobytes()
    assert parts.fingerprint() == whole.fingerprint()
    assert parts.learner.kernel == whole.learner.kernel
    assert parts.learner.t == np.count_nonzero(weight)


@loop
@one_a_task
def test_one_row_at_a_time(case):
    X, y = stream(case, 100)
    many, one = new(case), new(case)
    many.learn_rows(X, y)
    for i in range(len(y)):
        one.learn_rows(X[i : i + 1], y[i : i + 1])
    assert one.fingerprint() == many.fingerprint()


@loop
@cases(where=lambda case: case.task == "binary")
def test_every_learner_may_choose_its_width(case, tmp_path):
    X, y = stream(case, 120)
    model = case.estimator(gamma="stream").partial_fit(X[:100], y[:100], **case.labels(y))
    assert model.gamma_ == model._learner.kernel.gamma != 1.0
    onkel.save(model, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[100:], y[100:])
    assert loaded._fingerprint() == model._fingerprint()
    assert loaded.gamma_ == model.gamma_


@loop
@one_a_task
def test_the_last_width_is_that_of_a_plain_learner(case):
    X, y = stream(case, LAST + 2500)
    chosen = new(case)
    expected = chosen.learn_rows(X, y, scores=True)
    assert chosen.choice.complete
    plain = onkel.Learner(
        chosen.learner.recipe,
        task=case.task,
        gamma=chosen.learner.kernel.gamma,
        budget=20,
        seed=1,
        n_classes=3 if case.task == "multiclass" else 1,
    )
    scores = plain.learn_rows(X, y, scores=True)
    assert plain.fingerprint() == chosen.fingerprint()
    assert scores[-100:].tobytes() == expected[-100:].tobytes()
    assert chosen.nbytes == plain.nbytes  # the first rows are gone


@loop
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_it_follows_the_scale_of_the_rows(scale):
    case = ONE_A_TASK[0]
    X, y = stream(case, 1024)
    one, scaled = new(case), new(case)
    one.learn_rows(X, y)
    scaled.learn_rows(X * scale, y)
    # Of a search, whose rounding differs.
    np.testing.assert_allclose(scaled.learner.kernel.gamma * scale**2, one.learner.kernel.gamma, rtol=1e-6)


def test_it_finds_narrow_kernels_and_wide_ones():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1024, 2))
    fine = np.sin(8 * X[:, 0]) * np.sin(8 * X[:, 1]) > 0
    coarse = X.sum(axis=1) + rng.normal(size=1024) > 0
    narrow, wide = (
        onkel.NewtonClassifier(kernel="rbf", relevances=None, random_state=0, shuffle=False).fit(X, y).gamma_
        for y in (fine, coarse)
    )
    assert narrow >= 4 * wide


@loop
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("gamma", ["stream", 3.0])
def test_lam_is_the_same_for_any_cuts(task, gamma):
    X, y = noisy(1100, noise=1.0)
    y = y if task == "regression" else (y > 0).astype(float)
    recipe = recipes.Newton(loss="squared_error" if task == "regression" else "log_loss")
    chosen = ["gamma", "lam"] if gamma == "stream" else ["lam"]
    width = 1.0 if gamma == "stream" else gamma
    whole, parts = (Chooses(onkel.Learner(recipe, task=task, gamma=width, budget=20, seed=1), chosen) for _ in range(2))
    expected = whole.learn_rows(X, y, scores=True)
    scores = []
    for piece in np.split(np.arange(len(X)), [1, 3, 64, 200, 257, 1024]):
        made = parts.learn_rows(X[piece], y[piece], scores=True)
        scores.append(np.pad(made, ((0, 0), (0, expected.shape[1] - made.shape[1]))))
        parts = pickle.loads(pickle.dumps(parts))
    assert np.concatenate(scores).tobytes() == expected.tobytes()
    assert parts.fingerprint() == whole.fingerprint()
    assert (parts.learner.recipe, parts.learner.kernel) == (whole.learner.recipe, whole.learner.kernel)
    assert gamma == "stream" or whole.learner.kernel.gamma == gamma


def noisy(n, noise):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


def test_noise_asks_for_a_larger_lam(tmp_path):
    def fitted(noise, n, **settings):
        X, y = (part[:n] for part in noisy(5000, noise))
        return onkel.NewtonRegressor(gamma=3.0, random_state=0, shuffle=False, **settings).fit(X, y)

    clean, loud = fitted(0.01, 1100), fitted(2.0, 1100)
    assert loud.lam_ >= 10 * clean.lam_
    assert fitted(2.0, 300, kernel="laplacian").lam_ == 0.1
    onkel.save(loud, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    X, y = noisy(5000, 2.0)
    for each in (loud, loaded):
        each.partial_fit(X[1100:], y[1100:])
    assert loaded.lam_ == loud.lam_
    whole = fitted(2.0, 5000)
    assert loaded._fingerprint() == loud._fingerprint() == whole._fingerprint()
    assert len(whole._settled.arrays()["rows.y"]) == LAST  # for another choice


def test_a_fit_chooses_before_it_learns_and_a_stream_after_it_counts_anew():
    X, y = noisy(1500, 0.1)
    whole, parts = (onkel.NewtonRegressor(budget=20, random_state=0).fit(X[:900], y[:900]) for _ in range(2))
    assert whole._choice.begun == 900
    assert whole._settled.window is None  # no row of the fit is kept
    assert whole._choice.due == 900 + 256
    plain = whole._learner.blank()
    plain.in_order = False
    order = whole._order(0, 900)
    plain.learn_rows(X[order], y[order])
    assert plain.score_rows(X).tobytes() == whole._learner.score_rows(X).tobytes()
    whole.partial_fit(X[900:], y[900:])
    for piece in np.split(np.arange(900, 1500), [10, 200, 300]):
        parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[piece], y[piece])
    assert parts._fingerprint() == whole._fingerprint()
    assert len(whole._settled.window) == 600


def test_rows_that_are_all_equal():
    X = np.ones((100, 2))
    model = onkel.NewtonClassifier(random_state=0).fit(X, np.arange(100) % 2)
    assert np.isfinite(model.gamma_)
    assert np.isfinite(model.decision_function(X)).all()


def test_rows_are_kept_until_the_choice_and_counted():
    case = ONE_A_TASK[0]
    X, y = stream(case, 500)
    learner = new(case)
    learner.learn_rows(X, y)
    state = learner.state()
    np.testing.assert_array_equal(state["rows.rows"], X)
    assert learner.nbytes == sum(values.nbytes for values in state.values())


def test_a_function_from_elsewhere_has_its_width():
    case = ONE_A_TASK[0]
    X, y = stream(case, 100)
    model = onkel.OGDClassifier(gamma="stream", random_state=0).partial_fit(X[:50], y[:50], classes=[0, 1])
    small = onkel.compress(model, n_support=5).model
    small.partial_fit(X[50:], y[50:])
    assert small.gamma_ == model.gamma_
    assert small.t_ == 100
    assert small._choice is None


@loop
@pytest.mark.parametrize("held", [np.asarray, csr_array])
def test_numbers_too_large_for_a_width_are_refused_and_change_nothing(held):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.arange(30) % 2
    model = onkel.NewtonClassifier(random_state=0).partial_fit(held(X[:10]), y[:10], classes=[0, 1])
    before = model._fingerprint()
    X[17, 2] = -3e200
    with pytest.raises(ValueError, match=r"X contains -3e\+200 at row 7, column 2, .* at most 1e\+150; scale"):
        model.partial_fit(held(X[10:]), y[10:])
    assert model._fingerprint() == before


def test_what_it_cannot_choose_for():
    with pytest.raises(ValueError, match="rbf"):
        Chooses(onkel.Learner(recipes.OGD(), kernel="poly"), ["gamma"])
    with pytest.raises(ValueError, match="lam"):
        Chooses(onkel.Learner(recipes.OGD()), ["lam"])
    with pytest.raises(ValueError, match="chosen"):
        Chooses(onkel.Learner(recipes.OGD()), ["eta"])
    with pytest.raises(ValueError, match="gamma"):
        onkel.Learner(recipes.OGD(), gamma="wide")
    with pytest.raises(ValueError, match="lam must be a number of at least 0, got 'stream'"):
        onkel.OGDClassifier(lam="stream").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="lam"):
        onkel.NewtonClassifier(lam="large").fit([[0.0], [1.0]], [0, 1])


@loop
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda first: first.pop("weight"), "kept"),
        (lambda first: first["rows"].__setitem__(0, np.nan), "finite"),
        (lambda first: first["weight"].__setitem__(0, 0.0), "positive"),
        (lambda first: first.update(rows=first["rows"][1:]), "kept"),
        (lambda first: [first.update({name: first[name][1:]}) for name in list(first)], "kept"),
    ],
)
def test_first_rows_that_are_none_are_refused(spoil, says):
    X, y = stream(ONE_A_TASK[0], 50)
    learner = new(ONE_A_TASK[0])
    learner.learn_rows(X, y)
    fields = learner.choice.saved()
    fields["rows"] = {name: values.copy() for name, values in fields["rows"].items()}
    spoil(fields["rows"])
    with pytest.raises(ValueError, match=says):
        StreamChoice.from_saved(learner.learner, fields)


def test_a_file_of_long_after_the_last_choice_is_loaded(tmp_path):
    X = np.random.default_rng(0).normal(size=(8300, 2))
    model = onkel.NewtonRegressor(budget=5, forget=0.99, regions=None, random_state=0).partial_fit(X, X[:, 0])
    onkel.save(model, tmp_path / "model")
    again = onkel.load(tmp_path / "model").partial_fit(X[:9], X[:9, 0])
    assert again._fingerprint() == model.partial_fit(X[:9], X[:9, 0])._fingerprint()
