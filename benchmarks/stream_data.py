"""The streams of stream_bench.py: generated ones by their generator, real ones in the order in which they came.

River's generators stand for MOA's of the same name, whose semantics they have; those below that River does not have are
written down here. A stream with a seed is a fresh draw of its model and its rows; a real one has one order, but for
cal.housing, whose rows have none and are shuffled by the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from river.datasets import synth
from scipy.special import expit

import onkel

ROWS = 20_000
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Stream:
    """How rows are made of a seed and their number; what is predicted; whether rows are standardised as they come."""

    make: Callable[[int, int], Pair]
    regression: bool = False
    scaled: bool = True
    seeds: bool = True  # whether another seed is another stream


def rows_of(stream: str, seed: int) -> Pair:
    """The first rows of a stream, with classes as numbers from 0."""
    X, y = STREAMS[stream].make(seed, ROWS)
    X, y = np.asarray(X, np.float64)[:ROWS], np.asarray(y)[:ROWS]
    return X, y.astype(np.float64) if STREAMS[stream].regression else np.unique(y, return_inverse=True)[1]


# -- River's generators ------------------------------------------------------------------------------------------------


def taken(source: Any, n: int) -> Pair:
    """The rows of one of River's streams, the features in its order; words are one-hot."""
    rows = list(source.take(n))
    columns = [np.array(column) for column in zip(*(x.values() for x, _ in rows), strict=True)]
    words = [column.dtype.kind == "U" for column in columns]
    wide = [np.equal.outer(c, np.unique(c)) if word else c for c, word in zip(columns, words, strict=True)]
    return np.column_stack(wide).astype(float), np.array([y for _, y in rows])


