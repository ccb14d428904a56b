"""The second-order learner beyond what every learner promises: its variance, its span, its memory, forgetting."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from looping import loop
from onkel import _core, parts, recipes
from reference.newton import Newton
from states import state_of
from table import Case, cases

ours = {"where": lambda case: case.named.recipe is recipes.Newton}


def waves(n, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=n)


@loop
@cases(dtypes=("float64",), outputs=(False,), **ours)
@pytest.mark.parametrize("forget", [1.0, 0.97])
def test_variance_is_that_of_the_definition(case: Case, forget):
    X, y = case.data(150)
    parameters = case.parameters | {"forget": forget}
    settings = {"gamma": 0.7, "budget": 20, "seed": 5, "fit_intercept": True, "n_classes": 3}
    learner, expected = case.learner(parameters, **settings), case.reference(parameters, **settings)
    learner.learn_rows(X, y)
    expected.learn(X, y)
    probe = np.vstack([X[:40], X[:3] + 50])  # near and far
    variance, noise = learner.variance_rows(probe)
    np.testing.assert_allclose(variance, [expected.variance(x) for x in probe], rtol=1e-6)
    np.testing.assert_allclose(noise, expected.noise / expected.steps, rtol=1e-9)
    assert (variance[-3:] > 0.99 / parameters["lam"]).all()  # nothing is known far away
    sparse, _ = learner_like(case, parameters, settings, csr_array(X), y).variance_rows(csr_array(probe))
    np.testing.assert_allclose(sparse, variance, rtol=1e-6)


@loop
@cases(dtypes=("float64",), outputs=(False,), where=lambda case: ours["where"](case) and case.task == "regression")
@pytest.mark.parametrize("forget", [1.0, 0.97, "stream"])
def test_deviations_are_those_of_the_definition(case: Case, forget):
    X, y = case.data(1300)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    parameters = case.parameters | {"forget": forget}
    settings = {"gamma": 0.7, "budget": 20, "seed": 5, "fit_intercept": True, "n_classes": 3}
    learner, expected = case.learner(parameters, **settings), case.reference(parameters, **settings)
    probe = np.vstack([X[:40], X[:3] + 50])  # near and far
    assert not learner.deviation_rows(probe).any()  # of nothing nothing is expected
    for rows in (slice(0, 20), slice(20, 200), slice(200, 1300)):  # the first level, the function, not all rows placed
        learner.learn_rows(X[rows], y[rows], weight[rows])
        expected.learn(X[rows], y[rows], weight[rows])
        np.testing.assert_allclose(learner.deviation_rows(probe), [expected.deviation(x) for x in probe], rtol=1e-6)


def learner_like(case, parameters, settings, X, y):
    learner = case.learner(parameters, **settings)
    learner.learn_rows(X, y)
    return learner


@loop
@pytest.mark.parametrize("forget", [1.0, 0.999])
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_hundreds_of_points_come_out_the_same_for_any_block(task, forget):
    # The columns grow many times within a block, hard rows outnumber those that wait for a fold, and newcomers fold,
    # too, while rows ahead have products with the matrix before.
    X, y = waves(900)
    labels = np.digitize(y, [-0.5, 0.5]).astype(float) if task == "multiclass" else (y > 0).astype(float)
    states = set()
    for block_rows in (1, 5, 48, 300):
        recipe = recipes.Newton(spread=1.0, forget=forget)
        learner = onkel.Learner(recipe, task=task, gamma=30.0, budget=400, fit_intercept=True, dtype="float32")
        scores = learner.learn_rows(X.astype(np.float32), labels, scores=True, block_rows=block_rows)
        states.add((learner.fingerprint(), scores.tobytes()))
    assert len(states) == 1
    assert len(state_of(learner)["update.members"]) > 200


def test_after_the_budget_is_full_it_is_recursive_least_squares():
    # P^-1 grows by z z' a row: what a batch solution over the same rows, started from the same mean, would have
    X, y = waves(600)
    settings = {"gamma": 0.5, "budget": 10, "seed": 0, "fit_intercept": True}
    parameters = {"loss": "squared_error", "spread": 1.0, "forget": 1.0}
    reference = Newton(task="regression", **parameters, **settings).learn(X[:100], y[:100])
    learner = onkel.Learner(recipes.Newton(**parameters), task="regression", **settings)
    learner.learn_rows(X, y)
    assert len(reference.order) == 10
    Z = np.array([reference.z(x) for x in X[100:]])
    information = np.linalg.inv(reference.P)
    total = information + Z.T @ Z
    w = np.linalg.solve(total, information @ reference.w[:, 0] + Z.T @ y[100:])
    probe = np.array([reference.z(x) for x in X[:50]])
    np.testing.assert_allclose(learner.score_rows(X[:50])[:, 0], probe @ w, atol=1e-8)


def test_easy_rows_are_learned_from_by_chance():
    X, y = waves(800, noise=0.0)
    learner = onkel.Learner(recipes.Newton(forget=1.0), gamma=0.5, budget=50, seed=3)
    learner.learn_rows(X, (y > 0).astype(float))
    scores = learner.score_rows(X)[:, 0]
    rows, labels = X[np.abs(scores) > 3], (scores[np.abs(scores) > 3] > 0).astype(float)
    taken = []
    for x, label in zip(rows, labels, strict=True):
        score, t = learner.score(x), learner.t
        slope = 1 / (1 + np.exp(np.abs(score)))
        taken.append(_core.uniform(3, 0, t + 1, 4) < slope / 0.1)
        learner.learn(x, label)
        assert learner.t == t + 1
        assert (learner.score(x) != score) == taken[-1]
    assert 0 < np.sum(taken) < len(rows) / 2  # both kinds came


@loop
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("settings", [{}, {"forget": 1.0, "relevances": None}], ids=str)
def test_probabilities_are_right_on_average(rate, settings):
    """The mean probability of a class is its base rate, however rare the class is."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12000, 4))
    signal = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1]
    offset = np.quantile(signal + rng.logistic(size=len(X)), 1 - rate)
    true = 1 / (1 + np.exp(offset - signal))
    y = rng.random(len(X)) < true
    model = onkel.NewtonClassifier(budget=200, random_state=0, **settings).fit(X[:6000], y[:6000])
    p = model.predict_proba(X[6000:])[:, 1]
    standard_error = np.sqrt(np.mean(p * (1 - p)) / 6000)  # of the labels that it has learned from
    np.testing.assert_allclose(p.mean(), true[6000:].mean(), atol=0.05 * rate + 2 * standard_error)


