"""Learning and predicting on a cluster of Dask's distributed scheduler (docs/scale.md); needs ``onkel[dask]``.

The same partitions give the same bytes, whatever the workers do.

>>> import dask.array, numpy as np, onkel.dask
>>> from dask.distributed import Client
>>> X = np.random.default_rng(0).normal(size=(600, 2))
>>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
>>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
...     rows, labels = dask.array.from_array(X, chunks=(200, 2)), dask.array.from_array(y, chunks=200)
...     model = onkel.dask.NewtonClassifier(budget=40, gamma=1.0, lam=0.01, random_state=0, client=client)
...     accuracy = float((model.fit(rows, labels).predict(rows) == labels).mean().compute())
>>> accuracy > 0.95, type(model.to_local()) is onkel.NewtonClassifier
(True, True)
"""

from onkel.utils.extras import needed

needed("distributed", "dask", "onkel.dask")

from onkel.dask.collections import predict  # noqa: E402
from onkel.dask.engine import Cluster, DelayedPartition, cluster_of  # noqa: E402
from onkel.dask.estimators import (  # noqa: E402
    KernelClassifier,
    KernelRegressor,
    NewtonClassifier,
    NewtonRegressor,
)

__all__ = [
    "Cluster",
    "DelayedPartition",
    "KernelClassifier",
    "KernelRegressor",
    "NewtonClassifier",
    "NewtonRegressor",
    "cluster_of",
    "predict",
]
