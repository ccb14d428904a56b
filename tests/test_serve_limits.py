"""What a request may take, and how it is refused: one sentence with a documented status, and memory by its size."""

import contextlib
import itertools
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import onkel
from onkel.serve import Client, ServiceError, _client
from onkel.serve._arrow import MEDIA_TYPE, to_stream
from onkel.serve._refusal import Refusal
from onkel.serve._wire import ModelShape, infer_request, learn_request
from serving import ask, running

LEARN, INFER = "/v2/models/m/learn", "/v2/models/m/infer"


def linear():
    return onkel.OGDClassifier(kernel="linear", budget=10, random_state=0)


def tables():
    return onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=1.0, budget=10, random_state=0))


def refusal(service, path, content, headers=None):
    """The status and the sentence of an answer that is not a success; the service goes on."""
    status, _, answer = ask(service, "POST", path, content, headers)
    assert status != 200
    assert ask(service, "POST", LEARN, {"rows": [[1, 2], [3, 4]], "labels": ["a", "b"]})[0] == 200
    assert ask(service, "GET", "/v2/models/m")[0] == 200
    return status, answer["error"]


def test_long_labels_are_refused(tmp_path):
    with running(tmp_path, {"m": linear()}) as service:
        status, sentence = refusal(service, LEARN, {"rows": [[1, 2]] * 2, "labels": ["a", "x" * 1001]})
        assert (status, sentence) == (422, "row 1: a label must have at most 1,000 characters")
        assert ask(service, "POST", LEARN, {"rows": [[1, 2]], "labels": ["x" * 1000]})[0] == 200
        body = to_stream({"x": [1.0], "y": [2.0], "label": ["x" * 1001]})
        assert refusal(service, LEARN, body, {"Content-Type": MEDIA_TYPE})[0] == 422


def test_labels_that_never_end_are_refused_before_their_scores_take_memory(tmp_path):
    with running(tmp_path, {"m": linear()}) as service:
        many = {"rows": [[1, 2]] * 1001, "labels": [f"label {i}" for i in range(1001)]}
        status, sentence = refusal(service, LEARN, many)
        assert status == 422 and "the model would have 1,001 classes, and the limit is 1,000" in sentence
        full = {"rows": [[1, 2]] * 998, "labels": [f"label {i}" for i in range(998)]}
        assert ask(service, "POST", LEARN, full)[0] == 200  # with a and b
        assert refusal(service, LEARN, {"rows": [[1, 2]], "labels": ["one more"]})[0] == 422
        status, sentence = refusal(service, INFER, {"rows": [[1, 2]] * 2001})
        assert (status, sentence) == (
            413,
            "the request has 2,001 rows, and each has 1,000 scores: send at most 2,000 at a time",
        )


@pytest.mark.parametrize(
    "content",
    [
        {"rows": [[1, 2]], "labels": ["a"], "key": "\ud800"},
        {"rows": [{"x": 1, "\udfff": 2}], "labels": ["a"]},
        {"rows": [["\ud800", 2]], "labels": ["a"]},
    ],
)
def test_text_that_is_no_text_is_refused(content, tmp_path):
    with running(tmp_path, {"m": tables()}) as service:
        status, sentence = refusal(service, LEARN, content)
        assert status == 422 and "half of a surrogate pair" in sentence
        pair = json.dumps(
            {"rows": [["\U0001f600", 2]], "labels": ["\U0001f600"]}
        ).encode()  # two escapes, one character
        assert b"ud83d" in pair
        assert ask(service, "POST", LEARN, pair)[0] == 200


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**31 - 1, 5], pa.date32()),
        pa.array([2**62, 5], pa.timestamp("s")),
        pa.array([2**62, 5], pa.duration("s")),
        pa.array([[1], [2, 3]]),
        pa.array([2**60 + 1, 2**63 - 1]),
        pa.array([b"\xff", b""]),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_arrow_are_learned_or_refused(column, tmp_path):
    with running(tmp_path, {"m": tables()}) as service:
        body = to_stream({"a": pa.array([1.0, 2.0]), "when": column, "label": pa.array(["x", "y"])})
        for path in (LEARN, INFER):
            status, _, answer = ask(service, "POST", path, body, {"Content-Type": MEDIA_TYPE})
            assert status == 200 or (status in (422, 503) and answer["error"])


