"""
A boundary that turns
=====================

In this stream the plane that separates the classes turns all the time. A learner that keeps everything for ever falls
behind; those that fade or forget follow, and Newton finds out by itself how much to forget. The accuracy "so far"
hides this, so the curves are over the last 500 rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

learners = {
    "Newton": onkel.NewtonClassifier(gamma=0.3, lam=0.01, budget=60, random_state=0),
    "NORMA": onkel.NORMAClassifier(gamma=0.3, budget=100, lam=0.01, random_state=0),
    "Projectron": onkel.ProjectronClassifier(gamma=0.3, budget=100, random_state=0),
    "Newton, forget=1": onkel.NewtonClassifier(gamma=0.3, lam=0.01, budget=60, forget=1.0, random_state=0),
}
window = 500

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, model in learners.items():
    right = []
    for X, y in onkel.streams.generators.hyperplane(12_000, n_features=2, period=6000, chunk_rows=window):
        scores = model.predict_then_learn(X, y, classes=[0, 1])
        right.append(np.mean((scores > 0) == y))
    ax.plot(np.arange(1, len(right) + 1) * window, right, label=name)
ax.set(xlabel="rows", ylabel=f"accuracy over {window} rows", title="Learners follow a boundary that turns")
ax.legend(frameon=False)

# %%
# Newton weighs memories of 10, 100 and 1,000 rows and of all rows by how well each has predicted. Here is what this
# stream asked for:

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
onkel.plot.MemoryDisplay.from_estimator(learners["Newton"], ax=ax)
ax.set_title("How much Newton trusts each of its memories")
