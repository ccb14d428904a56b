"""Promises that were found broken by somebody who tried to break them: one test for each.

What is not mended yet is a strict expected failure, with what happens as its reason: who mends it takes the mark away.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
import threading
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import onkel
from interrupting import interrupted_at, interrupted_at_check
from onkel.serve._batch import Batch
from onkel.serve._served import Served
from onkel.serve._store import Store
from serving import ask, running


def rows_of(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


# -- choices -----------------------------------------------------------------------------------------------------------


def turning_classes(n=6000, classes=8):
    """Rows in the plane by their angle; the classes turn, and six of the eight appear late, at one row each."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 2))
    y = np.digitize(np.arctan2(X[:, 1], X[:, 0]), np.linspace(-np.pi, np.pi, classes + 1)[1:-1])
    starts = np.array([0, 0, *range(2100, 5101, 600)])
    y = (y + np.arange(n) // 800 * 3) % classes
    return X, np.where(np.arange(n) < starts[y], y % 2, y)


def test_classes_that_appear_late_do_not_make_a_model_depend_on_the_cut():
    X, y = turning_classes()
    models = []
    for cut in (len(X), 25):
        models.append(onkel.NewtonClassifier(budget=12, random_state=0, relevances=None))
        for begin in range(0, len(X), cut):
            models[-1].partial_fit(X[begin : begin + cut], y[begin : begin + cut])
    assert models[0].changes_ == models[1].changes_
    assert models[0].decision_function(X).tobytes() == models[1].decision_function(X).tobytes()
    assert models[0]._fingerprint() == models[1]._fingerprint()


def test_an_interruption_does_not_skip_the_choice_that_is_due():
    X, y = rows_of(300, 4)

    def new():
        return onkel.NewtonClassifier(budget=20, random_state=0)

    whole = new().partial_fit(X, y, classes=[0, 1])
    with interrupted_at(0) as calls:
        new().partial_fit(X, y, classes=[0, 1])
    for call in np.linspace(1, calls.made, 10).astype(int):
        model = new()
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(call):
            model.partial_fit(X, y, classes=[0, 1])
        learned = model.t_ if hasattr(model, "classes_") else 0
        if learned < len(X):
            model.partial_fit(X[learned:], y[learned:], classes=[0, 1])
        assert model._fingerprint() == whole._fingerprint(), f"interrupted after {learned} rows"


def test_rows_that_nothing_can_be_chosen_for_are_learned_or_refused_for_what_they_are():
    X, y = rows_of(600, 4)
    model = onkel.NewtonClassifier(budget=40, random_state=0).partial_fit(X[:10], y[:10], classes=[0, 1])
    sentences = []
    for _ in range(2):
        try:
            model.partial_fit(X[model.t_ :] * 1e300, y[model.t_ :])
        except ValueError as error:
            sentences.append(str(error))
    assert not any("got 0.0" in sentence for sentence in sentences)
    assert not sentences or sentences[0] == sentences[1]


def test_relevances_are_chosen_for_sparse_rows_of_single_precision():
    X, y = rows_of(80, 4)
    model = onkel.NewtonClassifier(budget=15, random_state=0).partial_fit(csr_array(X.astype(np.float32)), y)
    assert np.isfinite(model.decision_function(X)).all()


def test_an_interruption_is_a_keyboard_interrupt_whatever_looks_for_it_next():
    X, y = rows_of(1100, 4)
    for check in itertools.count(1, 9):
        model = onkel.NewtonClassifier(budget=15, random_state=0)
        try:
            with interrupted_at_check(check):
                model.partial_fit(X, y, classes=[0, 1])
        except KeyboardInterrupt:
            continue
        assert check > 100  # there is no check of this number any more, and the search had some
        break


def test_scores_of_an_averaged_sum_do_not_depend_on_the_cut():
    X, y = rows_of(700, 2)
    models = [onkel.NewtonClassifier(average=True, forget=1.0, budget=5, random_state=0) for _ in range(2)]
    for model, rows in zip(models, (300, 30), strict=True):
        model.partial_fit(X[:rows], y[:rows], classes=[0, 1])
    whole, cut = onkel.merge(models).model, onkel.merge(models).model
    scores = whole.predict_then_learn(X[300:], y[300:])
    rows = [cut.predict_then_learn(X[i : i + 1], y[i : i + 1]) for i in range(300, 700)]
    assert scores.tobytes() == np.concatenate(rows).tobytes()


def test_points_that_leave_a_merged_average_stay_in_it(tmp_path):
    X, y = rows_of(60, 2)
    model = onkel.ProjectronClassifier(eta=0.3, average=True, budget=10, kernel="linear", random_state=0)
    model.partial_fit(X[:30], y[:30], classes=[0, 1])
    whole, cut = (
        onkel.merge([model, model]).model,
        onkel.merge([model, model]).model,
    )  # each point lies twice in the span
    scores = whole.predict_then_learn(X[30:], y[30:])
    rows = [cut.predict_then_learn(X[i : i + 1], y[i : i + 1]) for i in range(30, 60)]
    assert scores.tobytes() == np.concatenate(rows).tobytes()
    onkel.save(whole, tmp_path / "model.onkel")
    assert onkel.load(tmp_path / "model.onkel").decision_function(X).tobytes() == whole.decision_function(X).tobytes()


def test_rows_of_an_interrupted_call_count_once_for_balanced_classes():
    X, y = rows_of(60, 2)
    whole = onkel.OGDClassifier(gamma=0.5, class_weight="balanced", random_state=0).partial_fit(X, y, classes=[0, 1])
    for call in range(1, 100):
        model = onkel.OGDClassifier(gamma=0.5, class_weight="balanced", random_state=0)
        model.partial_fit(X[:20], y[:20], classes=[0, 1])
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(call):
            model.partial_fit(X[20:], y[20:])
        if model.t_ < 60:
            model.partial_fit(X[model.t_ :], y[model.t_ :])
        assert model.class_counts_.tolist() == whole.class_counts_.tolist(), call


def test_an_interrupted_pipeline_keeps_its_statistics_in_step():
    X, y = rows_of(60, 2)

    def new():
        return onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(gamma=0.5, random_state=0))

    whole = new().partial_fit(X, y, classes=[0, 1])
    for call in range(1, 100):
        model = new().partial_fit(X[:20], y[:20], classes=[0, 1])
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(call):
            model.partial_fit(X[20:], y[20:])
        if model.t_ < 60:
            model.partial_fit(X[model.t_ :], y[model.t_ :])
        assert model.decision_function(X).tobytes() == whole.decision_function(X).tobytes(), call


