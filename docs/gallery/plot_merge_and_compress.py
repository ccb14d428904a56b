"""
Merge and compress
==================

Four learners see a quarter of the rows each; `onkel.merge` makes one model of them, and `onkel.compress` makes that
model smaller, point by point, and says what each size costs. Both know what a second-order learner knows, not only its
function.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(8000, 2))
y = ((np.sin(3 * X[:, 0]) > X[:, 1]) ^ (random.random(8000) < 0.05)).astype(int)
X_new, y_new = X[4000:], y[4000:]

quarters = [
    onkel.NewtonClassifier(gamma=1.0, lam=0.01, budget=60, random_state=0).fit(X[i:4000:4], y[i:4000:4])
    for i in range(4)
]
merged = onkel.merge(quarters).model
print("quarters:", *(f"{model.score(X_new, y_new):.1%}" for model in quarters))
print(f"merged:   {merged.score(X_new, y_new):.1%} with {merged.n_support_} support vectors")

# %%
# From there down to four support vectors:

sizes = [size for size in (200, 120, 80, 60, 40, 30, 20, 12, 8, 4) if size < merged.n_support_]
scores = [onkel.compress(merged, n_support=size).model.score(X_new, y_new) for size in sizes]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot([merged.n_support_, *sizes], np.multiply([merged.score(X_new, y_new), *scores], 100), marker="o")
left.set(xscale="log", xlabel="support vectors", ylabel="accuracy on new rows, %", title="What each size costs")
ticks = [merged.n_support_, 60, 30, 12, 8, 4]
left.set_xticks(ticks, ticks)
left.minorticks_off()
small = onkel.compress(merged, n_support=20).model
onkel.plot.DecisionSurfaceDisplay.from_estimator(small, X[:300], y[:300], ax=right)
right.set_title(f"Compressed to {small.n_support_} support vectors: {small.score(X_new, y_new):.1%} right")
right.legend(loc="lower left", markerscale=2)
