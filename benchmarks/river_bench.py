"""Records a second in River's protocol, predict_one then learn_one, at 10 features and 200 support vectors.

Beside onkel's learners run River's own: a nearest-neighbour classifier with a window of 200 (the peer that keeps
points), a linear one and a tree. All in one process on the same records; times are CPU times, the best of three. The
goal is 20,000 records a second.
"""

import time
from collections.abc import Iterator

import numpy as np
from river import linear_model, neighbors, tree

from figures import Figure, main, state
from onkel import recipes
from onkel.river import KernelClassifier, PlattClassifier

GOAL = 20_000
BUDGET, FEATURES, RECORDS = 200, 10, 6_000


def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(RECORDS, FEATURES))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=RECORDS) > 0
    names = [f"feature {j}" for j in range(FEATURES)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def of(recipe, **settings):
    return KernelClassifier(recipe, gamma=0.1, budget=BUDGET, seed=0, **settings)


MODELS = {
    "Forgetron": lambda: of(recipes.Forgetron()),
    "Projectron": lambda: of(recipes.Projectron()),
    "NORMA": lambda: of(recipes.NORMA()),
    "SPA": lambda: of(recipes.SPA(beta=5.0)),
    "Newton": lambda: of(recipes.Newton()),
    "Forgetron, Platt": lambda: PlattClassifier(of(recipes.Forgetron())),
    "river KNNClassifier": lambda: neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=BUDGET)),
    "river LogisticRegression": lambda: linear_model.LogisticRegression(),
    "river HoeffdingTree": lambda: tree.HoeffdingTreeClassifier(),
}


def measure(make, X, y):
    """Records a second of a model whose budget is full."""
    model, rates = make(), []
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    for _ in range(3):
        began = time.process_time()
        for x, label in zip(X, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)
        rates.append(len(X) / (time.process_time() - began))
    return max(rates)


def figures() -> Iterator[Figure]:
    X, y = records()
    rates = {}
    for name, make in MODELS.items():
        few = slice(0, RECORDS // 6) if "KNN" in name else slice(None)  # it is slow
        rates[name] = measure(make, X[few], y[few])
        goal = None if name.startswith("river") else GOAL
        yield state(f"{name}, {BUDGET} points: learn_one and predict_one", rates[name], "records/s", goal=goal)
    ratio = rates["Forgetron"] / rates["river KNNClassifier"]
    yield state(f"Forgetron, {BUDGET} points: records/s", ratio, "x", "River's KNNClassifier")


if __name__ == "__main__":
    main(figures)
