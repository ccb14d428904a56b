"""The SPA paper's data sets for the benchmarks, shuffled with a fixed seed."""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler

from onkel.streams import datasets

PARTS = {"a9a": ["a9a", "a9a.t"], "cod-rna": ["cod-rna"], "ijcnn1": ["ijcnn1"]}


def load(name: str, dtype: str = "float32"):
    """Return sparse rows and labels of -1 and 1; cod-rna is scaled to [-1, 1] as in the paper."""
    try:
        parts = [datasets.load(part) for part in PARTS[name]]
    except (OSError, ImportError) as error:
        sys.exit(str(error))
    X = sp.vstack([X for X, _ in parts]).tocsr()
    y = np.concatenate([y for _, y in parts])
    if name == "cod-rna":
        X = sp.csr_array(MinMaxScaler((-1, 1)).fit_transform(X.toarray()))
    order = np.random.default_rng(0).permutation(X.shape[0])
    return X[order].astype(dtype), y[order]
