"""
Budget against accuracy
=======================

How many support vectors does a learner need? Progressive accuracy (each row is predicted before it is learned from)
over 4,000 rows of the POLK paper's mixture of five classes, of which nobody can know more than 96 %.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

budgets = [10, 20, 40, 80, 160]
learners = {
    "Newton": lambda budget: onkel.NewtonClassifier(gamma=2.0, lam=0.01, budget=budget, random_state=0),
    "Projectron": lambda budget: onkel.ProjectronClassifier(gamma=2.0, budget=budget, random_state=0),
    "BPA": lambda budget: onkel.BPAClassifier(gamma=2.0, budget=budget, random_state=0),
    "Forgetron": lambda budget: onkel.ForgetronClassifier(gamma=2.0, budget=budget, random_state=0),
    "RBP": lambda budget: onkel.RBPClassifier(gamma=2.0, budget=budget, random_state=0),
}

# %%
# `onkel.evaluate.progressive` takes a learner through a stream and returns its curve.

figure, ax = plt.subplots(layout="constrained")
for name, make in learners.items():
    accuracy = []
    for budget in budgets:
        stream = onkel.streams.generators.mixture(4000, seed=1)
        curve = onkel.evaluate.progressive(make(budget), stream, classes=range(5))
        accuracy.append(curve.last.accuracy)
    ax.plot(budgets, np.multiply(accuracy, 100), marker="o", label=name)
ax.set(xscale="log", xlabel="budget (support vectors)", ylabel="progressive accuracy, %")
ax.set_title("More support vectors help the simple evictions most")
ax.set_xticks(budgets, budgets)
ax.minorticks_off()
ax.legend(frameon=False)
