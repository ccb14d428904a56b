"""
Newton knows what it does not know
==================================

A second-order learner carries the covariance of its coefficients, so it can say how sure it is. The standard deviation
is small where rows have been and returns to that of the prior where none were, also beyond the span of its points.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.normal(size=(2000, 2)) * [1.0, 0.5] + np.where(random.random((2000, 1)) < 0.5, -2, 2) * [1, 0]
y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.normal(size=2000)

model = onkel.NewtonRegressor(budget=80, random_state=0).fit(X, y)
corners = np.array([[-6, -3], [6, 3]])  # where the model is asked, beyond the rows
shown = np.vstack([X[:500], corners])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
onkel.plot.DecisionSurfaceDisplay.from_estimator(model, shown, ax=left)
onkel.plot.DecisionSurfaceDisplay.from_estimator(model, shown, response="std", ax=right)
left.set_title("What it predicts")
right.set_title("How far it may be off")
right.label_outer()
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", frameon=False)
