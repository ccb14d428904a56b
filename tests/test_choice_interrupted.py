"""A choice that is interrupted is made again before the next row, and no row that was learned from is lost to it."""

import copy

import numpy as np
import pytest

import onkel
from choosing import Chooses, becoming_fine
from interrupting import interrupted_at
from onkel import recipes

SETTINGS = {"budget": 40, "random_state": 0}


@pytest.mark.parametrize("rows", [5, 66, 262, 290])  # while a width, kernels and λ are searched for, and rows replayed
@pytest.mark.parametrize("saved", [False, True])
def test_a_first_choice_goes_on(tmp_path, rows, saved):
    X, y = becoming_fine(600)
    settings = SETTINGS | {"relevances": None, "kernel": "rbf"}
    whole = onkel.NewtonClassifier(**settings).partial_fit(X, y, classes=[0, 1])
    model = onkel.NewtonClassifier(**settings).partial_fit(X[:rows], y[:rows], classes=[0, 1])
    assert rows == 290 or model._choice.job is not None
    with pytest.raises(KeyboardInterrupt), interrupted_at(30):
        model.partial_fit(X[rows:], y[rows:])
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
    X, y = (part[:3600] for part in becoming_fine(5000))
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
