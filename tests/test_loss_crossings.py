"""Huber, quantile and Poisson in company: memories, sums, sparse rows, partitions, files, exports, choices."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

import onkel
from exported import READERS
from looping import loop
from onkel import parts, recipes
from reference.newton import Newton

LOSSES = [{"loss": "huber"}, {"loss": "quantile", "quantile": 0.9}, {"loss": "poisson"}]
GIVEN = {"gamma": 0.25, "relevances": None, "kernel": "rbf", "lam": 0.01}
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["loss"])


def function(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]


def counts(n, seed=0, base=0.5, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.poisson(np.exp(base + function(X))).astype(float)


def same(one, other, X):
    assert one.predict(X).tobytes() == other.predict(X).tobytes()
    assert one._learner.fingerprint() == other._learner.fingerprint()


@loop
@each_loss
@pytest.mark.parametrize("forget", ["stream", 1.0, 0.98])
@pytest.mark.parametrize("kernel", ["one", "sum"])
@pytest.mark.parametrize("sparse", [False, True])
def test_nothing_depends_on_the_cut_or_on_files(loss, forget, kernel, sparse, tmp_path):
    X, y = counts(400)
    X = csr_array(X * (np.abs(X) > 0.5)) if sparse else X
    three = parts.Hedge((parts.RBF(0.5), parts.RBF(0.05), parts.Laplacian(0.3)), "sum", start=20)
    kernel = three if kernel == "sum" else parts.RBF(0.5)

    def new():
        return onkel.KernelRegressor(
            recipes.Newton(lam=0.1, forget=forget, **loss), kernel=kernel, budget=15, random_state=0
        )

    whole = new().partial_fit(X, y)
    cut = new()
    for begin, end in [(0, 1), (1, 60), (60, 61), (61, 300), (300, 400)]:
        cut.partial_fit(X[begin:end], y[begin:end])
        if begin == 60:
            onkel.save(cut, tmp_path / "model.onkel")
            cut = onkel.load(tmp_path / "model.onkel")
        elif begin == 61:
            cut = copy.deepcopy(cut)
    same(whole, cut, X)
    assert np.isfinite(whole.predict(X)).all()


@loop
@each_loss
def test_choices_depend_on_the_rows_alone(loss):
    X, y = counts(1100)
    whole, cut = (onkel.NewtonRegressor(budget=20, random_state=0, **loss) for _ in range(2))
    whole.partial_fit(X, y)
    for rows in np.array_split(np.arange(len(X)), 13):
        cut.partial_fit(X[rows], y[rows])
    same(whole, cut, X)


@loop
@pytest.mark.parametrize("forget", [1.0, "stream"])
@pytest.mark.parametrize("base", [-3.0, 0.5, 6.0])
def test_poisson_is_that_of_the_definition(forget, base):
    X, y = counts(120, base=base)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 20.0], len(y))
    settings = {"gamma": 0.7, "budget": 20, "seed": 5, "fit_intercept": True}
    expected = Newton(task="regression", loss="poisson", lam=0.1, forget=forget, **settings).learn(X, y, weight)
    learner = onkel.Learner(recipes.Newton(loss="poisson", lam=0.1, forget=forget), task="regression", **settings)
    scores = learner.learn_rows(X, y, weight, scores=True)
    n = expected.clear_rows(1e-9)
    assert n == len(X)
    np.testing.assert_allclose(scores, expected.scores, rtol=1e-6, atol=1e-6)
    variance, noise = learner.variance_rows(X[:20])
    np.testing.assert_allclose(variance, [expected.variance(x) for x in X[:20]], rtol=1e-5)
    np.testing.assert_allclose(noise, expected.noise / expected.steps, rtol=1e-6)


@loop
@each_loss
@pytest.mark.parametrize("export", ["onnx", "c", "json"])
def test_exports_predict_what_the_model_does(loss, export, tmp_path):
    X, y = counts(300)
    model = onkel.NewtonRegressor(budget=15, random_state=0, **loss).fit(X, y)
    options = {"dtype": "float64"} if export == "onnx" else {}
    _, predicted = READERS[export](getattr(onkel.export, f"to_{export}")(model, **options), X, tmp_path)
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-9)
    if loss["loss"] == "poisson":
        assert (predicted > 0).all()
        with pytest.raises(ValueError, match="logarithms"):
            onkel.export.to_libsvm(onkel.NewtonRegressor(kernel="rbf", gamma=0.5, budget=15, **loss).fit(X, y))


@loop
@each_loss
def test_smaller_and_merged_models_go_on(loss):
    X, y = counts(600)
    model = onkel.NewtonRegressor(gamma=0.5, relevances=None, lam=0.1, budget=40, random_state=0, **loss).fit(X, y)
    small = onkel.compress(model, n_support=20).model
    both = onkel.merge([model, small]).model
    for each in (small, both):
        before = each.predict(X)
        assert np.corrcoef(before, model.predict(X))[0, 1] > 0.95
        each.partial_fit(X, y)
        assert np.isfinite(each.predict(X)).all()


@loop
@each_loss
def test_partitions(loss):
    X, y = counts(4000)
    model = onkel.NewtonRegressor(gamma=0.5, relevances=None, lam=0.1, budget=40, random_state=0, **loss)
    sources = [(X[rows], y[rows]) for rows in np.array_split(np.arange(len(X)), 3)]
    if loss["loss"] != "poisson":
        with pytest.raises(ValueError, match=f"loss='{loss['loss']}' follows the scale"):
            onkel.partitions.fit(model, sources)
        return
    fitted = onkel.partitions.fit(model, sources)
    assert fitted.report.converged
    T, t = counts(2000, seed=1)
    alone = mean_poisson_deviance(t, model.fit(X, y).predict(T))
    assert mean_poisson_deviance(t, fitted.model.predict(T)) < 1.02 * alone
    fitted.model.partial_fit(X, y)
    sources[1][1][3] = -1
    with pytest.raises(ValueError, match="at least 0"):
        onkel.partitions.fit(model, sources)


# -- what the losses are for ------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("settings", [GIVEN, {}], ids=["given", "stream"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_outliers_hardly_move_huber(settings, side):
    """With 5 % outliers of 20 deviations, on both sides or one, the error is not 1.5 times that without them; where the
    kernel is chosen from rows with outliers it is still far from that of the squared error."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(4000, 3)), rng.normal(size=(1000, 3))
    noise = 0.3 * rng.normal(size=4000)
    wild = np.where(rng.random(4000) < 0.05, 6.0 * rng.choice([side, 1.0], 4000), noise)

    def error(y, **loss):
        model = onkel.NewtonRegressor(budget=100, random_state=0, **settings, **loss).fit(X, y)
        return np.sqrt(np.mean((model.predict(T) - function(T)) ** 2))

    clean, dirty = function(X) + noise, function(X) + wild
    if settings:
        assert error(dirty, loss="huber") < 1.5 * error(clean)
        assert error(clean, loss="huber") < 1.15 * error(clean)
    assert error(dirty, loss="huber") < 0.6 * error(dirty)


