"""scikit-learn's contract, for every estimator of the table and for the generic ones."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from looping import loop
from scikit_learn import NOT_PROMISED, checked
from table import ESTIMATORS, cases

FULL = [
    onkel.KernelClassifier(onkel.recipes.SPA()),
    onkel.KernelRegressor(onkel.recipes.OGD(loss="squared_error")),
    onkel.MultiKernelClassifier(onkel.recipes.SPA()),
    onkel.MultiKernelRegressor(onkel.recipes.PA(loss="epsilon_insensitive"), combination="deterministic"),
    onkel.StreamStandardScaler(),
    onkel.StreamMinMaxScaler(feature_range=(-1, 1)),
    onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(random_state=0)),
    onkel.StreamPipeline(onkel.StreamMinMaxScaler(), onkel.OGDRegressor(random_state=0)),
    onkel.NewtonClassifier(),
    onkel.SPAClassifier(),  # its horizon is the rows of fit
    onkel.BOGDRegressor(),  # one that evicts
]
FEW = [cls() for cls in ESTIMATORS if cls not in map(type, FULL)] + [
    onkel.MultiKernelClassifier(onkel.recipes.PA(), combination="stochastic"),
    onkel.StreamStandardScaler(with_mean=False),
    onkel.StreamPipeline(onkel.StreamStandardScaler(with_mean=False), onkel.KLRClassifier(random_state=0)),
]


@checked(FULL, FEW, NOT_PROMISED)
def test_scikit_learn(estimator, check):
    check(estimator)


every_learner = cases(dtypes=("float64",), outputs=(False,), one_task=True, loop=True)


@every_learner
def test_frames_with_names(case):
    X, y = case.data(60)
    names = ["age", "height", "income", "debt"]
    expected = case.estimator().fit(X, y)
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame(dict(zip(names, X.T, strict=True)))
        model = case.estimator().fit(table, y)
        assert model.feature_names_in_.tolist() == names
        assert model._fingerprint() == expected._fingerprint()
        np.testing.assert_array_equal(model.predict(table), expected.predict(X))
        model.partial_fit(table, y)
        np.testing.assert_array_equal(model.predict(table[names[::-1]]), model.predict(table))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[names[1:]])
        strange = frame(dict(zip([*names[1:], "weight"], X.T, strict=True)))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(strange)


def test_plain_arrays_are_taken_as_scikit_learn_takes_rows():
    """A plain array of floats goes round scikit-learn's validation: it must not make a difference."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = onkel.RBPClassifier(budget=10).fit(X, y)
    expected = model.decision_function(X.tolist())
    spread = np.zeros((60, 6))[:, ::2]
    spread[:] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (X, np.asfortranarray(X), spread, frozen, X.astype(">f8")):
        np.testing.assert_array_equal(model.decision_function(rows), expected)
    np.testing.assert_array_equal(
        model.decision_function(X.astype(np.float32)), model.decision_function(X.astype(np.float32).tolist())
    )
    for bad, sentence in ((X[:, :2], "2 features"), (X[:0], "0 sample"), (X[0], "1D array"), (X[None], "dim 3")):
        with pytest.raises(ValueError, match=sentence):
            model.predict(bad)
    with pytest.raises(TypeError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        model.predict(np.matrix(X))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        onkel.RBPClassifier().predict(X)
    named = onkel.RBPClassifier(budget=10).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)


@every_learner
def test_parameters(case):
    model = case.estimator(budget=17)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.set_params(budget=4).budget == 4
    assert "budget=17" in repr(model)
    for name, value in model.get_params().items():
        assert getattr(model, name) is value


@every_learner
def test_in_a_pipeline_and_a_search(case):
    X, y = case.data(120)
    pipeline = make_pipeline(StandardScaler(), case.estimator())
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=3)).all()
    step = pipeline.steps[-1][0]
    search = GridSearchCV(pipeline, {f"{step}__gamma": [0.1, 1.0], f"{step}__average": [False, True]}, cv=2).fit(X, y)
    assert search.best_params_[f"{step}__gamma"] in (0.1, 1.0)
    assert search.predict(X).shape == (120,)


