"""River's contract over every class of onkel.river, and what River cannot check: bits, bytes, refusals."""

import copy
import inspect
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, conf, datasets, evaluate, feature_extraction, metrics, preprocessing, stream
from scipy.sparse import csr_array

import onkel
from growing import carrying
from looping import loop
from onkel import recipes
from onkel.parts import RBF, Hedge, Polynomial
from onkel.river import KernelClassifier, KernelRegressor, PlattClassifier
from table import WHOLE
from test_memory import resident_bytes

CLASSES = [KernelClassifier, KernelRegressor, PlattClassifier]
MODELS = [cls(**parameters) for cls in CLASSES for parameters in cls._unit_test_params()]
MODELS += [
    KernelClassifier(recipes.PA(), kernel=Hedge((RBF(0.1), Polynomial(degree=2, coef0=1.0)))),
    KernelClassifier(recipes.KLR(), kernel="poly", gamma=0.1, budget=None),
    KernelRegressor(recipes.POLK(loss="epsilon_insensitive"), gamma=0.1, budget=50),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model))
def test_rivers_own_checks(model):
    by_name = {check.__name__: check for check in checks.yield_checks(model)}  # each on one of River's streams
    in_full = WHOLE or model in {type(model): model for model in reversed(MODELS)}.values()
    for check in checks.yield_checks(model) if in_full else by_name.values():
        check(model.clone())


def test_nothing_is_skipped():
    assert not any(model._unit_test_skips() for model in MODELS)


# -- records -----------------------------------------------------------------------------------------------------------


def records(n=400, seed=0, n_classes=2, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 0]
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    names = [f"x{j}" for j in range(d)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()], [f"class {c}" for c in y], X, y, score


ALL_RECIPES = {
    "Forgetron": recipes.Forgetron(),
    "Projectron": recipes.Projectron(),
    "SPA": recipes.SPA(beta=2.0),
    "Pegasos": recipes.Pegasos(lam=0.05),
    "OSKL": recipes.OSKL(),
    "BOGD": recipes.BOGD(),
    "DualSGD": recipes.DualSGD(lam=0.1, n_components=20, k=3),
    "Newton": recipes.Newton(lam=0.1),
}
every_recipe = pytest.mark.parametrize("recipe", ALL_RECIPES.values(), ids=ALL_RECIPES)


@loop
@every_recipe
def test_it_is_the_learner_row_by_row(recipe):
    """The same function as a Learner of sparse rows with an open set of labels."""
    from scipy.sparse import csr_array

    X, labels, rows, _, _ = records(n_classes=3)
    model = KernelClassifier(recipe, gamma=0.5, budget=40, seed=5)
    learner = onkel.Learner(recipe, task="multiclass", gamma=0.5, budget=40, seed=5)
    codes = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    for x, label in zip(X, labels, strict=True):
        model.learn_one(x, label)
    learner.learn_rows(csr_array(rows), np.array([codes[label] for label in labels], float))
    assert model._fingerprint() == learner.fingerprint()
    expected = learner.score_rows(csr_array(rows)).argmax(axis=1)
    assert [codes[model.predict_one(x)] for x in X] == expected.tolist()
    assert model.n_support == learner.n_support


@loop
@every_recipe
def test_many_is_one_after_the_other_to_the_bit(recipe):
    X, labels, *_ = records(n_classes=3)
    one, many = (KernelClassifier(recipe, gamma=0.5, budget=40, seed=5) for _ in range(2))
    for x, label in zip(X, labels, strict=True):
        one.learn_one(x, label)
    frame, y = pd.DataFrame(X), pd.Series(labels)
    for cut in np.array_split(np.arange(len(X)), 7):
        many.learn_many(frame.iloc[cut], y.iloc[cut])
    assert one._fingerprint() == many._fingerprint()
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x in X]
    assert many.predict_many(frame).index.equals(frame.index)


