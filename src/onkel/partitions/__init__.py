"""Learning from rows that lie in partitions, with any engine (docs/scale.md).

The phases are pure functions of partitions and do not depend on the engine. `fit` runs them in this process or as jobs
of joblib; :mod:`onkel.dask` runs the same functions on a cluster.

>>> import numpy as np, onkel
>>> from onkel import partitions
>>> X = np.random.default_rng(0).normal(size=(600, 2))
>>> y = X[:, 0] * X[:, 1] > 0
>>> model = onkel.NewtonClassifier(budget=40, gamma=1.0, lam=0.01, random_state=0)
>>> fitted = partitions.fit(model, [(X[i::3], y[i::3]) for i in range(3)], n_jobs=2)
>>> bool(fitted.model.score(X, y) > 0.95)
True
"""

from onkel.partitions.arrow import predict_arrow
from onkel.partitions.engines import PartitionError
from onkel.partitions.fitting import Fitted, fit
from onkel.partitions.newton import Report
from onkel.partitions.sources import ArrayPartition, Chunk, FilePartition, Partition

__all__ = [
    "ArrayPartition",
    "Chunk",
    "FilePartition",
    "Fitted",
    "Partition",
    "PartitionError",
    "Report",
    "fit",
    "predict_arrow",
]