@every_learner
def test_weights_are_routed(case):
    X, y = case.data(60)
    weight = np.random.default_rng(0).choice([0.5, 2.0], 60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = case.estimator().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"gamma": [0.5]}, cv=2).fit(X, y, sample_weight=weight)
    expected = case.estimator().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert pipeline[-1]._fingerprint() == expected._fingerprint()
    expected = case.estimator().fit(X, y, sample_weight=weight)
    assert search.best_estimator_._fingerprint() == expected._fingerprint()


@cases(loop=True, where=lambda case: case.named.name != "DualSGD")  # whose random features are no support vectors
def test_fitted_attributes(case):
    X, y = case.data(80)
    model = case.estimator(fit_intercept=True, shuffle=False, budget=40).fit(X, y)
    outputs = 3 if case.task == "multiclass" else 1
    assert model.n_support_ == len(model.support_) == len(model.support_vectors_)
    assert model.dual_coef_.shape == (outputs, model.n_support_)
    assert model.intercept_.shape == (outputs,)
    assert model.support_vectors_.dtype == X.dtype
    if case.named.rows_as_given:
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])  # rows were not shuffled
    assert (model.t_, model.n_features_in_, model.gamma_) == (80, 4, 0.5)
    kernel = np.exp(-0.5 * ((X[:, None].astype(float) - model.support_vectors_) ** 2).sum(axis=2))
    expected = kernel @ model.dual_coef_.T + model.intercept_
    scores = model.predict(X) if case.task == "regression" else model.decision_function(X)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, atol=1e-9 if X.dtype == float else 1e-4)
    if case.task != "regression":
        index = expected.argmax(axis=1) if outputs > 1 else (scores > 0).astype(int)
        np.testing.assert_array_equal(model.predict(X), model.classes_[index])


@every_learner
def test_gamma_as_in_svc(case):
    X, y = case.data(50)
    assert case.estimator(gamma="scale").fit(X, y).gamma_ == pytest.approx(1 / (4 * X.var()))
    assert case.estimator(gamma="auto").fit(X, y).gamma_ == 1 / 4
    first = case.estimator(gamma="scale").partial_fit(X[:20], y[:20], **case.labels(y))
    first.partial_fit(X[20:], y[20:])
    assert first.gamma_ == pytest.approx(1 / (4 * X[:20].var()))
    assert case.estimator(gamma="scale").fit(np.ones_like(X), y).gamma_ == 1.0  # no spread to scale by


@cases(one_task=True, loop=True)
def test_dtype_is_that_of_the_first_rows(case):
    X, y = case.data(40)
    other = "float32" if case.dtype == "float64" else "float64"
    model = case.estimator().partial_fit(X[:20], y[:20], **case.labels(y))
    model.partial_fit(X[20:].astype(other), y[20:])
    assert model.support_vectors_.dtype == case.dtype
    integers = case.estimator().partial_fit((X * 5).astype(int), y, **case.labels(y))
    assert integers.support_vectors_.dtype == np.float64


@every_learner
def test_pickle_of_an_estimator_new_and_fitted(case):
    X, y = case.data(40)
    new = pickle.loads(pickle.dumps(case.estimator()))
    assert new.get_params() == case.estimator().get_params()
    model = case.estimator().fit(X, y)
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


def test_spa_spends_its_budget_over_the_rows_of_fit():
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 2
    fitted = onkel.SPAClassifier(budget=100, n_epochs=2).fit(X, y)
    assert fitted._learner.recipe.admission.beta == 8.0
    told = onkel.SPAClassifier(budget=100, horizon=1000).partial_fit(X, y, classes=[0, 1])
    assert told._learner.recipe.admission.beta == 10.0
    untold = onkel.SPAClassifier(budget=100).partial_fit(X, y, classes=[0, 1])
    assert untold._learner.recipe.admission.beta == 1.0
    whole = onkel.SPAClassifier(budget=100, n_epochs=2, beta="stream", random_state=0).fit(X, y)
    assert whole._learner.recipe.admission == onkel.parts.PacedLossSampling(points=100, horizon=800)
    assert whole.n_support_ == 100


