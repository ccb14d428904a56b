"""Words, hashed into a million columns: a weight for each column, learned in five passes."""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import onkel

rng = np.random.default_rng(0)
words = np.array([f"word{i}" for i in range(5000)])
common = rng.zipf(1.3, size=(4000, 40)) % 5000
texts, y = [" ".join(row) for row in words[common]], (common % 7 == 3).sum(axis=1) > 4
X = HashingVectorizer(n_features=2**20).transform(texts)
model = onkel.OGDClassifier(kernel="linear", n_epochs=5, random_state=0).fit(X[:3000], y[:3000])
print(f"accuracy {model.score(X[3000:], y[3000:]):.3f}, {np.count_nonzero(model.coef_):,} words have a weight")
