"""Bad input: one sentence that names the place, and nothing changed."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import onkel
from looping import loop
from onkel import parts
from states import state_of
from table import ONE_A_TASK, Case, cases, cases_at, one_a_task

every_learner = cases(dtypes=("float64",), outputs=(True,), one_task=True, loop=True)


def good(case: Case, n=40):
    X, y = case.data(n)
    return {"X": X, "y": y, **case.labels(y)}


def put(array, place, value, dtype=None):
    array = np.array(array, dtype=dtype or array.dtype)
    array[place] = value
    return array


# what is wrong -> (how to make it so, what the sentence must name); `y` is changed only where the task allows
ROWS = {
    "NaN": (lambda a: a | {"X": put(a["X"], (3, 1), np.nan)}, "row 3, column 1"),
    "infinity": (lambda a: a | {"X": put(a["X"], (5, 2), -np.inf)}, "row 5, column 2"),
    "overflowing float32": (lambda a: a | {"X": put(a["X"], (4, 0), "1e999", object)}, "row 4, column 0"),
    "wrong width": (lambda a: a | {"X": a["X"][:, :2]}, "features"),
    "no features": (lambda a: a | {"X": a["X"][:, :0]}, "feature"),
    "no rows": (lambda a: a | {"X": a["X"][:0], "y": a["y"][:0]}, "0 sample"),
    "complex": (lambda a: a | {"X": a["X"] + 1j}, "Complex data"),
    "objects": (lambda a: a | {"X": put(a["X"], (0, 0), object(), object)}, "X|row|float"),
    "strings": (lambda a: a | {"X": put(a["X"], (0, 0), "blue", object)}, "X|row|'blue'"),
    "short y": (lambda a: a | {"y": a["y"][:-1]}, "y must have|inconsistent"),
    "two columns of y": (lambda a: a | {"y": np.column_stack([a["y"], a["y"]])}, "y should be|1d array"),
    "NaN in y": (lambda a: a | {"y": put(a["y"], 7, np.nan, float)}, "y"),
    "infinity in y": (lambda a: a | {"y": put(a["y"], 7, np.inf, float)}, "y"),
    "negative weight": (lambda a: a | {"sample_weight": put(np.ones(len(a["X"])), 6, -1)}, "sample_weight.* row 6"),
    "NaN weight": (lambda a: a | {"sample_weight": put(np.ones(len(a["X"])), 6, np.nan)}, "sample_weight.* row 6"),
    "few weights": (lambda a: a | {"sample_weight": np.ones(3)}, "sample_weight"),
    "word as weight": (lambda a: a | {"sample_weight": ["heavy"] * len(a["X"])}, "sample_weight"),
}
CLASSES_ONLY = {
    "unknown class": (lambda a: a | {"y": put(a["y"], 9, 17)}, "17.* row 9"),
    "other classes": (lambda a: a | {"classes": [0, 5, 9]}, "classes"),
}
REGRESSION_ONLY = {"words as targets": (lambda a: a | {"y": ["one"] * len(a["X"])}, "y ")}
PARAMETERS = [
    ({"gamma": -1.0}, "gamma"),
    ({"gamma": 0}, "gamma"),
    ({"gamma": "wide"}, "gamma"),
    ({"gamma": np.nan}, "gamma"),
    ({"kernel": "cubic"}, "kernel"),
    ({"kernel": 3}, "kernel"),
    ({"budget": 0}, "budget"),
    ({"budget": -5}, "budget"),
    ({"budget": 2.5}, "budget"),
    ({"average": "yes"}, "average"),
    ({"fit_intercept": 1}, "fit_intercept"),
    ({"random_state": -1}, "random_state"),
    ({"random_state": "x"}, "random_state|seed"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"n_jobs": "all"}, "n_jobs"),
]
OWN_PARAMETERS = [
    ({"eta": -0.1}, "eta"),
    ({"eta": 0}, "eta"),
    ({"eta": np.inf}, "eta"),
    ({"eta": "fast"}, "eta"),
    ({"lam": -1.0}, "lam"),
    ({"alpha": 0}, "alpha"),
    ({"alpha": -1}, "alpha"),
    ({"beta": 0}, "beta"),
    ({"beta": -2.0}, "beta"),
    ({"epsilon": -0.1, "loss": "epsilon_insensitive"}, "epsilon"),
    ({"loss": "nonsense"}, "loss"),
    ({"horizon": 0}, "horizon"),
    ({"C": 0}, "C"),
    ({"C": "high"}, "C"),
    ({"variant": "PA-III"}, "variant"),
    ({"project": "yes"}, "project"),
    ({"schedule": "sometimes"}, "schedule"),
    ({"sampling": "all"}, "sampling"),
    ({"auxiliary": "none"}, "auxiliary"),
    ({"shape": 0.5}, "shape"),
    ({"cutoff": np.nan, "auxiliary": "cutoff"}, "cutoff"),
    ({"R": 0}, "R"),
    ({"R": -1.0}, "R"),
    ({"G": 0}, "G"),
    ({"G": np.inf}, "G"),
    ({"delta": 0, "eta": None}, "delta"),
    ({"cap": 0}, "cap"),
    ({"maintenance": "forget"}, "maintenance"),
    ({"n_components": 0}, "n_components"),
    ({"k": 1.5}, "k"),
    ({"aggressive": "very"}, "aggressive"),
    ({"rule": "2010"}, "rule"),
    ({"prune": "all"}, "prune"),
    ({"eps": 0}, "eps"),
    ({"parsimony": 0, "eps": None}, "parsimony"),
    ({"batch_size": 0}, "batch_size"),
]
# the sum of two parts' ranges, or what only one learner refuses
OF_ONE = {
    "OGD": [({"lam": 1e9}, "lam")],
    "KLR": [({"sampling": "margin", "eta": 2.0}, "eta")],
    "OSKL": [({"loss": "hinge", "eta": None}, "eta|hinge")],
}
IN_FIT_ONLY = [
    ({"n_epochs": 0}, "n_epochs"),
    ({"n_epochs": 1.5}, "n_epochs"),
    ({"shuffle": "no"}, "shuffle"),
]


def refused(call, names):
    """Demand an error in one line that names what it should."""
    with pytest.raises((ValueError, TypeError), match=names) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence.strip(), sentence
    return sentence


def snapshot(model):
    state = {name: value for name, value in vars(model).items() if name != "_learner"}
    return repr(sorted(state.items())), model._fingerprint() if hasattr(model, "_learner") else None


def call(model, method, arguments):
    if method == "fit":
        arguments = {name: value for name, value in arguments.items() if name != "classes"}
    return getattr(model, method)(**arguments)


def wrong_calls(fitted):
    """Every task x method x wrong that is wrong there (fit starts anew, so it knows no width and no classes)."""
    for case in ONE_A_TASK:
        for method in ("fit", "partial_fit", "predict_then_learn"):
            for wrong in ROWS | (REGRESSION_ONLY if case.task == "regression" else CLASSES_ONLY):
                if wrong in ("wrong width", "other classes") and not (fitted and method != "fit"):
                    continue
                if wrong == "unknown class" and method == "fit":
                    continue
                yield pytest.param(case, method, wrong, id=f"{case.named.name}-{case.task}-{method}-{wrong}")


EVERY_WRONG = ROWS | CLASSES_ONLY | REGRESSION_ONLY


@loop
@pytest.mark.parametrize(("case", "method", "wrong"), list(wrong_calls(fitted=True)))
def test_bad_rows_change_nothing(case, method, wrong):
    spoil, names = EVERY_WRONG[wrong]
    model, twin = (case.estimator().partial_fit(**good(case)) for _ in range(2))
    before = snapshot(model)
    refused(lambda: call(model, method, spoil(good(case))), names)
    assert snapshot(model) == before
    for m in (model, twin):
        m.partial_fit(**good(case))
    assert snapshot(model) == snapshot(twin)


def test_bad_rows_leave_a_new_estimator_new():
    for case, method, wrong in (row.values for row in wrong_calls(fitted=False)):
        spoil, names = EVERY_WRONG[wrong]
        model = case.estimator()
        before = snapshot(model)
        refused(partial(call, model, method, spoil(good(case))), names)
        assert snapshot(model) == before
        assert not model.__sklearn_is_fitted__()


@loop
@one_a_task
def test_bad_rows_to_predict(case):
    model = case.estimator().partial_fit(**good(case))
    before = snapshot(model)
    for spoil, names in (ROWS[wrong] for wrong in ROWS if "y" not in wrong and "weight" not in wrong):
        refused(partial(model.predict, spoil(good(case))["X"]), names)
        assert snapshot(model) == before


def wrong_parameters():
    """Parameters that all learners have, for one case a task; a learner's own for every learner."""
    for case in cases_at("float64", average=True):
        own = [(bad, names) for bad, names in OWN_PARAMETERS if set(bad) <= set(case.estimator().get_params())]
        own += OF_ONE.get(case.named.name, [])
        if case.task == "multiclass":
            own = []  # the same class as for two
        every = case in ONE_A_TASK
        for method in ("fit", "partial_fit", "predict_then_learn") if every else ("fit", "partial_fit"):
            wrong = own + (PARAMETERS if every else []) + (IN_FIT_ONLY if every and method == "fit" else [])
            # fit counts its rows itself
            wrong = [(bad, names) for bad, names in wrong if "horizon" not in bad or method != "fit"]
            if wrong:
                yield pytest.param(case, method, wrong, id=f"{case.named.name}-{case.task}-{method}")