@loop
@every_recipe
def test_features_that_no_record_had_were_0(recipe):
    """Emerging features: as if every record before had had them with the value 0."""
    X, labels, *_ = records()
    late, early = (KernelClassifier(recipe, gamma=0.5, budget=40, seed=5) for _ in range(2))
    for i, (x, label) in enumerate(zip(X, labels, strict=True)):
        new = {f"y{j}": 0.0 for j in range(40)} if i < 200 else {f"y{j}": x["x0"] * j for j in range(40)}
        late.learn_one(x if i < 200 else {**x, **new}, label)
        early.learn_one({**x, **new}, label)
    assert len(late._columns.of) == 44
    scores = [[model._score_row({**x, "y3": 2.0}) for x in X[:50]] for model in (late, early)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9, atol=1e-12)


@loop
@every_recipe
def test_the_order_of_features_changes_no_bit(recipe):
    X, labels, *_ = records(n_classes=3)
    model, turned = (KernelClassifier(recipe, gamma=0.5, budget=40, seed=5) for _ in range(2))
    for x, label in zip(X, labels, strict=True):
        model.learn_one(x, label)
        turned.learn_one(dict(reversed(x.items())), label)
    assert model._fingerprint() == turned._fingerprint()


def test_vanishing_features_are_0():
    X, labels, *_ = records()
    model, zeros = (KernelClassifier(recipes.OGD(), gamma=0.5, budget=40, seed=5) for _ in range(2))
    for i, (x, label) in enumerate(zip(X, labels, strict=True)):
        gone = f"x{i % 4}"
        model.learn_one({name: v for name, v in x.items() if name != gone} if i > 100 else x, label)
        zeros.learn_one({**x, gone: 0.0} if i > 100 else x, label)
    np.testing.assert_allclose([model._score_row(x) for x in X], [zeros._score_row(x) for x in X], rtol=1e-9)
    assert model.predict_one({}) in labels  # a record without any feature


def test_a_prediction_changes_nothing():
    X, labels, *_ = records()
    quiet, asked = (KernelClassifier(recipes.DualSGD(n_components=20), gamma=0.5, budget=30, seed=5) for _ in range(2))
    for i, (x, label) in enumerate(zip(X, labels, strict=True)):
        asked.predict_one({**x, f"unheard of {i}": 1.0})  # it counts for the distance, and is then forgotten
        for model in (quiet, asked):
            model.learn_one(x, label)
    assert quiet._fingerprint() == asked._fingerprint()
    assert quiet._columns.of == asked._columns.of
    assert asked._score_row({**X[0], "strange": 3.0}) != asked._score_row(X[0])


def test_labels_at_any_time_and_of_any_kind():
    X, labels, *_ = records(n_classes=3)
    model = KernelClassifier(recipes.OGD(loss="log_loss"), gamma=0.5, seed=0)
    assert model.predict_one(X[0]) is None
    assert model.predict_proba_one(X[0]) == {}
    kinds = {"class 0": True, "class 1": "some", "class 2": 7}
    for i, (x, label) in enumerate(zip(X, labels, strict=True)):
        model.learn_one(x, kinds[label] if i > 50 else True)
        if i == 20:
            assert model.predict_proba_one(x) == {True: 1.0}
    assert set(model.predict_proba_one(X[0])) == {True, "some", 7}
    found = [model.predict_one(x) for x in X]
    assert np.mean([f == kinds[label] for f, label in zip(found, labels, strict=True)]) > 0.7


def test_weights():
    X, labels, *_ = records()
    model, twin, frame = (KernelClassifier(recipes.OGD(), gamma=0.5, seed=0) for _ in range(3))
    for x, label in zip(X, labels, strict=True):
        model.learn_one(x, label, w=2.0)
        model.learn_one(x, "nobody", w=0.0)
    twin.learn_many(pd.DataFrame(X), pd.Series(labels), w=np.full(len(X), 2.0))
    assert model._fingerprint() == twin._fingerprint()
    assert "nobody" not in model._labels
    with pytest.raises(ValueError, match=r"the least of w must be a number of at least 0, got -1\.0"):
        frame.learn_one(X[0], labels[0], w=-1.0)