def test_near_duplicates_do_not_make_it_singular():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)).round(1) + 1e-9 * rng.normal(size=(3000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    learner = onkel.Learner(recipes.Newton(spread=1.0), gamma=0.1, budget=300)
    scores = learner.learn_rows(X, y, scores=True)[:, 0]
    assert ((scores > 0) == y)[1000:].mean() > 0.95
    assert all(np.isfinite(values).all() for values in state_of(learner).values())
    assert len(state_of(learner)["update.members"]) < 300  # there is not so much to span


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_standard_deviations_cover_what_they_should(dtype):
    X, y = waves(3000)
    model = onkel.NewtonRegressor(budget=100, gamma=0.5, random_state=0).fit(X.astype(dtype), y)
    fresh, targets = waves(2000, seed=1)
    mean, std = model.predict(fresh.astype(dtype), return_std=True)
    assert 0.63 < np.mean(np.abs(targets - mean) < std) < 0.73
    assert 0.88 < np.mean(np.abs(targets - mean) < 1.645 * std) < 0.92
    assert 0.93 < np.mean(np.abs(targets - mean) < 2 * std) < 0.97
    np.testing.assert_allclose(np.median(std), 0.3, rtol=0.1)
    np.testing.assert_array_equal(mean, model.predict(fresh.astype(dtype)))
    far = model.predict(np.full((1, 2), 100.0, dtype), return_std=True)[1]
    assert far > 1.5 * np.median(std)


def test_learners_of_the_first_order_have_no_variance():
    learner = onkel.Learner(recipes.OGD())
    learner.learn([0.0], 1)
    with pytest.raises(ValueError, match="variance"):
        learner.variance_rows(np.zeros((1, 1)))


def test_forgetting_follows_a_change():
    X, y = waves(6000, noise=0.1)
    y[3000:] *= -1  # the opposite from the middle on
    keeps, forgets = (
        onkel.NewtonRegressor(budget=60, gamma=0.5, forget=forget, random_state=0) for forget in (1.0, 0.995)
    )
    errors = [np.abs(model.predict_then_learn(X, y) - y)[4500:].mean() for model in (keeps, forgets)]
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("forget", [0.99, 0.7])
def test_forgetting_never_blows_up(forget):
    # the same row again and again: without the prior's share P would grow without bound in all other directions
    X, y = waves(300)
    recipe = recipes.Newton(loss="squared_error", spread=1.0, forget=forget)
    learner = onkel.Learner(recipe, task="regression", gamma=0.5, budget=40)
    learner.learn_rows(X, y)
    learner.learn_rows(np.repeat(X[:1], 5000, axis=0), np.repeat(y[:1], 5000))
    variance, _ = learner.variance_rows(X)
    assert (variance <= 1.8 / 0.01).all()
    assert np.isfinite(learner.score_rows(X)).all()


@pytest.mark.parametrize("n_support", [15, 60])
def test_a_compressed_model_goes_on_learning(n_support):
    X, y = waves(2000, noise=0.1)
    labels = y > 0
    model = onkel.NewtonClassifier(budget=60, gamma=0.5, random_state=0).fit(X, labels)
    small, distance, *_ = onkel.compress(model, n_support=n_support)
    assert small.n_support_ <= n_support
    assert distance >= 0
    fresh, targets = waves(2000, seed=1, noise=0.1)
    before = small.score(fresh, targets > 0)
    small.partial_fit(*((part[:1000]) for part in (fresh, targets > 0)))
    assert small.score(fresh[1000:], targets[1000:] > 0) > max(before - 0.01, 0.93)


def test_merged_halves_are_as_good_as_one():
    X, y = waves(3000, noise=0.1)
    settings = {"budget": 60, "gamma": 0.5, "lam": 0.01}
    halves = [onkel.NewtonRegressor(**settings, random_state=i).fit(X[i::2], y[i::2]) for i in range(2)]
    both, distance, n_support, change = onkel.merge(halves)
    assert (distance, change) == (0, None)
    assert n_support == both.n_support_ <= both.budget == 120
    assert both.t_ == 3000
    truth = waves(3000, noise=0.0)[1]
    assert np.mean((both.predict(X) - truth) ** 2) < 0.003  # the variance of the noise is 0.01
    with pytest.raises(ValueError, match=r"different priors.*lam="):
        onkel.merge([halves[0], onkel.NewtonRegressor(**settings | {"lam": 0.1}).fit(X, y)])
    fresh, targets = waves(1000, seed=1, noise=0.1)
    errors = np.abs(both.predict_then_learn(fresh, targets) - targets)
    assert errors.mean() < 0.12  # the mean absolute deviation of the noise is 0.08


@loop
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: recipes.Newton(loss="hinge"), "curvature.*hinge"),
        (lambda: recipes.Newton(lam=0.0), "lam"),
        (lambda: recipes.Newton(spread=0.5), "spread"),
        (lambda: recipes.Newton(forget=1.5), "forget"),
        (lambda: parts.SecondOrder(parts.LogLoss(), parts.Always()), "prior must be a Prior"),
        (lambda: parts.SecondOrder(parts.HingeLoss()), "curvature"),
    ],
)
def test_parts_that_do_not_fit(make, names):
    with pytest.raises(ValueError, match=names) as caught:
        make()
    assert "\n" not in str(caught.value)


