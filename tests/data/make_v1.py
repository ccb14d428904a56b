"""How the v1-*.onkel files were made, with the scores that they must give for ever. Not run again after a release."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import onkel

HERE = Path(__file__).parent
rng = np.random.default_rng(2024)
X = rng.normal(size=(80, 4)).round(3)
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 0]


def keep(name, model, rows, labels, classes, known=True):
    model.partial_fit(rows[:60], classes[labels[:60]], classes=classes if known else None)
    onkel.save(model, HERE / f"v1-{name}.onkel")
    scores = model.decision_function(rows[60:])
    later = model.predict_then_learn(rows[60:], classes[labels[60:]])
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    np.savez(HERE / f"v1-{name}.npz", X=dense[60:], y=labels[60:], classes=classes, scores=scores, later=later)


if __name__ == "__main__":
    two, three = (SCORE > 0).astype(int), np.digitize(SCORE, [-0.5, 0.5])
    words = np.array(["no", "yes"])
    keep("dense-spa", onkel.SPAClassifier(gamma=0.5, random_state=1), X, two, words)
    sparse = csr_array(np.where(np.abs(X) > 0.5, X, 0))
    keep(
        "sparse-ogd",
        onkel.OGDClassifier(gamma=0.5, lam=0.01, random_state=2),
        sparse,
        three,
        np.array([3, 5, 9]),
        known=False,
    )
    model = onkel.OSKLClassifier(gamma=0.5, G=2.0, budget=20, fit_intercept=True, random_state=3)
    keep("float32-oskl", model, X.astype(np.float32), two, np.array([False, True]))