@loop
@every_recipe
def test_pickled_and_resumed_to_the_bit(recipe):
    X, labels, *_ = records(n_classes=3)
    whole = KernelClassifier(recipe, gamma=0.5, budget=40, seed=5)
    for x, label in zip(X[:200], labels[:200], strict=True):
        whole.learn_one(x, label)
    twins = [whole, pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)]
    for model in twins:
        for x, label in zip(X[200:], labels[200:], strict=True):
            model.learn_one({**x, "new": 1.0}, label)
    assert len({model._fingerprint() for model in twins}) == 1


def test_a_width_chosen_on_the_stream():
    X, labels, *_ = records(300)
    for x in X[100:]:  # more features come while it is being chosen
        x.update({f"y{j}": x["x0"] for j in range(30)})
    one, many = (KernelClassifier(recipes.OGD(), gamma="stream", seed=0) for _ in range(2))
    for x, label in zip(X, labels, strict=True):
        one.learn_one(x, label)
    for rows in (slice(0, 100), slice(100, None)):
        many.learn_many(pd.DataFrame(X[rows]), pd.Series(labels[rows]))
    assert one._learner.n_features > 16
    assert one._learner.kernel == many._learner.kernel != RBF(1.0)
    assert one._fingerprint() == many._fingerprint()


def test_regression():
    X, _, rows, _, score = records(2000)
    model = KernelRegressor(recipes.Newton(loss="squared_error"), gamma=0.5, budget=100, seed=0)
    assert model.predict_one(X[0]) == 0.0
    for x, target in zip(X, score.tolist(), strict=True):
        model.learn_one(x, target)
    frame = pd.DataFrame(rows, columns=[f"x{j}" for j in range(4)])
    found = model.predict_many(frame)
    np.testing.assert_array_equal(found, [model.predict_one(x) for x in X])
    assert ((found - score) ** 2).mean() < 0.2 * score.var()


def test_platt_is_that_of_scikit_learns_side():
    X, labels, rows, *_ = records(n_classes=3)
    river = PlattClassifier(KernelClassifier(recipes.NORMA(), gamma=0.5, budget=40, seed=0), forget=0.99)
    river_many = river.clone()
    made = []
    for x, label in zip(X, labels, strict=True):
        made.append(river.predict_proba_one(x))
        river.learn_one(x, label)
    frame = pd.DataFrame(X)
    for cut in np.array_split(np.arange(len(X)), 5):
        river_many.learn_many(frame.iloc[cut], pd.Series(labels).iloc[cut])
    np.testing.assert_array_equal(river._sigmoids.array(), river_many._sigmoids.array())
    assert river_many.predict_many(frame).tolist() == [river.predict_one(x) for x in X]
    estimator = onkel.KernelClassifier(recipes.NORMA(), gamma=0.5, budget=40, random_state=0)
    sklearn = onkel.PlattClassifier(estimator, forget=0.99)
    expected = sklearn.predict_then_learn(rows, np.array(labels))
    for i in range(30, len(X)):
        found = [made[i].get(label, 0.0) for label in sklearn.classes_]
        np.testing.assert_allclose(found, np.exp(expected[i]), atol=1e-6)
        assert math.isclose(sum(made[i].values()), 1.0)


def test_text_as_records():
    """Words that come and go: each costs its own records only."""
    model = compose.Pipeline(feature_extraction.BagOfWords(on="body"), KernelClassifier(recipes.PA(), kernel="linear"))
    metric = metrics.Accuracy()
    rng = np.random.default_rng(0)
    for _ in range(3000):
        spam = bool(rng.random() < 0.5)
        words = [f"w{w}" for w in rng.integers(0, 5000, 20)] + (["offer"] * (rng.random() < 0.8) if spam else ["lunch"])
        x = {"body": " ".join(words)}
        metric.update(spam, model.predict_one(x))
        model.learn_one(x, spam)
    assert metric.get() > 0.9


