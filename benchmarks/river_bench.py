"""Records a second in River's protocol, predict_one then learn_one, at 10 features and 200 support vectors.

Beside onkel's learners run River's own: a nearest-neighbour classifier with a window of 200 (the peer that keeps
points), a linear one and a tree. All in one process on the same records; times are CPU times, the best of three. The
goal is 20,000 records a second.
"""

import time

import numpy as np
from river import linear_model, neighbors, tree

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
    """Records a second of a model whose budget is full, and the model."""
    model, rates = make(), []
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    for _ in range(3):
        began = time.process_time()
        for x, label in zip(X, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)
        rates.append(len(X) / (time.process_time() - began))
    return max(rates), model


def main():
    X, y = records()
    print(f"{'learn_one and predict_one':26} {'records/s':>10} {'of the goal':>12} {'points':>7}")
    rates = {}
    for name, make in MODELS.items():
        few = slice(0, RECORDS // 6) if "KNN" in name else slice(None)  # it is slow
        rates[name], model = measure(make, X[few], y[few])
        points = getattr(getattr(model, "classifier", model), "n_support", BUDGET if "KNN" in name else "")
        print(f"{name:26} {rates[name]:10,.0f} {rates[name] / GOAL:11.2f}x {points:>7}")
    print(f"Forgetron over River's nearest neighbours: {rates['Forgetron'] / rates['river KNNClassifier']:.0f}x")


if __name__ == "__main__":
    main()