def test_spa_warns_outside_the_papers_range():
    with pytest.warns(UserWarning, match=r"G = 0\.5 is less than 1"):
        onkel.recipes.OSKL(G=0.5)
    with pytest.warns(UserWarning, match=r"beta = 0\.5 is less than alpha = 1"):
        onkel.recipes.SPA(alpha=1.0, beta=0.5)


# -- class weights ----------------------------------------------------------------------------------------------------

every_classifier = cases(
    dtypes=("float64",), outputs=(False,), where=lambda case: case.task != "regression", one_task=True, loop=True
)


@every_classifier
def test_class_weight_is_a_sample_weight(case):
    X, y = case.data(150)
    words = np.array(["blue", "red", "teal"])[y.astype(int)]
    by_class = {"blue": 2.0, "red": 0.5}  # a class that is not named weighs 1
    weight = np.select([words == "blue", words == "red"], [2.0, 0.5], 1.0)
    own = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(X))
    for given in (None, own):
        product = weight if given is None else weight * given
        weighted = case.estimator(class_weight=by_class).fit(X, words, sample_weight=given)
        assert weighted._fingerprint() == case.estimator().fit(X, words, product)._fingerprint()
        stream, twin = case.estimator(class_weight=by_class), case.estimator()
        scores = stream.predict_then_learn(X, words, classes=np.unique(words), sample_weight=given)
        expected = twin.predict_then_learn(X, words, classes=np.unique(words), sample_weight=product)
        assert scores.tobytes() == expected.tobytes()


@every_classifier
def test_balanced_class_weight(case):
    X, y = case.data(150)
    X, y = X[(y > 0) | (np.arange(150) % 3 == 0)], y[(y > 0) | (np.arange(150) % 3 == 0)]  # fewer of the first class
    counts = np.bincount(y.astype(int))
    expected = case.estimator().fit(X, y, (len(y) / (len(counts) * counts))[y.astype(int)])
    balanced = case.estimator(class_weight="balanced")
    assert balanced.fit(X, y)._fingerprint() == expected._fingerprint()


def balanced_weights(y, n_classes=None):
    """(n + mC) / (C (n_c + m)), one row after the other; C is the number of classes so far where none is given."""
    seen, made = {}, []
    for label in y.tolist():
        seen[label] = seen.get(label, 0) + 1
        c = n_classes or len(seen)
        made.append(min(100.0, (sum(seen.values()) + 10 * c) / (c * (seen[label] + 10))))
    return np.array(made)


@every_classifier
def test_balanced_class_weight_on_a_stream(case):
    X, y = case.data(150)
    own = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(X))
    for told in (np.unique(y), None):
        twin, whole, cut = case.estimator(), *(case.estimator(class_weight="balanced") for _ in range(2))
        factor = np.zeros(150)
        factor[own > 0] = balanced_weights(y[own > 0], None if told is None else len(told))
        expected = twin.predict_then_learn(X, y, classes=told, sample_weight=factor * own)
        assert whole.predict_then_learn(X, y, classes=told, sample_weight=own).tobytes() == expected.tobytes()
        for rows in (slice(0, 1), slice(1, 70), slice(70, 150)):
            cut.partial_fit(X[rows], y[rows], classes=told, sample_weight=own[rows])
            cut = pickle.loads(pickle.dumps(cut))
        assert cut._fingerprint() == whole._fingerprint()
        assert dict(zip(cut.classes_.tolist(), cut.class_counts_.tolist(), strict=True)) == {
            label: int((y[own > 0] == label).sum()) for label in cut.classes_.tolist()
        }