def test_progressive_validation():
    model = preprocessing.StandardScaler() | KernelClassifier(recipes.SPA(beta=2.0), gamma=0.1, budget=200, seed=0)
    assert evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    classes = preprocessing.StandardScaler() | KernelClassifier(recipes.PA(), gamma=0.05, seed=0)
    assert evaluate.progressive_val_score(datasets.ImageSegments(), classes, metrics.Accuracy()).get() > 0.85


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "recipe", [recipes.Forgetron(), recipes.Projectron(), recipes.NORMA()], ids=["Forgetron", "Projectron", "NORMA"]
)
def test_bytes_are_bounded(recipe):
    """River's own check does not see the core's memory: count its bytes, and the process's."""
    X, labels, *_ = records(2000, n_classes=3)
    model = PlattClassifier(KernelClassifier(recipe, gamma=0.5, budget=30, seed=0))

    def learn_all():
        for x, label in zip(X, labels, strict=True):
            model.predict_proba_one(x)
            model.learn_one(x, label)
        return model.classifier.nbytes, len(pickle.dumps(model)), resident_bytes()

    learn_all()
    nbytes, pickled, resident = learn_all()
    for _ in range(4):
        last = learn_all()
    assert last[0] <= 1.2 * nbytes
    assert last[1] <= 1.2 * pickled
    assert last[2] <= resident + 2**20
    assert model.classifier.n_support <= 30


@pytest.mark.parametrize("name", ["NewtonClassifier", "OGDClassifier"])
def test_text_is_a_category_and_none_a_gap(name):
    given = [{"size": i % 3, "colour": ("red", "blue", None)[i % 3], "gap": None} for i in range(60)]
    plain = [{"size": i % 3} | [{"colour=red": 1.0}, {"colour=blue": 1.0}, {}][i % 3] for i in range(60)]
    models = [getattr(onkel.river, name)(gamma=0.5, seed=0) for _ in range(2)]
    for model, records_of in zip(models, (given, plain), strict=True):
        for i, x in enumerate(records_of):
            model.learn_one(x, i % 2)
    assert models[0]._fingerprint() == models[1]._fingerprint()
    assert models[0].predict_one(given[1]) == models[1].predict_one(plain[1])


def test_an_estimator_in_a_pipeline_of_river_names_its_twin():
    model = preprocessing.StandardScaler() | onkel.NewtonClassifier()
    with pytest.raises(AttributeError, match=r"in River use onkel.river.NewtonClassifier"):
        model.learn_one({"a": 1.0}, 1)
    with pytest.raises(AttributeError, match=r"in River use onkel.river.PARegressor"):
        (preprocessing.StandardScaler() | onkel.PARegressor()).predict_one({"a": 1.0})


# -- refusals ----------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0]])
def test_bad_features_are_refused_and_change_nothing(value):
    X, labels, *_ = records(50)
    model = KernelClassifier(recipes.OGD(), seed=0)
    for x, label in zip(X, labels, strict=True):
        model.learn_one(x, label)
    before, columns = model._fingerprint(), dict(model._columns.of)
    with pytest.raises(ValueError, match=r"feature 'colour' is .*; expected a finite number"):
        model.learn_one({**X[0], "colour": value}, "new label")
    with pytest.raises(ValueError, match=r"feature 'colour' is .*; expected a finite number"):
        model.predict_one({**X[0], "colour": value})
    with pytest.raises(ValueError, match="X"):
        model.learn_many(pd.DataFrame([{**X[0], "colour": value}]), pd.Series(["new label"]))
    assert model._fingerprint() == before
    assert model._columns.of == columns
    assert "new label" not in model._labels


def test_large_numbers_are_numbers():
    model = KernelClassifier(recipes.OGD(), seed=0)
    model.learn_one({"a": 1e308, "b": 1e308}, True)
    assert model.predict_one({"a": 1e308, "b": 1e308}) is True


