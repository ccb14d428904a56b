"""onkel: online kernel learning, bounded, exact, fast.

>>> import onkel
>>> onkel.SPAClassifier(budget=500)
SPAClassifier(budget=500)
"""

from onkel import parts, recipes
from onkel._core import isa
from onkel.checkpoint import Checkpointer
from onkel.estimators import (
    FSGDClassifier,
    FSGDRegressor,
    KernelClassifier,
    KernelRegressor,
    KLRClassifier,
    OGDClassifier,
    OGDRegressor,
    OSKLClassifier,
    OSKLRegressor,
    PAClassifier,
    PARegressor,
    PegasosClassifier,
    PerceptronClassifier,
    SPAClassifier,
    SPARegressor,
)
from onkel.kernel_width import gamma_from_percentile
from onkel.learner import Learner
from onkel.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "Checkpointer",
    "FSGDClassifier",
    "FSGDRegressor",
    "KLRClassifier",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "OGDClassifier",
    "OGDRegressor",
    "OSKLClassifier",
    "OSKLRegressor",
    "PAClassifier",
    "PARegressor",
    "PegasosClassifier",
    "PerceptronClassifier",
    "SPAClassifier",
    "SPARegressor",
    "gamma_from_percentile",
    "isa",
    "load",
    "parts",
    "recipes",
    "save",
]
