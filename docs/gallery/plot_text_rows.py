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
    """Draw messages of five to twelve words; one in four is about everything, so five of six is the most to have."""
    random = np.random.default_rng(seed)
    every = " ".join(WORDS.values()).split()
    for _ in range(n):
        subject = random.choice(list(WORDS))
        own = WORDS[subject].split()
        words = random.choice(every if random.random() < 0.25 else own, random.integers(5, 13))
        yield " ".join(words), subject


def stream():
    """Sparse chunks of 200 messages."""
    hashing = HashingVectorizer(n_features=4096, alternate_sign=False)
    for chunk in range(20):
        texts, subjects = zip(*messages(200, seed=chunk), strict=True)
        yield hashing.transform(texts), np.array(subjects)


model = onkel.NewtonClassifier(budget=120, random_state=0)
models = {"Newton": model, "Projectron": onkel.ProjectronClassifier(budget=120, random_state=0)}
figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
onkel.plot.LearningCurveDisplay.from_estimator(models, stream, classes=list(WORDS), ax=ax)
ax.axhline(5 / 6, color="0.5", linestyle="dotted", label="the most to have")
ax.legend(frameon=False, loc="lower right")
ax.set(ylabel="accuracy so far", ylim=(0.7, 0.88), title="Which of three subjects is a message about?")
print(f"{model.n_support_} points of 4,096 columns take {model.nbytes_:,} bytes")
