"""The average against the brute-force mean of every function there was."""

import numpy as np

from looping import loop
from table import cases


@loop
@cases(dtypes=("float64",), outputs=(True,), one_task=True)
def test_average_is_the_mean_of_all_functions(case):
    # 1200 rows of a shrinking learner fold its scale; the ghosts of an evicting one would take minutes to add up
    X, y = case.data(150 if case.named.evicts or case.named.row_by_row else 1200, d=3)
    settings = {"gamma": 0.7, "seed": 2, "fit_intercept": True, "n_classes": 3 if case.task == "multiclass" else 1}
    expected = case.reference(**settings).learn(X, y, scores=False)
    learner = case.learner(**settings)
    learner.learn_rows(X, y)
    assert expected.support == learner.support()[1].tolist()
    np.testing.assert_allclose(
        learner.coefficients, expected.predicting()[1 : 1 + len(expected.points)].T, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(learner.score_rows(X[:50]), expected.decision(X[:50]), rtol=0, atol=1e-9)


@cases(dtypes=("float64",), outputs=(True,), one_task=True, loop=True)
def test_average_of_a_strongly_shrinking_learner_after_every_row(case):
    parameters = dict(case.parameters)
    if {"eta", "lam"} <= parameters.keys():
        parameters |= {"eta": 0.5, "lam": 1.5}  # a shrink by 4 a row: the scale folds every fifth
    X, y = case.data(80)
    expected = case.reference(parameters, gamma=0.7, n_classes=3).learn(X, y)
    learner = case.learner(parameters, gamma=0.7, n_classes=3)
    scores = learner.learn_rows(X, y, scores=True)
    np.testing.assert_allclose(scores, np.array(expected.scores), rtol=0, atol=1e-9)


@cases(dtypes=("float64",), outputs=(True,), one_task=True, loop=True)
def test_average_has_the_last_function_and_the_first_zero_in_it(case):
    # after the first row the average is (f_1 + f_2) / 2 = f_2 / 2, of which the last function is f_2
    X, y = case.data(2)
    y[:] = [1, 0] if case.task != "regression" else [3.0, -3.0]
    average = case.learner(n_classes=3, seed=1)
    last = type(average)(average.recipe, task=case.task, n_classes=3, seed=1, average=False)
    for learner in (average, last):
        learner.learn_rows(X[:1], y[:1])
    np.testing.assert_array_equal(average.coefficients, last.coefficients / 2)