@loop
@pytest.mark.parametrize(("case", "method", "wrong"), list(wrong_parameters()))
def test_bad_parameters_are_named(case, method, wrong):
    for bad, names in wrong:
        model = case.estimator()
        if "horizon" in bad and case.named.recipe is onkel.recipes.SPA:
            model.set_params(beta=None, budget=10)  # only then does it count
        fine = {name: model.get_params()[name] for name in bad}
        model.set_params(**bad)
        before = snapshot(model)
        refused(partial(call, model, method, good(case)), names)
        assert snapshot(model) == before
        call(model.set_params(**fine), method, good(case))


@every_learner
def test_zero_weights(case):
    data = good(case) | {"sample_weight": np.zeros(40)}
    model = case.estimator()
    refused(lambda: call(model, "fit", data), "sample_weight")
    assert not model.__sklearn_is_fitted__()
    # a later call is the first one
    model.partial_fit(**data)
    model.partial_fit(**good(case))
    twin = case.estimator().partial_fit(**good(case))
    assert snapshot(model)[1] == snapshot(twin)[1]
    before = snapshot(model)
    model.partial_fit(**data)
    assert snapshot(model) == before
    assert model.predict_then_learn(**data).shape[0] == 40
    assert snapshot(model) == before


@every_learner
def test_zero_weights_of_a_first_call_have_scores_of_zero(case):
    data = good(case) | {"sample_weight": np.zeros(40)}
    scores = case.estimator().predict_then_learn(**data)
    twin = case.estimator().predict_then_learn(**good(case))
    assert scores.shape == twin.shape
    assert not scores.any()


