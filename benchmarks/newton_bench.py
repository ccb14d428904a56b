"""What the second-order learner reaches, and how fast: `newton_bench.py [RESULTS.json [part ...]]`.

Parts: progressive, grid, heldout, regression, speed, flat. Every figure is kept in RESULTS.json as soon as it is known
and not measured again, so that a run can be cut short and taken up; the tables are printed at the end. The parameters
that were found for the rivals are in newton_rivals.json beside this file. Times are of one core
(process time); nothing is set for a data set but the budget. Without arguments only the speed is measured.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import newton_data
import onkel
from onkel import _core
from onkel.choice.rows import median_distance

RIVALS = Path(__file__).with_name("newton_rivals.json")
# data: (budget, goal in %, what the design's prototype had)
PROGRESSIVE = {
    "a9a": (1350, 84.7, 84.7),
    "cod-rna": (822, 95.3, 95.2),
    "ijcnn1": (1000, 97.8, 97.7),
    "w7a": (175, 98.2, 98.2),
    "covtype": (1510, 82.5, 81.9),
    "magic04": (962, 86.6, 86.5),
}
SEEDS = range(10, 15)  # none of those that the defaults were found with
MNIST = (1086, 2.3, 2.6)
CLASSES = ("a9a", "cod-rna", "ijcnn1", "pendigits", "spambase", "magic04")
TIMED = ("a9a", "cod-rna", "ijcnn1")
SHAPES = ((1350, 123), (1000, 22), (822, 8))  # budgets and features of the timed sets
TARGETS = ("abalone", "cpu.small", "bike_hour", "cal.housing")


class Results:
    """Figures by name, on disk as soon as they are known."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known = self.on_disk()

    def on_disk(self) -> dict:
        return json.loads(self.path.read_text()) if self.path is not None and self.path.exists() else {}

    def get(self, name: str, measure, *, anew: bool = False):
        if anew or name not in self.known:
            value = measure()
            self.known = self.on_disk() | {name: value}
            if self.path is not None:
                whole = self.path.with_name(f"{self.path.name}.new")  # a run that is cut short leaves no half of a file
                whole.write_text(json.dumps(self.known, indent=1, sort_keys=True))
                whole.replace(self.path)
                print(name, value, flush=True)
        return self.known[name]