def test_a_row_that_is_interrupted_is_calibrated_with_or_not_at_all():
    X, y = rows_of(40, 2)

    def new():
        return onkel.PlattClassifier(onkel.PAClassifier(gamma=0.5, random_state=0)).partial_fit(X[:30], y[:30], [0, 1])

    whole = new()
    for i in range(30, 40):
        whole.partial_fit(X[i : i + 1], y[i : i + 1])
    for call in range(1, 120):
        model = new()
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(call):
            model.partial_fit(X[30:31], y[30:31])
        for i in range(model.t_, 40):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert model.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes(), call


# -- models that could not be saved, loaded or fitted ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        onkel.NewtonClassifier(budget=1, random_state=0),
        onkel.NewtonRegressor(budget=1, random_state=0),
        onkel.NewtonRegressor(budget=2, random_state=0),
    ],
    ids=str,
)
def test_a_budget_of_one_or_two_is_learned_with_and_saved(model, tmp_path):
    X, y = rows_of(1100, 3)
    model.partial_fit(X, y)
    assert 0 < model.n_support_ <= model.budget
    onkel.save(model, tmp_path / "model.onkel")
    assert onkel.load(tmp_path / "model.onkel").predict(X).tobytes() == model.predict(X).tobytes()


def test_a_model_whose_rows_had_no_weight_is_saved_and_goes_on(tmp_path):
    X, y = rows_of(40, 2)
    model = onkel.NewtonClassifier(budget=20, random_state=0)
    model.partial_fit(X[:2], [0, 1], classes=[0, 1], sample_weight=[0, 0])
    onkel.save(model, tmp_path / "model.onkel")
    loaded = onkel.load(tmp_path / "model.onkel").partial_fit(X, y)
    assert loaded.decision_function(X).tobytes() == model.partial_fit(X, y).decision_function(X).tobytes()