@cases(where=lambda case: case.task == "binary", loop=True)
def test_fit_needs_two_classes(case):
    for y in (np.zeros(5), ["a"] * 5):
        refused(partial(case.estimator().fit, np.eye(5), y), "class")


def test_one_class_left_by_the_weights():
    model = onkel.OGDClassifier()
    refused(lambda: model.fit(np.eye(4), [0, 0, 1, 1], sample_weight=[1, 1, 0, 0]), "class")


def test_feature_names_are_in_the_sentence():
    import pandas as pd

    frame = pd.DataFrame({"age": [1.0, 2.0], "height": [3.0, np.nan]})
    refused(lambda: onkel.OGDClassifier().fit(frame, [0, 1]), "row 1, column 1 .*height")


PARTS = [
    (lambda: onkel.recipes.SPA(loss="perceptron"), "LossSampling.*perceptron"),
    (lambda: onkel.recipes.SPA(beta="stream", budget=10), "needs `budget` and `horizon`"),
    (lambda: onkel.recipes.SPA(beta="streams"), "beta.*stream"),
    (lambda: onkel.recipes.PA(loss="perceptron"), "PassiveAggressiveStep.*perceptron"),
    (lambda: parts.GradientStep(eta=-1), "eta"),
    (lambda: parts.GradientStep(eta=2, lam=1), "eta"),
    (lambda: parts.LossSampling(alpha=0), "alpha"),
    (lambda: parts.LossSampling(beta=-1), "beta"),
    (lambda: parts.RBF(gamma=0), "gamma"),
    (lambda: parts.EpsilonInsensitive(epsilon=-1), "epsilon"),
    (lambda: parts.loss_named("nonsense"), "loss"),
    (lambda: parts.kernel_named("nonsense"), "kernel"),
    (
        lambda: parts.FirstOrder(parts.SquaredError(), parts.OnGradient(), parts.SparsePassiveAggressiveStep(eta=1)),
        "SparsePassiveAggressiveStep.*squared_error",
    ),
    (
        lambda: parts.FirstOrder(parts.SquaredError(), parts.OnMistake(), parts.GradientStep(eta=1)),
        "OnMistake.*squared_error",
    ),
    (
        lambda: parts.FirstOrder(parts.HingeLoss(), parts.OnGradient(), parts.GradientStep(eta=1), batch_size=0),
        "batch_size",
    ),
    (lambda: onkel.Learner(onkel.recipes.OGD(), task="regression"), "hinge.*regression"),
    (lambda: onkel.Learner(onkel.recipes.OGD(loss="squared_error")), "squared_error.*binary"),
    (lambda: onkel.Learner(onkel.recipes.OGD(), task="ranking"), "task"),
    (lambda: onkel.Learner(onkel.recipes.OGD(), dtype="float16"), "dtype"),
    (lambda: onkel.Learner(onkel.recipes.OGD(), n_classes=0), "n_classes"),
    (lambda: onkel.KernelRegressor(onkel.recipes.OGD()).fit([[0.0], [1.0]], [0.0, 1.0]), "hinge.*regression"),
    (lambda: onkel.KernelClassifier("ogd").fit([[0.0], [1.0]], [0, 1]), "recipe"),
]


