"""
What each eviction does in the plane
====================================

When the budget is full and a row is to join, a part of the recipe makes room. Here six of them keep 15 points of the
same stream: the loss, the admission and the step are the same, the eviction alone differs.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import onkel
from onkel.parts import (
    FirstOrder,
    GradientStep,
    HingeLoss,
    Merge,
    OnGradient,
    ProjectCheapest,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    Stop,
)

X, y = make_moons(2000, noise=0.15, random_state=0)
evictions = [Stop(), RemoveOldest(), RemoveRandom(), RemoveSmallest(), ProjectCheapest(), Merge()]

figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained")
for ax, eviction in zip(axes.flat, evictions, strict=True):
    recipe = FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5), eviction)
    model = onkel.KernelClassifier(recipe, gamma=2.0, budget=15, random_state=0).fit(X, y)
    onkel.plot.DecisionSurfaceDisplay.from_estimator(model, X[-300:], y[-300:], ax=ax, grid=80)
    ax.set_title(f"{type(eviction).__name__}: {model.score(X, y):.1%} right")
    ax.label_outer()
figure.suptitle("Fifteen support vectors, chosen by six evictions")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=2, frameon=False)

# %%
# `Stop` keeps the first 15 rows that had a gradient and is blind to all that follow. Those that remove forget what the
# point knew; those that project or merge hand it over to the points that stay.
