"""
Your own part in Python
=======================

A loss, an admission, an eviction or a kernel can be a Python class. Everything else stays: the loop, the checks, chunk
invariance, threads. It is slow (tens of microseconds a row), so that it is for research; what proves good moves to C++
(:doc:`/tutorial`). Here is an eviction that lets the point go that its neighbours could best speak for: the one with
the largest kernel value to another point.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import onkel
from onkel.parts import FirstOrder, GradientStep, HingeLoss, OnGradient, RemoveOldest
from onkel.parts.python import PythonEviction


@dataclass(frozen=True)
class RemoveCrowded(PythonEviction):
    """The older of the two points that are most alike leaves."""

    def restore_budget(self, points, row, newest):
        """Make room after a row has joined."""
        while points.too_many:
            gram = np.array([points.kernel_row(slot) for slot in points.slots])
            np.fill_diagonal(gram, -np.inf)
            pair = np.unravel_index(gram.argmax(), gram.shape)
            points.evict(points.slots[min(pair, key=lambda i: points.births[i])])


X, y = make_moons(3000, noise=0.15, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, eviction in zip(axes, (RemoveOldest(), RemoveCrowded()), strict=True):
    recipe = FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5), eviction)
    model = onkel.KernelClassifier(recipe, gamma=2.0, budget=15, random_state=0).fit(X, y)
    onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X[-300:], y[-300:], ax=ax, grid=80)
    ax.set_title(f"{type(eviction).__name__}: {model.score(X, y):.1%} right")
    ax.label_outer()
figure.suptitle("An eviction of onkel, and one of your own")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=2, frameon=False)
