"""Cells of the sparse KLR paper's experiments: the batch learners against time, and a text kernel."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import cross_val_score

import onkel
from onkel import evaluate
from onkel.parts import Polynomial
from onkel_papers._cells import Result, summary
from onkel_papers._data import shuffled
from onkel_papers.batch import DCDClassifier, LBFGSClassifier, PCDClassifier

_TEXT = Polynomial(gamma=1.0, coef0=1.0, degree=2)  # (x·x' + 1)²


def best_lambda(*, data: Result, gamma: float, grid: list[float], rows: int) -> Result:
    """Return the λ of a grid for which the batch solution has the smallest error in 5-fold cross-validation."""
    drawn = shuffled(data, 0, rows)
    X = _dense(drawn.X)
    scores = [cross_val_score(LBFGSClassifier(lam=lam, gamma=gamma, tol=1e-3), X, drawn.y, cv=5).mean() for lam in grid]
    return {"lam": grid[int(np.argmax(scores))], "accuracies": scores}


def descent(*, data: Result, seed: int, method: str, gamma: float, lam: float, sweeps: int, rows: int | None) -> Result:
    """Minimise by PCD or DCD; test after 1, 2, 4, ... blocks of coordinates and after each sweep."""
    drawn = shuffled(data, seed, rows)
    X, X_test, X_sample = map(_dense, (drawn.X, drawn.X_test, drawn.sample[0]))
    make = {"PCD": PCDClassifier, "DCD": DCDClassifier}[method]
    est = make(lam=lam, gamma=gamma, tol=1e-3, max_sweeps=sweeps, random_state=seed)
    columns: dict[str, list[float]] = {name: [] for name in ("rows", "seconds", "n_support", "held_out")}
    seconds, due, sweep = 0.0, 1, 1
    start = time.process_time()
    for n_blocks, _ in enumerate(est.steps(X, drawn.y), 1):
        seconds += time.process_time() - start
        if n_blocks == due or est.n_iter_ > sweep:
            due, sweep = max(due, 2 * n_blocks), est.n_iter_
            held_out = float(est.score(X_sample, drawn.sample[1]))
            for column, value in zip(columns.values(), (len(drawn.y), seconds, est.n_support_, held_out), strict=True):
                column.append(value)
        start = time.process_time()
    accuracy = 100 * float(est.score(X_test, drawn.y_test))
    done = {"gap": est.gap_, "sweeps": est.n_iter_}
    return {**summary(drawn, int(est.n_support_), seconds, accuracy=accuracy), "curve": columns, **done}


def text(*, data: Result, seed: int, recipe: str, numbers: dict[str, Any], budget: int | None = None) -> Result:
    """Run a learner with the kernel ``(x·x' + 1)²`` over the training rows; test it on the held-out rows."""
    drawn = shuffled(data, seed)
    rule = getattr(onkel.recipes, recipe)(**numbers)
    constant = recipe == "Newton"  # as in every table
    est = onkel.KernelClassifier(rule, kernel=_TEXT, budget=budget, fit_intercept=constant, random_state=seed)
    curve = evaluate.progressive(est, [(drawn.X, drawn.y)], classes=[-1, 1], clock=time.process_time)
    accuracy = 100 * float(est.score(drawn.X_test, drawn.y_test))
    return summary(drawn, int(est.n_support_), curve.last.seconds, accuracy=accuracy)


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X
