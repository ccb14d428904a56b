"""onkel beside what else one would try on a table: gradient boosting, a linear model, Nyström features, SVC.

`ONKEL_DATA=folder python benchmarks/peers_bench.py [ROWS]` learns from ROWS rows of each set (5,000), tests on as many
others, and prints accuracy and the CPU seconds of fit and predict. Learners have their defaults; rows are standardised.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import onkel

SETS = ("a9a", "cod-rna", "ijcnn1", "magic04")
PEERS: dict[str, Any] = {
    "NewtonClassifier": lambda d: onkel.NewtonClassifier(random_state=0),
    "gradient boosting": lambda d: HistGradientBoostingClassifier(random_state=0),
    "SVC": lambda d: SVC(),
    "Nyström, 800 + logistic": lambda d: make_pipeline(
        Nystroem(gamma=1 / d, n_components=800, random_state=0), LogisticRegression(max_iter=1000)
    ),
    "logistic regression": lambda d: LogisticRegression(max_iter=1000),
}


def rows_of(name: str, rows: int) -> tuple[Any, Any, Any, Any]:
    X, y = onkel.datasets.load(name)[:2]
    picked = np.random.default_rng(0).permutation(X.shape[0])[: 2 * rows]
    X = X[picked].toarray() if issparse(X) else np.asarray(X)[picked]
    X = StandardScaler().fit(X[:rows]).transform(X)
    return X[:rows], np.asarray(y)[picked][:rows], X[rows:], np.asarray(y)[picked][rows:]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    warnings.simplefilter("ignore")
    print("| | " + " | ".join(SETS) + " |\n|---|" + "---|" * len(SETS), flush=True)
    data = {name: rows_of(name, rows) for name in SETS}
    for peer, make in PEERS.items():
        cells = []
        for X, y, X_new, y_new in data.values():
            start = time.process_time()
            right = make(X.shape[1]).fit(X, y).score(X_new, y_new)
            cells.append(f"{100 * right:.1f} % ({time.process_time() - start:.1f} s)")
        print(f"| {peer} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
