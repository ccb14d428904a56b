"""
How old are the support vectors?
================================

Evictions differ in what they keep. `NORMA` keeps a window: coefficients fade and the oldest point leaves. `RBP` lets a
random point go: ages spread out. `Projectron` keeps its first points for good and teaches them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import onkel

X, y = make_moons(6000, noise=0.2, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, name in zip(axes, ("NORMA", "RBP", "Projectron"), strict=True):
    model = getattr(onkel, f"{name}Classifier")(gamma=2.0, budget=60, random_state=0).fit(X, y)
    onkel.plot.SupportDisplay.from_estimator(model, ax=ax)
    ax.set_title(f"{name}: {model.score(X, y):.1%} right")
    ax.set_ylabel("size of the coefficient" if ax is axes[0] else "")
figure.suptitle("Sixty support vectors each: when they came, and how much they count")
