"""onkel: online kernel learning, bounded, exact, fast.

>>> import onkel
>>> onkel.SPAClassifier(budget=500)
SPAClassifier(budget=500)
"""

from onkel import parts, recipes
from onkel._core import isa
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
    POLKClassifier,
    POLKRegressor,
    ProjectronClassifier,
    SPAClassifier,
    SPARegressor,
)
from onkel.kernel_width import gamma_from_percentile
from onkel.learner import Learner
from onkel.model import compress, merge

__version__ = "0.1.0"

__all__ = [
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
    "POLKClassifier",
    "POLKRegressor",
    "PegasosClassifier",
    "PerceptronClassifier",
    "ProjectronClassifier",
    "SPAClassifier",
    "SPARegressor",
    "compress",
    "gamma_from_percentile",
    "isa",
    "merge",
    "parts",
    "recipes",
]