def test_platt_learns_when_the_first_rows_have_no_weight():
    X, y = rows_of(40, 2)
    weight = np.ones(40)
    weight[:3] = 0
    models = [onkel.PlattClassifier(onkel.PAClassifier(gamma=0.5, random_state=0)) for _ in range(2)]
    models[0].partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    models[1].partial_fit(X[3:], y[3:], classes=[0, 1])
    assert models[0].predict_proba(X).tobytes() == models[1].predict_proba(X).tobytes()
    opened = onkel.PlattClassifier(onkel.PAClassifier(gamma=0.5, random_state=0))
    assert opened.partial_fit(X, y, sample_weight=weight).t_ == 37


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2, 3]])
def test_platt_predicts_rows_without_weight_however_they_are_cut(classes):
    X, y = rows_of(20, 2)
    weight = np.ones(20)
    weight[:4] = 0
    whole, cut = (onkel.PlattClassifier(onkel.PAClassifier(gamma=0.5, random_state=0)) for _ in range(2))
    scores = whole.predict_then_learn(X, y, classes, weight)
    first = cut.predict_then_learn(X[:4], y[:4], classes, weight[:4])
    rest = cut.predict_then_learn(X[4:], y[4:], classes, weight[4:])
    assert np.concatenate([first, rest]).tobytes() == scores.tobytes()


def test_a_number_of_threads_is_refused_by_fit_or_loaded(tmp_path):
    model = onkel.OGDClassifier(gamma=0.5, n_jobs=5000)
    try:
        model.fit([[0.0], [1.0]], [0, 1])
    except ValueError as error:
        assert "n_jobs must be an integer" in str(error)
    else:
        onkel.save(model, tmp_path / "model.onkel")
        assert onkel.load(tmp_path / "model.onkel").n_jobs == 5000


@pytest.mark.parametrize("parameter", ["random_state", "budget"])
def test_integers_beyond_64_bits_are_refused_by_name(parameter):
    with pytest.raises(ValueError, match=rf"{parameter} must be .*, got 18446744073709551616"):
        onkel.NewtonClassifier(**{parameter: 2**64}).fit([[0.0], [1.0]], [0, 1])


def test_a_refusal_is_one_line_whatever_was_given():
    with pytest.raises(ValueError, match="n_epochs must be an integer") as refused:
        onkel.OGDClassifier(n_epochs=onkel.make_stream_pipeline()).fit([[0.0], [1.0]], [0, 1])
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


# -- words and labels --------------------------------------------------------------------------------------------------


def words(values, *, cut, frame=dict, file=None):
    """The words of a column that is learned in two calls, or with a file in between."""
    encoder = onkel.StreamEncoder()
    if cut:
        encoder.partial_fit(frame({"x": values[:cut]}))
    if file is not None:
        onkel.save(encoder, file)
        encoder = onkel.load(file)
    return encoder.partial_fit(frame({"x": values[cut:]})).categories_["x"]


def test_dates_are_the_same_words_after_a_file(tmp_path):
    dates = [datetime.date(2020, 1, 1), "n/k", datetime.date(2020, 1, 1)]
    assert words(dates, cut=1, file=tmp_path / "encoder.onkel") == words(dates, cut=1)
    assert len(words(dates, cut=1)) == 2


def test_decimals_are_the_same_words_however_they_are_cut():
    prices = [decimal.Decimal("1.10"), decimal.Decimal("2.0"), "x"]
    assert words(prices, cut=0) == words(prices, cut=2)


