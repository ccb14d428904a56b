"""Bounded memory: the budget holds after every row, and many rows leave nothing behind."""

import os
from pathlib import Path

import numpy as np
import pytest

import onkel
from looping import WHOLE, loop
from onkel import checks, recipes
from states import state_of
from table import cases

BUDGET = 8


# the average of a learner that evicts keeps the ghosts of all who left
bounded = {"one_task": True, "where": lambda case: not (case.named.evicts and case.average)}


@loop
@cases(**bounded)
def test_budget_holds_after_every_row(case):
    X, y = case.data(300)
    learner = case.learner(budget=BUDGET, seed=1, n_classes=3)
    most = 0
    for i in range(len(X)):
        learner.learn_rows(X[i : i + 1], y[i : i + 1])
        most = max(most, learner.n_support)
    assert most >= BUDGET  # the bound is reached, not merely respected
    if not case.named.grows:
        checks.check_memory(lambda: case.learner(budget=BUDGET, seed=1, n_classes=3), X, y)


@cases(
    one_task=True, loop=True, where=lambda case: not case.named.evicts and case.named.recipe is not recipes.Projectron
)
def test_a_full_set_admits_nobody(case):
    X, y = case.data(300)
    bounded, free = case.learner(budget=BUDGET, seed=1), case.learner(seed=1)
    for learner in (bounded, free):
        learner.learn_rows(X, y)
    np.testing.assert_array_equal(bounded.support()[1], free.support()[1][:BUDGET])


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc (Linux)")
@cases(
    dtypes=("float32",), one_task=True, where=lambda case: case.average != case.named.evicts and not case.named.grows
)
def test_many_rows_leave_nothing_behind(case):
    # a million, or in a quick run 400,000
    chunk = 50_000 if WHOLE else 20_000
    X, y = case.data(chunk, d=3)
    learner = case.learner(budget=BUDGET, seed=1, n_classes=3)

    def learn_chunk():
        learner.learn_rows(X, y, scores=True)
        learner.score_rows(X[:1000])
        return learner.nbytes, resident_bytes()

    learn_chunk()
    nbytes, resident = learn_chunk()
    for _ in range(18):
        last_nbytes, last_resident = learn_chunk()
    assert learner.t == 20 * chunk
    # The history of the memories' weights has a bound, and not always as many rows.
    n_memories = len(getattr(learner, "memory_weights", ()))
    assert abs(last_nbytes - nbytes) <= (256 * 8 * (1 + n_memories) if n_memories > 1 else 0)
    assert last_resident - resident < 5 * 18 * chunk  # less than 5 bytes a row


@cases(one_task=True, loop=True)
def test_nbytes_counts_the_model(case):
    learner = case.learner()
    assert learner.nbytes == 0
    X, y = case.data(50)
    learner.learn_rows(X, y)
    assert learner.nbytes == sum(values.nbytes for values in state_of(learner).values())
    assert learner.nbytes >= learner.n_support * (X.shape[1] * X.itemsize + 8)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc (Linux)")
def test_copies_share_the_experts_that_neither_has_changed_since():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    expert = onkel.Learner(recipes.Newton(), gamma=1.0, budget=200)
    expert.learn_rows(X, (X[:, 0] > 0).astype(float))
    made = onkel.Learner.of_experts([expert] * 8)
    before = resident_bytes()
    copies = [made.clone() for _ in range(60)]
    assert len(copies) * made.nbytes > 10 * (resident_bytes() - before)
