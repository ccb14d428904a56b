"""Where the default learners stand: `frontier_bench.py RESULTS.json [--ours] [set ...]`.

Held-out rows after one pass over five orders of the training rows, default constructors, against learners that see all
rows as often as they like; with --ours only the default Newton and the isotropic one. Their difference is printed with
its standard error and the goal. Every figure is kept in RESULTS.json as soon as it is known and not measured again.
Rows are scaled as `newton_data.py` says; times are of one core (process time). LightGBM is measured where it is
installed.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import newton_data
import onkel
from newton_bench import Results, timed

REGRESSION = ("abalone", "cpu.small", "bike_hour", "cal.housing")
CLASSES = ("magic04", "spambase", "pendigits", "a9a", "cod-rna", "ijcnn1", "w7a", "covtype", "madelon", "mnist")
SETS = REGRESSION + CLASSES
SEEDS = range(5)
MAX_ROWS = {"covtype": 40_000}  # to learn from
OURS = ("Newton *", "Newton, isotropic *")
GOALS = {"cal.housing": 51_000, "bike_hour": 46, "cpu.small": 2.80, "magic04": 87.6, "covtype": 82.3, "madelon": 65}


def rivals(regression: bool, seed: int) -> dict:
    """Learners by name; those whose name ends in * can go on learning."""
    approximate = {
        "Nyström + linear": (Nystroem, Ridge() if regression else LogisticRegression(max_iter=300)),
        "RBFSampler + SGD *": (
            RBFSampler,
            (SGDRegressor if regression else SGDClassifier)(
                **({} if regression else {"loss": "log_loss"}), random_state=seed
            ),
        ),
    }
    newton = onkel.NewtonRegressor if regression else onkel.NewtonClassifier
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    made = {
        "Newton *": newton(random_state=seed),
        "Newton, isotropic *": newton(random_state=seed, kernel="rbf", relevances=None),
        "HistGradientBoosting": boosting(random_state=seed),
        "linear": Ridge() if regression else LogisticRegression(max_iter=300),
        **{
            name: make_pipeline(kernel(n_components=800, gamma="scale" if kernel is RBFSampler else None), linear)
            for name, (kernel, linear) in approximate.items()
        },
    }
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        made["LightGBM"] = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(
            random_state=seed, n_jobs=1, verbose=-1
        )
    return made


def measured(name: str, learner: str, seed: int) -> dict[str, float]:
    """Return the figures of one learner on one order of the rows."""
    (X, y), (X_test, y_test) = newton_data.split(name)
    order = np.random.default_rng(seed).permutation(len(y))[: MAX_ROWS.get(name)]
    model = rivals(name in REGRESSION, seed)[learner]
    model, seconds = timed(lambda: model.fit(X[order], y[order]))
    figures = {"seconds": seconds, "bytes": float(len(pickle.dumps(model)))}
    predicted = model.predict(X_test)
    if name in REGRESSION:
        return {"rmse": float(np.sqrt(np.mean((predicted - y_test) ** 2))), **figures}
    figures["log loss"] = float(log_loss(y_test, model.predict_proba(X_test)))
    return {"accuracy": 100 * float(np.mean(predicted == y_test)), **figures}


def main() -> None:
    """Measure what is not known yet and print the tables."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    ours, names = "--ours" in sys.argv, [name for name in sys.argv[2:] if name != "--ours"]
    results = Results(Path(sys.argv[1]))
    with threadpool_limits(1):
        for name in names or SETS:
            print(f"\n{name}")
            measure = {learner: [] for learner in (OURS if ours else rivals(name in REGRESSION, 0))}
            for learner, runs in measure.items():
                for seed in SEEDS:
                    key = f"{name}/{learner}/{seed}"
                    runs.append(results.get(key, lambda n=name, m=learner, s=seed: measured(n, m, s)))
                shown = "  ".join(f"{key} {np.mean([run[key] for run in runs]):.6g}" for key in runs[0])
                print(f"  {learner:24} {shown}", flush=True)
            score = "rmse" if name in REGRESSION else "accuracy"
            gains = np.subtract(*([run[score] for run in measure[learner]] for learner in OURS))
            error = np.std(gains, ddof=1) / np.sqrt(len(gains))
            print(f"  default - isotropic      {np.mean(gains):+.6g} +- {error:.3g}, goal {GOALS.get(name, '-')}")


if __name__ == "__main__":
    main()
