"""The data of newton_bench.py, from the folder named by ONKEL_DATA: dense float32 rows, scaled where they are not.

Unscaled sets are standardised (cod-rna to [-1, 1], as in the SPA paper; mnist to [0, 1]). Nothing is shuffled here.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MinMaxScaler, StandardScaler


def folder() -> Path:
    return Path(os.environ["ONKEL_DATA"])


def libsvm(*files: str, n_features: int):
    parts = [load_svmlight_file(str(folder() / f"{file}.bz2"), n_features=n_features) for file in files]
    return np.vstack([X.toarray() for X, _ in parts]), np.concatenate([y for _, y in parts])


def text(file: str, **options) -> np.ndarray:
    """A table whose last column is the class or the target."""
    raw = lzma.decompress((folder() / file).read_bytes()).decode()
    if ".arff" in file:
        raw = raw[raw.lower().index("@data") + 6 :]
    return np.genfromtxt(io.StringIO(raw), delimiter=",", **options)


def idx(name: str) -> np.ndarray:
    raw = gzip.decompress((folder() / name).read_bytes())
    n_axes = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(n_axes)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def magic04():
    table = text("magic04.data.xz", converters={10: lambda label: float(label.strip() == "g")})
    return table[:, :-1], table[:, -1]


def covtype():
    table = text("covtype_norm_subset92962.csv.xz", skip_header=1)
    return table[:, :-1], (table[:, -1] == 2).astype(float)


def abalone():
    sexes = {"M": 0.0, "F": 1.0, "I": 2.0}
    table = text("abalone.arff.xz", converters={0: lambda sex: sexes[sex.strip()]})
    return np.hstack([np.eye(3)[table[:, 0].astype(int)], table[:, 1:-1]]), table[:, -1]


def bike_hour():
    """Hour, season and weather of each row; not the two counts that add up to the target."""
    lines = lzma.decompress((folder() / "bike_hour.csv.xz").read_bytes()).decode().split("\n")
    names = lines[0].strip().split(",")
    wanted = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit", "temp", "atemp", "hum"]
    columns = [names.index(name) for name in [*wanted, "windspeed", "cnt"]]
    table = np.array([[float(line.split(",")[c]) for c in columns] for line in lines[1:] if line])
    return table[:, :-1], table[:, -1]


def table(file: str):
    rows = text(file)
    return rows[:, :-1], rows[:, -1]


def susy():
    """A subset of 10,000 rows; the class comes first."""
    rows = text("susy_small_10k.csv.xz", skip_header=1)
    return rows[:, 1:], rows[:, 0]


TRAINING = {"a9a": 32_561, "pendigits": 7_494}  # rows; the rest of the file pair is the test set
TESTS = {"cod-rna": ("cod-rna.t", 8), "ijcnn1": ("ijcnn1.t", 22)}

# name: (rows and labels, how to scale)
SETS = {
    "a9a": (lambda: libsvm("a9a", "a9a.t", n_features=123), None),
    "cod-rna": (lambda: libsvm("cod-rna", n_features=8), MinMaxScaler((-1, 1))),
    "ijcnn1": (lambda: libsvm("ijcnn1", n_features=22), None),
    "w7a": (lambda: libsvm("w7a", "w7a.t", n_features=300), None),
    "covtype": (covtype, None),
    "magic04": (magic04, StandardScaler()),
    "mnist": (
        lambda: (idx("train-images-idx3-ubyte.gz").reshape(-1, 784) / 255, idx("train-labels-idx1-ubyte.gz")),
        None,
    ),
    "mnist.t": (
        lambda: (idx("t10k-images-idx3-ubyte.gz").reshape(-1, 784) / 255, idx("t10k-labels-idx1-ubyte.gz")),
        None,
    ),
    "madelon": (lambda: libsvm("madelon", n_features=500), StandardScaler()),
    "pendigits": (lambda: libsvm("pendigits", "pendigits.t", n_features=16), StandardScaler()),
    "spambase": (lambda: table("spambase.data.xz"), StandardScaler()),
    "cal.housing": (lambda: table("cal.housing.arff.xz"), StandardScaler()),
    "cal.housing, not scaled": (lambda: table("cal.housing.arff.xz"), None),
    "abalone": (abalone, StandardScaler()),
    "cpu.small": (lambda: table("cpu.small.arff.xz"), StandardScaler()),
    "bike_hour": (bike_hour, StandardScaler()),
    "susy": (susy, StandardScaler()),
    "texture": (lambda: table("texture.dat.xz"), StandardScaler()),
    "german": (lambda: libsvm("german.numer_scale", n_features=24), None),
    "svmguide3": (lambda: libsvm("svmguide3", n_features=22), None),
    "mushrooms": (lambda: libsvm("mushrooms", n_features=112), None),
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows in float32 and labels or targets, in the order of the file."""
    make, scaler = SETS[name]
    X, y = make()
    if scaler is not None:
        X = scaler.fit_transform(X)
    return np.ascontiguousarray(X, np.float32), np.asarray(y, np.float64)


def split(name: str):
    """Training rows and test rows: the sets' own where they have some, else a random fifth for testing.

    Rows are scaled by the training rows. Returns (X, y), (X, y).
    """
    make, scaler = SETS[name]
    X, y = make()
    if name in TESTS:
        file, n_features = TESTS[name]
        train, test = (X, y), libsvm(file, n_features=n_features)
    elif f"{name}.t" in SETS:
        train, test = (X, y), SETS[f"{name}.t"][0]()
    else:
        n = TRAINING.get(name, len(y) * 4 // 5)
        order = np.arange(len(y)) if name in TRAINING else np.random.default_rng(0).permutation(len(y))
        train, test = ((X[part], y[part]) for part in (order[:n], order[n:]))
    if scaler is not None:
        scaler.fit(train[0])
        train, test = ((scaler.transform(X), y) for X, y in (train, test))
    return tuple((np.ascontiguousarray(X, np.float32), np.asarray(y, np.float64)) for X, y in (train, test))
