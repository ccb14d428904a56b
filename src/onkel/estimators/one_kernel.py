"""Estimators of one kernel, which may be of any kind, with what the stream has chosen about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.estimators.base import KernelEstimator
from onkel.estimators.making import estimator
from onkel.parameters import COMMON, KernelParameters, is_stream
from onkel.parts import Kernel, kernel_named

Floats = NDArray[np.float64]


@estimator
class OneKernel(KernelParameters, KernelEstimator):
    """An estimator with one kernel."""

    def _chosen_kernel(self) -> Kernel:
        given = "rbf" if self._stream_chooses("kernel") else self.kernel
        kernel = kernel_named(given, gamma=self._gamma, degree=self.degree, coef0=self.coef0)
        if self._has_numbers_of_its_own():
            self._check_not_overridden(kernel)
            self._gamma = float(getattr(kernel, "gamma", self._gamma))
        relevances = self._one_for_each_feature("relevances", "one number per feature", "one number")
        if relevances is not None:
            kernel = kernel.with_relevances(relevances)
            self._gamma = float(getattr(kernel, "gamma", self._gamma))
        ranks = self._one_for_each_feature("ranks", "the knots of each feature", "an array of knots or None")
        return kernel if ranks is None else kernel.with_ranks(ranks)

    def _one_for_each_feature(self, name: str, expected: str, each: str) -> Any:
        """What is given for each feature; None if nothing is, or if the stream chooses it."""
        given = getattr(self, name)
        if given is None or is_stream(given):
            return None
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ValueError(f"{name} must be 'stream', None or {expected}, got {given!r}")
        if len(given) != self.n_features_in_:
            raise ValueError(f"{name} must be {each} for each of the {self.n_features_in_} features, got {len(given)}")
        return given

    def _check_not_overridden(self, kernel: Kernel) -> None:
        """Refuse numbers beside a kernel that has its own."""
        given = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        for name, default in (
            ("gamma", None),
            ("degree", COMMON["degree"].default),
            ("coef0", COMMON["coef0"].default),
        ):
            if not isinstance(given[name], str) and given[name] != default:
                raise ValueError(f"{name}={given[name]!r} would not be used: the kernel {kernel!r} has its own numbers")
        for name, own in (("relevances", kernel.metric.scales), ("ranks", kernel.metric.curves)):
            if not isinstance(getattr(self, name), str | None) and own:
                raise ValueError(f"{name} would not be used: the kernel {kernel!r} has its own")

    def __onkel_facts__(self) -> dict[str, Any]:
        facts = super().__onkel_facts__()
        if not hasattr(self, "_learner") or not self.kernel_.metric.scales:
            return facts
        names = getattr(self, "feature_names_in_", np.arange(1, self.n_features_in_ + 1))
        return facts | {"importances": most_important(self.importances_, names)}

    @property
    def importances_(self) -> Floats:
        """The importance of each feature in `kernel_`, independent of its unit; the largest is 1. With several regions
        it is the mean over their kernels, by their weights and rows, and a feature by which rows are divided has at
        least the share of the rows that it divides."""
        learner = self._fitted()
        terms = learner.expansion().terms
        if len(learner.regions) == 1:
            return terms[learner.main_kernel].importances
        each = [weight * term.importances for weight, term in zip(learner.kernel_weights, terms, strict=True)]
        importances = np.asarray(np.sum(each, axis=0) / np.max(np.sum(each, axis=0), initial=1e-300))
        rows = max(1, learner.regions[0].rows)
        for region in learner.regions:
            if region.condition is not None:
                divides = list(region.condition.features)
                importances[divides] = np.maximum(importances[divides], region.rows / rows)
        return importances

    @property
    def feature_importances_(self) -> Floats:
        """`importances_` with the sum 1, as scikit-learn's tools expect them."""
        return with_sum_one(self.importances_)

    @property
    def kernel_(self) -> Kernel:
        """The kernel; where relevances were learned, the one that has them; of two such, the one of larger weight."""
        learner = self._fitted()
        return learner.kernels[learner.main_kernel]

    @property
    def relevances_(self) -> Floats:
        """The factor of each feature's part of the distance in `kernel_`."""
        return self.kernel_.relevances_of(self.n_features_in_)


def with_sum_one(importances: Floats) -> Floats:
    """Return importances as scikit-learn's tools expect them: with the sum 1, or all 0."""
    return importances / importances.sum() if importances.any() else importances


def most_important(importances: Floats, names: Any) -> dict[str, float]:
    """Return the ten most important features, by name."""
    first = np.argsort(-importances, kind="stable")[:10]
    return {str(names[i]): round(float(importances[i]), 3) for i in first}
