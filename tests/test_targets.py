"""Categories of many values: what they say about the target, each row by those before it, and the same bits always."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

import onkel
from looping import loop
from onkel import partitions
from onkel.preprocess.targets import Targets
from reference.targets import encoded
from test_encoder import pieces

LEARNERS = {
    "binary": onkel.OGDClassifier(gamma=0.1, budget=20, random_state=0),
    "multiclass": onkel.OGDClassifier(gamma=0.1, budget=20, random_state=0),
    "regression": onkel.OGDRegressor(gamma=0.1, budget=20, random_state=0),
}


def cities(n=300, levels=40, task="binary", seed=0):
    """Rows of which the target needs the city, which has more values than there are columns."""
    rng = np.random.default_rng(seed)
    city = rng.integers(levels, size=n)
    score = rng.normal(0, 2, levels)[city] + rng.normal(size=n)
    names = np.array([None if c == 3 else f"city {c}" for c in city], object)
    y = {"binary": score > 0, "multiclass": np.digitize(score, [-1, 1]), "regression": score * 7 + 40}[task]
    return {"city": names, "x": rng.normal(size=n)}, y


def taken(table, rows):
    return {name: values[rows] for name, values in table.items()}


def pipeline(task="binary", **options):
    return onkel.make_stream_pipeline(LEARNERS[task], max_categories=4, **options)


def bits(model):
    known = model.transformers_[0]._saved_fields()["_statistics"]
    states = [state.pop("targets", {}) for state in known["columns"]]
    targets = [
        {name: bytes(values) if isinstance(values, np.ndarray) else values for name, values in state.items()}
        for state in states
    ]
    return model.estimator_._fingerprint(), targets, repr(known)


def columns_of(model, table):
    """The columns of the city's targets."""
    names = model.transformers_[0].get_feature_names_out().tolist()
    return model.transformers_[0].transform(table)[:, [i for i, name in enumerate(names) if "city target" in name]]


@loop
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_rows_are_encoded_by_those_before_them(task):
    table, y = cities(task=task)
    there = [word for word in table["city"] if word is not None]
    counted = np.array([word is not None for word in table["city"]])
    targets = np.asarray(y, float) if task != "multiclass" else np.eye(3)[y]
    # rows without a city have a target, too: the reference is told all rows, the gaps as words of their own
    words = [word if word is not None else f"gap {i}" for i, word in enumerate(table["city"])]
    expected, later = encoded(words, targets)
    known = onkel.StreamEncoder(max_categories=4)
    values = Targets.of(np.asarray(y, float), None if task == "regression" else len(np.unique(y)))
    rows, known._statistics = known._fitted(table, None, values)
    names = known.get_feature_names_out().tolist()
    made = rows[:, [i for i, name in enumerate(names) if "city target" in name]]
    np.testing.assert_allclose(made[counted], expected[counted], rtol=1e-9, atol=1e-12)
    assert not made[~counted].any()
    model = pipeline(task).fit(table, y)
    assert model.transformers_[0].n_features_out_ == 4 + (3 if task == "multiclass" else 1) + 1 + 1 + 1
    fresh = {"city": [*there[:5], "never seen", None], "x": np.zeros(7)}
    expected = np.array([later(word) for word in there[:5]])
    np.testing.assert_allclose(columns_of(model, fresh)[:5], expected, rtol=1e-9)
    assert not columns_of(model, fresh)[5:].any()


def test_the_own_target_is_not_seen():
    table, y = cities()
    one, other = pipeline(), pipeline()
    flipped = y.copy()
    flipped[-1] = not y[-1]
    scores = [m.predict_then_learn(table, t, classes=[False, True]) for m, t in ((one, y), (other, flipped))]
    np.testing.assert_array_equal(*scores)
    assert (columns_of(one, table) != columns_of(other, table)).any()


