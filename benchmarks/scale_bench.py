"""Learning over partitions beside one pass (docs/scale.md).

``scale_bench.py accuracy RESULTS.json`` fits the data sets of ONKEL_DATA in one pass, and over 8 and 64 partitions, cut at
random and sorted by class. ``scale_bench.py scale FOLDER`` writes generated Parquet files and fits them on clusters of one
and of two worker processes. Both can be interrupted and go on.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import onkel
from onkel import partitions

ROWS = {"a9a": 32_561, "cod-rna": 30_000, "ijcnn1": 30_000, "magic04": 30_000, "covtype": 30_000, "mnist": 15_000}


def rows_of(name: str):
    """At most so many training rows, in a random order, and at most 20,000 test rows."""
    import newton_data

    if name == "mnist":
        (X, y), (X_test, y_test) = newton_data.load("mnist"), newton_data.load("mnist.t")
    else:
        (X, y), (X_test, y_test) = newton_data.split(name)
    order = np.random.default_rng(5).permutation(len(y))[: ROWS[name]]
    return X[order], y[order], X_test[:20_000], y_test[:20_000]


def accuracy(path: Path, names: list[str], budget: int, seeds: int) -> None:
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        X, y, X_test, y_test = rows_of(name)
        orders = {"random": np.arange(len(y)), "sorted": np.argsort(y, kind="stable")}
        for seed in range(seeds):
            model = onkel.NewtonClassifier(budget=budget, random_state=seed)
            cases = {"one pass": lambda: (model.fit(X, y), None)}
            for order, n in (("random", 8), ("sorted", 8), ("random", 64), ("sorted", 64)):

                def fit(order=order, n=n):
                    parts = [(X[part], y[part]) for part in np.array_split(orders[order], n)]
                    made = partitions.fit(model, parts)
                    return made.model, made.report

                cases[f"{n} {order}"] = fit
            for case, run in cases.items():
                key = f"{name}, {len(y)} rows, {budget} points, seed {seed}: {case}"
                if key in results:
                    continue
                start = time.process_time()
                fitted, report = run()
                seconds = time.process_time() - start
                facts = {"accuracy": 100 * fitted.score(X_test, y_test), "seconds": seconds}
                facts |= {"gamma": float(fitted.gamma_), "lam": fitted.lam_}
                if report is not None:
                    informed = sum(each["information"] for each in report.rounds)
                    facts |= {"rounds": len(report.rounds), "informed": informed, "converged": report.converged}
                results[key] = facts
                path.write_text(json.dumps(results, indent=1))
                print(key, {k: round(v, 3) for k, v in facts.items()}, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("path", type=Path)
    one.add_argument("--sets", nargs="*", default=list(ROWS))
    one.add_argument("--budget", type=int, default=500)
    one.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    accuracy(options.path, options.sets, options.budget, options.seeds)
