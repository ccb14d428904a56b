"""Regions that grow: where functions differ by place they are divided, noise and few rows are not, and no bit moves."""

import copy
import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import onkel
from choosing import Chooses
from growing import growing_early
from onkel import recipes
from onkel.choice import division, growth, stages
from onkel.choice.growth import Growth
from onkel.choice.job import Job
from onkel.choice.kept import Kept
from onkel.choice.steps import at_once
from onkel.parts import RBF, Hedge
from onkel.regions import Condition
from onkel.serve._live import features
from onkel.serve._tasks import Snapshot


def by_place(n, seed=0, d=9):
    """Targets that other features decide in other places."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    right = np.where(X[:, 1] > 0.2, np.sin(5 * X[:, 2]), np.sin(4 * X[:, 3] * X[:, 4]))
    left = np.where(X[:, 5] > -0.1, np.cos(4 * X[:, 6]), 2 * X[:, 7])
    return X, np.where(X[:, 0] > 0, right, left) + 0.2 * rng.normal(size=n)


def of_noise(n, seed=0, d=10):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), np.linspace(-0.3, 0.3, d)
    return X, X @ w + rng.normal(size=n)


@pytest.fixture
def early():
    """Let small learners of few rows grow regions, as large ones do of many."""
    with growing_early():
        yield


def leaves(model):
    return [region for region in model.regions_ if region.is_leaf]


# -- what it is good for -----------------------------------------------------------------------------------------------


def test_where_other_features_matter_in_other_places_regions_are_better():
    (X, y), (X_test, y_test) = by_place(12_000), by_place(3_000, seed=1)
    one = onkel.NewtonRegressor(random_state=0, regions=None, budget=800).fit(X, y)
    several = onkel.NewtonRegressor(random_state=0).fit(X, y)
    rmse = [np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) for model in (one, several)]
    assert rmse[1] < 0.85 * rmse[0]
    assert len(leaves(several)) >= 3 and len(leaves(one)) == 1
    assert several.regions_[0].condition.features[0] in (0, 1, 5, 7)
    assert several.nbytes_ < 4 * one.nbytes_


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_noise_is_hardly_divided(task):
    X, y = of_noise(12_000)
    if task == "binary":
        model = onkel.NewtonClassifier(random_state=0).fit(X, y > 0)
    else:
        model = onkel.NewtonRegressor(random_state=0).fit(X, y)
    assert len(leaves(model)) <= 2


def test_few_rows_are_one_region_bit_for_bit():
    X, y = by_place(3_000)
    one = onkel.NewtonRegressor(random_state=0, regions=None, budget=800).fit(X, y)
    several = onkel.NewtonRegressor(random_state=0).fit(X, y)
    assert several._learner.fingerprint() == one._learner.fingerprint()


@pytest.mark.parametrize("given", [{"regions": None}, {"budget": 79}, {"relevances": None}, {"kernel": "laplacian"}])
def test_there_is_one_region_where_there_are_to_be_none(early, given):
    X, y = by_place(900)
    assert len(onkel.NewtonRegressor(**{"budget": 200, "random_state": 0} | given).fit(X, y).regions_) == 1


def test_sparse_rows_are_one_region(early):
    X, y = by_place(900)
    model = onkel.NewtonRegressor(budget=200, random_state=0).partial_fit(csr_array(X), y)
    assert len(model.regions_) == 1 and model._choice.growth is None


def test_records_are_one_region(early):
    X, y = by_place(400)
    model = onkel.river.NewtonRegressor(seed=0)
    for x, target in zip(X, y, strict=True):
        model.learn_one(dict(enumerate(x)), target)
    assert len(model.learner.regions) == 1 and model.learner.budget <= growth.LARGEST


@pytest.mark.parametrize("kind", [onkel.NewtonClassifier, onkel.NewtonRegressor])
def test_an_estimator_with_regions_keeps_its_promises(kind):
    with growing_early(rows=64, largest=15, points=6):
        model = kind(budget=80, random_state=0)
        X, y = onkel.checks.stream("binary")
        assert len(clone(model).partial_fit(X, y).regions_) > 1
        onkel.checks.check_estimator(model)


def test_a_budget_is_what_it_says(early):
    X, y = by_place(900)
    for budget, first in ((79, 79), (80, 30), (200, 30)):
        model = onkel.NewtonRegressor(budget=budget, random_state=0).fit(X, y)
        assert model._learner.expert(0).budget <= first and model.n_support_ <= budget
        assert (len(model.regions_) > 1) == (budget >= 80)
    assert onkel.NewtonRegressor(regions=None, random_state=0).fit(X, y)._learner.budget == 30


@pytest.mark.parametrize("kernel", ["rbf", Hedge([RBF(1.0), RBF(0.1)], "sum")])
def test_the_experts_of_all_rows_give_points_away_where_these_are_divided(early, kernel):
    X, y = by_place(400)
    recipe = recipes.Newton(loss="squared_error", forget="stream")
    learner = onkel.Learner(recipe, task="regression", kernel=kernel, budget=30)
    scores = learner.learn_rows(X, y, scores=True)
    kept = Growth(200, ["rbf"]).extended_by(learner, growth.Rows(X, y, np.ones(400)), scores, 0, None)
    assert learner.n_support == 30
    question = Job(0, 400, kept.n_kept(0), 1, X.shape[1])
    after, _ = kept.answered(learner, 0, at_once(kept.steps(learner, learner.blank(), question)))
    assert len(after.regions) > 1
    first = [after.expert(number) for number in after.regions[0].experts]
    assert len(first) == len(learner.kernels)
    assert all(1 <= expert.n_support <= expert.budget == expert._core.budget == 15 // len(first) for expert in first)


def test_another_word_is_refused():
    X, y = by_place(20)
    with pytest.raises(ValueError, match="regions"):
        onkel.NewtonRegressor(regions="trees").fit(X, y)


# -- conditions --------------------------------------------------------------------------------------------------------


def test_a_category_is_divided_by_a_set_of_its_values():
    rng = np.random.default_rng(0)
    value = rng.integers(0, 6, 2000)
    X = np.column_stack([rng.normal(size=2000), np.eye(6)[value]])
    y = np.where(np.isin(value, [1, 4]), 3.0, -1.0) + 0.1 * rng.normal(size=2000)
    rows = growth.Rows(X, y, np.ones(2000))
    kept = growth.Scored(rows, np.zeros((2000, 1)), np.arange(2000))
    learner = onkel.Learner(recipes.Newton(loss="squared_error"), task="regression")
    first, *_ = division._by_slopes(learner, kept)
    assert first == Condition((2, 5), (0.5, 0.5))
    assert first.lower(X).tolist() == (~np.isin(value, [1, 4])).tolist()


def test_a_number_is_divided_where_slopes_change():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 3))
    rows = growth.Rows(X, (X[:, 1] > 0.3).astype(float), np.ones(2000))
    learner = onkel.Learner(recipes.Newton())
    first, *_ = division._by_slopes(learner, growth.Scored(rows, np.zeros((2000, 1)), np.arange(2000)))
    assert first.features == (1,)
    assert abs(first.thresholds[0] - 0.3) < 0.1


@pytest.mark.parametrize(("behind", "divided_by"), [(1.009, (0,)), (1.02, None)])
def test_where_the_best_condition_gains_nothing_the_next_one_is_tried_if_it_is_near(monkeypatch, behind, divided_by):
    wrong, right = Condition((8,), (0.0,)), Condition((0,), (0.0,))
    monkeypatch.setattr(division, "_by_slopes", lambda *given: [wrong])
    monkeypatch.setattr(division, "_by_spread", lambda *given: [right])

    def loss(*given):
        yield 1.0
        return 1.0 if given[2] == wrong else behind

    monkeypatch.setattr(division, "_loss_of_trial", loss)
    monkeypatch.setattr(division, "GAIN", 0.1)
    X, y = by_place(4096)
    model = onkel.NewtonRegressor(random_state=0).fit(X, y)
    condition = model.regions_[0].condition
    assert (None if condition is None else condition.features) == divided_by


def test_each_side_has_enough_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 3))
    X[:, 2] = rng.random(2000) < 0.03  # a cut between its two values would leave three rows of a hundred on one side
    rows = growth.Rows(X, 10.0 * X[:, 2] + np.where(X[:, 1] > 0.95, 10.0, 0.0), np.ones(2000))
    learner = onkel.Learner(recipes.Newton(loss="squared_error"), task="regression")
    for condition in division._by_slopes(learner, growth.Scored(rows, np.zeros((2000, 1)), np.arange(2000))):
        assert 0.2 <= condition.lower(X).mean() <= 0.8


@pytest.mark.parametrize("cuts", [[], [100, 101, 250]])
def test_rows_of_zeros_are_kept_in_fewer_bytes(cuts):
    rng = np.random.default_rng(0)
    y, scores, positions = rng.normal(size=300), rng.normal(size=(300, 1)), np.arange(300)
    encoded = np.hstack([np.eye(20)[rng.integers(0, 20, 300)], rng.normal(size=(300, 1))])
    encoded[encoded == 0] = -0.0
    for X, most in ((encoded, 0.5), (rng.normal(size=(300, 21)), 1.0)):
        whole, kept = growth.Scored(growth.Rows(X, y, np.ones(300)), scores, positions), Kept([], 0, 7)
        for piece in np.split(positions, cuts):
            kept = kept.extended_by(whole.of(piece), 200)
        assert kept.all.rows.rows.tobytes() == (X[100:] + 0.0).tobytes()
        arrays = kept.arrays()
        assert sum(values.nbytes for values in arrays.values()) < most * X[100:].nbytes + 33 * 201
        again = Kept.from_arrays(arrays, 21, "float64", 200, 300)
        assert again.all.rows.rows.tobytes() == kept.all.rows.rows.tobytes()
        expected = Kept([], 0, 7).extended_by(whole.of(slice(100, None)), 200).arrays()
        assert arrays.keys() == expected.keys()
        assert all(values.tobytes() == expected[name].tobytes() for name, values in arrays.items())


# -- exactness ---------------------------------------------------------------------------------------------------------


def targets(task, y):
    if task == "regression":
        return y
    return (y > 0).astype(float) if task == "binary" else np.digitize(y, [-0.5, 0.5]).astype(float)


def new(task, forget, n_jobs=1):
    recipe = recipes.Newton(loss="squared_error" if task == "regression" else "log_loss", forget=forget)
    learner = onkel.Learner(recipe, task=task, budget=30, fit_intercept=True, seed=1, n_jobs=n_jobs)
    return Chooses(learner, ["gamma", "lam", "relevances", "ranks", "kernel", "regions"], 200)


@pytest.mark.parametrize("forget", [1.0, "stream"])
@pytest.mark.parametrize("task", ["binary", "regression", "multiclass"])
def test_cuts_threads_and_copies_change_no_bit(early, task, forget):
    X, y = by_place(1500)
    y, weight = targets(task, y), np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    whole = new(task, forget)
    expected = whole.learn_rows(X, y, weight, scores=True)
    assert len(whole.learner.regions) > 1
    cut, found = new(task, forget, n_jobs=2), []
    for piece in np.split(np.arange(len(y)), [1, 300, 301, 700, 1290, 1499]):
        found.append(cut.learn_rows(X[piece], y[piece], weight[piece], scores=True))
        assert cut.nbytes > 0  # which takes rows in
        cut = copy.deepcopy(cut)
    assert np.concatenate([np.pad(f, ((0, 0), (0, expected.shape[1] - f.shape[1]))) for f in found]).tobytes() == (
        expected.tobytes()
    )
    assert cut.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_model_with_regions_goes_on_from_a_file_and_a_pickle(early, tmp_path, shuffle):
    X, y = by_place(1700)
    whole = onkel.NewtonRegressor(budget=200, random_state=0, shuffle=shuffle).fit(X[:1000], y[:1000])
    assert len(whole.regions_) > 1
    onkel.save(whole, tmp_path / "model")
    models = [onkel.load(tmp_path / "model"), pickle.loads(pickle.dumps(whole))]
    whole.partial_fit(X[1000:], y[1000:])
    for model in models:
        model.partial_fit(X[1000:], y[1000:])
        assert model._fingerprint() == whole._fingerprint()
        assert model.predict(X).tobytes() == whole.predict(X).tobytes()


def test_the_width_is_that_of_the_main_kernel_whenever_one_looks(early, tmp_path):
    X, y = by_place(1500)
    model = onkel.NewtonRegressor(budget=200, random_state=0)
    for begin in range(0, 1500, 100):
        model.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
        assert model.gamma_ == model.kernel_.gamma
    assert len(model.regions_) > 1
    onkel.save(model, tmp_path / "model")
    for same in (onkel.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same.gamma_ == model.gamma_
    model.gamma = -1.0
    with pytest.raises(ValueError, match="gamma"):  # a fit that is refused leaves what there was
        model.fit(X, y)
    model.gamma = "stream"
    assert model.gamma_ == same.gamma_
    with pytest.raises(AttributeError, match="not fitted"):
        _ = onkel.NewtonRegressor().gamma_


def test_regions_of_a_table_have_the_names_of_its_columns(early):
    X, y = by_place(1500)
    table = {"height": X[:, 0], "weight": X[:, 1], "town": np.where(X[:, 2] > 0, "Bern", "Basel")}
    model = onkel.make_stream_pipeline(onkel.NewtonRegressor(budget=200, random_state=0)).fit(table, y)
    regions = onkel.inside.facts(model)["regions"]
    assert len(regions) > 1
    assert all(re.match(r"(scaled (height|weight)|town)", region) for region in regions)


def test_a_feature_by_which_rows_are_divided_matters(early):
    X = np.random.default_rng(0).uniform(-1, 1, (1500, 4))
    y = np.where(X[:, 0] > 0.1, 3 * X[:, 1], 2 - X[:, 2])
    model = onkel.NewtonRegressor(budget=200, random_state=0).fit(X, y)
    divided = [region for region in model.regions_ if region.condition is not None]
    assert divided[0].condition.features == (0,)
    assert model.importances_[0] == model.importances_.max() == 1.0
    for region in divided:
        assert all(model.importances_[feature] >= region.rows / 1500 for feature in region.condition.features)
    assert model.feature_importances_.sum() == pytest.approx(1)
    shown = features(Snapshot(model, None, 1500, 0))
    assert [each["weight"] for each in shown] == pytest.approx(sorted(model.importances_, reverse=True), rel=1e-3)


def test_an_interrupted_division_is_made_again(early, monkeypatch):
    X, y = by_place(900)
    whole = onkel.NewtonRegressor(budget=200, random_state=0).partial_fit(X, y)
    model, real = onkel.NewtonRegressor(budget=200, random_state=0), growth.divided

    def interrupted(*args):
        real(*args)
        monkeypatch.setattr(growth, "divided", real)
        raise KeyboardInterrupt

    monkeypatch.setattr(growth, "divided", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert len(model.regions_) == 1
    model.partial_fit(X[model.t_ :], y[model.t_ :])
    assert model._fingerprint() == whole._fingerprint()


def test_points_keep_their_positions(early):
    X, y = by_place(1500)
    model = onkel.NewtonRegressor(budget=200, random_state=0).partial_fit(X, y)
    points, positions = model._learner.support()
    np.testing.assert_array_equal(points, X[positions])


def test_learning_a_row_asks_for_nothing_about_regions_that_only_people_read(early, monkeypatch):
    X, y = by_place(905)
    model = onkel.NewtonRegressor(budget=200, random_state=0).partial_fit(X[:900], y[:900])
    assert len(model.regions_) > 1
    with monkeypatch.context() as closed:
        closed.setattr(onkel.Learner, "regions", property(lambda learner: pytest.fail("it was asked for")))
        for i in range(900, 905):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.gamma_ == model.kernel_.gamma


def test_another_learner_that_takes_over_has_one_region_and_grows_anew(early, monkeypatch):
    X, y = by_place(700)
    learner = new("regression", "stream")
    learner.learn_rows(X, y)
    choice = learner.choice
    assert len(choice.growth.leaves) > 1
    again = choice.growth.begun_again(700)
    assert list(again.leaves) == [0] and again.leaves[0].due == 700 + growth.ROWS


def test_damaged_rows_of_leaves_are_refused(early):
    X, y = by_place(900)
    learner = new("regression", 1.0)
    learner.learn_rows(X, y)
    saved = learner.choice.growth.saved()
    assert Growth.from_saved(learner.learner, saved, None).saved().keys() == saved.keys()
    one = next(iter(saved["leaves"]))
    for change in (
        {"budget": 0},
        {"kinds": ["linear"]},
        {"leaves": {}},
        {"leaves": saved["leaves"] | {one: saved["leaves"][one] | {"due": np.array([-1])}}},
        {"leaves": saved["leaves"] | {one: saved["leaves"][one] | {"positions": np.zeros(3, np.int64)}}},
        {"leaves": saved["leaves"] | {one: saved["leaves"][one] | {"scores": np.full((2, 1), np.nan)}}},
        {"leaves": saved["leaves"] | {one: {"due": np.array([3]), "more": np.array([3])}}},
    ):
        with pytest.raises(ValueError):
            Growth.from_saved(learner.learner, saved | change, None)


def test_the_rows_kept_are_bounded(early):
    X, y = by_place(3000)
    learner = new("regression", "stream")
    learner.learn_rows(X, y)
    held = learner.choice.growth
    if held is not None:
        assert all(len(kept.all.positions) <= growth.ROWS for kept in held.leaves.values())
    assert learner.learner.n_support <= 200
    assert len(learner.choice.window.rows) <= stages.KEPT
