"""The names that `import onkel` offers: the estimators of the named learners, and those listed here."""

from onkel import evaluate, parts, recipes, streams
from onkel._core import isa
from onkel.choice import gamma_from_percentile
from onkel.estimators import named
from onkel.estimators.generic import KernelClassifier, KernelRegressor
from onkel.estimators.multikernel import MultiKernelClassifier, MultiKernelRegressor
from onkel.estimators.named import *  # noqa: F403
from onkel.estimators.platt import PlattClassifier
from onkel.files.checkpoint import Checkpointer
from onkel.files.persistence import load, save
from onkel.learner import Learner
from onkel.models import export
from onkel.models.compress import compress
from onkel.models.importers import from_libsvm, from_sklearn
from onkel.models.merge import merge
from onkel.preprocess.encoder import StreamEncoder
from onkel.preprocess.pipeline import StreamPipeline, make_stream_pipeline
from onkel.preprocess.scalers import StreamMinMaxScaler, StreamStandardScaler
from onkel.streams import datasets

__all__ = [
    "Checkpointer",
    "KernelClassifier",
    "KernelRegressor",
    "Learner",
    "MultiKernelClassifier",
    "MultiKernelRegressor",
    "PlattClassifier",
    "StreamEncoder",
    "StreamMinMaxScaler",
    "StreamPipeline",
    "StreamStandardScaler",
    "compress",
    "datasets",
    "evaluate",
    "export",
    "from_libsvm",
    "from_sklearn",
    "gamma_from_percentile",
    "isa",
    "load",
    "make_stream_pipeline",
    "merge",
    "parts",
    "recipes",
    "save",
    "streams",
]
__all__ += named.__all__
