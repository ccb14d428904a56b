"""The benchmark of streams that change: the page is printed from its figures, and streams are what they are called."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import stream_bench
        import stream_data
        import stream_rivals
    finally:
        sys.path.remove(str(BENCHMARKS))
    return stream_bench, stream_data, stream_rivals


def test_the_table_of_the_page_is_that_of_the_figures(bench):
    page = (BENCHMARKS.parent / "docs" / "lab" / "streams-that-change.md").read_text()
    printed = page.split("<!-- table -->\n")[1].split("<!-- /table -->")[0]
    assert printed.strip() == bench[0].page(bench[0].Results(bench[0].FIGURES).known)


def test_another_concept_comes_with_the_probability_that_is_stated(bench):
    class Constant:
        def __init__(self, kind):
            self.kind = kind

        def take(self, n):
            return [({"x": float(i)}, self.kind) for i in range(n)]

    for width, least, most in ((1, 0, 0), (400, 50, 150)):
        X, y = bench[1].changing(lambda kind, seed: Constant(kind), 0, 1, width)(3, 2000)
        assert least <= (y[:1000] == 1).sum() <= most and y[-200:].all() and not y[:200].any()
        for kind in (0, 1):
            np.testing.assert_array_equal(X[y == kind, 0], np.arange((y == kind).sum()))


def test_rows_are_standardised_by_those_before_them(bench):
    X = np.random.default_rng(0).normal(5, 3, size=(50, 2))
    Z = bench[2].standardised("SEA", X)
    np.testing.assert_allclose(Z[30], (X[30] - X[:31].mean(axis=0)) / X[:31].std(axis=0))
    assert bench[2].standardised("movingSquares", X) is X


def test_words_are_one_hot(bench):
    class Words:
        def take(self, n):
            return [({"a": 1.5, "b": word}, 0) for word in ("red", "green", "red")]

    X, _ = bench[1].taken(Words(), 3)
    np.testing.assert_array_equal(X, [[1.5, 0, 1], [1.5, 1, 0], [1.5, 0, 1]])