@loop
@pytest.mark.parametrize("array", ["members", "candidates", "keys", "factor.diagonal", "covariance.signs", "steps"])
def test_a_state_that_contradicts_itself_is_refused(array):
    X, y = waves(100)
    learner = onkel.Learner(recipes.Newton(), gamma=0.5, budget=60)
    learner.learn_rows(X, (y > 0).astype(float))
    good = state_of(learner)
    spoilt = {name: values.copy() for name, values in good.items()}
    name = f"update.{array}"
    spoilt[name][:1] = {"keys": np.nan, "members": 10**6, "candidates": good["update.members"][0]}.get(array, -3)
    with pytest.raises(ValueError, match="update"):
        learner._core.load(spoilt)
    assert state_of(learner).keys() == good.keys()
    assert all(np.array_equal(values, good[name]) for name, values in state_of(learner).items())


def test_a_weight_beyond_all_numbers_is_refused_and_changes_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    learner = onkel.Learner(recipes.Newton(loss="squared_error"), task="regression", gamma=0.5, budget=20)
    learner.learn_rows(X, X[:, 0])
    before = learner.fingerprint()
    with pytest.raises(FloatingPointError, match=r"^the weight of row 50 of the stream is not a number below 1e100"):
        learner.learn_rows(X[:1], np.array([100.0]), np.array([1e300]))
    assert learner.fingerprint() == before


