"""The papers' rule for a gaussian kernel's width: a percentile of the distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import paired_euclidean_distances
from sklearn.utils import check_array, check_random_state

from onkel.utils.validation import check_number


def gamma_from_percentile(
    X: ArrayLike, percentile: float = 20.0, *, n_pairs: int = 20_000, random_state: Any = None
) -> float:
    """Return ``gamma = 1/(2 sigma^2)`` with ``sigma`` a percentile of the distances between random pairs of rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    percentile : float, default=20.0
        The OSKL paper takes the 20th, the sparse KLR paper the 5th.
    n_pairs : int, default=20000
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> 0.1 < onkel.gamma_from_percentile(X, random_state=0) < 0.2
    True
    """
    check_number("percentile", percentile, above=0, at_most=100)
    check_number("n_pairs", n_pairs, at_least=1, integer=True)
    rows = check_array(X, accept_sparse="csr", ensure_min_samples=2)
    rng = check_random_state(random_state)
    first = rng.randint(rows.shape[0], size=n_pairs)
    second = (first + rng.randint(1, rows.shape[0], size=n_pairs)) % rows.shape[0]
    sigma = np.percentile(paired_euclidean_distances(rows[first], rows[second]), percentile)
    if sigma == 0:
        raise ValueError(
            f"X has so many equal rows that the {percentile:g}th percentile of distances is 0; take a higher one"
        )
    return float(1 / (2 * sigma**2))
