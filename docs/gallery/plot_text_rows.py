"""
Text, hashed, as sparse rows
============================

Sparse rows stay sparse in the core: a row costs its own features, however many columns there are. Here made-up
messages become counts of hashed words, in 4,096 columns, and a learner reads them as they come.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import onkel

WORDS = {
    "weather": "sun rain cloud wind storm warm cold forecast degrees north",
    "cooking": "salt oil pan oven dough warm spoon onion butter degrees",
    "sailing": "wind sail north knot harbour storm rope tide deck forecast",
}


def messages(n, seed):
    """Draw messages of five to twelve words, a quarter of them from all subjects."""
    random = np.random.default_rng(seed)
    every = " ".join(WORDS.values()).split()
    for _ in range(n):
        subject = random.choice(list(WORDS))
        own = WORDS[subject].split()
        yield " ".join(random.choice(every if random.random() < 0.4 else own, random.integers(5, 13))), subject


hashing = HashingVectorizer(n_features=4096, alternate_sign=False)
model = onkel.NewtonClassifier(budget=120, random_state=0)
accuracy = []
for chunk in range(12):
    texts, subjects = zip(*messages(500, seed=chunk), strict=True)
    X = hashing.transform(texts)  # a sparse matrix
    if chunk:
        accuracy.append(np.mean(model.predict(X) == np.array(subjects)))
    model.partial_fit(X, subjects, classes=list(WORDS))

figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.plot(np.arange(1, 12) * 500, np.multiply(accuracy, 100), marker="o")
ax.set(xlabel="messages learned from", ylabel="of the next 500 right, %", ylim=(60, 80))
print(f"{model.n_support_} points of {X.shape[1]:,} columns take {model.nbytes_:,} bytes")
