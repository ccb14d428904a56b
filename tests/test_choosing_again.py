"""Newton chooses its kernel again: after a change, at doublings of the stream, and only where it gains by it."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from choosing import CHANGE, Chooses, becoming_fine
from onkel import recipes
from onkel.choice import stages
from onkel.choice.again import CHALLENGER, INCUMBENT, PERIOD, Trial
from onkel.choice.change import BLOCK, RisingLoss
from onkel.choice.competition import Competition
from onkel.choice.rows import Rows, Window, losses_of
from onkel.choice.steps import at_once
from onkel.parts import RBF, LogLoss

N = 4000


def new(task="binary", budget=60, chosen=("gamma", "lam"), n_jobs=1):
    recipe = recipes.Newton(loss="squared_error" if task == "regression" else "log_loss")
    learner = onkel.Learner(recipe, task=task, budget=budget, fit_intercept=True, seed=1, n_jobs=n_jobs)
    return Chooses(learner, chosen)


def in_pieces(learner, X, y, cuts, between, weight=None):
    scores = []
    for piece in np.split(np.arange(len(y)), cuts):
        own = None if weight is None else weight[piece]
        scores.append(learner.learn_rows(X[piece], y[piece], own, scores=True))
        learner = between(learner)
    return np.concatenate(scores), learner


@pytest.fixture(scope="module")
def followed():
    X, y = becoming_fine(N)
    learner = new()
    return X, y, learner.learn_rows(X, y, scores=True), learner


def test_a_kernel_that_was_right_is_replaced_when_the_stream_changes(followed):
    X, y, _, learner = followed
    assert abs(learner.choice.begun - CHANGE) <= 3 * PERIOD
    assert learner.choice.changes and learner.choice.changes[0] > CHANGE + stages.AGAIN
    before = new()
    before.learn_rows(X[:CHANGE], y[:CHANGE])
    assert learner.learner.kernel.gamma >= 4 * before.learner.kernel.gamma
    assert learner.learner.t == len(y)


def test_points_keep_their_positions_in_the_stream(followed):
    X, _, _, learner = followed
    points, positions = learner.learner.support()
    np.testing.assert_array_equal(points, X[positions])
    assert positions.min() >= learner.choice.begun
    assert learner.learner.expansion().t == learner.learner.t
    assert learner.learner.memory_weights_history[0][-1] > learner.choice.begun


@pytest.mark.parametrize("kind", ["dense", "csr", "weighted", "threads"])
def test_the_same_for_any_cuts(followed, kind):
    X, y, expected, whole = followed
    if kind == "csr":
        X = csr_array(X)
    weight = (
        np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y), p=[0.05, 0.9, 0.05]) if kind == "weighted" else None
    )
    if kind in ("csr", "weighted"):
        whole = new()
        expected = whole.learn_rows(X, y, weight, scores=True)
    trial = whole.choice.changes[0] - 10  # the challenger is learning beside the learner
    cuts = sorted([1000, 1025, CHANGE + 7, CHANGE + 300, trial, trial + 20, 3900])
    parts = new(n_jobs=2 if kind == "threads" else 1)
    scores, parts = in_pieces(parts, X, y, cuts, lambda learner: pickle.loads(pickle.dumps(learner)), weight)
    assert scores.tobytes() == expected.tobytes()
    assert parts.fingerprint() == whole.fingerprint()
    assert (parts.choice.changes, parts.choice.begun) == (whole.choice.changes, whole.choice.begun)
    assert parts.learner.kernel == whole.learner.kernel


def test_a_file_of_any_moment_goes_on(followed, tmp_path):
    X, y, expected, whole = followed
    settings = {"budget": 60, "kernel": "rbf", "relevances": None, "ranks": None, "random_state": 1}
    model, seen, scores = onkel.NewtonClassifier(**settings), [], []
    for piece in np.split(np.arange(len(y)), sorted([1500, CHANGE + 500, whole.choice.changes[0] - 10, 3900])):
        scores.append(model.predict_then_learn(X[piece], y[piece], classes=[0, 1]))
        seen.append(model._choice.trial is not None)
        onkel.save(model, tmp_path / "model")
        loaded = onkel.load(tmp_path / "model")
        assert loaded._fingerprint() == model._fingerprint()
        model = loaded
    assert True in seen and False in seen
    assert np.concatenate(scores).tobytes() == expected.tobytes()
    assert model._fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_other_tasks_and_sums_of_kernels(task):
    X, y = becoming_fine(7000)
    y = y * (1 + (X[:, 0] > 0.5)) if task == "multiclass" else 3 * y + X[:, 1]
    whole = new(task, budget=16, chosen=("gamma", "lam", "relevances", "kernel"))
    expected = whole.learn_rows(X, y, scores=True)
    assert whole.choice.begun > 0
    parts = new(task, budget=16, chosen=("gamma", "lam", "relevances", "kernel"))
    scores, parts = in_pieces(parts, X, y, [CHANGE + 900, 5001], lambda learner: pickle.loads(pickle.dumps(learner)))
    assert scores.tobytes() == expected.tobytes()
    assert parts.fingerprint() == whole.fingerprint()


def test_a_challenger_takes_over_only_if_it_is_better():
    rng = np.random.default_rng(0)
    incumbent = rng.exponential(size=400)
    for gain, won in ((0.0, False), (-0.3, False), (0.01, False), (0.3, True)):
        challenger = np.maximum(0, incumbent - gain + 0.5 * rng.normal(size=400))
        trial = Trial(None, 0).with_losses(INCUMBENT, incumbent).with_losses(CHALLENGER, challenger)
        assert trial.is_won is won, gain


def test_a_challenger_that_is_far_better_takes_over_before_the_end():
    rng = np.random.default_rng(0)
    incumbent, challenger = rng.exponential(size=600) + 2, rng.exponential(size=600)
    for gain, far_better in ((2.0, True), (0.1, False)):
        for n in (31, 32, 33, 64, 500, 512):
            losses = [challenger[:n] + gain, challenger[:n] + 0.5 * (incumbent[:n] - 2) * (gain < 1)]
            assert Trial(None, 1024, losses).is_won_early is (far_better and n in (32, 64, 512)), (gain, n)
    trial = Trial(None, 1024, [incumbent[:40], challenger[:40]])
    assert (trial.next_due(900), trial.next_due(1010), Trial(None, 1024).next_due(900)) == (924, 1024, 932)


def moving_stripes(n, rows_a_turn):
    """Stripes that move on by their width in so many rows."""
    X = np.random.default_rng(0).uniform(0, 4, size=(n, 1))
    return X, ((X[:, 0] + np.arange(n) / rows_a_turn) % 2 < 1).astype(float)


def test_a_kernel_that_a_search_finds_gives_way_to_one_that_follows():
    own = onkel.Learner(recipes.Newton(), budget=60, fit_intercept=True, seed=1)
    wide, narrow = RBF(2.0), RBF(1e5)
    for rows_a_turn, found, used in ((100, narrow, wide), (1e9, wide, narrow), (100, wide, wide)):
        X, y = moving_stripes(800, rows_a_turn)
        competition = Competition(own, Rows(X, y, np.ones(len(y))), 1)
        assert at_once(competition.best_kernel(found, used, 0.01)) == wide, rows_a_turn
    X, y = moving_stripes(800, 100)
    wider = at_once(Competition(own, Rows(X, y, np.ones(len(y))), 1).best_kernel(narrow, RBF(32.0), 0.01))
    assert wider.gamma in (2.0, 8.0)


def test_what_moves_is_followed_though_all_rows_together_say_nothing():
    X, y = moving_stripes(3000, 100)
    learner = new(budget=60, chosen=("gamma", "lam", "relevances", "ranks", "kernel"))
    scores = learner.learn_rows(X, y, scores=True)
    given = onkel.Learner(recipes.Newton(), budget=60, fit_intercept=True, seed=1, kernel=RBF(2.0))
    theirs = given.learn_rows(X, y, scores=True)
    mistakes, least = (np.mean((each[:, 0] > 0) != y) for each in (scores, theirs))
    assert mistakes < 1.2 * least


def test_losses_are_those_of_the_classes_known_at_the_row():
    scores = np.random.default_rng(0).normal(size=(6, 4))
    y, known = np.array([0.0, 0.0, 2.0, 1.0, 3.0, 0.0]), [2, 2, 3, 3, 4, 4]
    expected = [np.log(np.exp(row[:k]).sum()) - row[int(own)] for row, own, k in zip(scores, y, known, strict=True)]
    np.testing.assert_allclose(losses_of("multiclass", LogLoss(), scores, y, 2), expected)
    parts = [
        losses_of("multiclass", LogLoss(), scores[:3], y[:3], 2),
        losses_of("multiclass", LogLoss(), scores[3:], y[3:], 3),
    ]
    assert np.concatenate(parts).tobytes() == losses_of("multiclass", LogLoss(), scores, y, 2).tobytes()


def test_where_nothing_changes_nobody_begins_anew():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9000, 2))
    y = np.where(rng.random(9000) < 0.1, X[:, 0] <= 0, X[:, 0] > 0).astype(float)
    learner = new(budget=10)
    learner.learn_rows(X, y)
    assert learner.choice.begun == 0
    assert len(learner.choice.window) == stages.KEPT + 9000 - 8192  # those that came while something is being chosen


@pytest.mark.parametrize("chance", [0.002, 0.05, 0.5])
def test_false_alarms_are_as_rare_as_stated(chance):
    rng = np.random.default_rng(0)
    alarms, blocks = 0, 40 * 3000
    for losses in rng.binomial(BLOCK, chance, size=(40, 3000)) / BLOCK:
        test = RisingLoss()
        for loss in losses.tolist():
            if test.add(loss):
                alarms, test = alarms + 1, RisingLoss()
    assert alarms <= 2 * max(1, blocks / 30_000)


def test_a_loss_that_rises_is_noticed_and_dated():
    rng = np.random.default_rng(0)
    test, rises = RisingLoss(), []
    for i, chance in enumerate([0.05] * 300 + [0.3] * 40):
        if test.add(rng.binomial(BLOCK, chance) / BLOCK):
            rises.append((i, test.blocks))
            break
    ((when, since),) = rises
    assert 300 <= when < 312
    assert abs(when + 1 - since - 300) <= 6


def test_no_more_rows_are_kept_than_stated():
    window = Window(Rows.none(2, "float64", False))
    for i in range(300):
        window = window.extended_by(Rows(np.full((7, 2), float(i)), np.full(7, float(i)), np.ones(7)), 100)
        assert len(window.rows if i % 50 == 0 else window) <= 100
        assert sum(len(piece) for piece in window._pieces) <= 207
    np.testing.assert_array_equal(window.rows.y[-8:], [298.0] + [299.0] * 7)
    assert stages.kept(10, False) == stages.KEPT
    assert stages.kept(10_000, False) == stages.AGAIN


def test_stages():
    assert [stages.next_stage(n) for n in (0, 4, 63, 1024, 4096, 8191, 8192)] == [4, 16, 64, 4096, 8192, 8192, 16384]
    assert stages.next_stage(10, stages.AGAIN) == 256
    assert PERIOD % BLOCK == 0


def test_an_estimator_says_when_another_kernel_took_over(followed):
    X, y, _, learner = followed
    settings = {"budget": 60, "kernel": "rbf", "relevances": None, "ranks": None, "random_state": 1}
    model = onkel.NewtonClassifier(**settings).partial_fit(X, y, classes=[0, 1])
    assert model.changes_ == learner.choice.changes
    assert onkel.NewtonClassifier(**settings, gamma=1.0, lam=0.1).fit(X[:50], y[:50]).changes_ == []


def test_one_record_at_a_time():
    X, y = becoming_fine(3000)
    X[:, 1] *= X[:, 1] > -0.5  # some are absent
    many, one = new(budget=10), new(budget=10)
    for learner in (many, one):
        learner.reach(2)
    for piece in np.split(np.arange(len(y)), [700, 1300]):
        many.learn_rows(csr_array(X[piece]), y[piece])
    rows = csr_array(X)
    for i in range(len(y)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        record = rows.data[part], rows.indices[part], np.array([0, part.stop - part.start], np.int64)
        one.learn_csr(record, y[i : i + 1])
    assert one.fingerprint() == many.fingerprint()
