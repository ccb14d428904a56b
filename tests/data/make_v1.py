"""How the v1-*.onkel files were made, by onkel 0.1.0, with the scores that they must give for ever.

Not run again: only 0.1.0 writes version 1 of the format.
"""

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


def keep_scores(name, model, rows, y):
    """Save a model that has learned, with its scores of a few rows, whatever kind of scores it has."""
    onkel.save(model, HERE / f"v1-{name}.onkel")
    sparse = hasattr(rows, "toarray")
    given = {"X": rows.toarray() if sparse else rows, "y": y, "sparse": sparse}
    if isinstance(model, onkel.Learner):
        scores = {"score_rows": model.score_rows(rows)}
    elif hasattr(model, "decision_function"):
        scores = {"decision_function": model.decision_function(rows)}
    else:
        scores = {"predict": model.predict(rows)}
    if isinstance(model, onkel.PlattClassifier):
        scores["predict_proba"] = model.predict_proba(rows)
    np.savez_compressed(HERE / f"v1-{name}.npz", **given, **scores)


def make_estimators():
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


def make_every_kind():
    two, three = (SCORE > 0).astype(int), np.digitize(SCORE, [-0.5, 0.5])
    sparse = csr_array(np.where(np.abs(X) > 0.5, X, 0))
    fixed = {"gamma": 0.5, "random_state": 4}

    def kept(name, model, y, rows=X, n=60, **options):
        keep_scores(name, model.partial_fit(rows[:n], y[:n], **options), rows[60:68], y[60:68])

    binary, several = {"classes": [0, 1]}, {"classes": [0, 1, 2]}
    kept("newton-classifier", onkel.NewtonClassifier(lam=0.01, budget=8, **fixed), two, **binary)
    kept("newton-three", onkel.NewtonClassifier(lam=0.01, budget=6, average=True, **fixed), three, **several)
    kept("newton-regressor", onkel.NewtonRegressor(lam=0.01, budget=8, forget=0.999, **fixed), SCORE)
    kept("newton-sparse", onkel.NewtonClassifier(lam=0.01, budget=5, **fixed), two, sparse, **binary)
    streamed = {"gamma": "stream", "random_state": 4}
    kept("newton-choosing", onkel.NewtonClassifier(budget=5, **streamed), two, n=20, **binary)
    kept("ogd-choosing-sparse", onkel.OGDClassifier(budget=5, **streamed), two, sparse, n=20, **binary)
    long = np.random.default_rng(7).normal(size=(4100, 2)).round(3)
    answer = long[:, 0] * long[:, 1] > 0
    kept("newton-chosen", onkel.NewtonClassifier(budget=8, **streamed), answer, long, 4100, classes=[False, True])
    kept("ogd-chosen", onkel.OGDClassifier(budget=8, **streamed), answer, long, 4100, classes=[False, True])
    kept(
        "npbsgd-project",
        onkel.NPBSGDClassifier(budget=6, maintenance="project", horizon=80, beta=0.1, loss="log_loss", **fixed),
        two,
        **binary,
    )
    kept("npbsgd-remove", onkel.NPBSGDRegressor(budget=6, horizon=80, beta=0.1, **fixed), SCORE)
    kept("dualsgd", onkel.DualSGDClassifier(budget=6, n_components=9, k=2, **fixed), two, **binary)
    kept(
        "several-kernels",
        onkel.MultiKernelClassifier(
            onkel.recipes.Projectron(), kernels=["rbf", "poly"], combination="stochastic", budget=9, **fixed
        ),
        two,
        **binary,
    )
    kept("projectron", onkel.ProjectronClassifier(aggressive=True, budget=6, **fixed), two, **binary)
    kept("forgetron", onkel.ForgetronClassifier(budget=6, **fixed), two, **binary)
    kept("bogd-average", onkel.BOGDClassifier(budget=5, average=True, **fixed), three, **several)
    kept("polk-batches", onkel.POLKRegressor(batch_size=7, budget=8, **fixed), SCORE)
    inner = onkel.OGDClassifier(budget=5, **fixed)
    kept("pipeline", onkel.StreamPipeline(onkel.StreamStandardScaler(), inner), two, **binary)
    ranged = onkel.StreamPipeline(onkel.StreamMinMaxScaler(), inner)
    kept("platt-pipeline", onkel.PlattClassifier(ranged, forget=0.99), two, **binary)
    kept("klr", onkel.KLRClassifier(budget=6, **fixed), two, **binary)
    kernel = onkel.parts.RBF(0.5) + 0.1 * onkel.parts.Polynomial(degree=2)
    learner = onkel.Learner(onkel.recipes.OGD(), kernel=kernel, task="multiclass", budget=6, fit_intercept=True)
    learner.learn_rows(X[:60], three[:60].astype(float))
    keep_scores("learner", learner, X[60:68], three[60:68].astype(float))
    recipe = onkel.parts.Recipe(
        onkel.parts.HingeLoss(),
        onkel.parts.Always(),
        onkel.parts.GradientStep(0.1),
        onkel.parts.RemoveOldest(),
        ball=2.0,
    )
    kept("custom-recipe", onkel.KernelClassifier(recipe, budget=6, **fixed), two, **binary)
    onkel.save(onkel.NewtonRegressor(), HERE / "v1-unfitted.onkel")


if __name__ == "__main__":
    make_estimators()
    make_every_kind()
