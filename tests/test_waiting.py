"""No row waits for a choice: its work is carried by the rows after it, and its answer put to use at a row of theirs."""

import copy
import pickle

import numpy as np
import pytest

import onkel
from choosing import Chooses, becoming_fine
from growing import carrying
from onkel import _core, recipes
from onkel.choice.job import FIRST, Job


@pytest.fixture
def work(monkeypatch):
    """What searches and learners have done so far, in multiplications."""
    done = [0.0]
    search, learn_rows, learn_prepared = _core.Search, onkel.Learner.learn_rows, onkel.Learner.learn_prepared

    class Counted:
        def __init__(self, *args, **kwargs):
            self._search = search(*args, **kwargs)

        def go_on(self, room):
            before = self._search.spent
            ended = self._search.go_on(room)
            done[0] += self._search.spent - before
            return ended

        def __getattr__(self, name):
            return getattr(self._search, name)

    def counted(learn):
        def learned(learner, rows, y, *args, **kwargs):
            made = learn(learner, rows, y, *args, **kwargs)
            points = learner.n_support
            done[0] += len(y) * points * (3 * points + learner.n_features)
            return made

        return learned

    monkeypatch.setattr(_core, "Search", Counted)
    monkeypatch.setattr(onkel.Learner, "learn_rows", counted(learn_rows))
    monkeypatch.setattr(onkel.Learner, "learn_prepared", counted(learn_prepared))
    return done


@pytest.mark.parametrize("budget", [300, 800])
def test_the_dearest_row_is_as_dear_as_fifty(work, budget):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2200, 6))
    y = np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=len(X)) > 0
    model, rows, questions = onkel.NewtonClassifier(budget=budget, random_state=0), [], set()
    for i in range(len(X)):
        before = work[0]
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[False, True])
        rows.append(work[0] - before)
        questions.add(None if model._choice.job is None else model._choice.job.begun)
    assert {64, 256, 1024} <= questions
    assert max(rows) <= 50 * np.median(rows)


@pytest.mark.parametrize("kind", ["copies", "pickles", "files"])
def test_what_is_being_chosen_goes_on_wherever_it_was(tmp_path, kind):
    def moved(model):
        if kind == "files":
            onkel.save(model, tmp_path / "model")
            return onkel.load(tmp_path / "model")
        return copy.deepcopy(model) if kind == "copies" else pickle.loads(pickle.dumps(model))

    X, y = becoming_fine(900)
    with carrying(2e6):
        whole, parts = (onkel.NewtonClassifier(budget=40, random_state=0) for _ in range(2))
        whole.partial_fit(X, y, classes=[0, 1])
        seen = set()
        for piece in np.split(np.arange(len(y)), [65, 70, 75, 257, 300, 400, 500, 600]):
            parts.partial_fit(X[piece], y[piece], classes=[0, 1])
            seen.add(parts._choice.job is not None)
            before = parts._fingerprint()
            parts = moved(parts)
            assert parts._fingerprint() == before
    assert seen == {True, False}
    assert parts._fingerprint() == whole._fingerprint()


def test_a_question_that_comes_while_another_is_open_waits_for_its_answer():
    X, y = becoming_fine(900)
    with carrying(5e4):
        whole, one = (Chooses(onkel.Learner(recipes.Newton(), budget=40, seed=1), ["gamma", "lam"]) for _ in range(2))
        whole.learn_rows(X, y)
        asked = []
        for i in range(len(y)):
            one.learn_rows(X[i : i + 1], y[i : i + 1])
            job = one.choice.job
            if job is not None and (job.begun, job.n_rows) not in asked:
                asked.append((job.begun, job.n_rows))
    assert asked[:3] == [(4, 4), (16, 16), (64, 64)]
    assert len(asked) == 4 and asked[3][0] == asked[3][1] > 256  # that of row 256
    assert one.fingerprint() == whole.fingerprint()


def test_numbers_that_are_no_question_are_refused():
    job = Job(FIRST, 64, 64, 1, 3)
    assert Job.from_array(job.array(), 70).array().tolist() == [FIRST, 64, 64, 1, 3]
    for place, number in ((0, -3), (1, 71), (1, 0), (2, 65), (2, 0), (3, 0), (4, 0)):
        numbers = job.array()
        numbers[place] = number
        with pytest.raises(ValueError, match="question"):
            Job.from_array(numbers, 70)
    with pytest.raises(ValueError, match="5 whole numbers"):
        Job.from_array(job.array()[:4], 70)
