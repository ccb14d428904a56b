"""A stream where one row in a hundred matters: balanced weights, scored as it goes."""

import numpy as np

import onkel

rng = np.random.default_rng(0)
plain, balanced = (onkel.NewtonClassifier(class_weight=w, random_state=0) for w in (None, "balanced"))
for model in (plain, balanced):
    chunks = []
    for _ in range(10):
        fraud = rng.random(1000) < 0.01
        X = rng.normal(size=(1000, 3)) + 1.5 * fraud[:, None]
        chunks.append((X, np.where(fraud, "fraud", "fine")))
    last = onkel.evaluate.progressive(model, chunks, classes=["fine", "fraud"]).last
    print(f"accuracy {last.accuracy:.3f}, balanced accuracy {last.balanced_accuracy:.3f}, AUC {last.auc:.3f}")
