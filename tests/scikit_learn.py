"""scikit-learn's checks: in full for the classes that have code of their own, and a few for those that share it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
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
BY_NAME = {
    "check_dataframe_column_names_consistency": "the columns of a data frame are found by their names, in any order"
}
NOT_PROMISED = WEIGHS_LOSSES | BY_NAME
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
    """Parametrise a test over estimators and their checks: one test an estimator, or one a check in a whole run."""
    if WHOLE:
        every = parametrize_with_checks(full + few, expected_failed_checks=lambda estimator: not_promised)
        return pytest.mark.parametrize(every.args[0], list(filter(promised, every.args[1])), **every.kwargs)
    chosen = [(estimator, lambda name: name not in not_promised) for estimator in full]
    chosen += [(estimator, lambda name: name in FEW) for estimator in few]
    rows = [pytest.param(one, partial(run, wanted), id=re.sub(r"\s+", " ", str(one))) for one, wanted in chosen]
    return pytest.mark.parametrize(("estimator", "check"), rows)


def promised(pair: Any) -> bool:
    """Tell whether a check says something: scikit-learn skips its array-API check where no support is claimed."""
    return "check_array_api_input" not in str(pair)


def run(wanted: Callable[[str], bool], estimator: BaseEstimator) -> None:
    """Run the checks of an estimator that are wanted, one after the other."""
    pairs = filter(promised, parametrize_with_checks([estimator]).args[1])
    chosen = [(one, check) for one, check in pairs if wanted(getattr(check, "func", check).__name__)]
    assert len(chosen) > len(FEW) / 2
    for one, check in chosen:
        check(one)
