"""Relevances of features: in the kernel, learned on the stream, in sums, and what becomes of models that have them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from choosing import Chooses
from exported import READERS
from growing import carrying
from looping import loop
from onkel import recipes
from onkel.inside import facts
from onkel.parts import RBF, Hedge, Laplacian, Linear

RELEVANCES = (2.0, 1.0, 0.5, 0.0)
NEWTON = recipes.Newton()
FIRST = 1024  # rows after which relevances are learned on a stream
LEAST_SQUARES = recipes.Newton(loss="squared_error")


def rows(n=1300, seed=0):
    """Four features, of which two say something: rows, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(3 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)


# -- in the kernel


@loop
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("held", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", [RBF, Laplacian])
def test_a_kernel_with_relevances_is_the_kernel_of_scaled_rows_to_the_bit(kernel, held, dtype):
    X, y = rows(400)
    X = X.astype(dtype)
    scaled = (X.astype(np.float64) * np.array(RELEVANCES) ** (1 / kernel.base.power)).astype(dtype)
    given = {"budget": 30, "dtype": dtype, "fit_intercept": True}
    relevant = onkel.Learner(NEWTON, kernel=kernel(0.5, RELEVANCES), **given)
    plain = onkel.Learner(NEWTON, kernel=kernel(0.5), **given)
    ours, theirs = (
        learner.learn_rows(held(each), (y > 0).astype(float), scores=True)
        for learner, each in ((relevant, X), (plain, scaled))
    )
    assert ours.tobytes() == theirs.tobytes()
    points, births = relevant.support()
    points = points if held is np.asarray else points.toarray()
    np.testing.assert_array_equal(points, X[births])  # as they came, also where the relevance is 0
    term = relevant.expansion().only
    np.testing.assert_array_equal(term.relevances, RELEVANCES)
    loaded = pickle.loads(pickle.dumps(relevant))
    assert loaded.score_rows(held(X)).tobytes() == relevant.score_rows(held(X)).tobytes()


@pytest.mark.parametrize("held", [np.asarray, csr_array])
def test_a_number_that_its_relevance_carries_beyond_the_largest_has_a_distance(held):
    X = np.array([[3e38, 0.1], [-3e38, 0.2], [3e38, 0.1], [1.0, -0.3]] * 8, np.float32)
    model = onkel.ForgetronClassifier(gamma=1.0, relevances=[4.0, 1.0], budget=4, random_state=0)
    model.partial_fit(held(X), [0, 1, 1, 0] * 8)
    assert np.isfinite(model.decision_function(held(X))).all() and np.isfinite(model.dual_coef_).all()


def test_relevances_of_another_mean_are_part_of_the_width(tmp_path):
    X, y = rows(200)
    model = onkel.SPARegressor(gamma=0.5, relevances=[2, 4, 1, 1], random_state=0).fit(X, y)
    assert model.kernel_ == RBF(1.0, (1.0, 2.0, 0.5, 0.5))
    assert model.gamma_ == 1.0
    np.testing.assert_array_equal(model.relevances_, [1.0, 2.0, 0.5, 0.5])
    onkel.save(model, tmp_path / "model")
    loaded = onkel.load(tmp_path / "model")
    assert loaded.kernel_ == model.kernel_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    again = onkel.SPARegressor(kernel=model.kernel_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@loop
@pytest.mark.parametrize(
    ("relevances", "kernel", "said"),
    [
        ([1.0, 2.0], "rbf", "relevances must be one number for each of the 4 features, got 2"),
        ([1.0, -1.0, 1.0, 1.0], "rbf", "relevances must be numbers of at least 0"),
        ([1.0, np.nan, 1.0, 1.0], "rbf", "relevances must be numbers of at least 0"),
        ([0.0] * 4, "rbf", "not all of them 0"),
        ([1.0] * 4, "linear", "relevances belong to the kernels rbf and laplacian"),
        ("often", "rbf", "relevances must be 'stream', None or one number per feature, got 'often'"),
    ],
)
def test_relevances_that_make_no_sense_are_refused(relevances, kernel, said):
    X, y = rows(50)
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        onkel.OGDRegressor(relevances=relevances, kernel=kernel).fit(X, y)


def test_a_sum_or_a_product_of_kernels_has_no_relevances():
    with pytest.raises(ValueError, match="a product of kernels has no relevances of its own"):
        RBF(1.0, (1.0, 2.0)) * Linear()
    with pytest.raises(ValueError, match="a sum of kernels has no relevances of its own"):
        RBF(1.0, (1.0, 2.0)) + Linear()


# -- sums


@loop
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("recipe", [recipes.Newton, recipes.OGD])
def test_weights_of_a_sum_follow_the_gradient_of_its_loss(task, recipe):
    X, y = rows(300)
    loss = "squared_error" if task == "regression" else "log_loss"
    labels = {"regression": y, "binary": (y > 0) * 1.0, "multiclass": np.digitize(y, [-0.5, 0.5]) * 1.0}[task]
    kernels, start = (RBF(0.3), Laplacian(0.5, RELEVANCES)), 50
    given = {"task": task, "n_classes": 3 if task == "multiclass" else 1, "fit_intercept": True, "average": False}
    alone = [
        onkel.Learner(recipe(loss=loss), kernel=kernel, **given).learn_rows(X, labels, scores=True)
        for kernel in kernels
    ]
    together = onkel.Learner(recipe(loss=loss), kernel=Hedge(kernels, "sum", start=start), **given)
    made = together.learn_rows(X, labels, scores=True)
    weights, squares = np.full(2, 0.5), 0.0
    for t, (f, g, label) in enumerate(zip(*alone, labels, strict=True)):
        total = weights[0] * f + weights[1] * g
        np.testing.assert_allclose(made[t], total, rtol=1e-6, atol=1e-9)
        if t < start:
            continue
        if task == "regression":
            squares += (total[0] - label) ** 2
            slope = (total - label) / (squares / (t + 1 - start))
        elif task == "binary":
            slope = 1 / (1 + np.exp(-total)) - label
        else:
            slope = np.exp(total - total.max())
            slope = slope / slope.sum() - np.eye(3)[int(label)]
        down = [np.clip(slope @ (each - total), -10, 10) for each in (f, g)]
        weights = weights * np.exp(-0.1 * np.array(down))
        weights = (1 - 1e-4) * weights / weights.sum() + 1e-4 / 2
    np.testing.assert_allclose(together.kernel_weights, weights, rtol=1e-5)


def test_the_budget_of_a_sum_follows_the_weights():
    X, y = rows(1100)
    learner = onkel.Learner(
        LEAST_SQUARES,
        task="regression",
        kernel=Hedge((RBF(10.0, (0.0, 0.0, 1.0, 1.0)), RBF(0.3)), "sum"),
        budget=60,
        fit_intercept=True,
    )
    learner.learn_rows(X, y)
    few, many = learner.n_support_per_kernel
    assert learner.kernel_weights[1] > 0.6
    assert few < 30 < 42 < many  # sqrt(1/2) of 60 is 42
    assert few + many > 60 >= learner.n_support  # points that both hold count once
    assert few**2 + many**2 <= 60**2  # the second-order work of one learner with the whole budget
    halves = learner.blank()
    for piece in np.split(np.arange(1100), [1, 255, 256, 700, 1024]):
        halves.learn_rows(X[piece], y[piece])
        halves = pickle.loads(pickle.dumps(halves))
    assert halves.fingerprint() == learner.fingerprint()


@loop
@pytest.mark.parametrize("held", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n_kernels", [2, 3])
def test_a_sum_keeps_its_budget_while_its_terms_exchange_points_that_they_share(n_kernels, held):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 2))
    y = np.sin(X[:, 0] + 0.05 * np.arange(900)) + 0.01 * rng.normal(size=900)  # it changes, so that points leave
    kernels = (RBF(0.5), RBF(2.0), Laplacian(0.7))[:n_kernels]
    learner = onkel.Learner(LEAST_SQUARES, task="regression", kernel=Hedge(kernels, "sum"), budget=12)
    for begin in range(0, 900, 20):
        learner.learn_rows(held(X[begin : begin + 20]), y[begin : begin + 20])
        assert learner.n_support <= 12
    assert learner.n_support >= 10
    assert (learner.support()[1] > 400).sum() > 3


def test_the_deviation_of_a_sum_is_the_weighted_sum_of_its_terms():
    X, y = rows(400)
    kernels = (RBF(0.3), RBF(0.5, RELEVANCES))
    given = {"task": "regression", "fit_intercept": True}
    together = onkel.Learner(LEAST_SQUARES, kernel=Hedge(kernels, "sum"), **given)
    made = together.learn_rows(X, y, scores=True)
    variance, noise = together.variance_rows(X[:5])
    assert noise == pytest.approx(np.mean((made[:, 0] - y) ** 2))
    deviation = 0.0
    for kernel, weight in zip(kernels, together.kernel_weights, strict=True):
        alone = onkel.Learner(LEAST_SQUARES, kernel=kernel, **given)
        alone.learn_rows(X, y)
        own, unit = alone.variance_rows(X[:5])
        deviation = deviation + weight * np.sqrt(unit * own)
    np.testing.assert_allclose(np.sqrt(noise * variance), deviation, rtol=1e-6)


def test_several_kernels_of_second_order_add_up():
    X, y = rows(600)
    model = onkel.MultiKernelClassifier(NEWTON, kernels=[RBF(0.1), RBF(1.0)], combination="sum", random_state=0)
    model.fit(X, y > 0)
    np.testing.assert_allclose(model.decision_function(X), model.weighted_score(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    assert model.score(X, y > 0) > 0.9


# -- learned on the stream


def choosing(task, dtype="float64"):
    recipe = LEAST_SQUARES if task == "regression" else NEWTON
    learner = onkel.Learner(recipe, task=task, budget=30, fit_intercept=True, dtype=dtype, seed=1)
    return Chooses(learner, ["gamma", "lam", "relevances", "kernel"])


@loop
@pytest.mark.parametrize(
    ("task", "held"), [("binary", csr_array), ("multiclass", np.asarray), ("regression", np.asarray)]
)
@carrying(1e12)
def test_they_are_the_same_for_any_cuts(task, held):
    X, y = rows(1100)
    labels = {"regression": y, "binary": (y > 0) * 1.0, "multiclass": np.digitize(y, [-0.5, 0.5]) * 1.0}[task]
    whole, parts = choosing(task), choosing(task)
    X = held(X)
    expected = whole.learn_rows(X, labels, scores=True)
    scores = []
    for piece in np.split(np.arange(1100), [3, 500, 1023, 1025, 1050]):
        made = parts.learn_rows(X[piece], labels[piece], scores=True)
        scores.append(np.pad(made, ((0, 0), (0, expected.shape[1] - made.shape[1]))))
        parts = pickle.loads(pickle.dumps(parts))
    assert np.concatenate(scores).tobytes() == expected.tobytes()
    assert parts.fingerprint() == whole.fingerprint()
    relevances = whole.learner.kernels[whole.learner.main_kernel].relevances_of(4)
    assert relevances.mean() == pytest.approx(1.0)
    assert relevances[0] > 3.5  # the rows' first feature says most, the second something, the others nothing
    assert relevances[1] > 10 * max(relevances[2:])


@pytest.fixture(scope="module")
def fitted():
    X, y = rows()
    noisy = y + np.random.default_rng(0).normal(size=len(y))
    regressor = onkel.NewtonRegressor(budget=60, random_state=0).fit(X, noisy)
    classifier = onkel.NewtonClassifier(budget=60, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    return X, regressor, classifier


def test_default_newton_has_several_kernels_and_says_which_features_matter(fitted):
    X, regressor, classifier = fitted
    for model in (regressor, classifier):
        current = model._learner
        assert {type(kernel) for kernel in current.kernels} == {RBF, Laplacian}
        assert model.kernel_ == current.kernels[np.argmax(current.kernel_weights)]
        assert model.gamma_ == model.kernel_.gamma
        assert model.relevances_.argmax() == 0
        assert model.n_support_ <= 60
    mean, deviation = regressor.predict(X[:3], return_std=True)
    assert mean.shape == deviation.shape == (3,)
    assert classifier.predict_proba(X[:3]).sum(axis=1) == pytest.approx(1.0)


@loop
@pytest.mark.parametrize("format", ["json", "c", "onnx"])
def test_exports_know_relevances_and_sums(format, fitted, tmp_path):
    X, regressor, classifier = fitted
    for model, wanted in ((regressor, regressor.predict(X[:9])), (classifier, classifier.decision_function(X[:9]))):
        made = getattr(onkel.export, f"to_{format}")(model, **({} if format == "json" else {"dtype": "float64"}))
        scores, _ = READERS[format](made, X[:9], tmp_path)
        np.testing.assert_allclose(scores, wanted.reshape(9, -1), rtol=1e-6, atol=1e-8)


def test_libsvm_refuses_relevances_by_name():
    X, y = rows(60)
    model = onkel.OGDClassifier(relevances=[1, 2, 1, 1], gamma=1.0).fit(X, y > 0)
    with pytest.raises(ValueError, match="LIBSVM knows no relevances"):
        onkel.export.to_libsvm(model)


def test_a_sum_is_compressed_and_goes_on(fitted):
    X, regressor, _ = fitted
    small = onkel.compress(regressor, n_support=30)
    assert small.n_support == small.model.n_support_ <= 30
    assert small.distance > 0
    assert small.model.kernel_ == regressor.kernel_
    assert np.corrcoef(small.model.predict(X), regressor.predict(X))[0, 1] > 0.95
    small.model.partial_fit(*rows(200, seed=1))
    assert small.model.n_support_ <= 30
    same = onkel.compress(regressor, eps=0.0)
    np.testing.assert_allclose(same.model.predict(X), regressor.predict(X), rtol=1e-6, atol=1e-6)


@loop
@pytest.mark.parametrize("kernel", ["linear", "poly", RBF(0.5) + Linear(), lambda x, S: x @ S.T])
def test_other_kernels_choose_nothing_and_do_not_complain(kernel):
    X, y = rows(FIRST + 10)
    model = onkel.NewtonRegressor(kernel=kernel, budget=10, lam=0.1, shuffle=False).fit(X, y)
    assert model._choice is None


def test_a_width_of_one_s_own_pins_the_kernel():
    X, y = rows(FIRST + 10)
    model = onkel.NewtonRegressor(gamma=0.7, budget=10, shuffle=False).fit(X, y)
    assert model.kernel_ == RBF(0.7)


@loop
@pytest.mark.parametrize("own", [RBF(0.5, (2.0, 1.0, 0.5, 0.5)), Laplacian(0.3), RBF(0.5)])
def test_a_kernel_with_numbers_of_its_own_pins_them(own):
    X, y = rows(FIRST + 10)
    model = onkel.NewtonRegressor(kernel=own, budget=10, shuffle=False).fit(X, y)
    assert model.kernel_ == own
    assert model.gamma_ == own.gamma
    assert model.lam_ == model._learner.recipe.prior.lam


@loop
@pytest.mark.parametrize(
    "given", [{"gamma": 0.7}, {"degree": 5}, {"coef0": 1.0}, {"relevances": [1.0, 1.0, 1.0, 2.0]}], ids=str
)
def test_numbers_beside_a_kernel_that_has_its_own_are_refused_by_name(given):
    X, y = rows(20)
    model = onkel.NewtonRegressor(kernel=RBF(0.5, (2.0, 1.0, 0.5, 0.5)), **given)
    with pytest.raises(ValueError, match=f"{next(iter(given))}.* would not be used: the kernel RBF"):
        model.fit(X, y)


def test_learners_of_first_order_take_the_better_kernel():
    X, y = rows()
    model = onkel.SPAClassifier(gamma="stream", relevances="stream", random_state=0).fit(X, y > 0)
    assert isinstance(model.kernel_, RBF)
    assert model.relevances_.argmax() == 0
    assert model.score(X, y > 0) > 0.9


# -- features of all kinds


def test_features_may_be_constant_doubled_or_in_units_of_their_own():
    X, y = rows()
    hostile = np.column_stack([X[:, 0] * 1e6, X[:, 1] * 1e-3, X[:, 1] * 1e-3, np.full(len(X), 7.0), X[:, 2:]])
    plain = onkel.NewtonRegressor(budget=60, random_state=0).fit(X, y)
    model = onkel.NewtonRegressor(budget=60, random_state=0).fit(hostile, y)
    assert model.score(hostile, y) > plain.score(X, y) - 0.02
    assert model.importances_[0] == 1
    assert model.importances_[3] == 0
    assert next(iter(facts(model)["importances"])) == "1"  # features are counted from 1


def test_a_feature_that_varies_only_later_is_taken_up():
    X, y = rows()
    X[:1100, 1] = 0.0
    model = onkel.NewtonRegressor(budget=60, shuffle=False, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.relevances_[1] > 0


def test_more_features_than_the_rule_allows_stay_alike():
    rng = np.random.default_rng(0)
    y = rng.random(FIRST + 4) > 0.5
    categories = np.hstack([np.eye(1030)[rng.integers(1030, size=FIRST + 4)] for _ in range(2)])  # fewer than 256 rows
    scales = np.where(rng.random((FIRST + 4, 520)) < 0.01, 1.0, 0.0)  # fewer than two rows for each scale
    endless = csr_array((np.ones(FIRST + 4), np.arange(FIRST + 4), np.arange(FIRST + 5)), shape=(FIRST + 4, 2**20))
    for X in (csr_array(categories), csr_array(scales), endless):
        model = onkel.NewtonClassifier(budget=8, shuffle=False).fit(X, y)
        assert len(model._learner.kernels) == 1


def test_a_feature_of_records_that_appears_later_has_the_relevance_1():
    river = pytest.importorskip("onkel.river")
    X, y = rows(FIRST + 20)
    model = river.KernelRegressor(
        recipes.OGD(loss="squared_error", eta=0.2), gamma="stream", relevances="stream", budget=20, seed=0
    )
    for i, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        model.learn_one(dict(enumerate(x)) | ({"later": 1.0} if i > FIRST else {}), target)
    kernel = model._learner.kernel
    assert kernel.relevances_of(40)[30:].tolist() == [1.0] * 10
    with pytest.raises(ValueError, match="the features of records have names"):
        river.KernelRegressor(recipes.OGD(loss="squared_error"), relevances=[1.0, 2.0])
