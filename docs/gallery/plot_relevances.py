"""
Which features matter
=====================

One width for all features is wrong where most of them say nothing. `NewtonClassifier` learns one relevance a feature on
the first rows of its stream: the kernel is exp(-γ Σ r_j (x_j - x'_j)²). Here two features of ten decide the class.
On the left is how much each of them counts in the kernel, on the right what that is worth: accuracy over a fading
window, beside a learner with one width for all.
"""

import matplotlib.pyplot as plt
import numpy as np

import onkel

random = np.random.default_rng(0)
X = random.normal(size=(8000, 10))
y = (np.sin(3 * X[:, 2]) > X[:, 6]).astype(int)

learned = onkel.NewtonClassifier(budget=100, random_state=0)
models = {
    "relevances learned": learned,
    "one width": onkel.NewtonClassifier(budget=100, relevances=None, random_state=0),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
stream = [(X, y)]
onkel.plot.LearningCurveDisplay.from_estimator(models, stream, metric="window_accuracy", classes=[0, 1], ax=right)
onkel.plot.ImportanceDisplay.from_estimator(learned, ax=left)
left.set_title("How much each feature counts")
right.set(title="What that is worth", ylabel="accuracy over a fading window")
share = learned.relevances_[[2, 6]].sum() / learned.relevances_.sum()
print(f"{learned.n_support_} support vectors; {share:.1%} of the relevance is that of features 3 and 7")
