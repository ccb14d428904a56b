"""scikit-learn's checks: in full for the classes that have code of their own, and a few for those that share it."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from table import WHOLE

# A weight of 2 is one step twice as long, not two steps, and rows are shuffled: equal in the mean, not to the digit.
WEIGHS_LOSSES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "an online learner weighs a row's loss, it does not repeat it"
    for kind in ("dense", "sparse")
}
# What a class can break that has parameters of its own and nothing else.
FEW = {
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_estimators_overwrite_params",
    "check_set_params",
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_estimators_nan_inf",
    "check_estimator_sparse_array",
    "check_sample_weights_list",
    "check_classifiers_train",
    "check_regressors_train",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
}


def checked(full: list[BaseEstimator], few: list[BaseEstimator], not_promised: dict[str, str]) -> Any:
    """Parametrise a test over estimators and checks; an estimator in `few` takes its few checks in one test."""
    if WHOLE:
        full, few = full + few, []
    every = parametrize_with_checks(full, expected_failed_checks=lambda estimator: not_promised)
    # scikit-learn skips its array-API check of an estimator that does not claim to support it; a skip says nothing here
    pairs = [pair for pair in every.args[1] if "check_array_api_input" not in str(pair)]
    pairs += [pytest.param(estimator, few_checks, id=f"{estimator}-briefly".replace("\n", "")) for estimator in few]
    return pytest.mark.parametrize(every.args[0], pairs, **every.kwargs)


def few_checks(estimator: BaseEstimator) -> None:
    """Run the few checks, one after the other."""
    pairs = parametrize_with_checks([estimator]).args[1]
    chosen = [(one, check) for one, check in pairs if getattr(check, "func", check).__name__ in FEW]
    assert len(chosen) > len(FEW) / 2
    for one, check in chosen:
        check(one)
