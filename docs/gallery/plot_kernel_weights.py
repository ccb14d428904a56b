"""
Sixteen kernels, weighed by their mistakes
==========================================

`MultiKernelClassifier` learns with several kernels at once and weighs them by their mistakes. The papers' pool has
polynomials of degree 1 to 3 and Gaussians of thirteen widths; within a thousand rows most of the weight is on the six
that fit best.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.uniform(-2, 2, size=(6000, 2))
y = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)

recipe = onkel.recipes.SPA(eta=0.2, beta=3)
model = onkel.MultiKernelClassifier(recipe, combination="deterministic", random_state=0).fit(X, y)

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
onkel.plot.KernelWeightsDisplay.from_estimator(model, ax=ax)
ax.set_title("The weights of sixteen kernels; grey: all others")
print(f"{model.score(X, y):.1%} right; the heaviest is {model.kernels_[model.kernel_weights_.argmax()]}")
