"""
Learners race
=============

`LearningCurveDisplay` takes several learners through the same stream, each row predicted before it is learned from.
The width of the kernel is the same for all.
"""

import matplotlib.pyplot as plt

import onkel

learners = {
    name: getattr(onkel, f"{name}Classifier")(gamma=2.0, budget=80, random_state=0)
    for name in ("Newton", "Projectron", "SPA", "BSGD", "RBP")
}


def stream():
    """The POLK paper's mixture of five classes."""
    return onkel.streams.generators.mixture(6000, seed=2)


figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
onkel.plot.LearningCurveDisplay.from_estimator(learners, stream, classes=range(5), ax=ax)
ax.set(xscale="log", ylim=(0.75, 1), ylabel="accuracy so far", title="Five learners with 80 support vectors")
ax.set_xticks([100, 300, 1000, 3000, 6000], ["100", "300", "1,000", "3,000", "6,000"])
ax.minorticks_off()