def timed(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


# -- progressive accuracy ---------------------------------------------------------------------------------------------


def progressive(name: str, seed: int, **settings) -> dict[str, float]:
    X, y = newton_data.load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    model = onkel.NewtonClassifier(budget=PROGRESSIVE[name][0], random_state=seed, **settings)
    classes = np.unique(y)
    scores, seconds = timed(lambda: model.predict_then_learn(X[order], y[order], classes=classes))
    right = classes[(scores > 0).astype(int)] == y[order]
    later = right[len(right) // 2 :]
    return {
        "accuracy": 100 * right.mean(),
        "later": 100 * later.mean(),
        "seconds": seconds,
        "gamma": model.gamma_,
        "lam": model.lam_,
    }


def mnist(seed: int) -> dict[str, float]:
    X, y = newton_data.load("mnist")
    order = np.random.default_rng(seed).permutation(len(y))
    model = onkel.NewtonClassifier(budget=MNIST[0], random_state=seed)
    _, seconds = timed(lambda: model.partial_fit(X[order], y[order], classes=np.arange(10.0)))
    X, y = newton_data.load("mnist.t")
    return {"error": 100 * (model.predict(X) != y).mean(), "seconds": seconds, "gamma": model.gamma_, "lam": model.lam_}


def report_progressive(results: Results, seeds: range) -> None:
    print(f"\nProgressive accuracy in %, one pass, mean and sd of {len(seeds)} permutations, default constructor")
    rows = {
        name: [results.get(f"progressive/{name}/{s}", lambda n=name, s=s: progressive(n, s)) for s in seeds]
        for name in PROGRESSIVE
    }
    rows["a9a at gamma 0.4"] = [
        results.get(f"progressive/a9a-0.4/{s}", lambda s=s: progressive("a9a", s, gamma=0.4)) for s in seeds
    ]
    for name, runs in rows.items():
        budget, goal, prototype = PROGRESSIVE.get(name, (1350, 83.8, 83.7))
        accuracy = [run["accuracy"] for run in runs]
        chosen = ", ".join(f"{run['gamma']:.3g}/{run['lam']:.2g}" for run in runs)
        print(
            f"{name:17} budget {budget:5}  {np.mean(accuracy):.2f} ± {np.std(accuracy):.2f}  goal {goal}  prototype "
            f"{prototype}  second half {np.mean([r['later'] for r in runs]):.2f}  "
            f"{np.mean([r['seconds'] for r in runs]):.1f} s  gamma/lam {chosen}"
        )
    errors = [results.get(f"mnist/{s}", lambda s=s: mnist(s)) for s in seeds]
    print(
        f"mnist test error  budget {MNIST[0]:5}  {np.mean([r['error'] for r in errors]):.2f} ± "
        f"{np.std([r['error'] for r in errors]):.2f}  goal {MNIST[1]}  prototype {MNIST[2]}  "
        f"{np.mean([r['seconds'] for r in errors]):.1f} s"
    )


def report_grid(results: Results, seed: int) -> None:
    print("\nThe default constructor, and the best of 15 pairs of γ and λ found by looking, on the same permutation")
    for name in PROGRESSIVE:
        ours = results.get(f"progressive/{name}/{seed}", lambda n=name: progressive(n, seed))
        pairs = [(ours["gamma"] * factor, lam) for factor in (0.25, 0.5, 1.0, 2.0, 4.0) for lam in (0.003, 0.01, 0.03)]
        runs = {
            pair: results.get(
                f"grid/{name}/{seed}/{pair[0]:.3g}/{pair[1]:.3g}",
                lambda n=name, p=pair: progressive(n, seed, gamma=p[0], lam=p[1]),
            )["accuracy"]
            for pair in pairs
        }
        gamma, lam = max(runs, key=runs.get)
        print(
            f"{name:12} default {ours['accuracy']:.2f} (γ {ours['gamma']:.3g}, λ {ours['lam']:.2g}) best of a grid "
            f"{runs[gamma, lam]:.2f} (γ {gamma:.3g}, λ {lam:.2g})"
        )


# -- rivals that see all rows at once ---------------------------------------------------------------------------------


def tuned(name: str) -> dict[str, dict[str, float]]:
    """Parameters of the batch learners, found with 3 folds on 5,000 training rows unless they are known."""
    found = json.loads(RIVALS.read_text()) if RIVALS.exists() else {}
    if name not in found:
        (X, y), _ = newton_data.split(name)
        rows = np.random.default_rng(1).permutation(len(y))[:5000]
        X, y = X[rows], y[rows]
        widths = (2.0 ** np.arange(-5, 4, 2) / median_distance(X)).tolist()
        if name not in TARGETS:
            searches = {"SVC": (SVC(cache_size=500), {"C": (10.0 ** np.arange(6)).tolist(), "gamma": widths})}
        else:
            y = (y - y.mean()) / y.std()
            searches = {
                "KernelRidge": (KernelRidge(kernel="rbf"), {"alpha": [0.001, 0.01, 0.1, 1.0], "gamma": widths}),
                "SVR": (SVR(cache_size=500), {"C": [1.0, 10.0, 100.0], "gamma": widths}),
            }
        found[name] = {
            kind: GridSearchCV(model, grid, cv=3).fit(X, y).best_params_ for kind, (model, grid) in searches.items()
        }
        RIVALS.write_text(json.dumps(found, indent=2) + "\n")
        print(name, found[name], flush=True)
    return found[name]


def fitted(model, name: str) -> dict[str, float]:
    (X, y), (X_test, y_test) = newton_data.split(name)
    model, seconds = timed(lambda: model.fit(X, y))
    predicted = model.predict(X_test)
    if name in CLASSES:
        return {"accuracy": 100 * float(np.mean(predicted == y_test)), "seconds": seconds}
    return {"rmse": float(np.sqrt(mean_squared_error(y_test, predicted))), "seconds": seconds}


def newton(name: str, seeds: range, **settings) -> dict[str, float]:
    make = onkel.NewtonClassifier if name in CLASSES else onkel.NewtonRegressor
    runs = [fitted(make(random_state=seed, **settings), name) for seed in seeds]
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def report_heldout(results: Results, seeds: range) -> None:
    print("\nAccuracy in % on held-out rows after one pass, default constructor, and a tuned SVC that sees all rows")
    for name in CLASSES:
        svc = results.get(f"heldout/{name}/SVC", lambda n=name: fitted(SVC(cache_size=500, **tuned(n)["SVC"]), n))
        ours = results.get(f"heldout/{name}/default", lambda n=name: newton(n, seeds))
        line = f"{name:12} Newton {ours['accuracy']:.2f}  SVC {svc['accuracy']:.2f}  difference "
        line += f"{ours['accuracy'] - svc['accuracy']:+.2f}  time {ours['seconds'] / svc['seconds']:.3f} of the SVC's "
        line += f"{svc['seconds']:.1f} s"
        if name in TIMED:
            budget = PROGRESSIVE[name][0]
            large = results.get(f"heldout/{name}/{budget}", lambda n=name, b=budget: newton(n, seeds, budget=b))
            line += f"; budget {budget}: {large['accuracy']:.2f}, time {large['seconds'] / svc['seconds']:.3f}"
        print(line)


def report_regression(results: Results, seeds: range) -> None:
    print("\nRMSE on held-out rows after one pass, default constructor, and tuned batch learners")
    for name in TARGETS:
        rivals = {}
        for kind, estimator in (("KernelRidge", KernelRidge(kernel="rbf")), ("SVR", SVR(cache_size=500))):
            scaled = TransformedTargetRegressor(estimator.set_params(**tuned(name)[kind]), transformer=StandardScaler())
            rivals[kind] = results.get(f"regression/{name}/{kind}", lambda n=name, m=scaled: fitted(m, n))["rmse"]
        ours = results.get(f"regression/{name}/default", lambda n=name: newton(n, seeds))
        line = f"{name:12} Newton {ours['rmse']:.4g}  " + "  ".join(f"{k} {v:.4g}" for k, v in rivals.items())
        print(f"{line}  ratio to the best {ours['rmse'] / min(rivals.values()):.3f}")


# -- speed ------------------------------------------------------------------------------------------------------------


def peak(dtype: str) -> float:
    """Multiply-adds a second."""
    n = 192 * 1_000_000
    return n / timed(lambda: _core.fma_peak(n, dtype))[1]


def share_of_peak(budget: int, width: int, dtype: str) -> dict[str, float]:
    """B d multiply-adds a row and 2.5 B^2 a second-order row, over the peak of the same process."""
    X, y = generated(8 * budget, width, dtype, seed=0)
    recipe = onkel.recipes.Newton(spread=1.0)
    learner = onkel.Learner(recipe, gamma=1.0, budget=budget, fit_intercept=True, dtype=dtype)
    learner.learn_rows(X, y)
    rates, peaks, shares = [], {"float32": 0.0, "float64": 0.0}, []
    for turn in range(8):
        X, y = generated(1000, width, dtype, seed=turn + 1)
        before = learner._core.save()["update.steps"][0]
        _, seconds = timed(lambda X=X, y=y: learner.learn_rows(X, y))
        hard = learner._core.save()["update.steps"][0] - before
        rates.append((len(y) * budget * width + 2.5 * budget**2 * hard) / seconds)
        shares.append(hard / len(y))
        peaks = {kind: max(known, peak(kind)) for kind, known in peaks.items()}
    return {"hard": float(np.mean(shares)), **{kind: max(rates) / known for kind, known in peaks.items()}}


def generated(n: int, width: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit variance in all, and labels of a curved boundary with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) / np.sqrt(width)
    curve = np.sin(3 * np.sqrt(width) * X[:, 0]) + width * X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X.astype(dtype), (curve > 0).astype(float)


def flat() -> list[float]:
    """Rows a second of process time over a generated stream of a million rows, 50,000 at a time."""
    rng = np.random.default_rng(0)
    learner = onkel.Learner(onkel.recipes.Newton(), gamma=0.2, budget=500, fit_intercept=True, dtype="float32")
    rates = []
    for _ in range(20):
        X = rng.normal(size=(50_000, 10)).astype(np.float32)
        y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X)) > 0).astype(float)
        rates.append(len(X) / timed(lambda X=X, y=y: learner.learn_rows(X, y))[1])
    return rates