def test_few_values_have_columns_only():
    table, y = cities(levels=4)
    model = pipeline().fit(table, y)
    assert not columns_of(model, table).any()
    assert onkel.export.to_json(model)


def test_more_values_than_are_told_apart_share_their_places(monkeypatch):
    monkeypatch.setattr(onkel.preprocess.targets, "LEVELS", 8)
    table, y = cities()
    whole, cut = pipeline(), pipeline()
    weight = np.where(np.arange(300) % 5 == 1, 0.0, 1.0)
    scores = whole.predict_then_learn(table, y, classes=[False, True], sample_weight=weight)
    rows = np.arange(300)
    made = [
        cut.predict_then_learn(taken(table, [i]), y[[i]], classes=[False, True], sample_weight=weight[[i]])
        for i in rows
    ]
    np.testing.assert_array_equal(np.concatenate(made), scores)
    assert bits(cut) == bits(whole) and len(whole.transformers_[0]._statistics.columns[0]["targets"]["names"]) == 8
    assert np.isfinite(columns_of(whole, {"city": ["never seen"], "x": [0.0]})).all()
    with pytest.raises(ValueError, match="column 'city' cannot be exported: it has more than 8 values"):
        onkel.export.to_json(whole)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 90), max_size=6), st.sampled_from(["binary", "multiclass", "regression", "open"]))
def test_chunks_change_nothing(sizes, task):
    table, y = cities(200, task="multiclass" if task == "open" else task)
    options = {} if task in ("open", "regression") else {"classes": np.unique(y)}
    learner = "multiclass" if task == "open" else task
    weight = np.where(np.arange(200) % 7 == 2, 0.0, 1.0)
    whole, cut = pipeline(learner), pipeline(learner)
    scores = whole.predict_then_learn(table, y, sample_weight=weight, **options)
    made = [
        cut.predict_then_learn(taken(table, p), y[p], sample_weight=weight[p], **options) for p in pieces(200, sizes)
    ]
    if task != "open":  # where the scores of the first rows know fewer classes
        np.testing.assert_array_equal(np.concatenate(made), scores)
    assert bits(cut) == bits(whole)
    alone = pipeline(learner)
    alone.partial_fit(taken(table, weight > 0), y[weight > 0], **options)
    assert bits(alone) == bits(whole)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_saved_and_resumed(tmp_path, task):
    table, y = cities(task=task)
    options = {} if task == "regression" else {"classes": np.unique(y)}
    whole = pipeline(task).partial_fit(table, y, **options)
    half = pipeline(task).partial_fit(taken(table, slice(130)), y[:130], **options)
    onkel.save(half, tmp_path / "half")
    rest = taken(table, slice(130, None)), y[130:]
    again = onkel.load(tmp_path / "half")
    np.testing.assert_array_equal(again.predict(table), half.predict(table))
    assert bits(again.partial_fit(*rest)) == bits(pickle.loads(pickle.dumps(half)).partial_fit(*rest)) == bits(whole)


def test_a_refusal_changes_nothing():
    table, y = cities()
    model = pipeline().partial_fit(taken(table, slice(200)), y[:200], classes=[False, True])
    before = bits(model)
    with pytest.raises(ValueError, match="the labels of a model must be of one kind"):
        model.partial_fit(taken(table, slice(200, None)), np.full(100, 7))
    assert bits(model) == before


def test_huge_targets_leave_numbers():
    encoder, wild = onkel.StreamEncoder(max_categories=1), np.resize([1e308, -1e308, 1.7e308], 300)
    rows, encoder._statistics = encoder._learned(cities()[0], None, Targets.of(wild, None))
    assert np.isfinite(rows).all()
    state = encoder._statistics.columns[0]["targets"]
    assert all(np.isfinite(state[name]).all() for name in ("sums", "mean", "squares", "errors"))


