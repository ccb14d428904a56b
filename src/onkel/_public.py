"""The names that `import onkel` offers; a new one is added here, in both lists."""

from onkel import batch, evaluate, parts, recipes, streams
from onkel._core import isa
from onkel.choice import ChoosingLearner, gamma_from_percentile
from onkel.estimators.budgeted import (
    BOGDClassifier,
    BOGDRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDRegressor,
    DualSGDClassifier,
    DualSGDRegressor,
    ForgetronClassifier,
    NORMAClassifier,
    NORMARegressor,
    NPBSGDClassifier,
    NPBSGDRegressor,
    POLKClassifier,
    POLKRegressor,
    ProjectronClassifier,
    RBPClassifier,
)
from onkel.estimators.insert_only import (
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
from onkel.estimators.multikernel import MultiKernelClassifier, MultiKernelRegressor
from onkel.estimators.platt import PlattClassifier
from onkel.estimators.second_order import NewtonClassifier, NewtonRegressor
from onkel.learner import Learner
from onkel.models import export
from onkel.models.checkpoint import Checkpointer
from onkel.models.compress import compress
from onkel.models.importers import from_libsvm, from_sklearn
from onkel.models.merge import merge
from onkel.models.persistence import load, save
from onkel.streams import datasets
from onkel.streams.pipeline import StreamPipeline
from onkel.streams.scalers import StreamMinMaxScaler, StreamStandardScaler

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
    "BSGDRegressor",
    "Checkpointer",
    "ChoosingLearner",
    "DualSGDClassifier",
    "DualSGDRegressor",
    "FSGDClassifier",
    "FSGDRegressor",
    "ForgetronClassifier",
    "KLRClassifier",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "MultiKernelClassifier",
    "MultiKernelRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "NPBSGDClassifier",
    "NPBSGDRegressor",
    "NewtonClassifier",
    "NewtonRegressor",
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
    "PlattClassifier",
    "ProjectronClassifier",
    "RBPClassifier",
    "SPAClassifier",
    "SPARegressor",
    "StreamMinMaxScaler",
    "StreamPipeline",
    "StreamStandardScaler",
    "batch",
    "compress",
    "datasets",
    "evaluate",
    "export",
    "from_libsvm",
    "from_sklearn",
    "gamma_from_percentile",
    "isa",
    "load",
    "merge",
    "parts",
    "recipes",
    "save",
    "streams",
]