def test_times_of_pandas_are_the_same_words_however_they_are_cut():
    times = [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"), "x", pd.Timestamp("2020-01-01")]
    assert words(times, cut=0, frame=pd.DataFrame) == words(times, cut=2, frame=pd.DataFrame)


def test_big_integers_are_the_same_words_however_they_are_cut():
    ids = [2**53 + 1, 2**53, 2**53 + 3, "A-7"]
    assert words(ids, cut=0) == words(ids, cut=3) == [*map(str, ids)]


def test_labels_that_end_in_nul_are_labels_of_their_own():
    X, _ = rows_of(30, 2)
    model = onkel.OGDClassifier(gamma=0.5).fit(X, ["a", "a\0", "b"] * 10)
    assert list(model.classes_) == ["a", "a\0", "b"]


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_big_nullable_labels_keep_their_last_digit(dtype):
    X, _ = rows_of(30, 2)
    model = onkel.OGDClassifier(gamma=0.5).fit(X, pd.Series([2**60, 2**60 + 1, 5] * 10, dtype=dtype))
    assert list(model.classes_) == [5, 2**60, 2**60 + 1]


# -- files of tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [True, False])
def test_big_integers_of_a_file_are_read_or_refused_where_they_are(tmp_path, table):
    columns = {"id": pa.array([2**60, 2**60 + 1]), "x": [1.0, 2.0], "target": ["a", "b"]}
    pq.write_table(pa.table(columns), tmp_path / "big.parquet")
    try:
        list(onkel.streams.open(tmp_path / "big.parquet", table=table, on_error="skip"))
    except ValueError as error:
        assert type(error) is not pa.ArrowInvalid and "big.parquet" in str(error) and "id" in str(error)


def test_big_integers_of_a_category_are_words():
    ids = [2**60, 2**60 + 1]
    encoder = onkel.StreamEncoder(schema={"id": "category"}).fit(pa.table({"id": pa.array(ids)}))
    assert encoder.categories_["id"] == [*map(str, ids)]


@pytest.mark.parametrize(
    "table", [{"c": [10**400, 1]}, pa.table({"c": pa.array([2**31 - 1], pa.date32())})], ids=["integer", "date"]
)
def test_numbers_and_dates_that_no_float_and_no_calendar_holds_are_read_or_refused_by_name(table):
    try:
        onkel.StreamEncoder().fit(table)
    except ValueError as error:
        assert "column 0 ('c')" in str(error)


# -- the service -------------------------------------------------------------------------------------------------------


def perceptron():
    return onkel.PerceptronClassifier(gamma=0.5, random_state=0)


def test_columns_of_first_requests_that_share_a_group_are_put_in_order(tmp_path):
    model = onkel.OGDClassifier(gamma=1.0, random_state=0)
    with Served("m", Store(tmp_path), model, {"learner": "ogd"}, ["n", "p"]) as served:
        take, ready = served._queue.take, threading.Event()
        served._queue.take = lambda *given, **named: ready.wait() and take(*given, **named)
        first = served.learn(Batch(np.array([[1.0, 100.0]]), np.array(["n"]), names=("x", "y")))
        second = served.learn(Batch(np.array([[200.0, 2.0]]), np.array(["p"]), names=("y", "x")))
        ready.set()
        assert [done.result()["rows"] for done in (first, second)] == [1, 1]
        assert served.snapshot.model.support_vectors_.tolist() == [[1.0, 100.0], [2.0, 200.0]]


def test_a_label_that_no_answer_can_show_is_refused(tmp_path):
    with running(tmp_path, {"m": perceptron()}) as service:
        rows = b'{"rows": [[1, 2], [3, 4]], "labels": ["a", "\\ud800"]}'
        assert ask(service, "POST", "/v2/models/m/learn", rows)[0] == 422
        assert ask(service, "GET", "/v2/models/m")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"rows": [[1, 2]], "outputs": 5}',
        b'{"inputs": [{"name": "x", "shape": [1, 2], "datatype": [], "data": [1, 2]}]}',
        b'{"inputs": [{"name": "x", "shape": [2, 1], "datatype": "FP64", "data": [[1], 2]}]}',
        b'{"rows": [[1, 2]], "id": "\\ud800"}',
    ],
    ids=["outputs", "datatype", "ragged", "surrogate"],
)
def test_requests_of_the_wrong_form_are_refused_in_a_sentence(tmp_path, body):
    with running(tmp_path, {"m": perceptron()}) as service:
        ask(service, "POST", "/v2/models/m/learn", {"rows": [[1, 2], [3, 4]], "labels": ["a", "b"]})
        status, _, answer = ask(service, "POST", "/v2/models/m/infer", body)
        assert status == 422 and answer["error"]


def test_a_version_of_thousands_of_digits_is_refused_in_a_sentence(tmp_path):
    with running(tmp_path, {"m": perceptron()}) as service:
        status, _, answer = ask(service, "POST", "/v2/models/m/rollback", {"version": "1" * 5000})
        assert status in (404, 422) and answer["error"]


def test_rolling_back_to_a_damaged_version_is_refused_and_learning_goes_on(tmp_path):
    with running(tmp_path, {"m": perceptron()}, every=2) as service:
        for i in range(4):
            ask(service, "POST", "/v2/models/m/learn", {"rows": [[i, 1], [i, 2]], "labels": ["a", "b"]})
        version = tmp_path / "m" / "version-000001.onkel"
        content = bytearray(version.read_bytes())
        content[-1] ^= 1
        version.write_bytes(content)
        assert 400 <= ask(service, "POST", "/v2/models/m/rollback", {"version": 1})[0] < 500
        assert ask(service, "POST", "/v2/models/m/learn", {"rows": [[1, 1]], "labels": ["a"]})[0] == 200


def test_memory_is_bounded_by_the_size_of_a_request(tmp_path):
    n, url = 400, "/v2/models/m/learn"
    with running(tmp_path, {"m": perceptron()}) as service:
        ask(service, "POST", url, {"rows": [[1, 2]] * n, "labels": ["a", "b"] * (n // 2)})
        tracemalloc.start()
        try:
            ask(service, "POST", url, {"rows": [[1, 2]] * n, "labels": ["a"] * (n - 1) + ["x" * 20_000]})
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < 5_000_000
