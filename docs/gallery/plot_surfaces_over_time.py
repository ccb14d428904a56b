"""
A decision surface grows
========================

A learner of onkel reads each row once. Here are its decisions after 50, 500 and 5,000 rows; the circles are the points
it keeps, at most forty.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(5000, 2))
y = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)

model = onkel.NewtonClassifier(budget=40, gamma=1.0, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 4.5), sharey=True, layout="constrained")
seen = 0
for ax, until in zip(axes, (50, 500, 5000), strict=True):
    model.partial_fit(X[seen:until], y[seen:until], classes=[0, 1])
    seen = until
    onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X[:until][-500:], y[:until][-500:], ax=ax)
    ax.set_title(f"after {model.t_:,} rows: {model.score(X, y):.1%} right")
    ax.label_outer()
figure.suptitle("Decisions of one learner that keeps at most 40 support vectors")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=2, frameon=False)
