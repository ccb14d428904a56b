"""The least that learns with a learner about which the stream chooses something, and a stream that changes."""

import numpy as np

from onkel.choice import LearnerHolder
from states import state_of

CHANGE = 2400  # rows after which the stream below becomes another one


def becoming_fine(n, seed=0):
    """A coarse and noisy pattern that becomes a fine one."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    coarse, fine = X.sum(axis=1) + 0.2 * rng.normal(size=n) > 0, np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]) > 0
    return X, np.where(np.arange(n) < CHANGE, coarse, fine).astype(float)


class Chooses(LearnerHolder):
    """A learner and the choice, with the names that the tests of learners use."""

    def __init__(self, learner, chosen, budget=None):
        self._begin_with(learner, chosen, budget)

    learn_rows, learn_csr, reach = LearnerHolder._learn_rows, LearnerHolder._learn_csr, LearnerHolder._reach
    fingerprint, nbytes = LearnerHolder._fingerprint, LearnerHolder._nbytes

    @property
    def learner(self):
        return self._learner

    @property
    def choice(self):
        return self._settled

    def state(self):
        return state_of(self._learner) | self.choice.arrays()