@loop
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("unit", [1e-2, 1e4])
def test_quantiles_are_right_where_noise_varies(quantile, unit):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(6000, 3)), rng.normal(size=(3000, 3))

    def spread(X):
        return 0.1 + 0.5 * np.abs(X[:, 0])

    y = function(X) + spread(X) * rng.normal(size=6000)
    model = onkel.NewtonRegressor(loss="quantile", quantile=quantile, budget=100, random_state=0)
    below = norm.cdf((model.fit(X, unit * y).predict(T) / unit - function(T)) / spread(T))
    quiet = np.abs(T[:, 0]) < 0.67
    assert abs(below.mean() - quantile) < 0.04
    for part in (quiet, ~quiet):
        assert abs(below[part].mean() - quantile) < 0.08


@loop
@pytest.mark.parametrize("base", [-2.0, 1.0, 4.0])
def test_counts_and_rates(base):
    """The deviance is near the best possible one where a linear model's is far from it, and a rate over exposures is
    what counts over them are."""
    X, y = counts(5000, base=base)
    T, t = counts(3000, seed=1, base=base)
    model = onkel.NewtonRegressor(loss="poisson", budget=100, random_state=0).fit(X, y)
    predicted = model.predict(T)
    assert (predicted > 0).all()
    linear = mean_poisson_deviance(t, PoissonRegressor(alpha=1e-3).fit(X, y).predict(T))
    best, own = mean_poisson_deviance(t, np.exp(base + function(T))), mean_poisson_deviance(t, predicted)
    assert own - best < 0.25 * (linear - best)
    mean, std = model.predict(T, return_std=True)
    np.testing.assert_array_equal(mean, predicted)
    assert 0.85 < np.mean(np.abs(t - mean) <= 1.645 * std) < 0.995
    exposure = np.random.default_rng(2).uniform(0.5, 30, size=5000)
    rates = np.random.default_rng(3).poisson(exposure * np.exp(base + function(X))) / exposure
    rated = onkel.NewtonRegressor(loss="poisson", budget=100, random_state=0).fit(X, rates, sample_weight=exposure)
    assert mean_poisson_deviance(t, rated.predict(T)) - best < 0.25 * (linear - best)


@loop
@pytest.mark.parametrize("name", ["OGD", "FSGD", "NORMA", "BOGD", "POLK"])
def test_first_order_learners_count_and_find_quantiles(name):
    X, y = counts(6000)
    regressor = getattr(onkel, f"{name}Regressor")
    for level in (0.2, 0.8):
        model = regressor(loss="quantile", quantile=level, gamma=0.5, eta=0.1, random_state=0, shuffle=False)
        share = np.mean(y[3000:] <= model.set_params(budget=300).fit(X, y + 0.01 * X[:, 0]).predict(X[3000:]))
        assert abs(share - level) < 0.2
    model = regressor(loss="poisson", gamma=0.5, eta=0.05, random_state=0, budget=300, shuffle=False).fit(X, y)
    assert (model.predict(X) > 0).all()
    constant = mean_poisson_deviance(y, np.full(len(y), y.mean()))
    assert mean_poisson_deviance(y, model.predict(X)) < 0.9 * constant


def test_counts_below_zero_and_deviations_of_quantiles_are_refused():
    X, y = counts(50)
    model = onkel.NewtonRegressor(loss="poisson", budget=10)
    with pytest.raises(ValueError, match="at least 0, and y contains -2 at row 7"):
        model.fit(X, np.where(np.arange(50) == 7, -2.0, y))
    assert not hasattr(model, "n_support_")
    model.partial_fit(X, y)
    before = model._learner.fingerprint()
    with pytest.raises(ValueError, match="at least 0"):
        model.partial_fit(X, np.where(np.arange(50) == 7, -2.0, y))
    assert model._learner.fingerprint() == before
    with pytest.raises(ValueError, match="two of them"):
        onkel.NewtonRegressor(loss="quantile", budget=10).fit(X, y).predict(X, return_std=True)
    for wrong in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="quantile"):
            onkel.NewtonRegressor(loss="quantile", quantile=wrong).fit(X, y)
