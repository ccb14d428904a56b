"""A kernel of the user's own, called for one row at a time (native/basis/callable.cpp)."""

import numpy as np

import onkel


def test_a_row_has_values_at_the_columns_that_its_own_point_opens():
    # A callable's table has room for the present columns; the average keeps points that leave, and 16 are more than 15.
    rng = np.random.default_rng(83689)
    X = rng.normal(size=(418, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 2] * X[:, 0]
    y = np.digitize(score, np.quantile(score, np.arange(1, 3) / 3))
    y[:209] %= 2

    def kernel(x, points):
        return np.exp(-0.5 * ((x - points) ** 2).sum(axis=1))

    def learned():
        model = onkel.NewtonClassifier(kernel=kernel, gamma=0.5, lam=10**-1.5, budget=15, average=True, random_state=50)
        return model.partial_fit(X[:270], y[:270], classes=[0, 1, 2])._fingerprint()

    assert len({learned() for _ in range(12)}) == 1