def test_balanced_class_weight_is_saved_and_merged(tmp_path):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 3 == 0
    half = onkel.OGDClassifier(gamma=1.0, class_weight="balanced").partial_fit(X[:30], y[:30])
    onkel.save(half, tmp_path / "half")
    again, whole = onkel.load(tmp_path / "half"), onkel.OGDClassifier(gamma=1.0, class_weight="balanced")
    again.partial_fit(X[30:], y[30:])
    assert again._fingerprint() == whole.partial_fit(X, y)._fingerprint()
    assert onkel.merge([half, half]).model.class_counts_.tolist() == (2 * half.class_counts_).tolist()


def test_balanced_class_weight_has_a_cap():
    y = np.array([0] * 5000 + [1])
    assert balanced_weights(y, 2)[-1] == 100.0
    model, twin = (onkel.OGDClassifier(gamma=1.0, class_weight=w) for w in ("balanced", {1: 100.0}))
    X = np.arange(5001.0)[:, None]
    model.partial_fit(X, y, classes=[0, 1])
    twin.partial_fit(X, y, classes=[0, 1], sample_weight=np.where(y == 0, balanced_weights(y, 2), 1.0))
    assert model._fingerprint() == twin._fingerprint()


@loop
@pytest.mark.parametrize("bad", ["even", 2.0, {0: -1.0}, {0: "heavy"}, {1: np.nan}])
def test_class_weights_that_are_none(bad):
    model = onkel.OGDClassifier(class_weight=bad)
    with pytest.raises(ValueError, match="class_weight"):
        model.fit([[0.0], [1.0]], [0, 1])
    assert not model.__sklearn_is_fitted__()


def test_class_weight_may_name_classes_that_do_not_appear():
    X, y = np.eye(4), [0, 1, 0, 1]
    one = onkel.OGDClassifier(class_weight={0: 2.0, 9: 5.0}, random_state=0).fit(X, y)
    other = onkel.OGDClassifier(class_weight={0: 2.0}, random_state=0).fit(X, y)
    assert one._fingerprint() == other._fingerprint()


# -- probabilities ----------------------------------------------------------------------------------------------------


def test_probabilities_are_for_the_log_loss_alone():
    by_default = (onkel.KLRClassifier, onkel.OSKLClassifier, onkel.NewtonClassifier)
    for cls in ESTIMATORS:
        assert hasattr(cls(), "predict_proba") == (cls in by_default), cls
    assert hasattr(onkel.OGDClassifier(loss="log_loss"), "predict_proba")
    assert not hasattr(onkel.OSKLClassifier(loss="exponential"), "predict_proba")
    assert hasattr(onkel.KernelClassifier(onkel.recipes.KLR()), "predict_proba")
    assert not hasattr(onkel.KernelClassifier(onkel.recipes.SPA()), "predict_proba")
    assert not hasattr(onkel.OGDClassifier(loss="nonsense"), "predict_proba")


