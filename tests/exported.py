"""Other programs' side of an export, one reader a format: `READERS[format](exported, X, folder)` returns the scores of
rows, one column per output, and the predictions (None where the format says nothing of them)."""

from __future__ import annotations

import ctypes
import itertools
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from formulas import gram, long, ranked


def read_onnx(model, X, folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [each.name for each in session.get_inputs()]
    inputs = {"X": X} if names == ["X"] else {name: X[:, [i]] for i, name in enumerate(names)}  # a table of numbers
    found = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True))
    predicted = found["prediction" if "prediction" in found else "label"]
    return found.get("scores", predicted).reshape(len(X), -1), predicted


def read_c(text, X, folder):
    folder = Path(tempfile.mkdtemp(dir=folder))  # a library that is loaded under a name stays under it
    (folder / "model.h").write_text(text)
    encode = "double e[MODEL_N_FEATURES]; model_encode((const model_row *)x, e); x = e;" if "_row;" in text else ""
    (folder / "main.c").write_text(
        f'#include "model.h"\nvoid scores(const double *x, double *s) {{ {encode} model_scores(x, s); }}\n'
        f"double predict(const double *x) {{ {encode} return (double)model_predict(x); }}\n"
        "int n_scores(void) { return MODEL_N_SCORES; }\n"
    )
    library = folder / "model.so"
    command = ["gcc", "-O0", "-shared", "-fPIC", str(folder / "main.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    made = ctypes.CDLL(str(library))
    made.predict.restype = ctypes.c_double
    scores = np.empty((len(X), made.n_scores()))
    for x, s in zip(X, scores, strict=True):
        made.scores(x.ctypes.data_as(ctypes.c_void_p), s.ctypes.data_as(ctypes.c_void_p))
    predicted = np.array([made.predict(x.ctypes.data_as(ctypes.c_void_p)) for x in X])
    return scores, predicted


def held_by(region, z):
    """The weights of functions at a row, by their numbers."""
    while "features" in region:
        pairs = zip(region["features"], region["thresholds"], strict=True)
        region = region["lower" if all(z[j] <= c for j, c in pairs) else "upper"]
    return dict(zip(region["functions"], region["weights"], strict=True))


def read_json(text, X, folder):
    read = json.loads(text)
    X = long(X)
    if read["columns"] is not None:  # of numbers without gaps, here
        X = (X - long([c["shift"] for c in read["columns"]])) * long([c["factor"] for c in read["columns"]])
    Z = (X - long(read["shift"])) * long(read["factor"])
    points = long(read["points"]).reshape(-1, Z.shape[1])
    each = []
    for function in read["functions"]:
        terms = [(t["weight"], [(f.pop("name"), f) for f in map(dict, t["factors"])]) for t in function["kernel"]]
        own = points if function["places"] is None else points[function["places"]]
        scores = gram(terms, Z, own) @ long(function["coefficients"]).T + long(function["constants"])
        each.append((function["weight"], scores))
    if read["random_features"] is not None:
        frequencies, phases, waves = (
            long(read["random_features"][k]) for k in ("frequencies", "phases", "coefficients")
        )
        curves = read["functions"][0]["kernel"][0]["factors"][0].get("ranks") or []
        seen = ranked(Z, [() if curve is None else (curve["at"], curve["values"]) for curve in curves])
        waved = np.sqrt(long(2) / len(phases)) * np.cos(seen @ frequencies.T + phases) @ waves.T
        each[0] = (each[0][0], each[0][1] + waved)
    if read["combination"] == "vote" and read["task"] == "binary":
        each = [(weight, np.sign(scores)) for weight, scores in each]
    elif read["combination"] == "vote":
        each = [(w, np.eye(s.shape[1])[s.argmax(axis=1)] * s.any(axis=1, keepdims=True)) for w, s in each]
    if read["combination"] == "regions":
        held = [held_by(read["regions"], z) for z in Z]
        each = [(np.array([row.get(k, 0.0) for row in held])[:, None], scores) for k, (_, scores) in enumerate(each)]
    scores = sum(weight * scores for weight, scores in each).astype(np.float64)
    if read["task"] == "regression":
        return scores, np.exp(scores[:, 0]) if read["exponential"] else scores[:, 0]
    index = (scores[:, 0] > 0).astype(int) if read["task"] == "binary" else scores.argmax(axis=1)
    return scores, np.array(read["classes"])[index]


_LIBSVM_KERNELS = {"rbf": "rbf", "linear": "linear", "polynomial": "poly", "sigmoid": "sigmoid"}


def read_libsvm(text, X, folder):
    """As LIBSVM's svm.cpp decides: a function for each two classes, and a vote."""
    head, _, body = text.partition("SV\n")
    facts = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    name = _LIBSVM_KERNELS[facts["kernel_type"][0]]
    numbers = {key: float(facts[key][0]) for key in ("gamma", "coef0", "degree") if key in facts}
    n_classes = int(facts["nr_class"][0])
    lines = [line.split() for line in body.splitlines()]
    coefficients = long([[float(word) for word in line[: n_classes - 1]] for line in lines]).T
    points = np.zeros((len(lines), X.shape[1]), np.longdouble)
    for point, line in zip(points, lines, strict=True):
        for word in line[n_classes - 1 :]:
            feature, _, value = word.partition(":")
            point[int(feature) - 1] = float(value)
    values = gram([(1.0, [(name, numbers)])], long(X), points)
    rho = [float(word) for word in facts["rho"]]
    if facts["svm_type"] == ["epsilon_svr"]:
        scores = (values @ coefficients[0] - rho[0]).astype(np.float64)
        return scores[:, None], scores
    labels = np.array([int(word) for word in facts["label"]])
    starts = np.cumsum([0, *map(int, facts["nr_sv"])])
    votes = np.zeros((len(X), n_classes))
    for (i, j), offset in zip(itertools.combinations(range(n_classes), 2), rho, strict=True):
        of_i, of_j = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        decision = values[:, of_i] @ coefficients[j - 1, of_i] + values[:, of_j] @ coefficients[i, of_j] - offset
        votes[np.arange(len(X)), np.where(decision > 0, i, j)] += 1
    return None, labels[votes.argmax(axis=1)]


READERS = {"onnx": read_onnx, "c": read_c, "json": read_json, "libsvm": read_libsvm}
