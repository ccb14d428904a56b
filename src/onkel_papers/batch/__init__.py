"""The batch learners that the papers compare with and no other package provides; they make many passes over all rows.

All minimise ``(λ/2) ‖f‖² + (1/n) Σ loss(f(x_i), y_i)`` over the kernel's functions (KLR paper, equation 1), without a
constant term. Each reports an upper bound on its distance from the minimum, the duality gap, except for the import
vector machine, which keeps few rows on purpose and has a stopping rule of its own.

>>> from sklearn.datasets import make_moons
>>> from onkel_papers import batch
>>> X, y = make_moons(200, noise=0.1, random_state=0)
>>> models = [batch.LBFGSClassifier(gamma=2.0), batch.DCDClassifier(gamma=2.0), batch.IVMClassifier(gamma=2.0)]
>>> [model.fit(X, y).score(X, y) > 0.99 for model in models]
[True, True, True]
>>> [f"{model.objective_:.3f}" for model in models]
['0.105', '0.105', '0.106']
"""

from onkel_papers.batch._descent import DCDClassifier, PCDClassifier
from onkel_papers.batch._import_vectors import IVMClassifier
from onkel_papers.batch._lbfgs import LBFGSClassifier

__all__ = ["DCDClassifier", "IVMClassifier", "LBFGSClassifier", "PCDClassifier"]