@pytest.mark.parametrize("model", [linear, tables])
def test_columns_and_their_names_are_bounded(model, tmp_path):
    with running(tmp_path, {"m": model()}) as service:
        wide = {"rows": [[0] * 20_001], "labels": ["a"]}
        assert refusal(service, LEARN, wide) == (413, "row 0 has 20,001 values, and the limit is 20,000")
        assert refusal(service, INFER, wide | {"labels": None})[0] in (413, 422)
        status, sentence = refusal(service, LEARN, {"rows": [{"x" * 201: 1}], "labels": ["a"]})
        assert status == 422 and sentence.startswith("the name of a field must have at most 200 characters")
        for columns in ({"x" * 201: [1.0]}, {f"x{i}": [1.0] for i in range(20_001)}):
            body = to_stream(columns | {"label": ["a"]})
            assert refusal(service, LEARN, body, {"Content-Type": MEDIA_TYPE})[0] in (413, 422)
        tensor = {"name": "x" * 201, "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}
        assert refusal(service, INFER, {"inputs": [tensor]})[0] == 422


@pytest.mark.parametrize("body", [b'{"rows": [%s]}', b'{"rows": [[%s]]}', b'{"inputs": [{"data": [%s]}]}'])
@pytest.mark.parametrize("value", [b"[]", b"{}", b"0", b'""', b"1e9", b"[[]]", b'{"":0}'])
def test_a_body_takes_memory_by_its_size(body, value, tmp_path):
    body = body % b",".join([value] * 3_000)
    for read, shape in itertools.product((learn_request, infer_request), (ModelShape(), ModelShape(takes_tables=True))):
        tracemalloc.start()
        with contextlib.suppress(Refusal):
            read(body, shape)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 100_000 + 100 * len(body) + 1_000 * 3_000  # a column takes some, and their number is bounded


@pytest.mark.parametrize("version", ["1" * 5000, True, -1, 1.0, None, [], "١"])
def test_versions_are_numbers(version, tmp_path):
    with running(tmp_path, {"m": linear()}) as service:
        assert refusal(service, "/v2/models/m/rollback", {"version": version})[0] == 422


class Clock:
    """Time that passes only in `sleep`."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def restarting(monkeypatch, back, **options):
    """A client of a service that is away until a time, and its clock."""
    clock, client = Clock(), Client("http://127.0.0.1:1", model="m", timeout=60.0, **options)
    monkeypatch.setattr(_client, "time", clock)
    failures = itertools.cycle([ConnectionRefusedError(), ServiceError(503, "starting"), ServiceError(429, "full")])

    def once(*_):
        if clock.now < back:
            raise next(failures)
        return {"rows": 1}

    monkeypatch.setattr(client, "_once", once)
    return client, clock


def test_a_client_goes_on_through_a_restart_until_its_timeout(monkeypatch):
    client, _ = restarting(monkeypatch, back=50.0)
    assert client.learn([[1.0]], ["a"]) == 1
    client, clock = restarting(monkeypatch, back=1000.0)
    with pytest.raises((ConnectionError, ServiceError)):
        client.learn([[1.0]], ["a"])
    assert 57.0 < clock.now <= 60.0
    client, clock = restarting(monkeypatch, back=1.0, retries=0)
    with pytest.raises(ConnectionRefusedError):
        client.learn([[1.0]], ["a"])
    assert clock.now == 0


def test_tables_are_sent_with_every_digit_and_zone(tmp_path):
    ids = [2**60 + 1, 2**60, 5]
    with running(tmp_path, {"m": onkel.make_stream_pipeline(linear(), schema={"id": "category"})}) as service:
        table = pa.table({"id": ids, "at": pa.array([0, 1, 2], pa.timestamp("s", "Europe/Zurich"))}).to_pandas()
        with Client(f"http://127.0.0.1:{service.port}") as client:
            assert client.learn(table, np.array(["a", "b", "a"])) == 3
        encoder = service.models["m"].snapshot.model.transformers_[0]
        assert encoder.categories_["id"] == [str(id) for id in ids] and encoder.schema_["at"] == "date"