def test_merged_statistics_are_those_of_all_rows():
    table, y = cities(task="regression")
    encoder, parts = onkel.StreamEncoder(schema={"city": "category?", "x": "number"}, max_categories=4), []
    for p in (slice(120), slice(120, 300)):
        part = onkel.StreamEncoder(**encoder.get_params())
        _, part._statistics = part._learned(taken(table, p), None, Targets.of(y[p], None))
        parts.append(part)
    _, encoder._statistics = encoder._learned(table, None, Targets.of(y, None))
    both, whole = (each._statistics.columns[0]["targets"] for each in (onkel.StreamEncoder.merged(parts), encoder))
    for name in ("levels", "counts", "sums", "rows", "mean", "squares"):
        np.testing.assert_allclose(both[name], whole[name], rtol=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_partitions_take_it_from_the_common_sample(task, monkeypatch):
    monkeypatch.setattr(partitions.newton, "sample_rows_for", lambda budget: 300)
    table, y = cities(3000, task=task)
    learner = onkel.NewtonRegressor if task == "regression" else onkel.NewtonClassifier
    learner = learner(budget=60, gamma=0.1, lam=0.01, random_state=0)
    parts = [(pd.DataFrame(taken(table, slice(i, None, 3))), y[i::3]) for i in range(3)]
    model = partitions.fit(onkel.make_stream_pipeline(learner, max_categories=4), parts).model
    plain = onkel.make_stream_pipeline(learner, schema={"city": "drop"}).fit(table, y)
    assert model.score(table, y) > plain.score(table, y) + 0.1
    assert columns_of(model, table).any()
    fold = partitions.fit(onkel.make_stream_pipeline(learner, max_categories=4), parts, n_jobs=2).model
    assert bits(fold) == bits(model)
    model.partial_fit(table, y)


def test_a_city_of_ten_thousand_values_helps():
    rng = np.random.default_rng(5)
    n, levels = 24_000, 10_000
    p = 1 / (np.arange(levels) + 10.0)
    city = rng.choice(levels, size=n, p=p / p.sum())
    X = rng.normal(size=(n, 3))
    score = rng.normal(0, 2, levels)[city] + X @ [1.0, -0.7, 0.3]
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    table = pd.DataFrame(X, columns=list("abc")).assign(city=[f"city {c}" for c in city])
    train, test = slice(16_000), slice(16_000, None)
    encoder = make_column_transformer((StandardScaler(), list("abc")), (TargetEncoder(), ["city"]))
    rival = make_pipeline(encoder, LogisticRegression()).fit(table[train], y[train])
    learner = onkel.NewtonClassifier(budget=100, gamma=0.1, lam=0.01, relevances=None, random_state=0)
    model = onkel.make_stream_pipeline(learner).fit(table[train], y[train])
    losses = [log_loss(y[test], m.predict_proba(table[test])[:, 1]) for m in (model, rival)]
    assert losses[0] < losses[1]
    streamed = onkel.make_stream_pipeline(learner).partial_fit(table[train], y[train], classes=[0, 1])
    assert log_loss(y[test], streamed.predict_proba(table[test])[:, 1]) < losses[1]


def test_a_sample_that_is_most_of_the_rows_does_not_encode_them():
    rng = np.random.default_rng(1)
    n, new = 2000, 1000
    x = rng.normal(size=n + new)
    y = x + rng.normal(0, 0.7, n + new) > 0
    table = pd.DataFrame({"city": [f"city {c}" for c in rng.integers(1500, size=n + new)], "x": x})
    learner = onkel.NewtonClassifier(budget=40, gamma=0.2, lam=0.1, random_state=0)
    parts = [(table[i:n:3], y[i:n:3]) for i in range(3)]
    model = partitions.fit(onkel.make_stream_pipeline(learner, max_categories=4), parts).model
    without = partitions.fit(onkel.make_stream_pipeline(learner, schema={"city": "drop"}), parts).model
    losses = [log_loss(y[n:], each.predict_proba(table[n:])[:, 1]) for each in (model, without)]
    assert losses[0] < losses[1] * 1.1