def changing(make: Callable[[int, int], Any], before: int, after: int, width: float) -> Callable[[int, int], Pair]:
    """MOA's ConceptDriftStream: from the middle on another concept, from which a row comes with the probability of a
    logistic function of its number, whose slope there is one over the width. (River's overflows for small widths.)"""

    def made(seed: int, n: int) -> Pair:
        later = np.random.default_rng(seed).random(n) < expit(4 * (np.arange(n) - n // 2) / width)
        both = [taken(make(kind, 2 * seed + i), n) for i, kind in enumerate((before, after))]
        place = np.where(later, np.cumsum(later), np.cumsum(~later)) - 1  # each goes on only where it is asked
        (X, y), (X_later, y_later) = both
        return np.where(later[:, None], X_later[place], X[place]), np.where(later, y_later[place], y[place])

    return made


def agrawal(function: int, seed: int) -> Any:
    return synth.Agrawal(classification_function=function, seed=seed, perturbation=0.05)


def led(drifting: int, seed: int) -> Any:
    return synth.LEDDrift(seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=drifting)


def moving_centres(speed: float) -> Callable[[int, int], Pair]:
    """MOA's RandomRBFGeneratorDrift: 50 centres of five classes in ten dimensions, all of which move."""
    return lambda seed, n: taken(
        synth.RandomRBFDrift(
            seed_model=seed,
            seed_sample=seed + 1,
            n_classes=5,
            n_features=10,
            n_centroids=50,
            change_speed=speed,
            n_drift_centroids=50,
        ),
        n,
    )


def random_tree(seed: int, n: int) -> Pair:
    """MOA's RandomTreeGenerator: five numbers and five categories, which stand in one column each; depth 3 to 5."""
    source = synth.RandomTree(
        seed_tree=seed, seed_sample=seed + 1, n_num_features=5, n_cat_features=5, n_categories_per_feature=5
    )
    return taken(source, n)


# -- streams that River does not have ----------------------------------------------------------------------------------


def rules(seed: int, n: int) -> Pair:
    """50 uniform numbers, of which five matter: a row is of the class if it satisfies one of two rules, of two and of
    three thresholds; 5 % of the labels are turned round."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 50))
    of = rng.permutation(50)[:5]
    low = rng.uniform(0.25, 0.4, 5)
    above = (X[:, of] > low) ^ (rng.random(5) < 0.5)  # either side
    return X, ((above[:, 0] & above[:, 1]) | (above[:, 2] & above[:, 3] & above[:, 4])) ^ (rng.random(n) < 0.05)


def categories(seed: int, n: int) -> Pair:
    """Eight categories of six values, one-hot: the class is that of a table over the first three of them, the halves of
    whose values count; 10 % of the labels are turned round."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (n, 8))
    table = rng.random((6, 6, 6)) < 0.5
    y = table[values[:, 0], values[:, 1], values[:, 2]]
    return np.eye(6)[values].reshape(n, 48), y ^ (rng.random(n) < 0.1)


def steps(seed: int, n: int) -> Pair:
    """30 uniform numbers; the target is a sum of ten steps, one in each of ten of them, and noise of deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 30))
    sizes, places = rng.normal(0, 2, 10), rng.uniform(0.2, 0.8, 10)
    return X, ((X[:, :10] > places) * sizes).sum(axis=1) + rng.normal(size=n)


# -- real ones ---------------------------------------------------------------------------------------------------------


def stored(name: str, shuffled: bool = False) -> Callable[[int, int], Pair]:
    def made(seed: int, n: int) -> Pair:
        X, y = onkel.datasets.load(name)
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
        order = np.random.default_rng(seed).permutation(len(y)) if shuffled else slice(None)
        return X[order][:n], y[order][:n]

    return made


STREAMS = {
    "Agrawal, abrupt": Stream(changing(agrawal, 0, 3, 1)),
    "Agrawal, gradual": Stream(changing(agrawal, 0, 3, 5000)),
    "RBF, fast": Stream(moving_centres(1e-3)),
    "RBF, slow": Stream(moving_centres(1e-4)),
    "rules among 50 features": Stream(rules),
    "one-hot categories": Stream(categories),
    "RandomTree": Stream(random_tree),
    "LED": Stream(changing(led, 0, 7, 1)),
    "SEA": Stream(changing(lambda kind, seed: synth.SEA(variant=kind, noise=0.1, seed=seed), 0, 3, 1)),
    "Hyperplane": Stream(
        lambda seed, n: taken(synth.Hyperplane(seed=seed, n_features=10, n_drift_features=10, mag_change=1e-3), n)
    ),
    "STAGGER": Stream(changing(lambda kind, seed: synth.STAGGER(classification_function=kind, seed=seed), 0, 2, 1)),
    "Sine": Stream(changing(lambda kind, seed: synth.Sine(classification_function=kind, seed=seed), 0, 1, 1)),
    "Mixed": Stream(changing(lambda kind, seed: synth.Mixed(classification_function=kind, seed=seed), 0, 1, 1)),
    "elec": Stream(stored("elec"), seeds=False),
    "outdoorStream": Stream(stored("outdoorStream"), seeds=False),
    "covtype.20k": Stream(stored("covtype.20k"), seeds=False),
    "movingSquares, scaled": Stream(stored("movingSquares"), seeds=False),
    "movingSquares": Stream(stored("movingSquares"), scaled=False, seeds=False),
    "transientChessboard": Stream(stored("transientChessboard"), seeds=False),
    "interchangingRBF": Stream(stored("interchangingRBF"), seeds=False),
    "MV": Stream(lambda seed, n: taken(synth.Mv(seed=seed), n), regression=True),
    "steps of 30 features": Stream(steps, regression=True),
    "Friedman, abrupt": Stream(
        lambda seed, n: taken(synth.FriedmanDrift("gra", position=(n // 3, 2 * n // 3), seed=seed), n), regression=True
    ),
    "Friedman, local": Stream(
        lambda seed, n: taken(synth.FriedmanDrift("lea", position=(n // 4, n // 2, 3 * n // 4), seed=seed), n),
        regression=True,
    ),
    "Friedman, gradual": Stream(
        lambda seed, n: taken(
            synth.FriedmanDrift("gsg", position=(n // 3, 2 * n // 3), transition_window=2000, seed=seed), n
        ),
        regression=True,
    ),
    "bike_hour": Stream(stored("bike"), regression=True, seeds=False),
    "cal.housing, shuffled": Stream(stored("cal.housing", shuffled=True), regression=True),
}