def report_speed(results: Results) -> None:
    print("\nMultiply-adds a second over the peak of the same process (B d a row and 2.5 B^2 a second-order row)")
    for budget, width in SHAPES:
        for dtype in ("float32", "float64"):
            share = results.get(f"speed/{budget}/{width}/{dtype}", lambda a=(budget, width, dtype): share_of_peak(*a))
            print(
                f"budget {budget:4}, {width:3} features in {dtype}, {share['hard']:.0%} second-order rows: "
                f"{share['float32']:.0%} of the float32 peak, {share['float64']:.0%} of the float64 peak"
            )


def report_flat(results: Results) -> None:
    rates = results.get("flat", flat)
    print(f"\nRows a second, budget 500: {rates[1]:,.0f} up to row 100,000, {rates[-1]:,.0f} up to row 1,000,000")


PARTS = {
    "progressive": lambda results: report_progressive(results, SEEDS),
    "grid": lambda results: report_grid(results, SEEDS[0]),
    "heldout": lambda results: report_heldout(results, SEEDS),
    "regression": lambda results: report_regression(results, SEEDS),
    "speed": report_speed,
    "flat": report_flat,
}


def main() -> None:
    results = Results(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    with threadpool_limits(1):
        for part in sys.argv[2:] or (PARTS if len(sys.argv) > 1 else ("speed", "flat")):
            PARTS[part](results)


if __name__ == "__main__":
    main()
