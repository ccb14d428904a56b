"""forget="stream": several memories on one set of points follow a stream that changes, and keep one that does not."""

import numpy as np
import pytest

import onkel
from onkel import recipes

MEMORIES = [np.inf, 1000.0, 100.0, 10.0]


def turning(n, seed=0, speed=0.01):
    """A boundary that turns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    angle = speed * np.arange(n)
    return X, (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0).astype(float)


def mistakes(forget, X, y, budget=60):
    learner = onkel.Learner(recipes.Newton(forget=forget), gamma=0.5, budget=budget, fit_intercept=True)
    scores = learner.learn_rows(X, y, scores=True)[:, 0]
    return np.mean((scores > 0) != y), learner


def test_the_mixture_is_about_as_good_as_the_best_memory():
    X, y = turning(3000)
    alone = [mistakes(forget, X, y)[0] for forget in (1.0, 0.999, 0.99, 0.9)]
    mixed, learner = mistakes("stream", X, y)
    assert mixed < min(alone) + 0.01 < alone[0] / 3
    assert learner.memory in (10.0, 100.0)


def test_where_nothing_changes_all_rows_count():
    losses = []
    for seed in range(3):
        X, y = turning(3000, seed, speed=0.0)
        y = np.where(np.random.default_rng(1 + seed).random(3000) < 0.1, 1 - y, y)  # else there is little to remember
        mixed, learner = mistakes("stream", X, y)
        losses.append(mixed - mistakes(1.0, X, y)[0])
        assert learner.memory_weights[np.inf] + learner.memory_weights[1000.0] > 0.9
    assert np.mean(losses) < 0.005


def test_rare_rows_of_great_weight_are_remembered_between_each_other():
    rng = np.random.default_rng(0)
    rare = rng.random(4000) < 0.01
    X = rng.normal(size=(4000, 2)) + 2 * rare[:, None]
    found = {}
    for forget in (1.0, "stream"):
        model = onkel.NewtonClassifier(
            gamma=0.1, lam=0.1, budget=60, class_weight="balanced", forget=forget, random_state=0
        )
        right = (model.predict_then_learn(X, rare, classes=[False, True]) > 0) == rare
        found[forget] = (right[rare].mean() + right[~rare].mean()) / 2
    assert found["stream"] > found[1.0] - 0.03 > 0.8


def test_one_surprise_does_not_silence_a_memory():
    X, y = turning(2000, speed=0.0)
    learner = mistakes("stream", X, y)[1]
    sure = X[np.argmax(learner.score_rows(X)[:, 0])]
    before = learner.memory_weights
    learner.learn(sure, 0.0)
    # all of them were surer than a surprise counts, so that it tells them not apart
    for memory, weight in learner.memory_weights.items():
        assert weight == pytest.approx(before[memory], rel=0.1)


def test_the_history_of_the_weights_is_bounded():
    X, y = turning(1500)
    model = onkel.NewtonClassifier(budget=20, gamma=0.5, random_state=0).partial_fit(X, y, classes=[0, 1])
    rows, weights = model.memory_weights_history_
    assert list(model.memory_weights_) == MEMORIES
    assert len(rows) == len(weights) < 256 and rows[-1] > 1400
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(sum(model.memory_weights_.values()), 1)
    assert model.memory_ == max(model.memory_weights_, key=model.memory_weights_.get)
    assert onkel.NewtonClassifier(forget=0.99, gamma=1.0).fit(X[:50], y[:50]).memory_ == 100.0


def test_a_shuffled_fit_has_no_order_to_follow():
    X, y = turning(800)
    stream, keeps = (
        onkel.NewtonClassifier(budget=20, gamma=0.5, forget=forget, random_state=0).fit(X, y)
        for forget in ("stream", 1.0)
    )
    assert list(stream.memory_weights_.values()) == [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_array_equal(stream.decision_function(X), keeps.decision_function(X))
    # the shorter memories start from the same function when rows come in order
    for model in (stream, keeps):
        model.partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(stream.decision_function(X), keeps.decision_function(X))
    X, y = turning(1500, seed=1)
    errors = [np.mean((model.predict_then_learn(X, y) > 0) != y) for model in (stream, keeps)]
    assert errors[0] < errors[1] / 2


def test_a_fit_in_order_follows_it():
    X, y = turning(800)
    fitted = onkel.NewtonClassifier(budget=20, gamma=0.5, shuffle=False, random_state=0).fit(X, y)
    followed = onkel.NewtonClassifier(budget=20, gamma=0.5, random_state=0).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(fitted.decision_function(X), followed.decision_function(X))


@pytest.mark.parametrize("speed", [0.01, 0.0])
def test_points_leave_where_a_short_memory_wins(speed):
    X, y = turning(3000, speed=speed)
    y = np.where(np.random.default_rng(1).random(3000) < 0.05, 1 - y, y)
    learner = mistakes("stream", X, y, budget=15)[1]
    births = learner.support()[1]
    assert len(births) == 15
    full_after = 8 * 15
    renewed = np.mean(births > 5 * full_after)
    assert renewed > 0.5 if speed else renewed < 0.35


def test_a_compressed_model_keeps_its_function_and_follows_again():
    X, y = turning(2000)
    learner = mistakes("stream", X, y)[1]
    smaller = onkel.compress(learner, n_support=30).model
    assert smaller.memory == np.inf  # what is known is the longest memory's
    X, y = X[-1000:], y[-1000:]
    assert np.mean((smaller.score_rows(X[-100:])[:, 0] > 0) == y[-100:]) > 0.85
    scores = smaller.learn_rows(*turning(3000, seed=2), scores=True)[:, 0]
    assert np.mean((scores > 0) != turning(3000, seed=2)[1]) < 0.15
    assert smaller.memory < np.inf


def test_the_average_remembers_points_that_have_left():
    rng = np.random.default_rng(0)
    X, places = rng.normal(size=(600, 2)), rng.normal(size=(5, 2))
    y = np.sin(X[:, 0] + 0.05 * np.arange(600))  # it changes, so that points leave
    settings = {"task": "regression", "gamma": 1.0, "budget": 10}
    recipe = recipes.Newton(loss="squared_error")
    last, averaged = (onkel.Learner(recipe, average=average, **settings) for average in (False, True))
    total = np.zeros((5, 1))  # the first function is 0
    for x, target in zip(X, y, strict=True):
        last.learn(x, target)
        averaged.learn(x, target)
        total += last.score_rows(places)
    assert (last.support()[1] > 300).any()
    np.testing.assert_allclose(averaged.score_rows(places), total / 601, rtol=1e-9, atol=1e-12)
