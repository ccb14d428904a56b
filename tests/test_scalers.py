"""Scalers and pipelines for streams: the same bits however the rows are cut, saved, or interrupted."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import onkel
from looping import loop

SCALERS = {
    "standard": onkel.StreamStandardScaler(),
    "scale only": onkel.StreamStandardScaler(with_mean=False),
    "centre only": onkel.StreamStandardScaler(with_std=False),
    "forgetting": onkel.StreamStandardScaler(forget=0.97),
    "range": onkel.StreamMinMaxScaler(),
    "other range": onkel.StreamMinMaxScaler(feature_range=(-1, 1)),
}
THEIRS = {
    "standard": StandardScaler(),
    "scale only": StandardScaler(with_mean=False),
    "centre only": StandardScaler(with_std=False),
    "range": MinMaxScaler(),
    "other range": MinMaxScaler((-1, 1)),
}
every_scaler = pytest.mark.parametrize("name", SCALERS)


def data(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 1e3, 1e-3, 1][:d] + [0, 1e6, 1, 0][:d]
    X[:, -1] = np.where(rng.random(n) < 0.7, 0, X[:, -1])
    return X, (X[:, 0] > 0).astype(int)


def pipeline(scaler=None, estimator=None):
    return onkel.StreamPipeline(
        scaler or onkel.StreamStandardScaler(), estimator or onkel.OGDClassifier(gamma=0.5, random_state=0)
    )


def cuts(n, sizes):
    ends = np.minimum(np.cumsum([*sizes, n]), n)
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True) if begin < end]


# -- scalers ----------------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize("forget", [0.5, 0.97, 1.0])
def test_a_scaler_forgets_by_the_definition(forget):
    X, _ = data()
    weights = forget ** np.arange(len(X))[::-1]
    mean = weights @ X / weights.sum()
    variance = weights @ (X - mean) ** 2 / weights.sum()
    scaler = onkel.StreamStandardScaler(forget=forget).partial_fit(X)
    np.testing.assert_allclose(scaler.mean_, mean, rtol=1e-9)
    np.testing.assert_allclose(scaler.var_, variance, rtol=1e-6)
    np.testing.assert_allclose(scaler.transform(X), (X - mean) / np.sqrt(variance), rtol=1e-6, atol=1e-6)
    dense, sparse = (onkel.StreamStandardScaler(with_mean=False, forget=forget) for _ in range(2))
    own = sparse.partial_fit_transform(csr_array(X))
    np.testing.assert_array_equal(own.toarray(), dense.partial_fit_transform(X))


def test_scalers_that_forget_are_not_merged():
    X, _ = data()
    scalers = [onkel.StreamStandardScaler(forget=0.9).partial_fit(X) for _ in range(2)]
    with pytest.raises(ValueError, match="which rows came last is not known"):
        scalers[0].merged(scalers[1])


@loop
@pytest.mark.parametrize("name", THEIRS)
def test_same_as_scikit_learn(name):
    X, _ = data()
    ours, theirs = clone(SCALERS[name]).fit(X), clone(THEIRS[name]).fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-9, atol=1e-9)
    for attribute in ("mean_", "var_", "scale_", "data_min_", "data_max_"):
        if hasattr(ours, attribute) and getattr(theirs, attribute, None) is not None:
            np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-9, atol=1e-12)
    assert ours.n_samples_seen_ == 200


@loop
@every_scaler
@given(sizes=st.lists(st.integers(1, 60), max_size=8), float32=st.booleans())
def test_any_cut_gives_the_same_bits(name, sizes, float32):
    X = data()[0].astype("float32" if float32 else "float64")
    whole, cut = clone(SCALERS[name]), clone(SCALERS[name])
    at_once = whole.partial_fit_transform(X)
    in_pieces = np.concatenate([cut.partial_fit_transform(X[rows]) for rows in cuts(len(X), sizes)])
    assert at_once.tobytes() == in_pieces.tobytes()
    for statistic, values in whole._statistics.items():
        assert values.tobytes() == cut._statistics[statistic].tobytes()


@loop
@every_scaler
def test_a_row_is_scaled_by_the_rows_up_to_itself(name):
    X, _ = data(50)
    made = clone(SCALERS[name]).partial_fit_transform(X)
    for i in (0, 1, 7, 49):
        np.testing.assert_array_equal(made[i], clone(SCALERS[name]).fit(X[: i + 1]).transform(X[i : i + 1])[0])


def test_sparse_rows_give_the_same_bits():
    X, _ = data()
    X[:, 0] = np.where(X[:, 0] > 0, X[:, 0], 0)
    dense, sparse = (onkel.StreamStandardScaler(with_mean=False) for _ in range(2))
    with_zeros = csr_array(X)
    with_zeros.data[::7] = 0  # stored zeros are zeros
    X = with_zeros.toarray()
    a, b = dense.partial_fit_transform(X), sparse.partial_fit_transform(with_zeros)
    assert isinstance(b, csr_array)
    np.testing.assert_array_equal(a, b.toarray())
    np.testing.assert_array_equal(dense.transform(X), sparse.transform(with_zeros).toarray())
    np.testing.assert_array_equal(dense.scale_, sparse.scale_)
    np.testing.assert_allclose(sparse.inverse_transform(sparse.transform(with_zeros)).toarray(), X, rtol=1e-12)


def test_statistics_of_a_long_stream_stay_exact():
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(100_000, 1))  # where sums of squares lose all digits
    scaler = onkel.StreamStandardScaler().fit(X)
    np.testing.assert_allclose(scaler.var_, X.var(axis=0), rtol=1e-6)


@loop
@every_scaler
def test_one_value_only(name):
    scaler = clone(SCALERS[name]).fit([[5.0, 0.0]] * 3)
    assert np.isfinite(scaler.transform([[5.0, 0.0]])).all()
    assert np.isfinite(scaler.transform([[6.0, 1.0]])).all()


@loop
@pytest.mark.parametrize(
    ("scaler", "X", "sentence"),
    [
        (onkel.StreamMinMaxScaler(), csr_array(np.eye(2)), "sparse rows cannot be scaled to a range and stay sparse"),
        (onkel.StreamStandardScaler(), csr_array(np.eye(2)), "sparse rows cannot be centred and stay sparse"),
        (onkel.StreamMinMaxScaler(feature_range=(1, 0)), np.eye(2), "feature_range must have its start below its end"),
        (onkel.StreamMinMaxScaler(feature_range=5), np.eye(2), "feature_range must be two numbers"),
        (onkel.StreamMinMaxScaler(feature_range=(0, np.inf)), np.eye(2), "end of feature_range must be a number"),
        (onkel.StreamStandardScaler(with_mean=3), np.eye(2), "with_mean must be True or False"),
        (onkel.StreamStandardScaler(), [[1e200], [-1e200]], "X has values in column 0 that are too large to scale"),
        (onkel.StreamStandardScaler(), [[np.nan]], "NaN"),
    ],
)
def test_scalers_refuse(scaler, X, sentence):
    before = dict(vars(scaler))
    with pytest.raises(ValueError, match=sentence):
        scaler.partial_fit(X)
    assert vars(scaler) == before


@loop
@every_scaler
def test_a_refused_call_changes_nothing(name):
    scaler = clone(SCALERS[name]).fit(data()[0])
    before = pickle.dumps(scaler)
    for X in ([[1.0, 2.0]], [[np.inf] * 4], [["a"] * 4]):
        with pytest.raises(ValueError):
            scaler.partial_fit(X)
    assert pickle.dumps(scaler) == before


# -- saving -----------------------------------------------------------------------------------------------------------


@loop
@every_scaler
def test_scalers_are_saved_and_go_on(name, tmp_path):
    X, _ = data()
    whole = clone(SCALERS[name])
    wanted = whole.partial_fit_transform(X)[100:]
    half = clone(SCALERS[name]).partial_fit(X[:100])
    onkel.save(half, tmp_path / "scaler")
    loaded = onkel.load(tmp_path / "scaler")
    assert loaded.get_params() == half.get_params()
    assert loaded.partial_fit_transform(X[100:]).tobytes() == wanted.tobytes()
    onkel.save(clone(half), tmp_path / "blank")
    assert not onkel.load(tmp_path / "blank").__sklearn_is_fitted__()


def test_pipelines_are_saved_and_go_on(tmp_path):
    X, y = data()
    whole, half = pipeline(), pipeline()
    wanted = whole.predict_then_learn(X, y, classes=[0, 1])[100:]
    half.partial_fit(X[:100], y[:100], classes=[0, 1])
    onkel.save(half, tmp_path / "pipeline")
    loaded = onkel.load(tmp_path / "pipeline")
    assert loaded.predict_then_learn(X[100:], y[100:]).tobytes() == wanted.tobytes()
    assert loaded.estimator_._fingerprint() == whole.estimator_._fingerprint()
    onkel.save(pipeline(), tmp_path / "blank")
    assert not onkel.load(tmp_path / "blank").__sklearn_is_fitted__()


def test_pipelines_and_checkpoints(tmp_path):
    X, y = data()
    whole = onkel.Checkpointer(tmp_path / "a", every=60).fit(
        pipeline(), onkel.streams.open((X, y), chunk_rows=50), classes=[0, 1]
    )
    checkpointer, model = onkel.Checkpointer(tmp_path / "b", every=60), pipeline()
    for i, (A, b) in enumerate(checkpointer.run(model, onkel.streams.open((X, y), chunk_rows=50))):
        if i == 4:
            break
        model.partial_fit(A, b, classes=[0, 1])
    again = pipeline(estimator=onkel.OGDClassifier(gamma=0.5, random_state=0, n_jobs=2))  # threads may differ
    onkel.Checkpointer(tmp_path / "b", every=60).fit(again, onkel.streams.open((X, y), chunk_rows=70), classes=[0, 1])
    assert again.estimator_._fingerprint() == whole.estimator_._fingerprint()
    other = pipeline(onkel.StreamStandardScaler(with_std=False))
    with pytest.raises(ValueError, match="was made with transformers="):
        onkel.Checkpointer(tmp_path / "b").fit(other, onkel.streams.open((X, y)), classes=[0, 1])


# -- pipelines --------------------------------------------------------------------------------------------------------


@loop
@every_scaler
@given(sizes=st.lists(st.integers(1, 60), max_size=8))
def test_any_cut_gives_the_same_pipeline(name, sizes):
    X, y = data()
    whole, cut = pipeline(clone(SCALERS[name])), pipeline(clone(SCALERS[name]))
    at_once = whole.predict_then_learn(X, y, classes=[0, 1])
    pieces = [cut.predict_then_learn(X[rows], y[rows], classes=[0, 1]) for rows in cuts(len(X), sizes)]
    assert at_once.tobytes() == np.concatenate(pieces).tobytes()
    assert whole.estimator_._fingerprint() == cut.estimator_._fingerprint()


def test_scores_are_made_before_learning():
    X, y = data(60)
    model = pipeline()
    made = model.predict_then_learn(X[:50], y[:50], classes=[0, 1])
    with_this_row = clone(model.transformers_[0]).fit(X[:51]).transform(X[50:51])
    expected = model.estimator_.decision_function(with_this_row)
    assert model.predict_then_learn(X[50:51], y[50:51]).tobytes() == expected.tobytes()
    assert len(made) == 50


def test_fit_scales_by_all_rows():
    X, y = data()
    model = pipeline().fit(X, y)
    by_hand = clone(model.estimator).fit(onkel.StreamStandardScaler().fit_transform(X), y)
    assert model.estimator_._fingerprint() == by_hand._fingerprint()
    assert model.score(X, y) > 0.9
    assert cross_val_score(pipeline(), X, y, cv=3).mean() > 0.8


def test_rows_of_weight_zero_do_not_count():
    X, y = data()
    weight = np.tile([1.0, 0.0], 100)
    half, none = pipeline(), pipeline()
    half.partial_fit(X[::2], y[::2], classes=[0, 1])
    for rows in (slice(0, 1), slice(1, 2), slice(2, 77), slice(77, 200)):
        none.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=weight[rows])
    assert none.transformers_[0].n_samples_seen_ == 100
    assert none.estimator_._fingerprint() == half.estimator_._fingerprint()
    assert pipeline().fit(X, y, sample_weight=weight).transformers_[0].n_samples_seen_ == 100
    nothing = pipeline()
    nothing.partial_fit(X[:3], y[:3], classes=[0, 1], sample_weight=[0, 0, 0])
    assert not nothing.__sklearn_is_fitted__()


def test_the_scaler_keeps_up_with_an_interrupted_estimator():
    X, y = data()
    model, other = (pipeline(estimator=onkel.OGDClassifier(kernel=kernel, random_state=0)) for kernel in "ab")
    calls = 0

    def kernel(x, S):
        nonlocal calls
        calls += 1
        if calls == 100:
            raise KeyboardInterrupt
        return np.exp(-((x - S) ** 2).sum(axis=1))

    model.set_params(estimator__kernel=kernel)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, classes=[0, 1])
    assert 0 < model.t_ < 200
    assert model.transformers_[0].n_samples_seen_ == model.t_
    model.partial_fit(X[model.t_ :], y[model.t_ :])
    other.set_params(estimator__kernel=lambda x, S: np.exp(-((x - S) ** 2).sum(axis=1)))
    other.partial_fit(X, y, classes=[0, 1])
    assert model.estimator_._fingerprint() == other.estimator_._fingerprint()


def test_a_refused_call_leaves_the_pipeline_as_it_was():
    X, y = data()
    model = pipeline()
    with pytest.raises(ValueError):
        model.partial_fit(X, y[:5], classes=[0, 1])
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    for bad_X, bad_y in ((X, y[:5]), (X, y + 7), (X[:, :2], y), (X * np.nan, y)):
        with pytest.raises(ValueError):
            model.partial_fit(bad_X, bad_y)
    assert pickle.dumps(model) == before


def test_pipelines_are_what_their_estimator_is():
    X, y = data()
    probable = pipeline(estimator=onkel.KLRClassifier(gamma=0.5, random_state=0)).fit(X, y)
    assert is_classifier(probable)
    assert probable.predict_proba(X).shape == (200, 2)
    assert not hasattr(pipeline(), "predict_proba")
    regression = pipeline(estimator=onkel.OGDRegressor(random_state=0))
    assert is_regressor(regression)
    assert not hasattr(regression, "decision_function")
    regression.fit(X, X[:, 0])
    assert not hasattr(regression, "classes_")
    assert probable.classes_.tolist() == [0, 1]
    assert probable.n_support_ == probable.estimator_.n_support_
    for wrong in (onkel.StreamPipeline(StandardScaler(), onkel.OGDClassifier()), pipeline(estimator=StandardScaler())):
        with pytest.raises(ValueError, match="must be"):
            wrong.partial_fit(X, y)


def test_feature_names(tmp_path):
    import pandas as pd

    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = pipeline().partial_fit(frame, y, classes=[0, 1])
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(frame[list("abdc")]), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "e"}))
    onkel.save(model, tmp_path / "model")
    assert onkel.load(tmp_path / "model").feature_names_in_.tolist() == list("abcd")


def test_sparse_pipelines():
    X, y = data()
    scaler = onkel.StreamStandardScaler(with_mean=False)
    dense, sparse = pipeline(scaler), pipeline(scaler)
    a = dense.predict_then_learn(X, y, classes=[0, 1])
    b = sparse.predict_then_learn(csr_array(X), y, classes=[0, 1])
    assert sparse.estimator_._learner.sparse
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