@loop
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [onkel.KLRClassifier(eta=0.2), onkel.OSKLClassifier(eta=0.2), onkel.OGDClassifier(loss="log_loss", eta=0.2)],
    ids=["KLR", "OSKL", "OGD"],
)
def test_probabilities(model, n_classes):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.digitize(X[:, 0], [0.0] if n_classes == 2 else [-0.5, 0.5])
    model = clone(model).set_params(random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (300, n_classes)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    scores = model.decision_function(X)
    logits = np.column_stack([np.zeros(300), scores]) if n_classes == 2 else scores
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p, e / e.sum(axis=1, keepdims=True), rtol=1e-12)
    open_set = clone(model).partial_fit(X, y)  # two open classes are scored as several
    np.testing.assert_allclose(open_set.predict_proba(X).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize(
    "model",
    [
        onkel.KLRClassifier(eta=0.1, sampling="none"),
        onkel.KLRClassifier(eta=0.1, sampling="margin"),
        onkel.OSKLClassifier(eta=0.1),
        onkel.OGDClassifier(loss="log_loss", eta=0.1, average=True),
    ],
    ids=["KLR", "KLR-Margin", "OSKL", "OGD"],
)
def test_probabilities_are_calibrated(model):
    # the label's true probability is known: it must be met within 0.07 in the mean over the rows
    def stream(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(n, 1))
        p = 1 / (1 + np.exp(-2 * X[:, 0]))
        return X, rng.random(n) < p, p

    X, y, _ = stream(8000, 0)
    model = clone(model).set_params(gamma=0.3, random_state=0).fit(X, y)
    fresh, _, p = stream(2000, 1)
    assert np.abs(model.predict_proba(fresh)[:, 1] - p).mean() < 0.07


# -- callbacks --------------------------------------------------------------------------------------------------------


class Recorder:
    """Counts what happens, keeps a copy of the model at each task's end, and stops where it is told to."""

    def __init__(self, stop_after=None):
        self.stop_after, self.events, self.models = stop_after, [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.parent is None:
            return False
        self.models.append(fitted_estimator)
        return self.stop_after is not None and len(self.models) >= self.stop_after


try:
    from sklearn.callback import ProgressBar
except ImportError:
    ProgressBar = None
with_callbacks = pytest.mark.skipif(ProgressBar is None, reason="this scikit-learn has no callbacks")


@with_callbacks
@every_learner
def test_callbacks_change_no_bit(case):
    X, y = case.data(250)
    recorder = Recorder()
    watched = case.estimator(n_epochs=2).set_callbacks(recorder).fit(X, y)
    assert watched._fingerprint() == case.estimator(n_epochs=2).fit(X, y)._fingerprint()
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"
    assert recorder.events.count("begin rows") == recorder.events.count("end rows") == len(recorder.models) > 10
    # a copy given to a hook is the model as it was then, and stays so
    ages = [model.t_ for model in recorder.models]
    assert (np.diff(ages) > 0).all()
    assert ages[-1] == watched.t_ == 500
    assert recorder.models[3].predict(X).shape == (250,)


@with_callbacks
@every_learner
def test_a_hook_may_stop_the_fit(case):
    X, y = case.data(250)
    recorder = Recorder(stop_after=5)
    model = case.estimator(shuffle=False, n_epochs=3).set_callbacks(recorder).fit(X, y)
    assert len(recorder.models) == 5  # neither the rest of this epoch nor the next ones
    assert 0 < model.t_ < 250
    assert recorder.events[-1] == "teardown"
    # what it has is what the rows so far teach, and it goes on from there
    n = model.t_
    twin = case.estimator().partial_fit(X[:n], y[:n], **case.labels(y))
    assert model._fingerprint() == twin._fingerprint()
    assert model.predict(X).shape == (250,)
    model.partial_fit(X[n:], y[n:])
    assert model.t_ == 250


@with_callbacks
def test_a_progress_bar():
    X, y = onkel_rows()
    model = onkel.SPAClassifier(random_state=0).set_callbacks(ProgressBar()).fit(X, y)
    assert model._fingerprint() == onkel.SPAClassifier(random_state=0).fit(X, y)._fingerprint()


@with_callbacks
def test_callbacks_in_a_pipeline():
    X, y = onkel_rows()
    recorder = Recorder()
    model = onkel.OGDClassifier(random_state=0).set_callbacks(recorder)
    make_pipeline(StandardScaler(), model).fit(X, y)
    assert "end rows" in recorder.events


def onkel_rows():
    X = np.random.default_rng(0).normal(size=(200, 3))
    return X, X[:, 0] > 0


# -- sparsity ---------------------------------------------------------------------------------------------------------


@every_learner
def test_sparsity_is_the_share_of_rows_that_did_not_join(case):
    X, y = case.data(120)
    model = case.estimator(budget=30, n_epochs=2).fit(X, y)
    assert model.sparsity_ == 1 - model.n_support_ / 240
    assert (0.0 if case.named.grows else 0.875) <= model.sparsity_ < 1
    one = case.estimator().partial_fit(X[:1], y[:1], **case.labels(y))
    assert one.sparsity_ in (0.0, 1.0)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        case.estimator().sparsity_  # noqa: B018
