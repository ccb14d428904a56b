"""Streams that are drawn: rows are functions of the seed and their number, and the drift is what it claims to be."""

import numpy as np
import pytest

from looping import loop
from onkel.streams.generators import STREAMS, hyperplane, mixture, switching

every_generator = pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)


def rows(stream):
    parts = list(stream)
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


@loop
@every_generator
def test_chunks_and_places_change_nothing(make):
    X, y = rows(make(1000, seed=5))
    for chunk_rows in (1, 7, 64, 999):
        A, b = rows(make(1000, seed=5, chunk_rows=chunk_rows))
        assert A.tobytes() == X.tobytes()
        assert b.tobytes() == y.tobytes()
    stream = make(seed=5, chunk_rows=10)  # without end
    assert stream.fraction() is None
    stream.seek({"rows": 990, "skipped": 0})
    assert next(stream)[0].tobytes() == X[990:].tobytes()
    assert next(stream)[0].shape == (10, X.shape[1])


@loop
@every_generator
def test_seeds_draw_other_rows_of_the_same_kind(make):
    (X, y), (A, b) = rows(make(1000, seed=1)), rows(make(1000, seed=2))
    assert (X != A).all()
    assert set(y) == set(b)
    assert rows(make(10, dtype="float32"))[0].dtype == np.float32


@loop
@every_generator
def test_bad_parameters(make):
    for options in ({"n_rows": 0}, {"seed": -1}, {"chunk_rows": 0}, {"dtype": "int8"}):
        with pytest.raises(ValueError, match="must be"):
            make(**options)


def test_mixture_has_the_papers_shape():
    X, y = rows(mixture(60_000, seed=1))
    np.testing.assert_allclose(np.bincount(y) / len(y), 0.2, atol=0.01)
    # the best possible classifier knows the modes: it makes about 4 % of errors
    quiet, labels = rows(mixture(2000, seed=1, deviation=1e-9))
    modes = {label: np.unique(quiet[labels == label].round(6), axis=0) for label in range(5)}
    assert [len(found) for found in modes.values()] == [3] * 5
    distances = np.stack([((X[:, None] - modes[k]) ** 2).sum(axis=2) for k in range(5)], axis=1)
    best = np.exp(-distances / (2 * 0.2**2)).sum(axis=2).argmax(axis=1)
    assert 0.03 < np.mean(best != y) < 0.05


def test_hyperplane_turns():
    stream = hyperplane(seed=1, n_features=2, period=1000, noise=0.0, chunk_rows=10)
    for turn, direction in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        stream.seek({"rows": 250 * turn, "skipped": 0})
        X, y = next(stream)
        clear = abs(X @ direction) > 0.1
        np.testing.assert_array_equal(y[clear], (X @ direction > 0)[clear])
    X, y = rows(hyperplane(50_000, n_features=3, period=10**9, noise=0.2))
    height = X[:, 0] + X[:, 2] / np.sqrt(2)
    assert np.mean(y == (height > 0)) == pytest.approx(0.8, abs=0.01)


def test_switching_classes_change_places_at_once():
    X, y = rows(switching(40, seed=1, period=10))
    quarter = X[:, 0] * X[:, 1] > 0
    np.testing.assert_array_equal(y == quarter, np.tile(np.repeat([True, False], 10), 2))
