"""The named learners for River: the parameters of their estimators, on records.

There are no rows to take a width from before the first record, so that the stream chooses it.
"""

# ruff: noqa: D101 (one docstring for all, completed with the parameters of each, is made where they inherit `Named`)
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, dataclass_transform

from onkel.estimators import budgeted, newton, projecting, sampling, unbudgeted
from onkel.estimators.parameters import (
    LogLossParameters,
    LossParameters,
    RegressionLossParameters,
    SquaredErrorParameters,
    TubeParameters,
)
from onkel.parameters import is_stream, parameter_class
from onkel.river.models import Classifier, Regressor, RiverModel, model

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
    "BSGDRegressor",
    "DualSGDClassifier",
    "DualSGDRegressor",
    "FSGDClassifier",
    "FSGDRegressor",
    "ForgetronClassifier",
    "KLRClassifier",
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
    "ProjectronClassifier",
    "RBPClassifier",
    "SPAClassifier",
    "SPARegressor",
]


@dataclass_transform(kw_only_default=True, eq_default=False)
@parameter_class
class Named(RiverModel):
    """What the named learners have otherwise than a model over any recipe."""

    gamma: float | str = "stream"
    fit_intercept: bool = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = f"`onkel.{cls.__name__}` for River, with a constant term and a width that the stream chooses."
        model(cls)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        lam = {"lam": 0.1} if is_stream(getattr(cls, "lam", None)) else {}
        yield {"gamma": 0.1, "budget": 50, **lam}


class PerceptronClassifier(unbudgeted.PerceptronParameters, Named, Classifier): ...


class OGDClassifier(unbudgeted.OGDParameters, LossParameters, Named, Classifier): ...


class OGDRegressor(unbudgeted.OGDParameters, RegressionLossParameters, Named, Regressor): ...


class PAClassifier(unbudgeted.PAParameters, LossParameters, Named, Classifier): ...


class PARegressor(unbudgeted.PAParameters, TubeParameters, Named, Regressor): ...


class PegasosClassifier(unbudgeted.PegasosParameters, LossParameters, Named, Classifier): ...


class FSGDClassifier(unbudgeted.FSGDParameters, LossParameters, Named, Classifier): ...


class FSGDRegressor(unbudgeted.FSGDParameters, RegressionLossParameters, Named, Regressor): ...


class KLRClassifier(sampling.KLRParameters, Named, Classifier): ...


class OSKLClassifier(sampling.OSKLParameters, LogLossParameters, Named, Classifier): ...


class OSKLRegressor(sampling.OSKLRegressorParameters, Named, Regressor): ...


class SPAClassifier(sampling.SPAParameters, LossParameters, Named, Classifier): ...


class SPARegressor(sampling.SPAParameters, TubeParameters, Named, Regressor): ...


class RBPClassifier(budgeted.RBPParameters, Named, Classifier): ...


class ForgetronClassifier(budgeted.ForgetronParameters, Named, Classifier): ...


class NORMAClassifier(budgeted.NORMAParameters, LossParameters, Named, Classifier): ...


class NORMARegressor(budgeted.NORMAParameters, RegressionLossParameters, Named, Regressor): ...


class BPAClassifier(budgeted.BPAParameters, LossParameters, Named, Classifier): ...


class BOGDClassifier(budgeted.BOGDParameters, LossParameters, Named, Classifier): ...


class BOGDRegressor(budgeted.BOGDParameters, RegressionLossParameters, Named, Regressor): ...


class BSGDClassifier(budgeted.BSGDParameters, LossParameters, Named, Classifier): ...


class BSGDRegressor(budgeted.BSGDParameters, TubeParameters, Named, Regressor): ...


class NPBSGDClassifier(budgeted.NPBSGDParameters, LossParameters, Named, Classifier): ...


class NPBSGDRegressor(budgeted.NPBSGDParameters, TubeParameters, Named, Regressor): ...


class DualSGDClassifier(budgeted.DualSGDParameters, LossParameters, Named, Classifier): ...


class DualSGDRegressor(budgeted.DualSGDParameters, TubeParameters, Named, Regressor): ...


class ProjectronClassifier(projecting.ProjectronParameters, Named, Classifier): ...


class POLKClassifier(projecting.POLKParameters, LossParameters, Named, Classifier): ...


class POLKRegressor(projecting.POLKParameters, RegressionLossParameters, Named, Regressor): ...


class NewtonClassifier(newton.NewtonParameters, LogLossParameters, Named, Classifier): ...


class NewtonRegressor(newton.NewtonParameters, SquaredErrorParameters, Named, Regressor): ...
