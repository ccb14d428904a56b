"""A sum of second-order learners is taken apart and put together without a change of a bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import onkel
from onkel.parts import RBF, Hedge
from onkel.sums import sum_of, terms_of

KERNELS = RBF(0.5), RBF(1.0, (1.0, 0.5, 0.1))


@pytest.mark.parametrize(("task", "sparse"), [("binary", False), ("multiclass", True), ("regression", False)])
def test_the_terms_of_a_sum_are_learners_of_their_own(task, sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) * (rng.random((600, 3)) < 0.8)
    y = {"binary": X[:, 0] > 0, "multiclass": (X[:, 0] > 0) + (X[:, 1] > 0), "regression": np.sin(X[:, 0])}[task]
    recipe = onkel.recipes.Newton(loss="squared_error" if task == "regression" else "log_loss")
    made = onkel.Learner(recipe, kernel=Hedge(KERNELS, "sum"), task=task, n_classes=3, budget=30, fit_intercept=True)
    rows = csr_array(X) if sparse else X
    made.learn_rows(rows[:500], y[:500].astype(np.float64))
    terms = terms_of(made)
    scores = made.score_rows(rows)
    weighed = sum(w * term.score_rows(rows) for w, term in zip(made.kernel_weights, terms, strict=True))
    assert_allclose(scores, weighed, rtol=1e-12, atol=1e-12)
    assert [term.n_support for term in terms] == made.n_support_per_kernel.tolist()
    assert all(term.expansion().information is not None for term in terms)

    again = sum_of(made, terms, made.kernel_weights, made._core.noise_variance)
    assert_array_equal(again.score_rows(rows), scores)
    assert again.n_support == made.n_support  # points that both have are held once
    assert again.t == made.t
    assert_allclose(again.variance_rows(rows)[0], made.variance_rows(rows)[0])
    again.learn_rows(rows[500:], y[500:].astype(np.float64))
    assert again.t == 600
    assert again.n_support <= 30
    copy = again.blank()
    copy.load_state(again.state(), 3, sparse)
    assert copy.fingerprint() == again.fingerprint()


def test_a_learner_of_one_kernel_is_its_only_term():
    alone = onkel.Learner(onkel.recipes.Newton(), kernel=KERNELS[0], budget=5)
    assert terms_of(alone) == [alone]