@pytest.mark.parametrize("forget", [1.0, 0.99, "stream"])
def test_a_kernel_value_beyond_all_numbers_is_refused_even_where_nothing_is_to_be_learned(forget):
    X = np.vstack([np.eye(3)] * 5)
    learner = onkel.Learner(
        recipes.Newton(loss="squared_error", forget=forget), task="regression", kernel="linear", budget=10
    )
    learner.learn_rows(X, np.zeros(15))
    before = learner.fingerprint()
    with pytest.raises(FloatingPointError, match=r"^the kernel value of row 15 of the stream is not a number below"):
        learner.learn_rows(1e60 * X[:1], np.zeros(1))
    learner.learn_rows(1e60 * X[:1], np.zeros(1), np.zeros(1))  # without weight it is not looked at
    assert learner.fingerprint() == before
    assert learner.score_rows(1e60 * X[:1]) == 0


def loud_on_the_right(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(2 * X[:, 0]) + np.where(X[:, 0] > 0, 0.5, 0.05) * rng.normal(size=n)


@pytest.mark.parametrize("settings", [{"gamma": 1.0}, {"gamma": 1.0, "relevances": None, "forget": 0.9995}, {}])
def test_noise_is_that_of_the_place(settings):
    X, y = loud_on_the_right(6000)
    model = onkel.NewtonRegressor(budget=120, random_state=0, **settings).fit(X, y)
    fresh, targets = loud_on_the_right(4000, seed=1)
    loud = fresh[:, 0] > 0
    for smaller, slack in ((model, 0.0), (onkel.compress(model, n_support=80).model, 0.03)):
        mean, std = smaller.predict(fresh, return_std=True)
        inside = np.abs(targets - mean) <= 1.645 * std
        for half in (loud, ~loud):
            assert 0.86 - slack < inside[half].mean() < 0.94 + slack
        assert np.median(std[loud]) > 6 * np.median(std[~loud])


def test_merged_models_know_the_noise_of_both():
    halves = [loud_on_the_right(3000, seed) for seed in (0, 1)]
    settings = {"gamma": 1.0, "relevances": None, "lam": 0.01, "kernel": "rbf"}
    models = [onkel.NewtonRegressor(budget=40, random_state=0, **settings).fit(X, y) for X, y in halves]
    mean, std = onkel.merge(models).model.predict(halves[0][0], return_std=True)
    loud = halves[0][0][:, 0] > 0
    assert np.median(std[loud]) > 6 * np.median(std[~loud])
    assert 0.86 < np.mean(np.abs(halves[0][1] - mean) <= 1.645 * std) < 0.94


def test_outliers_do_not_widen_what_is_expected_elsewhere():
    X, y = waves(4000, noise=0.1)
    far = np.random.default_rng(5).random(len(y)) < 0.05
    model = onkel.NewtonRegressor(budget=60, random_state=0).fit(X, np.where(far, y + 2.0, y))
    std = model.predict(X, return_std=True)[1]
    assert np.median(std) < 0.2  # the standard deviation of all residuals is beyond .4


def test_deviations_follow_the_level_of_the_noise():
    X, y = waves(6000, noise=0.1)
    y[3000:] += 0.4 * np.random.default_rng(3).normal(size=3000)
    model = onkel.NewtonRegressor(budget=40, gamma=0.5, relevances=None, random_state=0)
    covered = []
    for begin in range(0, len(y), 50):
        rows = slice(begin, begin + 50)
        if begin >= 1000:
            mean, std = model.predict(X[rows], return_std=True)
            covered.append(np.abs(y[rows] - mean) <= 1.645 * std)
        model.partial_fit(X[rows], y[rows])
    covered = np.concatenate(covered)
    assert 0.86 < covered[:2000].mean() < 0.94
    assert 0.85 < covered[2300:].mean() < 0.97
