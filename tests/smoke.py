"""Does an installed onkel work? `python tests/smoke.py` needs nothing but onkel and what it is installed with."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import onkel


def main() -> None:
    """Fit, stream, save and load, compress, export: once each, on rows made up here."""
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, size=(1500, 2))
    y = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)

    newton = onkel.NewtonClassifier(budget=60, random_state=0).fit(X, y)
    assert newton.score(X, y) > 0.93, newton.score(X, y)
    assert abs(newton.predict_proba(X[:5]).sum(axis=1) - 1).max() < 1e-12

    in_one = onkel.SPAClassifier(budget=100, gamma=2.0, random_state=0)
    in_many = onkel.SPAClassifier(budget=100, gamma=2.0, random_state=0)
    scores = in_one.predict_then_learn(X, y, classes=[0, 1])
    pieces = [in_many.predict_then_learn(X[i : i + 7], y[i : i + 7], classes=[0, 1]) for i in range(0, len(X), 7)]
    assert np.array_equal(scores, np.concatenate(pieces)), "how rows are cut into calls changed the scores"

    with tempfile.TemporaryDirectory() as folder:
        onkel.save(newton, path := Path(folder) / "model.onkel")
        assert np.array_equal(onkel.load(path).decision_function(X), newton.decision_function(X))
    assert onkel.export.to_json(in_one).startswith("{")
    smaller = onkel.compress(newton, n_support=20).model
    assert smaller.n_support_ <= 20

    std = onkel.NewtonRegressor(budget=40, random_state=0).fit(X, X[:, 0]).predict(X[:5], return_std=True)[1]
    assert (std > 0).all()
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"onkel {onkel.__version__} works on Python {version}, numpy {np.__version__}, {onkel.isa}")


if __name__ == "__main__":
    main()
