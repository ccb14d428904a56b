"""
Accuracy against seconds
========================

How long does it take to be how accurate? Default learners of onkel and of scikit-learn are fitted to ever more rows of
two tables of twelve features, and asked about 4,000 others. In one the classes are a chess board in two features, which
suits trees; in the other they follow a smooth function of three, which suits kernels. Seconds are processor time of
`fit` with one thread, on the machine that made this page, and so differ from visit to visit.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import onkel

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(12_000, 12))
tables = {
    "a chess board": (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 > 0,
    "a smooth function": np.sin(2 * X[:, 0] + X[:, 1]) + X[:, 1] * X[:, 2] / 2 > 0,
}
wrong = random.random(len(X)) < 0.05  # nobody can know more than 95 %

learners = {
    "Newton, budget 200": lambda: onkel.NewtonClassifier(budget=200, random_state=0),
    "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "SVC": SVC,
    "logistic regression": LogisticRegression,
}

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (table, truth) in zip(axes, tables.items(), strict=True):
    y = truth ^ wrong
    for name, make in learners.items():
        points = []
        for rows in (500, 2000, 8000):
            model, begin = make(), time.process_time()
            with threadpool_limits(1):
                model.fit(X[:rows], y[:rows])
            points.append((time.process_time() - begin, 100 * model.score(X[8000:], y[8000:])))
        ax.plot(*zip(*points, strict=True), marker="o", label=name)
    ax.set(xscale="log", xlabel="seconds of one processor", title=f"{table}: 500, 2,000 and 8,000 rows")
axes[0].set_ylabel("accuracy, %")
axes[1].legend(frameon=False)