def test_refusals():
    with pytest.raises(ValueError, match="records are sparse rows, and a kernel of your own takes dense ones"):
        KernelClassifier(recipes.OGD(), kernel=lambda x, S: x @ S.T)
    with pytest.raises(ValueError, match="loss 'hinge' does not fit task 'regression'"):
        KernelRegressor(recipes.OGD())
    with pytest.raises(ValueError, match=r"classifier must be a KernelClassifier of onkel\.river, got int"):
        PlattClassifier(5)
    with pytest.raises(NotImplementedError, match="the loss 'hinge' has no probabilities"):
        KernelClassifier(recipes.OGD()).predict_proba_one({"a": 1.0})
    model = KernelRegressor(recipes.OGD(loss="squared_error"))
    with pytest.raises(ValueError, match="the target is nan; expected a finite number"):
        model.learn_one({"a": 1.0}, math.nan)
    assert model._learner.t == 0


def test_rivers_streams_are_taken():
    model = KernelRegressor(recipes.PA(loss="epsilon_insensitive"), gamma=0.1, seed=0)
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True]})
    for x, y in stream.iter_frame(frame, pd.Series([1.0, 2.0, 3.0])):
        model.learn_one(x, y)
    assert model._learner.t == 3


# -- the named learners ------------------------------------------------------------------------------------------------


def test_every_named_learner_has_a_class_with_the_defaults_of_its_estimator():
    assert set(onkel.estimators.named.__all__) == set(onkel.river.named.__all__)
    for name in onkel.river.named.__all__:
        cls = getattr(onkel.river, name)
        ours, theirs = (inspect.signature(each).parameters for each in (cls, getattr(onkel, name)))
        for parameter in set(ours) & set(theirs) - {"gamma", "fit_intercept", "budget"}:
            assert ours[parameter].default == theirs[parameter].default, (name, parameter)
        assert ours["gamma"].default == "stream" and ours["fit_intercept"].default is True
        assert ours["budget"].default == (theirs["budget"].default or 500)
        with pytest.raises(TypeError, match="unexpected keyword argument 'widht'"):
            cls(widht=1)


def test_relevances_are_those_of_the_features_that_came():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(1100, 3)), columns=list("abc"))
    y = pd.Series(np.sin(2 * X["a"]) > X["b"])
    model = onkel.river.NewtonClassifier(budget=30, seed=0)
    with carrying(1e12):
        model.learn_many(X[:1050], y[:1050])
    relevances = model.feature_relevances
    assert np.mean(list(relevances.values())) == pytest.approx(1)
    assert relevances["a"] > 10 * relevances["c"]  # they were learned
    assert max(model.feature_importances, key=model.feature_importances.get) == "a"
    model.learn_many(X[1050:].assign(later=1.0), y[1050:])
    assert model.feature_relevances == {**relevances, "later": 1.0}
    rows, weights = model.memory_weights_history
    assert len(rows) == len(weights) > 0 and 1050 < rows[-1] <= 1100
    assert len(model.memory_weights) == weights.shape[1] and sum(model.memory_weights.values()) == pytest.approx(1)
    assert model.memory == max(model.memory_weights, key=model.memory_weights.get)


def test_a_named_learner_learns_what_its_estimator_learns():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = onkel.river.NewtonClassifier(budget=30, seed=0)
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip("abc", x.tolist(), strict=True)), int(label))
    twin = onkel.NewtonClassifier(budget=30, random_state=0).partial_fit(csr_array(X), y)
    found = [model.predict_one(dict(zip("abc", x.tolist(), strict=True))) for x in X]
    assert np.mean(found == twin.predict(X)) > 0.98  # open labels, sparse rows: the same learner to rounding
    ours, theirs = (each._learner.kernel for each in (model, twin))
    np.testing.assert_allclose(
        ours.gamma * np.array(ours.relevances[:3]), theirs.gamma * np.array(theirs.relevances), rtol=1e-6
    )
    assert model._learner.recipe.prior == twin._learner.recipe.prior
    assert model.changes == twin.changes_ == []
    assert model.clone().budget == 30 and pickle.loads(pickle.dumps(model)).n_support == model.n_support


