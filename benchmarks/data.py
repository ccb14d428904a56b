"""The papers' data sets for the benchmarks, read from the folder named by ONKEL_DATA, shuffled with a fixed seed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MinMaxScaler

FILES = {"a9a": (["a9a", "a9a.t"], 123), "cod-rna": (["cod-rna"], 8), "ijcnn1": (["ijcnn1"], 22)}


def folder() -> Path:
    """Where the data are; leaves with a sentence when nobody said."""
    if "ONKEL_DATA" not in os.environ:
        print("Set ONKEL_DATA to the folder with the data sets (a9a.bz2, cod-rna.bz2, ijcnn1.bz2) to run this one.")
        sys.exit()
    return Path(os.environ["ONKEL_DATA"])


def load(name: str, dtype: str = "float32"):
    """Return sparse rows and labels of -1 and 1; cod-rna is scaled to [-1, 1] as in the SPA paper."""
    files, n_features = FILES[name]
    parts = [load_svmlight_file(str(folder() / f"{file}.bz2"), n_features=n_features) for file in files]
    X = sp.vstack([X for X, _ in parts]).tocsr()
    y = np.concatenate([y for _, y in parts])
    if name == "cod-rna":
        X = sp.csr_matrix(MinMaxScaler((-1, 1)).fit_transform(X.toarray()))
    order = np.random.default_rng(0).permutation(X.shape[0])
    return X[order].astype(dtype), y[order]
