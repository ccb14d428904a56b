"""Learning over partitions beside one pass (docs/scale.md).

``scale_bench.py accuracy RESULTS.json`` fits the data sets of ONKEL_DATA in one pass, and over 8 and 64 partitions, cut
at random and sorted by class; it can be interrupted. ``scale_bench.py scale FOLDER`` writes generated Parquet files and
fits them on clusters of one and of two worker processes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone

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


CASES = {"one pass": None} | {f"{n} {order}": (n, order) for n in (8, 64) for order in ("random", "sorted")}


def fitted(model, X, y, case):
    """The model, and a report where it was learned over partitions."""
    if case is None:
        return clone(model).fit(X, y), None
    n, order = case
    rows = np.argsort(y, kind="stable") if order == "sorted" else np.arange(len(y))
    done = partitions.fit(model, [(X[part], y[part]) for part in np.array_split(rows, n)])
    return done.model, done.report


def accuracy(path: Path, names: list[str], budget: int, seeds: int) -> None:
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        X, y, X_test, y_test = rows_of(name)
        for seed, (label, case) in itertools.product(range(seeds), CASES.items()):
            key = f"{name}, {len(y)} rows, {budget} points, seed {seed}: {label}"
            if key in results:
                continue
            start = time.process_time()
            model, report = fitted(onkel.NewtonClassifier(budget=budget, random_state=seed), X, y, case)
            seconds = time.process_time() - start
            facts = {"accuracy": 100 * model.score(X_test, y_test), "seconds": seconds}
            facts |= {"gamma": float(model.gamma_), "lam": model.lam_}
            if report is not None:
                informed = sum(each["information"] for each in report.rounds)
                facts |= {"rounds": len(report.rounds), "informed": informed, "converged": report.converged}
            results[key] = facts
            path.write_text(json.dumps(results, indent=1))
            print(key, {k: round(v, 3) for k, v in facts.items()}, flush=True)


def written(folder: Path, n_rows: int, n_files: int) -> list[str]:
    """Parquet files of generated rows of 20 float32 features: two classes, a tenth of the labels wrong."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{i}" for i in range(20)]
    for number in range(n_files):
        path = folder / f"part-{n_rows}-{number:03d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([7, number])
        X = rng.normal(size=(n_rows // n_files, 20)).astype(np.float32)
        score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.5
        y = (score > 0) ^ (rng.random(len(X)) < 0.1)
        pq.write_table(pa.table({**dict(zip(names, X.T, strict=True)), "y": y.astype(np.int8)}), path)
    return sorted(str(path) for path in folder.glob(f"part-{n_rows}-*.parquet"))


def usage() -> tuple[float, float]:
    """The most memory that this process has had, in MB, and its processor time."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def rates(budget: int) -> None:
    """What a row costs on one core, beside the multiply-add peak timed in the same process."""
    from onkel import _core
    from onkel.partitions.spans import Question, Subspace

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4096, 20)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.float64)
    recipe = onkel.recipes.Newton()
    learner = onkel.Learner(recipe, gamma=0.05, fit_intercept=True, dtype="float32")
    space = Subspace(learner, X[:budget])
    n = 192 * 10**6
    start = time.process_time()
    _core.fma_peak(n, "float64")
    peak = n / (time.process_time() - start)
    for informed, adds in ((True, budget**2 + budget * 20), (False, budget * 20)):
        question = Question(space, np.zeros((1, budget + 1)), informed)
        question.of_rows(X[:256], y[:256], None)
        start = time.process_time()
        question.of_rows(X, y, None)
        row = (time.process_time() - start) / len(y)
        print(f"{budget} points, informed {informed}: {1e6 * row:.1f} us a row, {adds / row / peak:.0%} of the peak")


def scale(folder: Path, n_rows: int, n_files: int, budget: int, workers: list[int], rounds: int) -> None:
    import distributed

    from onkel.dask import cluster_of
    from onkel.dask.local import LocalProcesses

    files = written(folder, n_rows, n_files)
    parts = [partitions.FilePartition(file, {"target": "y", "dtype": "float32"}) for file in files]
    for n_workers in workers:
        with LocalProcesses(n_workers) as cluster, distributed.Client(cluster) as client:
            started, times = time.monotonic(), {}

            def tell(phase, done, of, started=started, times=times):
                if done == 0:
                    times.setdefault(phase, []).append(time.monotonic())
                if done == of:
                    times[phase][-1] = time.monotonic() - times[phase][-1]

            model = onkel.NewtonClassifier(budget=budget, gamma=0.05, lam=0.01, random_state=0)
            done = partitions.fit(model, parts, engine=cluster_of(client), tell=tell, rounds=rounds)
            seconds = time.monotonic() - started
            used = list(client.run(usage).values())
            memory, processor = max(most for most, _ in used), [round(spent) for _, spent in used]
            passes = {phase: [round(s, 1) for s in spent] for phase, spent in times.items()}
            print(f"{n_rows} rows, {budget} points, {n_workers} workers: {seconds:.0f} s, passes {passes}")
            print(f"at most {memory:.0f} MB a worker, processor time {processor} s")
            print(done.report, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("path", type=Path)
    one.add_argument("--sets", nargs="*", default=list(ROWS))
    one.add_argument("--budget", type=int, default=500)
    one.add_argument("--seeds", type=int, default=1)
    two = commands.add_parser("scale")
    two.add_argument("folder", type=Path)
    two.add_argument("--rows", type=int, default=10_000_000)
    two.add_argument("--files", type=int, default=16)
    two.add_argument("--budget", type=int, default=1000)
    two.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    two.add_argument("--rounds", type=int, default=100)
    three = commands.add_parser("rates")
    three.add_argument("--budget", type=int, default=1000)
    options = parser.parse_args()
    if options.command == "rates":
        rates(options.budget)
    elif options.command == "accuracy":
        accuracy(options.path, options.sets, options.budget, options.seeds)
    else:
        scale(options.folder, options.rows, options.files, options.budget, options.workers, options.rounds)
