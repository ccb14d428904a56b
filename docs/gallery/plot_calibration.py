"""
Are the probabilities right?
============================

Learners with the log loss have `predict_proba`; for the others `PlattClassifier` fits sigmoids along the stream. A
curve near the diagonal means that of the rows given 70 %, 70 % were of that class.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import onkel

X, y = make_moons(8000, noise=0.4, random_state=0)
forgetron = onkel.ForgetronClassifier(gamma=1.0, budget=60, random_state=0)
learners = {
    "Newton": onkel.NewtonClassifier(budget=60, random_state=0),
    "OSKL, log loss": onkel.OSKLClassifier(gamma=1.0, budget=200, random_state=0),
    "Forgetron with Platt": onkel.PlattClassifier(forgetron),
}
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
for name, model in learners.items():
    model.fit(X[:4000], y[:4000])
    display = onkel.plot.CalibrationDisplay.from_estimator(model, X[4000:], y[4000:], ax=ax)
    ax.lines[-1].set_label(name)
    off = abs(display.claimed - display.came).max()
    print(f"{name}: {model.score(X[4000:], y[4000:]):.1%} right, off by at most {off:.2f}")
ax.legend(frameon=False)
ax.set_title("Predicted and observed: the diagonal is right")
