"""What a request may say, as JSON and as Arrow, and what is said of one that is wrong."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looping import loop
from onkel.serve import _arrow, _json, _wire
from onkel.serve._refusal import Refusal
from onkel.serve._wire import ModelShape

NAMED = ModelShape(names=("a", "b"), fitted=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=5), st.integers(0, 3))
def test_json_in_pieces_is_the_same_json(value, indent):
    text = json.dumps(value, indent=indent or None, ensure_ascii=bool(indent % 2))
    assert _json._whole(text) == json.loads(text) == _json.parsed(text.encode())


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=5), st.data())
def test_what_is_no_json_is_none_in_pieces_either(value, data):
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    spoilt = text[:at] + data.draw(st.sampled_from(["", ",", "]", "}", '"', "NaN", "1"])) + text[at + 1 :]
    try:
        expected = json.loads(spoilt, parse_constant=_json._no_constant)
    except ValueError:
        with pytest.raises(ValueError):
            _json._whole(spoilt)
    else:
        assert _json._whole(spoilt) == expected


@loop
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"rows": NaN}', b"\xff\xfe", b"[" * 200_000, b'{"a":' * 100_000, b"1" * 5000]
)
def test_bodies_that_are_no_request(body, large, monkeypatch):
    if large:
        monkeypatch.setattr(_json, "_AT_ONCE", 0)
    with pytest.raises(Refusal) as caught:
        _json.parsed(body)
    assert caught.value.status == 400 and caught.value.sentence.startswith("the body is")


def test_large_bodies_are_parsed_in_pieces():
    rows = [[float(i), -i] for i in range(20_000)]
    request = _wire.learn_request(json.dumps({"rows": rows, "labels": [0] * 20_000}).encode(), ModelShape())
    assert request.batch.rows.tolist() == rows
    tensor = {"name": "x", "shape": [20_000, 2], "datatype": "FP64", "data": [v for row in rows for v in row]}
    assert _wire.infer_request(json.dumps({"inputs": [tensor]}).encode(), ModelShape()).rows.tolist() == rows


LEARN = {
    "lists": ({"rows": [[1, 2], [3, 4]], "labels": ["x", "y"]}, None),
    "objects": ({"rows": [{"b": 2, "a": 1}, {"a": 3, "b": 4}], "labels": ["x", "y"]}, ("a", "b")),
    "labels in the rows": ({"rows": [{"b": 2, "label": "x", "a": 1}, {"label": "y", "a": 3, "b": 4}]}, ("a", "b")),
}


@loop
@pytest.mark.parametrize("how", LEARN)
def test_rows_as_a_person_writes_them(how):
    content, names = LEARN[how]
    request = _wire.learn_request(json.dumps({**content, "key": "k", "weights": [1, 0.5]}).encode(), NAMED)
    assert request.batch.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]] and request.batch.labels.tolist() == ["x", "y"]
    assert (request.batch.names, request.key, request.batch.weights.tolist()) == (names, "k", [1.0, 0.5])


def test_a_label_alone():
    request = _wire.learn_request(b'{"id": "v", "labels": [true]}', NAMED)
    assert (request.batch, request.id, request.labels.tolist()) == (None, "v", [True])


WRONG_LEARN = [
    ({"rows": [[1, 2], [3]], "labels": [0, 1]}, 1, "row 1 has 1 numbers; expected 2"),
    ({"rows": [[1, "2"]], "labels": [0]}, 0, "row 0, column 1: expected a number, got the text '2'"),
    ({"rows": [[1, 2], [None, 2]], "labels": [0, 1]}, 1, "row 1, column 0: expected a number, got null"),
    ({"rows": [{"a": 1, "b": 2}, {"a": 1}], "labels": [0, 1]}, 1, "row 1 has no field 'b'"),
    ({"rows": [{"a": 1, "b": 2, "c": 3}], "labels": [0]}, 0, "row 0 has a field 'c' too many"),
    ({"rows": [{"a": 1, "b": "x"}], "labels": [0]}, 0, "row 0, field 'b': expected a number"),
    ({"rows": [{"a": 1, "b": 2}, [1, 2]], "labels": [0, 1]}, 1, "row 1: expected an object of named numbers"),
    ({"rows": [[1, 2], {"a": 1}], "labels": [0, 1]}, 1, "row 1: expected a list of numbers"),
    ({"rows": [[1, 2], [1, 2]], "labels": [0, None]}, 1, "contains None at row 1"),
    ({"rows": [[1, 2], [1, 2]], "labels": [0, "x"]}, 0, "the labels of a model must be of one kind"),
    ({"rows": [[1, 2]], "labels": [0, 1]}, None, "expected a label for each of the 1 rows, got 2"),
    ({"rows": [[1, 2]], "labels": [0], "weights": [1, 2]}, None, "expected a weight for each of the 1 rows, got 2"),
    ({"rows": [[1, 2]], "labels": [0], "weights": ["1"]}, None, "weights must be a list of numbers"),
    ({"rows": [[1, 2]]}, None, "expected labels"),
    ({"rows": []}, None, "rows must be a list of one or more rows"),
    ({"rows": [[1, 2]], "labels": [0], "id": "v"}, None, "expected rows or an id, not both"),
    ({"labels": [0]}, None, "expected rows with labels, or the id"),
    ({"rows": [[1, 2]], "labels": [0], "key": 7}, None, "key must be text"),
    ({"rows": [[1, 2]], "labels": [0], "lables": [0]}, None, "a request has no member 'lables'"),
    ({"rows": [[10**400, 2]], "labels": [0]}, 0, "a number too large for a float"),
    ({"rows": [[1, 2], [1, 2]], "labels": [0.5, 10**400]}, 1, "a number too large for a float at row 1"),
    ({"rows": 7, "labels": [0]}, None, "rows must be a list"),
    ({"rows": [7], "labels": [0]}, 0, "row 0: expected a list or an object"),
]


@loop
@pytest.mark.parametrize(("content", "row", "sentence"), WRONG_LEARN, ids=[case[2][:40] for case in WRONG_LEARN])
def test_what_is_wrong_with_rows_is_said_with_the_row(content, row, sentence):
    with pytest.raises(Refusal) as caught:
        _wire.learn_request(json.dumps(content).encode(), NAMED)
    assert sentence in caught.value.sentence and caught.value.row == row and caught.value.status == 422


def tensor(**changes):
    return {"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1, 2, 3, 4], **changes}


def column(name, data, **changes):
    return {"name": name, "shape": [len(data), 1], "datatype": "INT64", "data": data, **changes}


@loop
@pytest.mark.parametrize(
    "inputs",
    [[tensor()], [tensor(data=[[1, 2], [3, 4]])], [column("b", [2, 4]), column("a", [1, 3], shape=[2])]],
    ids=["flat", "nested", "a tensor for each feature"],
)
def test_tensors_of_the_open_inference_protocol(inputs):
    content = {"inputs": inputs, "id": "7", "outputs": [{"name": "decision_function"}], "parameters": {}}
    request = _wire.infer_request(json.dumps(content).encode(), NAMED)
    assert request.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (request.id, request.outputs) == ("7", ["decision_function"])


@loop
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"inputs": [tensor(datatype="BYTES")]}, "expected numbers, such as FP64"),
        ({"inputs": [tensor(shape=[3, 2])]}, "as many numbers as its shape"),
        ({"inputs": [tensor(shape=[2, 2, 1])]}, "expected [rows, features]"),
        ({"inputs": [tensor(shape=[-2, -2])]}, "expected [rows, features]"),
        ({"inputs": [tensor(data=["1", "2", "3", "4"])]}, "must hold numbers only"),
        ({"inputs": [column("a", [1]), column("c", [2])]}, "have no field 'b'"),
        ({"inputs": [column("a", [1]), column("b", [2, 3])]}, "must all have the shape"),
        ({"inputs": [{}]}, "a tensor must have name"),
        ({"inputs": []}, "inputs must be a list of tensors"),
        ({"inputs": [tensor()], "rows": [[1, 2]]}, "expected either rows or inputs"),
        ({}, "expected either rows or inputs"),
        ({"rows": [[1, 2]], "outputs": ["x"]}, "outputs must be objects with a name"),
    ],
)
def test_what_is_wrong_with_tensors_is_said(content, sentence):
    with pytest.raises(Refusal) as caught:
        _wire.infer_request(json.dumps(content).encode(), NAMED)
    assert sentence in caught.value.sentence


def test_too_many_rows_are_refused_by_their_number():
    few = ModelShape(most_rows=2)
    with pytest.raises(Refusal, match="the request has 3 rows, and the limit is 2"):
        _wire.infer_request(b'{"rows": [[1], [2], [3]]}', few)
    huge = tensor(shape=[10**15, 2])
    with pytest.raises(Refusal, match="limit is 2"):
        _wire.infer_request(json.dumps({"inputs": [huge]}).encode(), few)
    with pytest.raises(Refusal, match="limit is 2"):
        _arrow.arrow_infer_request(_arrow.to_stream({"a": np.arange(3)}), few, [])


# -- Arrow


def stream(columns, **options):
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=2)
    return bytes(sink.getvalue())


@loop
@pytest.mark.parametrize(
    "labels",
    [["x", "y", "x"], pa.array(["x", "y", "x"]).dictionary_encode(), [1, 0, 1], [True, False, True], [0.5, 1, 2]],
    ids=["text", "dictionary", "integers", "booleans", "floats"],
)
def test_arrow_streams(labels):
    columns = {"b": [2, 4, 6], "weight": [1.0, 2.0, 3.0], "a": pa.array([1, 3, 5], pa.float32()), "label": labels}
    batch = _arrow.arrow_learn_request(stream(columns), NAMED).batch
    assert batch.rows.tolist() == [[1, 2], [3, 4], [5, 6]] and batch.weights.tolist() == [1, 2, 3]
    expected = labels.to_pylist() if isinstance(labels, pa.Array) else labels
    assert batch.labels.tolist() == expected and batch.names == ("a", "b")


def test_arrow_columns_without_names_go_by_their_order():
    columns = {"x": [1, 3], "y": [2, 4], "label": [0, 1]}
    assert _arrow.arrow_learn_request(stream(columns), ModelShape(fitted=True)).batch.names is None
    assert _arrow.arrow_learn_request(stream(columns), ModelShape()).batch.names == ("x", "y")


@loop
@pytest.mark.parametrize(
    ("columns", "row", "sentence"),
    [
        ({"a": [1], "b": [2]}, None, "no column 'label'"),
        ({"a": [1], "label": [2]}, None, "have no field 'b'"),
        ({"a": [1, None], "b": [1, 2], "label": [2, 3]}, 1, "row 1, column 'a': expected a number, got null"),
        ({"a": [1, 2], "b": [1, 2], "label": ["x", None]}, 1, "row 1, column 'label': expected a label, got null"),
        ({"a": ["1"], "b": [1], "label": [2]}, None, "column 'a' holds string; expected numbers"),
        ({"a": [1], "b": [1], "label": [[2]]}, None, "expected numbers, text or booleans"),
        ({"a": pa.nulls(2), "b": [1, 2], "label": [1, 2]}, None, "column 'a' holds null; expected numbers"),
    ],
)
def test_what_is_wrong_with_a_stream_is_said(columns, row, sentence):
    with pytest.raises(Refusal) as caught:
        _arrow.arrow_learn_request(stream(columns), NAMED)
    assert sentence in caught.value.sentence and caught.value.row == row


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_compressed_stream_is_refused_before_it_grows(codec):
    options = pa.ipc.IpcWriteOptions(compression=codec)
    zeros = {"a": np.zeros(10), "b": np.zeros(10), "label": np.zeros(10)}
    with pytest.raises(Refusal, match="the stream is compressed"):
        _arrow.arrow_learn_request(stream(zeros, options=options), NAMED)
    words = {"a": [1.0] * 2, "b": [1.0] * 2, "label": pa.array(["x" * 10_000, "y"]).dictionary_encode()}
    with pytest.raises(Refusal, match="the stream is compressed"):
        _arrow.arrow_learn_request(stream(words, options=options), NAMED)


def test_streams_that_nobody_wrote():
    rng = np.random.default_rng(0)
    whole = stream({"a": [1.0, 2, 3], "b": [1, 2, 3], "label": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert len(_arrow.arrow_learn_request(whole, NAMED).batch) == 3
    for _ in range(300):
        spoilt = bytearray(whole[: rng.integers(0, len(whole) + 1)])
        for at in rng.integers(0, max(1, len(spoilt)), rng.integers(0, 4)):
            if len(spoilt):
                spoilt[at] = rng.integers(256)
        try:
            batch = _arrow.arrow_learn_request(bytes(spoilt), NAMED).batch
        except Refusal as refusal:
            assert refusal.status in (400, 413, 422)
        else:
            assert batch.rows.shape == (len(batch.labels), 2)


def test_answers():
    made = {"predict": np.array(["a", "b"]), "predict_proba": np.array([[0.25, 0.75], [1, 0]])}
    answer = _wire.infer_answer("m", 3, "id", made, {"rows_learned": 2})
    assert json.loads(json.dumps(answer)) == {
        "model_name": "m",
        "model_version": "3",
        "id": "id",
        "parameters": {"rows_learned": 2},
        "outputs": [
            {"name": "predict", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]},
            {"name": "predict_proba", "datatype": "FP64", "shape": [2, 2], "data": [0.25, 0.75, 1.0, 0.0]},
        ],
    }
    with pa.ipc.open_stream(_arrow.arrow_answer(made)) as reader:
        table = reader.read_all().to_pydict()
    assert table == {"predict": ["a", "b"], "predict_proba_0": [0.25, 1.0], "predict_proba_1": [0.75, 0.0]}
