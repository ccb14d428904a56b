"""A researcher: a learner of one's own choice of parts, beside the literature's, over five streams."""

import numpy as np

import onkel
from onkel.parts import FirstOrder, GradientStep, LogLoss, OnMistake, RemoveOldest

own = FirstOrder(LogLoss(), OnMistake(), GradientStep(eta=1.0), RemoveOldest(), average=True)
learners = {"own": own, "Forgetron": onkel.recipes.Forgetron(), "SPA": onkel.recipes.SPA()}
for name, recipe in learners.items():
    mistakes = []
    for seed in range(5):
        model = onkel.KernelClassifier(recipe, gamma=5.0, budget=100, random_state=seed)
        stream = onkel.streams.generators.switching(4000, seed=seed)
        mistakes.append(1 - onkel.evaluate.progressive(model, stream, classes=[0, 1]).last.accuracy)
    print(f"{name}: {np.mean(mistakes):.3f} ± {np.std(mistakes, ddof=1):.3f} mistakes a row")
