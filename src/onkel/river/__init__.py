"""Classifiers and regressors for River, over any recipe, and one for each named learner (docs/river.md).

Records are dicts; their features may come and go, a missing one is 0, and so are all that no record had before. Labels
are of any kind and may appear at any time. The model is a `Learner` on sparse rows, so that a record costs the
features that it has.
"""

from onkel.river import named
from onkel.river.models import KernelClassifier, KernelRegressor
from onkel.river.named import *  # noqa: F403
from onkel.river.platt import PlattClassifier

__all__ = ["KernelClassifier", "KernelRegressor", "PlattClassifier"]
__all__ += named.__all__
