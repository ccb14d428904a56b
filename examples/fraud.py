"""A stream where one row in a hundred matters: balanced weights, scored as it goes."""

import numpy as np

import onkel

rng = np.random.default_rng(0)
fraud = rng.random(10_000) < 0.01
X = rng.normal(size=(10_000, 3)) + 1.5 * fraud[:, None]
y = np.where(fraud, "fraud", "fine")
for class_weight in (None, "balanced"):
    model = onkel.NewtonClassifier(class_weight=class_weight, random_state=0)
    chunks = zip(np.split(X, 10), np.split(y, 10), strict=True)
    last = onkel.evaluate.progressive(model, chunks, classes=["fine", "fraud"]).last
    print(f"accuracy {last.accuracy:.3f}, balanced {last.balanced_accuracy:.3f}, AUC {last.auc:.3f}")
