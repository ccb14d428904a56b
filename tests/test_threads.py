"""Predicting beside a learning thread: every score is that of some row boundary, and nothing crashes or hangs."""

import subprocess
import textwrap

import pytest

import warm

# In a process of its own: a deadlock or a crash must fail one test, not end the run.
PROGRAM = """
import threading
import numpy as np
import onkel

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 4))
y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, 0.0)
probe = X[:1] + 0.1
"""

ROW_BOUNDARIES = """
def new():
    return onkel.Learner(onkel.recipes.SPA(beta=2.0), seed=1, gamma=0.5)

row_by_row = new()
states = set()
for i in range(len(X)):
    states.add(row_by_row.score_rows(probe).tobytes())
    row_by_row.learn_rows(X[i:i + 1], y[i:i + 1])
states.add(row_by_row.score_rows(probe).tobytes())

learner = new()
learner.learn_rows(X[:1], y[:1])
seen = []

def learn():
    for rows in np.array_split(np.arange(1, len(X)), 40):
        learner.learn_rows(X[rows], y[rows])

thread = threading.Thread(target=learn)
thread.start()
while thread.is_alive():
    seen.append(learner.score_rows(probe).tobytes())
thread.join()
seen.append(learner.score_rows(probe).tobytes())
assert set(seen) <= states
assert learner.fingerprint() == row_by_row.fingerprint()
"""

EVERYTHING_AT_ONCE = """
# long calls, and every attribute read while they run
model = onkel.OGDClassifier(gamma=0.5, budget=300, n_jobs=2)
model.partial_fit(X[:10], y[:10], classes=[0, 1])
many, labels = np.tile(X, (30, 1)), np.tile(y, 30)
threads = [threading.Thread(target=model.partial_fit, args=(many, labels)) for _ in range(2)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    assert np.isfinite(model.decision_function(X[:50])).all()
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.norm_)
    assert model.n_support_ <= 300
    assert model.nbytes_ > 0
    model.t_, model.support_, model.intercept_, model._fingerprint()
assert model.t_ == 10 + 2 * len(many)
"""

CLASSES_APPEAR = """
# the score's width changes between the calls' questions
learner = onkel.Learner(onkel.recipes.OGD(), task="multiclass", gamma=0.5, budget=50)
learner.learn_rows(X[:1], np.zeros(1))
labels = np.repeat(np.arange(60.0), 100)
parts = np.array_split(np.arange(6000), 300)
thread = threading.Thread(target=lambda: [learner.learn_rows(X[rows], labels[rows]) for rows in parts])
thread.start()
while thread.is_alive():
    scores = learner.score_rows(X[:200])
    assert scores.ndim == 2 and np.isfinite(scores).all()
    assert np.isfinite(learner.coefficients).all()
thread.join()
assert learner.score_rows(X[:200]).shape == (200, 60)
"""


@pytest.mark.parametrize("part", [ROW_BOUNDARIES, EVERYTHING_AT_ONCE, CLASSES_APPEAR], ids=["rows", "calls", "classes"])
def test_predict_beside_learning(part):
    program = textwrap.dedent(PROGRAM + part)
    done = subprocess.run([warm.python(), "-X", "faulthandler", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
