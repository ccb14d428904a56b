"""A choice that is interrupted is made again before the next row, and no row that was learned from is lost to it."""

import copy

import numpy as np
import pytest

import onkel
from choosing import Chooses, becoming_fine
from interrupting import interrupted_at
from onkel import recipes
from onkel.choice import choosing as module

SETTINGS = {"budget": 40, "random_state": 0}


def interrupted_once(monkeypatch, where, name, number):
    """Let the call of this number of a function end in Ctrl-C, when its work is done."""
    calls, real = [], getattr(where, name)

    def interrupted(*args, **kwargs):
        result = real(*args, **kwargs)
        calls.append(name)
        if len(calls) == number:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(where, name, interrupted)


@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("saved", [False, True])
def test_a_first_choice_is_made_again(monkeypatch, tmp_path, number, saved):
    X, y = becoming_fine(1300)
    whole = onkel.NewtonClassifier(**SETTINGS, relevances=None, kernel="rbf").partial_fit(X, y, classes=[0, 1])
    model = onkel.NewtonClassifier(**SETTINGS, relevances=None, kernel="rbf")
    interrupted_once(monkeypatch, module, "first_learner", number)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, classes=[0, 1])
    assert model.t_ == (4, 16, 64, 256, 1024)[number - 1]
    if saved:
        onkel.save(model, tmp_path / "model")
        model = onkel.load(tmp_path / "model")
    model.partial_fit(X[model.t_ :], y[model.t_ :])
    assert model._fingerprint() == whole._fingerprint()


def test_a_call_that_fails_hands_over_the_scores_of_the_rows_before():
    X, y = becoming_fine(300)
    recipe = recipes.OGD(loss="squared_error")
    learner, twin = (onkel.Learner(recipe, task="regression", kernel="linear") for _ in range(2))
    expected = twin.learn_rows(X[:200], y[:200], scores=True)
    X[200] = 1e60
    learner.started_for(X)
    scores = learner.room_for_scores(y)
    with pytest.raises(ArithmeticError):
        learner.learn_prepared(X, y, into=scores)
    assert learner.t == 200
    assert scores[:200].tobytes() == expected.tobytes()


def new():
    return Chooses(onkel.Learner(recipes.Newton(), budget=60, fit_intercept=True, seed=1), ["gamma", "lam"])


def test_whatever_is_interrupted_later_nothing_is_lost():
    """The loss is watched, a challenger is created, learns beside the learner and takes over."""
    X, y = becoming_fine(3600)
    first = 2500
    half = new()
    half.learn_rows(X[:first], y[:first])
    whole = copy.deepcopy(half)
    with interrupted_at(0) as calls:
        whole.learn_rows(X[first:], y[first:])
    assert whole.choice.changes
    for call in np.linspace(1, calls.made - 5, 16).astype(int):
        model = copy.deepcopy(half)
        with pytest.raises(KeyboardInterrupt), interrupted_at(call):
            model.learn_rows(X[first:], y[first:])
        model.learn_rows(X[model.learner.t :], y[model.learner.t :])
        assert model.fingerprint() == whole.fingerprint(), call
