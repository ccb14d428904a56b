"""An embedded engineer: a model of 64 points as one C header, with its scaling and its probabilities inside."""

from pathlib import Path

import numpy as np

import onkel

X = np.random.default_rng(0).normal(size=(5000, 4)) * [1, 10, 100, 1000]
y = X[:, 0] * X[:, 1] / 10 + X[:, 2] / 100 > 0
learner = onkel.NewtonClassifier(budget=64, random_state=0)
model = onkel.StreamPipeline(onkel.StreamStandardScaler(), learner).fit(X.astype("float32"), y)
header = onkel.export.to_c(model, name="alarm", batch=8)
Path("alarm.h").write_text(header)
print(f"accuracy {model.score(X, y):.3f}, {model.n_support_} points, {len(header):,} bytes of C")