@loop
@pytest.mark.parametrize(("make", "names"), PARTS)
def test_parts_that_do_not_fit(make, names):
    refused(make, names)


@cases(one_task=True, loop=True)
def test_the_thin_learner_refuses_what_would_break_it(case):
    X, y = case.data(20)
    learner = case.learner()
    learner.learn_rows(X, y)
    before = learner.fingerprint()
    refused(lambda: learner.learn_rows(X[:, :2], y), "number of features")
    refused(lambda: learner.learn_rows(X, y[:3]), "rows")
    refused(lambda: learner.score_rows(X[:, :2]), "number of features")
    refused(lambda: learner.learn(X[0, :2], 0.0), "number of features")
    if case.task != "regression":
        for label in (-1.0, 0.5, np.nan, 2.0**40):
            refused(lambda label=label: learner.learn(X[0], label), "class")
    assert learner.fingerprint() == before


@pytest.mark.parametrize("average", [False, True])
def test_divergence_stops_at_a_row_boundary(average):
    # a step of 1e6 times the residual squares the error with every row
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)) * 0.1, rng.normal(size=500)
    model = onkel.OGDRegressor(eta=1e6, gamma=0.1, average=average)
    with pytest.raises(FloatingPointError, match="diverges") as caught:
        model.partial_fit(X, y)
    assert "\n" not in str(caught.value)
    t = model.t_
    assert 0 < t < 500
    assert f"row {t} " in str(caught.value)
    assert all(np.isfinite(values).all() for values in state_of(model._learner).values())
    assert np.isfinite(model.predict(X[:5])).all()
    # everything before is learned, and nothing after
    twin = onkel.OGDRegressor(eta=1e6, gamma=0.1, average=average).partial_fit(X[:t], y[:t])
    assert model._fingerprint() == twin._fingerprint()
    with pytest.raises(FloatingPointError):
        model.partial_fit(X[t:], y[t:])
    assert model._fingerprint() == twin._fingerprint()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_that_are_no_numbers_are_named_with_the_way_to_learn_from_them(frame):
    table = frame({"age": [30.0, 40.0], "town": ["Bern", "Chur"]})
    expected = r"'Bern' at row 0, column 1 \('town'\), .*onkel.make_stream_pipeline\(NewtonClassifier\(\)\)"
    with pytest.raises(ValueError, match=expected):
        onkel.NewtonClassifier().fit(table, [0, 1])


def test_tables_of_arrow_are_refused_with_the_way():
    table = pa.table({"age": [30.0, 40.0], "size": [1.0, 2.0]})
    for rows in (table, table.to_batches()[0]):
        with pytest.raises(TypeError, match=r"of pyarrow: give X.to_pandas\(\)"):
            onkel.OGDRegressor().fit(rows, [0.0, 1.0])
    assert onkel.OGDRegressor().fit(table.to_pandas(), [0.0, 1.0]).feature_names_in_.tolist() == ["age", "size"]


def test_a_kernel_that_fails_is_called_once():
    calls = []

    def kernel(x, S):
        calls.append(len(S))
        if x[0, 0] > 0:
            raise TypeError("no such row")
        return np.ones((1, len(S)))

    learner = onkel.Learner(onkel.recipes.OGD(), kernel=kernel)
    learner.learn([0.0], 1)
    calls.clear()
    with pytest.raises(TypeError, match="no such row"):
        learner.learn(np.array([1.0]), 1)
    assert len(calls) == 1
