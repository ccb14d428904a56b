"""A sum of second-order learners is taken apart and put together without a change of a bit."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import onkel
from growing import carrying
from onkel.models.merge import known_together
from onkel.parts import RBF, Hedge, Laplacian
from states import state_of

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
    terms = made.split()
    scores = made.score_rows(rows)
    weighed = sum(w * term.score_rows(rows) for w, term in zip(made.kernel_weights, terms, strict=True))
    assert_allclose(scores, weighed, rtol=1e-12, atol=1e-12)
    assert [term.n_support for term in terms] == made.n_support_per_kernel.tolist()
    assert all(term.expansion(informed=True).information is not None for term in terms)

    again = made.join(terms, made.kernel_weights, made.noise_variance)
    assert_array_equal(again.score_rows(rows), scores)
    assert again.n_support == made.n_support  # points that both have are held once
    assert again.t == made.t
    assert_allclose(again.variance_rows(rows)[0], made.variance_rows(rows)[0])
    again.learn_rows(rows[500:], y[500:].astype(np.float64))
    assert again.t == 600
    assert again.n_support <= 30
    copy = pickle.loads(pickle.dumps(again))
    assert copy.fingerprint() == again.fingerprint()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_sum_is_split_and_joined_to_the_bit(sparse):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)) * (rng.random((400, 3)) < 0.8)
    y = (X[:, 0] > X[:, 1] ** 2).astype(np.float64)
    rows = csr_array(X) if sparse else X
    made = onkel.Learner(onkel.recipes.Newton(), kernel=Hedge(KERNELS, "sum"), budget=30, fit_intercept=True)
    made.learn_rows(rows[:300], y[:300])
    whole, terms = state_of(made), made.split()
    assert [term.budget for term in terms] == whole["update.budgets"].tolist()
    for number, term in enumerate(terms):
        own, state = f"update.kernel{number}.", state_of(term)
        for name, values in state.items():
            if name.startswith("update."):
                assert_array_equal(values, whole[f"{own}learner.{name.removeprefix('update.')}"], err_msg=name)
        assert_array_equal(state["basis.births"], whole[f"{own}basis.births"])
        there = state["basis.births"] >= 0
        points, births = made.support()
        place = {birth: i for i, birth in enumerate(births.tolist())}
        index = [place[birth] for birth in state["basis.births"][there].tolist()]
        found = term.support()[0]
        assert_array_equal(found.toarray() if sparse else found, (points.toarray() if sparse else points)[index])
        loaded = pickle.loads(pickle.dumps(term))  # each goes on by itself
        for each in (term, loaded):
            each.learn_rows(rows[300:], y[300:])
        assert loaded.fingerprint() == term.fingerprint()
    again = made.join(made.split(), made.kernel_weights, made.noise_variance)
    assert_array_equal(state_of(again)["update.log_weights"], whole["update.log_weights"])
    joined = state_of(again)
    for number in range(2):
        for name in (name for name in whole if name.startswith(f"update.kernel{number}.learner")):
            assert_array_equal(joined[name], whole[name], err_msg=name)
    equal = made.join(made.split(), np.array([0.75, 0.25]), begins=True)
    assert_allclose(equal.kernel_weights, [0.75, 0.25], rtol=1e-15)
    loaded = pickle.loads(pickle.dumps(again))
    for each in (again, loaded):
        each.learn_rows(rows[300:], y[300:])
    assert loaded.fingerprint() == again.fingerprint()


@pytest.mark.parametrize("kind", [onkel.NewtonClassifier, onkel.NewtonRegressor])
def test_models_that_have_chosen_for_themselves_are_merged_exactly(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 3))
    y = np.sin(2 * X[:, 0]) + 0.2 * X[:, 1] + rng.normal(size=len(X))
    y = (y > 0).astype(int) if kind is onkel.NewtonClassifier else y
    parts = [slice(0, 1100), slice(1100, 2400), slice(2400, 2500)]
    with carrying(1e12):
        models = [kind(budget=30, random_state=0, shuffle=False).fit(X[part], y[part]) for part in parts]
    assert [len(model.__onkel_inside__().learner.kernels) for model in models] == [2, 2, 1]

    def scores(model):
        return model.predict(X) if kind is onkel.NewtonRegressor else model.decision_function(X)

    merged, distance, n_support, _ = onkel.merge(models)
    assert (distance, merged.t_) == (0, 2500)
    assert n_support <= 90
    expected = np.average([scores(model) for model in models], axis=0, weights=[1100, 1300, 100])
    assert_allclose(scores(merged), expected, rtol=1e-9, atol=1e-9)
    twice = onkel.merge([onkel.merge(models[:2]).model, models[2]]).model
    assert_allclose(scores(twice), expected, rtol=1e-9, atol=1e-9)
    alone = onkel.merge(models[:2], weights=[1.0, 0.0]).model
    assert_allclose(scores(alone), scores(models[0]), rtol=1e-9, atol=1e-9)
    # the points are where they came in the stream of all, and what is known goes on
    births = merged.support_
    assert_array_equal(X[births], merged.support_vectors_)
    assert_allclose(merged.relevances_.mean(), 1)
    onkel.save(merged, tmp_path / "merged.onkel")
    again = onkel.load(tmp_path / "merged.onkel")
    for model in (merged, again):
        model.partial_fit(X[2500:], y[2500:])
    assert_array_equal(scores(again), scores(merged))
    assert merged.n_support_ <= 90
    small = onkel.merge(models, budget=40)
    assert small.n_support <= 40 and small.distance > 0
    with pytest.raises(ValueError, match="different kernels cannot be merged"):
        onkel.merge([models[0], kind(gamma=0.5, budget=30).fit(X[:100], y[:100])])


def test_every_kernel_of_a_sum_keeps_a_point():
    kernel = Hedge((RBF(1.0), RBF(0.1)), "sum")
    learner = onkel.Learner(onkel.recipes.Newton(), kernel=kernel, budget=8)
    learner.learn_rows(np.eye(6), np.arange(6.0) % 2)
    with pytest.raises(ValueError, match="n_support must be an integer of at least 2, got 1"):
        onkel.compress(learner, n_support=1)
    assert onkel.compress(learner, n_support=2).n_support <= 2


@pytest.mark.parametrize(("seed", "budget"), [(1, 5), (2, 3), (3, 3)])
def test_a_term_whose_points_have_all_left_goes_on(seed, budget, tmp_path):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)) + 5 * rng.integers(0, 6, size=(6, 4))[np.arange(300) // 50]
    y = np.where(np.arange(300) // 20 % 2, 1.0, -1.0) * np.sin(X @ rng.normal(size=4)) > 0
    kernel = Hedge((RBF(0.5), RBF(4.0), Laplacian(0.5)), "sum")
    learner = onkel.Learner(
        onkel.recipes.Newton(lam=1e-6, loss="squared_hinge", spread=1.0), kernel=kernel, budget=budget
    )
    learner.learn_rows(X, y.astype(float), 1e-6 * 10.0 ** rng.choice([0, 6, 10], 300))
    onkel.save(learner, tmp_path / "sum.onkel")
    assert onkel.load(tmp_path / "sum.onkel").fingerprint() == learner.fingerprint()


def test_the_deviation_of_a_sum_is_the_weighted_sum_of_its_terms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    recipe = onkel.recipes.Newton(loss="squared_error")
    made = onkel.Learner(recipe, kernel=Hedge(KERNELS, "sum"), task="regression", budget=30)
    before = made.learn_rows(X, y, scores=True)[:, 0]
    variance, noise = made.variance_rows(X)
    assert noise == pytest.approx(np.mean((before - y) ** 2))  # of the sum's own residuals
    parts = [term.variance_rows(X) for term in made.split()]
    deviations = [np.sqrt(own_noise * own) for own, own_noise in parts]
    assert_allclose(np.sqrt(noise * variance), made.kernel_weights @ deviations, rtol=1e-9)


def test_a_learner_of_one_kernel_is_its_only_term():
    alone = onkel.Learner(onkel.recipes.Newton(), kernel=KERNELS[0], budget=5)
    assert alone.split() == [alone]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_sums_over_the_same_kernels_are_merged_term_by_term(task):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 3))
    regression = task == "regression"
    y = np.sin(X[:, 0]) + X[:, 1] if regression else (X[:, 0] * X[:, 1] > 0).astype(int)
    kind = onkel.MultiKernelRegressor if regression else onkel.MultiKernelClassifier
    recipe = onkel.recipes.Newton(lam=0.1, loss="squared_error" if regression else "log_loss")
    parts = [slice(0, 500), slice(500, 900)]
    models = [
        kind(recipe, kernels=list(KERNELS), combination="sum", budget=40, random_state=i, shuffle=False).fit(
            X[part], y[part]
        )
        for i, part in enumerate(parts)
    ]
    merged = onkel.merge(models)
    assert merged.distance == 0
    assert merged.model.t_ == 900
    assert merged.n_support <= 80
    assert merged.model.score(X, y) > max(model.score(X, y) for model in models) - 0.01
    # each term knows what the terms of all models know
    learners = [model.__onkel_inside__().learner for model in (*models, merged.model)]
    first, second, both = (learner.split()[1] for learner in learners)
    alone = known_together([each.expansion(informed=True) for each in (first, second)], [1.0, 1.0], first)
    assert_allclose(both.expansion(informed=True).information.matrix, alone.information.matrix, rtol=1e-6, atol=1e-8)
    expected = (5 * learners[0].kernel_weights + 4 * learners[1].kernel_weights) / 9
    assert_allclose(learners[2].kernel_weights, expected)
    small = onkel.merge(models, budget=30)
    assert small.n_support <= 30
    assert small.distance > 0
    assert small.model.partial_fit(X[:10], y[:10]).n_support_ <= 30
    other = kind(recipe, kernels=[RBF(0.5), RBF(9.0)], combination="sum", budget=40).fit(X, y)
    with pytest.raises(ValueError, match="different kernels cannot be merged"):
        onkel.merge([models[0], other])


def test_an_averaged_sum_is_compressed_to_points_of_its_average_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] > 0
    models = [onkel.NewtonClassifier(average=True, forget=1.0, budget=25, random_state=0) for _ in range(2)]
    merged = onkel.merge([each.fit(X[:n], y[:n]) for each, n in zip(models, (300, 200), strict=True)]).model
    merged.partial_fit(X[300:], y[300:])
    same = onkel.compress(merged, eps=0.0).model
    assert_allclose(same.decision_function(X), merged.decision_function(X), rtol=1e-9, atol=1e-9)
    small = onkel.compress(merged, n_support=20)
    assert small.n_support == small.model.n_support_ == len(small.model.support_vectors_) <= 20
    onkel.save(small.model, tmp_path / "small.onkel")
    onkel.load(tmp_path / "small.onkel").partial_fit(X, y)
