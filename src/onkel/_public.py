"""The names that `import onkel` offers; a new one is added here, in both lists."""

from onkel import batch, datasets, evaluate, export, parts, recipes, streams
from onkel._core import isa
from onkel.budget_estimators import (
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
from onkel.importers import from_libsvm, from_sklearn
from onkel.kernel_width import gamma_from_percentile
from onkel.learner import Learner
from onkel.model import compress, merge
from onkel.multikernel import MultiKernelClassifier, MultiKernelRegressor
from onkel.newton_estimators import NewtonClassifier, NewtonRegressor
from onkel.persistence import load, save
from onkel.pipeline import StreamPipeline
from onkel.platt import PlattClassifier
from onkel.scalers import StreamMinMaxScaler, StreamStandardScaler

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
    "BSGDRegressor",
    "Checkpointer",
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
