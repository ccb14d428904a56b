"""Tables with columns of any type: the same bits however the rows are cut, saved or interrupted; clear refusals."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.preprocessing import Normalizer, StandardScaler

import onkel
from looping import loop
from onkel.streams.table import Table

START = dt.datetime(2024, 1, 1)


def frame(n=300, seed=0, gaps=True):
    rng = np.random.default_rng(seed)
    towns = np.array(["Bern", "Chur", "Genf", "Thun", "Zug"], object)
    made = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "town": towns[rng.integers(5, size=n)],
            "when": [START + dt.timedelta(hours=float(h)) for h in rng.uniform(0, 9000, n)],
            "paid": rng.random(n) < 0.5,
            "count": rng.integers(0, 9, n),
        }
    )
    if gaps:
        for i, name in enumerate(("age", "town", "when")):
            made.loc[rng.random(n) < 0.05 * (i + 1), name] = None
    return made, np.where(made["age"].fillna(30) + 10 * (made["town"] == "Bern") + rng.normal(size=n) > 42, "yes", "no")


def as_text(table):
    """The same rows as CSV text would have them."""
    words = [["" if pd.isna(v) else str(v) for v in table[name]] for name in table.columns]
    return Table(tuple(table.columns), tuple(np.array(column, object) for column in words), typed=False)


def pieces(n, sizes):
    ends = np.minimum(np.cumsum([*sizes, n]), n)
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True) if begin < end]


def pipeline(**options):
    learner = onkel.NewtonClassifier(budget=20, gamma=0.1, lam=0.01, random_state=0)
    return onkel.make_stream_pipeline(learner, max_categories=4, **options)


def _plain(values):
    return {name: list(np.ravel(each)) for name, each in values.items()} if isinstance(values, dict) else list(values)


def bits(model):
    known = model.transformers_[0]._saved_fields()["_statistics"]
    columns = [{name: _plain(values) for name, values in state.items()} for state in known.pop("columns")]
    return model.estimator_._fingerprint(), repr((known, columns))


# -- what becomes of a value ------------------------------------------------------------------------------------------


def test_each_kind_by_hand():
    table = {
        "n": [1.0, 3.0, None],
        "c": ["a", None, "b"],
        "b": [True, False, True],
        "d": [dt.datetime(2024, 1, 1, 6), dt.datetime(2024, 4, 3), dt.datetime(2024, 7, 6, 12)],
    }
    encoder = onkel.StreamEncoder(max_categories=1).fit(table)
    made = encoder.transform(table)
    assert encoder.schema_ == {"n": "number?", "c": "category?", "b": "boolean", "d": "date"}
    np.testing.assert_array_equal(made[:, :2], [[-1, 0], [1, 0], [0, 1]])  # standardised; the mean and an indicator
    np.testing.assert_array_equal(made[:, 2:5], [[1, 0, 0], [0, 0, 1], [0, 1, 0]])  # a, others, missing
    np.testing.assert_array_equal(made[:, 5], [1, 0, 1])
    angles = np.array([[0, 0, 6], [3, 2, 0], [6, 5, 12]]) / [12, 7, 24] * 2 * np.pi  # months, from Monday, hours
    np.testing.assert_allclose(made[:, 6:12:2], np.cos(angles), atol=1e-15)
    np.testing.assert_allclose(made[:, 7:12:2], np.sin(angles), atol=1e-15)
    np.testing.assert_allclose(made[:, 12], np.array([0, 92.75, 187.25]) / 365.25, rtol=1e-12)  # years since the first
    names = encoder.get_feature_names_out().tolist()
    assert names[:6] == ["n", "n missing", "c=a", "c others", "c missing", "b"] and len(names) == made.shape[1]


def test_a_row_is_encoded_by_the_rows_up_to_itself():
    encoder = onkel.StreamEncoder(schema={"x": "number?"})
    made = encoder.partial_fit_transform({"x": [2.0, None, 6.0]})
    np.testing.assert_array_equal(made, [[0, 0], [0, 1], [1, 0]])
    assert onkel.StreamEncoder(schema={"b": "boolean?"}).partial_fit_transform({"b": [None, True, None]})[
        :, 0
    ].tolist() == [
        0.5,
        1.0,
        1.0,
    ]


def test_words_are_hashed_with_a_key():
    made = onkel.StreamEncoder(schema={"t": "text"}, max_categories=64).fit_transform(
        {"t": ["red car", "car red", "x"]}
    )
    np.testing.assert_array_equal(made[0], made[1])
    assert np.count_nonzero(made[0]) == 2 and np.isclose(np.linalg.norm(made[0]), 1)
    assert np.flatnonzero(made[2]).tolist() == [35], "the columns of words are part of saved models"


@loop
@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dict", "records", "text"])
def test_every_library_gives_the_same_rows(library):
    table, _ = frame(100)
    expected = onkel.StreamEncoder(max_categories=4).fit(table).transform(table)
    plain = table.astype(object).where(table.notna(), None)
    given = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "arrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
        "dict": lambda: {name: table[name].to_numpy() for name in table.columns},
        "records": lambda: plain.to_dict("records"),
        "text": lambda: as_text(table),
    }[library]()
    encoder = onkel.StreamEncoder(max_categories=4).fit(given)
    np.testing.assert_array_equal(encoder.transform(given), expected)
    np.testing.assert_array_equal(encoder.transform(table[list(table.columns)[::-1]]), expected)  # found by name


# -- strays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", [True, False])
def test_a_stray_text_is_a_gap_and_does_not_change_a_column(typed):
    rng = np.random.default_rng(0)
    income = [f"{value:.1f}" for value in rng.lognormal(8, 1, 20_000)]
    values = [float(value) for value in income] if typed else income
    for row in range(5, 20_000, 1000):
        values[row] = "unknown"
    gaps = [None if value == "unknown" else float(value) for value in values]
    made = Table(("income",), (np.array(values, object),), typed=typed)
    for method in ("fit", "partial_fit"):
        encoder = onkel.StreamEncoder()
        with pytest.warns(
            DataConversionWarning, match=r"column 'income' is of kind 'number', and .*, such as 'unknown'"
        ):
            getattr(encoder, method)(made)
        assert encoder.schema_ == {"income": "number?"} and encoder.strays_ == {"income": 20}
        with pytest.warns(DataConversionWarning, match="column 'income' is of kind 'number', and some values are"):
            rows = encoder.transform(made)
        expected = getattr(onkel.StreamEncoder(), method)({"income": gaps}).transform({"income": gaps})
        np.testing.assert_array_equal(rows, expected)
        assert rows[5].tolist() == [0.0, 1.0]


def test_a_column_is_what_most_of_its_values_are():
    with pytest.warns(DataConversionWarning, match=r"1 of its first 7 values is something else, such as 'unknown'"):
        made = onkel.StreamEncoder().partial_fit({"x": ["unknown", *range(6)], "y": ["Bern", *range(6)]})
    assert made.schema_ == {"x": "number?", "y": "category"} and made.strays_ == {"x": 1}
    with pytest.warns(DataConversionWarning, match=r"2 of its first 40 values are something else, such as 'Bern'"):
        assert onkel.StreamEncoder().fit({"x": [*["Bern"] * 2, *range(38)]}).schema_ == {"x": "number?"}
    assert onkel.StreamEncoder().fit({"x": [*["Bern"] * 3, *range(37)]}).schema_ == {"x": "category"}
    assert onkel.StreamEncoder().fit({"x": [*["NA"] * 30, *range(10)]}).schema_ == {"x": "number?"}
    dates = [dt.datetime(2024, 1, 1 + i % 28) for i in range(40)]
    with pytest.warns(DataConversionWarning, match="column 'd' is of kind 'date'"):
        made = onkel.StreamEncoder().fit({"d": [*dates, "some day"], "b": [*[True, False] * 20, "NA"]})
    assert made.schema_ == {"d": "date?", "b": "boolean?"}


def test_a_schema_never_refuses_text():
    schema = {"n": "number?", "d": "date", "b": "boolean"}
    with pytest.warns(DataConversionWarning, match="is of kind") as told:
        encoder = onkel.StreamEncoder(schema=schema).fit(
            {"n": ["12.5", "many", 13.5], "d": ["2024-01-01", "soon", 7], "b": [1, 0, "perhaps"]}
        )
    assert len(told) == 3 and encoder.schema_ == schema and encoder.strays_ == {"n": 1, "d": 2, "b": 1}
    with pytest.warns(DataConversionWarning, match="column 'n'"):
        assert encoder.transform({"n": ["?", "few"], "d": [None] * 2, "b": [None] * 2})[:, :2].tolist() == [[0, 1]] * 2
    merged = onkel.StreamEncoder.merged([encoder, encoder])
    assert merged.strays_ == {"n": 2, "d": 4, "b": 2}


# -- exactness --------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.lists(st.integers(1, 90), max_size=6))
@pytest.mark.filterwarnings("ignore:column '(mixed|income)'")  # of which the former seems a number for some rows
def test_chunks_change_nothing(sizes):
    table, y = frame(200)
    table["income"] = ["unknown" if i % 31 == 3 else "n/a" if i % 17 == 5 else str(i % 13) for i in range(200)]
    table["late"] = [1.0] * 120 + [None] * 80  # a gap, and then
    table["mixed"] = ["1"] * 90 + ["x"] * 110  # a category, where numbers were
    whole = pipeline()
    scores = whole.predict_then_learn(as_text(table), y, classes=["no", "yes"])
    cut = pipeline()
    given = as_text(table)
    made = [cut.predict_then_learn(given[p], y[p], classes=["no", "yes"]) for p in pieces(200, sizes)]
    np.testing.assert_array_equal(np.concatenate(made), scores)
    assert bits(cut) == bits(whole)
    schema = whole.transformers_[0].schema_
    assert [schema[name] for name in ("mixed", "late", "income")] == ["category", "number?", "number?"]
    assert cut.transformers_[0].strays_ == whole.transformers_[0].strays_ == {"income": 7}
    alone = onkel.StreamEncoder(max_categories=4)
    for p in pieces(200, sizes):
        alone.partial_fit(given[p])
    lead = whole.transformers_[0]
    shared = np.isin(lead.get_feature_names_out(), alone.get_feature_names_out())  # all but those of the targets
    np.testing.assert_array_equal(alone.transform(given), lead.transform(given)[:, shared])


def test_starting_anew_is_what_knowing_before_gives():
    table, y = frame(200, gaps=False)
    table["mixed"] = ["1"] * 110 + ["x"] * 90
    found = pipeline().partial_fit(as_text(table), y, classes=["no", "yes"])
    given = pipeline(schema=found.transformers_[0].schema_).partial_fit(as_text(table), y, classes=["no", "yes"])
    assert found.estimator_._fingerprint() == given.estimator_._fingerprint()


def test_the_kinds_are_settled_after_4096_rows():
    n = np.arange(4096.0)
    encoder = onkel.StreamEncoder().partial_fit({"x": n[:-1]})
    assert encoder.kept is not None
    encoder.partial_fit({"x": n[-1:]})
    assert encoder.kept is None
    encoder.partial_fit({"x": n[:2]})
    with pytest.raises(ValueError, match=r"X contains inf at row 4099, column 0 \('x'\); expected a finite number"):
        encoder.partial_fit({"x": [1.0, np.inf, 2, 3]})
    assert encoder.n_samples_seen_ == 4098
    with pytest.warns(DataConversionWarning, match=r"1 of its first 4,102 values is something else, such as 'a'"):
        encoder.partial_fit({"x": ["a", 1, 2, 3]})
    assert encoder.schema_ == {"x": "number"} and encoder.strays_ == {"x": 1}
    assert encoder.transform({"x": [None]}).tolist() == [[0.0]]  # a gap is the mean, as there was none before


def test_weights_of_zero_do_not_count():
    table, y = frame(120)
    weight = np.where(np.arange(120) % 3 == 0, 0.0, 2.0)
    weighted = pipeline().partial_fit(table, y, classes=["no", "yes"], sample_weight=weight)
    alone = pipeline().partial_fit(
        table[weight > 0], y[weight > 0], classes=["no", "yes"], sample_weight=weight[weight > 0]
    )
    assert bits(weighted) == bits(alone)


@pytest.mark.parametrize("cut", [60, 130])
def test_saved_and_resumed(tmp_path, cut):
    table, y = frame(200)
    table["mixed"] = [1.0] * 100 + ["x"] * 100
    whole = pipeline().partial_fit(table, y)
    half = pipeline().partial_fit(table[:cut], y[:cut])
    onkel.save(half, tmp_path / "half")
    again = onkel.load(tmp_path / "half")
    assert bits(again) == bits(half) and again.feature_names_in_.tolist() == list(table.columns)
    assert bits(again.partial_fit(table[cut:], y[cut:])) == bits(whole)
    assert bits(pickle.loads(pickle.dumps(half)).partial_fit(table[cut:], y[cut:])) == bits(whole)


def test_fit_has_all_rows_before_it():
    table, y = frame(200)
    learner = onkel.NewtonClassifier(budget=20, gamma=0.1, lam=0.01, random_state=0)
    model = onkel.make_stream_pipeline(learner).fit(table, y)
    encoder = onkel.StreamEncoder().fit(table)
    inner = clone(learner).fit(encoder.transform(table), y)
    np.testing.assert_array_equal(model.decision_function(table), inner.decision_function(encoder.transform(table)))
    assert model.score(table, y) > 0.8


# -- bad tables -------------------------------------------------------------------------------------------------------


def test_refusals_change_nothing():
    table, y = frame(200)
    model = pipeline().partial_fit(table[:100], y[:100], classes=["no", "yes"])
    before = bits(model)
    mixed = table[100:].assign(age="old")
    for bad, labels, sentence in (
        (table[100:].drop(columns="town"), y[100:], "X has no column 'town'"),
        (table[100:].assign(extra=1), y[100:], "X has a column 'extra'"),
        (mixed, np.where(np.arange(100) == 50, "perhaps", y[100:]), "label 'perhaps'"),
        (table[100:].assign(age=np.inf), y[100:], r"expected a finite number"),
        (pd.concat([table, table[["town"]]], axis=1)[100:], y[100:], "2 columns called 'town'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.partial_fit(bad, labels)
        assert bits(model) == before
    model.partial_fit(mixed, y[100:])  # among the first rows a column may still turn out to be something else
    assert model.transformers_[0].schema_["age"] == "category?"


def test_ten_thousand_categories_and_nothing_at_all():
    n = 10_000
    table = {"id": [f"user {i}" for i in range(n)], "nothing": [None] * n, "x": np.arange(n) % 7}
    encoder = onkel.StreamEncoder()
    rows = encoder.partial_fit_transform(table)
    assert encoder.schema_ == {"id": "category", "nothing": "category?", "x": "number"}
    assert len(encoder.categories_["id"]) == 32 and rows[32:, 32].all() and not rows[:32, 32].any()
    assert np.isfinite(rows).all()
    assert encoder.transform({**{k: v[:1] for k, v in table.items()}, "nothing": ["something"]}).shape == (1, 68)


def test_wrong_parameters():
    for wrong, sentence in (
        ({"schema": {"a": "numeric"}}, "the kind of column 'a' must be one of 'number'"),
        ({"schema": {"z": "number"}}, "X has no column 'z', which the schema names"),
        ({"max_categories": 0}, "max_categories must be an integer of at least 1"),
        ({"dtype": "int8"}, "dtype must be one of"),
    ):
        with pytest.raises(ValueError, match=sentence):
            onkel.StreamEncoder(**wrong).fit({"a": [1.0]})
    with pytest.raises(ValueError, match="must be the first"):
        onkel.StreamPipeline([StandardScaler().fit([[1.0]]), onkel.StreamEncoder()], onkel.OGDClassifier()).fit(
            [[1.0]], [1]
        )


# -- what a newcomer tries first --------------------------------------------------------------------------------------


def test_text_columns_of_an_estimator_name_the_pipeline():
    table = pd.DataFrame({"x": [1.0, 2.0] * 5, "town": ["Bern", "Chur"] * 5})
    for X in (table, table.to_dict("records"), table.to_dict("list"), table.to_numpy()):
        for method in ("fit", "partial_fit"):
            with pytest.raises((ValueError, TypeError), match=r"onkel.make_stream_pipeline\(NewtonClassifier\(\)\)"):
                getattr(onkel.NewtonClassifier(), method)(X, [0, 1] * 5)


def test_sigmoids_go_around_the_pipeline(tmp_path):
    table, y = frame(200)
    platt = onkel.PlattClassifier(onkel.SPAClassifier(gamma=0.1, budget=30, random_state=0), forget=0.99)
    model = onkel.make_stream_pipeline(platt, max_categories=4).partial_fit(table, y)
    assert isinstance(model, onkel.PlattClassifier) and model.forget == 0.99
    assert model.predict_proba(table).shape == (200, 2) and model.score(table, y) > 0.7
    onkel.save(model, tmp_path / "m")
    np.testing.assert_array_equal(onkel.load(tmp_path / "m").predict_proba(table), model.predict_proba(table))
    with pytest.raises(ValueError, match="must be around the pipeline"):
        onkel.StreamPipeline(onkel.StreamEncoder(), platt).fit(table, y)


def test_several_kernels_take_the_name_of_a_recipe():
    X = np.random.default_rng(0).normal(size=(100, 2))
    named, made = (
        onkel.MultiKernelClassifier(recipe, random_state=0).fit(X, X[:, 0] > 0)
        for recipe in ("SPA", onkel.recipes.SPA())
    )
    assert named._fingerprint() == made._fingerprint()
    with pytest.raises(ValueError, match=r"recipe must be a Recipe or one of BOGD, .*, got 'spa'"):
        onkel.KernelClassifier("spa").fit(X, X[:, 0] > 0)


def test_tools_of_scikit_learn_look_into_tables():
    table, y = frame(400, gaps=False)
    learner = onkel.NewtonClassifier(budget=80, gamma=0.2, lam=0.01, random_state=0)
    model = onkel.make_stream_pipeline(learner, max_categories=5).fit(table, y)
    found = permutation_importance(model, table, y, n_repeats=2, random_state=0).importances_mean
    assert found.argmax() == list(table.columns).index("age")
    number = partial_dependence(model, table, ["age"], kind="average", grid_resolution=5)["average"][0]
    assert number[-1] > number[0] + 0.3, "the older, the likelier"
    town = partial_dependence(model, table, ["town"], categorical_features=["town"], kind="average")
    named = dict(zip(town["grid_values"][0], town["average"][0], strict=True))
    assert max(named, key=named.get) == "Bern"
    X = np.random.default_rng(0).normal(size=(300, 4))
    learner = onkel.NewtonClassifier(kernel=onkel.parts.RBF(0.5, (0.0, 4.0, 0.0, 0.0)), budget=50, random_state=0)
    assert SelectFromModel(learner).fit(X, X[:, 1] > 0).get_support().tolist() == [False, True, False, False]


# -- chains -----------------------------------------------------------------------------------------------------------


def test_chains_of_transformers(tmp_path):
    table, y = frame(200)
    X = table[["age", "count"]].fillna(0.0).to_numpy()
    fitted = FrozenEstimator(StandardScaler().fit(X))
    model = onkel.StreamPipeline(
        [fitted, onkel.StreamMinMaxScaler(), Normalizer()], onkel.OGDClassifier(gamma=1.0, random_state=0)
    )
    for p in pieces(200, [30, 70]):
        model.partial_fit(X[p], y[p], classes=["no", "yes"])
    by_hand = onkel.StreamMinMaxScaler().partial_fit_transform(fitted.transform(X))
    alone = onkel.OGDClassifier(gamma=1.0, random_state=0)
    alone.partial_fit(Normalizer().transform(by_hand), y, classes=["no", "yes"])
    assert model.estimator_._fingerprint() == alone._fingerprint()
    onkel.save(model, tmp_path / "chain")
    np.testing.assert_array_equal(onkel.load(tmp_path / "chain").decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="this StandardScaler is not: fit it first"):
        onkel.StreamPipeline(StandardScaler(), onkel.OGDClassifier()).partial_fit(X, y)


def test_shards_with_one_frozen_encoder_merge():
    table, y = frame(300)
    encoder = onkel.StreamEncoder.merged([onkel.StreamEncoder(max_categories=4).fit(table[i::3]) for i in range(3)])
    learner = onkel.NewtonClassifier(budget=30, gamma=0.1, lam=0.01, random_state=0)
    shards = [
        onkel.StreamPipeline(FrozenEstimator(encoder), learner).partial_fit(table[i::3], y[i::3], classes=["no", "yes"])
        for i in range(3)
    ]
    merged = onkel.merge(shards).model
    assert merged.t_ == 300 and merged.score(table, y) > 0.8
    different = pipeline().partial_fit(table[:100], y[:100], classes=["no", "yes"])
    with pytest.raises(ValueError, match="cannot be merged"):
        onkel.merge([different, pipeline().partial_fit(table[100:], y[100:], classes=["no", "yes"])])


def test_merged_statistics_are_those_of_all_rows():
    table, _ = frame(300)
    parts = [onkel.StreamEncoder(max_categories=4).partial_fit(table[i::3]) for i in range(3)]
    merged, whole = onkel.StreamEncoder.merged(parts), onkel.StreamEncoder(max_categories=4).partial_fit(table)
    assert merged.n_samples_seen_ == 300 and merged.schema_ == whole.schema_
    np.testing.assert_allclose(merged.transform(table)[:, 0], whole.transform(table)[:, 0], rtol=1e-12, atol=1e-12)
    assert set(merged.categories_["town"]) <= {"Bern", "Chur", "Genf", "Thun", "Zug"}
    for i in (1, 2):  # a part that has no gap, and one whose column is another thing
        parts[i] = onkel.StreamEncoder(max_categories=4).partial_fit(table[i::3].assign(age=[1.0, "x"][i - 1]))
    assert onkel.StreamEncoder.merged(parts).schema_["age"] == "category?"