def test_recipes_by_name():
    one, two = (
        KernelClassifier("Projectron", gamma=0.5, seed=0),
        KernelClassifier(recipes.Projectron(), gamma=0.5, seed=0),
    )
    for model in (one, two):
        model.learn_one({"a": 1.0}, "x")
        model.learn_one({"a": -1.0}, "y")
    assert one._fingerprint() == two._fingerprint()
    with pytest.raises(ValueError, match="recipe must be a Recipe or one of BOGD, BPA"):
        KernelClassifier("Projektron")


def test_conformal_intervals_and_metrics_of_river_work_over_ours():
    model = onkel.river.NewtonRegressor(budget=30, gamma=0.5, lam=0.1, relevances=None, seed=0)
    wrapped = conf.RegressionJackknife(preprocessing.StandardScaler() | model, confidence_level=0.9)
    rng, inside = np.random.default_rng(0), 0
    for row in range(600):
        x = {"a": float(rng.normal()), "b": float(rng.normal())}
        y = x["a"] * x["b"] + 0.3 * float(rng.normal())
        inside += row >= 200 and y in wrapped.predict_one(x, with_interval=True)
        wrapped.learn_one(x, y)
    assert 0.85 < inside / 400 < 0.95
    both = metrics.Accuracy() + metrics.LogLoss() + metrics.ROCAUC()
    classifier = onkel.river.NewtonClassifier(budget=30, gamma=0.5, lam=0.1, relevances=None, seed=0)
    scored = evaluate.progressive_val_score(
        datasets.Phishing().take(400), preprocessing.StandardScaler() | classifier, both
    )
    assert scored[0].get() > 0.7 and scored[1].get() < 0.65 and scored[2].get() > 0.75


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_intervals_of_rivers_form(loss):
    model = onkel.river.NewtonRegressor(loss=loss, budget=30, gamma=0.5, lam=0.1, relevances=None, seed=0)
    piped = preprocessing.StandardScaler() | model
    rng, inside = np.random.default_rng(0), []
    assert model.predict_one({"a": 1.0}, with_interval=True).width == math.inf
    for row in range(1500):
        x = {"a": float(rng.normal()), "b": float(rng.normal())}
        y = x["a"] * x["b"] + 0.3 * float(rng.normal())
        piped.learn_one(x, y)  # which the scaler learns from first, too
        if row >= 500:
            x = {"a": float(rng.normal()), "b": float(rng.normal())}
            interval = piped.predict_one(x, with_interval=True)
            inside.append(x["a"] * x["b"] + 0.3 * float(rng.normal()) in interval)
            assert isinstance(interval, conf.Interval)
    assert 0.86 < np.mean(inside) < 0.95
    x = {"a": 0.5, "b": 1.0, "new": 0.0}
    wide, narrow = (model.predict_one(x, with_interval=True, coverage=level) for level in (0.95, 0.5))
    assert wide.center == pytest.approx(model.predict_one(x))
    row = np.zeros((1, model.learner.n_features))
    row[0, :2] = 0.5, 1.0
    deviation = model.learner.deviation_rows(csr_array(row))
    assert (wide.width, narrow.width) == pytest.approx((2 * 1.959964 * deviation[0], 2 * 0.674490 * deviation[0]))


@pytest.mark.parametrize(
    "model",
    [
        onkel.river.OGDRegressor(seed=0),
        onkel.river.NewtonRegressor(loss="quantile", seed=0),
        onkel.river.NewtonRegressor(loss="poisson", seed=0),
    ],
)
def test_models_without_deviations_say_what_gives_intervals(model):
    with pytest.raises(ValueError, match="wrap this one in river"):
        model.predict_one({"a": 1.0}, with_interval=True)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_one({"a": 1.0}, with_interval=True, coverage=2)
