"""The service over HTTP: the protocol, who may ask, and clients that mean no good. All on loopback."""

import base64
import contextlib
import http.client
import json
import socket
import threading

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

import onkel
from looping import loop
from onkel.serve import Client, ServiceError
from onkel.serve._arrow import MEDIA_TYPE, to_stream
from onkel.serve._server import ImpatientProtocol
from onkel.serve._web import Limits
from serving import ask, running

X = np.random.default_rng(5).normal(size=(200, 3))
Y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
TOKEN = "a token of some length"


def new_model():
    return onkel.NewtonClassifier(gamma=0.5, budget=20, random_state=0)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    limits = Limits(body_bytes=100_000, bodies_bytes=200_000, body_seconds=0.3, rows=500)
    with running(folder, {"m": new_model(), "empty": new_model()}, limits=limits) as service:
        ask(service, "POST", "/v2/models/m/learn", {"rows": X.tolist(), "labels": Y.tolist()})
        yield service


@pytest.fixture
def alive(service):
    """Whatever a test does to the service, it predicts and learns afterwards."""
    yield service
    assert ask(service, "POST", "/v2/models/m/infer", {"rows": X[:1].tolist()})[0] == 200
    assert ask(service, "POST", "/v2/models/m/learn", {"rows": X[:1].tolist(), "labels": Y[:1].tolist()})[0] == 200


# -- the protocol


def test_the_open_inference_protocol(service):
    assert ask(service, "GET", "/v2/health/live")[::2] == (200, {"live": True})
    assert ask(service, "GET", "/v2/health/ready")[::2] == (200, {"ready": True})
    assert ask(service, "GET", "/v2")[2]["name"] == "onkel"
    assert ask(service, "GET", "/v2/models")[2] == {"models": ["m", "empty"]}
    status, _, about = ask(service, "GET", "/v2/models/m")
    assert status == 200 and about["inputs"] == [{"name": "rows", "datatype": "FP64", "shape": [-1, 3]}]
    assert [output["name"] for output in about["outputs"]] == ["predict", "decision_function", "predict_proba"]
    assert about["parameters"]["classes"] == ["no", "yes"] or about["parameters"]["classes"] == ["yes", "no"]
    tensor = {"name": "x", "shape": [2, 3], "datatype": "FP64", "data": X[:2].reshape(-1).tolist()}
    wanted = [{"name": "predict"}, {"name": "predict_proba"}]
    status, _, answer = ask(service, "POST", "/v2/models/m/infer", {"inputs": [tensor], "id": "7", "outputs": wanted})
    model = service.models["m"].snapshot.model
    assert status == 200 and (answer["model_name"], answer["id"]) == ("m", "7")
    predicted, proba = answer["outputs"]
    assert predicted["data"] == model.predict(X[:2]).tolist() and predicted["datatype"] == "BYTES"
    assert proba["shape"] == [2, 2] and proba["data"] == model.predict_proba(X[:2]).reshape(-1).tolist()


def test_a_model_is_ready_when_it_has_learned_something(service):
    assert ask(service, "GET", "/v2/models/m/ready")[0] == 200
    assert ask(service, "GET", "/v2/models/empty/ready")[::2] == (503, {"name": "empty", "ready": False})
    status, _, answer = ask(service, "POST", "/v2/models/empty/infer", {"rows": [[1, 2]]})
    assert status == 503 and answer == {"error": "the model has learned nothing yet"}


def test_learning_and_labels_that_come_later(alive):
    before = ask(alive, "GET", "/v2/models/m")[2]["parameters"]["rows_learned"]
    content = {"rows": X[:2].tolist(), "labels": Y[:2].tolist(), "key": "once"}
    for repeated in (False, True):
        status, _, answer = ask(alive, "POST", "/v2/models/m/learn", content)
        assert (status, answer) == (200, {"rows": 2, "rows_learned": before + 2, "repeated": repeated})
    held = ask(alive, "POST", "/v2/models/m/infer", {"rows": X[:3].tolist(), "id": "visit"})[2]
    assert held["parameters"] == {"rows_learned": before + 2, "held": True}
    later = {"id": "visit", "labels": Y[:3].tolist()}
    assert ask(alive, "POST", "/v2/models/m/learn", later)[2]["rows_learned"] == before + 5
    assert ask(alive, "POST", "/v2/models/m/learn", later)[2]["repeated"]
    assert ask(alive, "POST", "/v2/models/m/learn", {"id": "nobody", "labels": ["no"]})[0] == 404


def test_arrow_there_and_back(alive):
    columns = {f"x{i}": X[:50, i] for i in range(3)}
    headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": "arrow"}
    learn = to_stream({**columns, "label": Y[:50].tolist()})
    assert ask(alive, "POST", "/v2/models/m/learn", learn, headers)[2]["rows"] == 50
    assert ask(alive, "POST", "/v2/models/m/learn", learn, headers)[2]["repeated"]
    path = "/v2/models/m/infer?outputs=predict,decision_function&id=stream"
    status, headers, body = ask(alive, "POST", path, to_stream(columns), {"Content-Type": MEDIA_TYPE})
    assert status == 200 and headers["onkel-held"] == "true"
    with pa.ipc.open_stream(body) as reader:
        made = reader.read_all().to_pydict()
    assert made["predict"] == alive.models["m"].snapshot.model.predict(X[:50]).tolist()


def test_rolling_back(alive):
    versions = alive.models["m"].versions()
    status, _, answer = ask(alive, "POST", "/v2/models/m/rollback", {"version": 99})
    assert status == 404 and "there is no version 99" in answer["error"]
    assert ask(alive, "POST", "/v2/models/m/rollback", {"version": "x"})[0] == 422
    now = ask(alive, "GET", "/v2/models/m")[2]["parameters"]["rows_learned"]
    assert ask(alive, "POST", "/v2/models/m/rollback", {"version": versions[0]})[2]["rows_learned"] == 0
    newest = int(ask(alive, "GET", "/v2/models/m")[2]["versions"][-1])
    assert ask(alive, "POST", "/v2/models/m/rollback", {"version": newest - 1})[2]["rows_learned"] == now


def test_the_client(service):
    with Client(f"http://127.0.0.1:{service.port}", model="m") as client:
        before = client.metadata()["parameters"]["rows_learned"]
        assert client.learn(X[:10], Y[:10], np.ones(10)) == 10
        assert (
            client.predict(X[:4], id="by client").tolist() == service.models["m"].snapshot.model.predict(X[:4]).tolist()
        )
        assert client.label("by client", Y[:4]) == 4
        assert client.predict(X[:4], output="predict_proba").shape == (4, 2)
        with pytest.raises(ServiceError, match="not one of the model's") as caught:
            client.learn(X[:2], np.array([1, 2]))
        assert caught.value.status == 422 and caught.value.row == 0
        assert client.metadata()["parameters"]["rows_learned"] == before + 14
    with Client(f"http://127.0.0.1:{service.port}", model="m", arrow=True) as client:
        assert client.learn(X[:10], Y[:10]) == 10
    with (
        Client(f"http://127.0.0.1:{service.port}") as client,
        pytest.raises(ValueError, match="pass one of them as model"),
    ):
        client.predict(X[:1])


def test_the_client_tries_again_and_learns_once(service, monkeypatch):
    with Client(f"http://127.0.0.1:{service.port}", model="m") as client:
        before = client.metadata()["parameters"]["rows_learned"]
        real, calls = http.client.HTTPConnection.getresponse, []

        def lost(connection):
            response = real(connection)
            calls.append(1)
            if len(calls) < 3:  # the service has answered, and the answer does not come
                connection.close()
                raise ConnectionResetError
            return response

        monkeypatch.setattr(http.client.HTTPConnection, "getresponse", lost)
        assert client.learn(X[:10], Y[:10]) == 10
        monkeypatch.undo()
        assert len(calls) == 3 and client.metadata()["parameters"]["rows_learned"] == before + 10


# -- refusals


@loop
@pytest.mark.parametrize(
    ("method", "path", "content", "headers", "status"),
    [
        ("GET", "/nothing", None, {}, 404),
        ("GET", "/v2/models/x", None, {}, 404),
        ("GET", "/v2/models/m/learn", None, {}, 405),
        ("POST", "/v2/models/m/infer", b"{", {}, 400),
        ("POST", "/v2/models/m/infer", {"rows": [[1, 2]]}, {}, 422),
        ("POST", "/v2/models/m/infer", {"rows": [[1, 2, 1e999]]}, {}, 400),
        ("POST", "/v2/models/m/infer", b'{"rows": [[1, 2, 1e999]]}', {}, 422),
        ("POST", "/v2/models/m/infer", {"rows": [[1, 2, 3]], "outputs": [{"name": "x"}]}, {}, 422),
        ("POST", "/v2/models/m/infer", {"rows": [[1, 2, 3]]}, {"Content-Type": "text/plain"}, 415),
        ("POST", "/v2/models/m/learn", b"not arrow", {"Content-Type": MEDIA_TYPE}, 400),
        ("POST", "/v2/models/m/learn", {"rows": [[1, 2, 3]], "labels": [7]}, {}, 422),
        ("POST", "/v2/models/m/learn", {"rows": [[1, 2, 3]] * 501, "labels": ["no"] * 501}, {}, 413),
        ("POST", "/v2/models/m/learn", b" " * 100_001, {}, 413),
        ("POST", "/v2/models/m/learn", {"rows": [[1, 2, 3]], "labels": ["no"]}, {"Idempotency-Key": "x" * 201}, 422),
        ("GET", "/v2/models", None, {"Host": "evil.example"}, 403),
    ],
)
def test_a_refusal_is_one_sentence(alive, method, path, content, headers, status):
    found, _, answer = ask(alive, method, path, content, headers)
    assert found == status
    assert isinstance(answer["error"], str) and "\n" not in answer["error"] and answer.keys() <= {"error", "row"}


def test_a_token_is_asked_for(tmp_path):
    with running(tmp_path, {"m": new_model()}, token=TOKEN) as service:
        basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        for path in ("/", "/metrics", "/v2", "/v2/models/m", "/v2/models/m/live"):
            for given in ("", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", "Basic ???", f"Digest {TOKEN}"):
                status, headers, answer = ask(service, "GET", path, headers={"Authorization": given})
                assert status == 401 and "Basic" in headers["www-authenticate"] and "token" in answer["error"]
        content = {"rows": X[:2].tolist(), "labels": Y[:2].tolist()}
        assert ask(service, "POST", "/v2/models/m/learn", content)[0] == 401
        assert service.models["m"].snapshot.rows == 0
        for given in (f"Bearer {TOKEN}", f"Basic {basic}"):
            headers = {"Authorization": given, "Host": "any.example"}
            assert ask(service, "GET", "/v2/models/m", headers=headers)[0] == 200
        assert ask(service, "GET", "/v2/health/live")[0] == 200  # probes have none
        with Client(f"http://127.0.0.1:{service.port}", TOKEN) as client:
            assert client.learn(X[:2], Y[:2]) == 2


def test_a_full_queue_asks_to_come_again(tmp_path):
    with running(tmp_path, {"m": new_model()}, queue_requests=1) as service:
        served = service.models["m"]
        inside, go, learn = threading.Event(), threading.Event(), served._learn

        def slowly(batch):
            inside.set()
            go.wait()
            return learn(batch)

        served._learn = slowly
        content = {"rows": X[:2].tolist(), "labels": Y[:2].tolist()}
        asking = [threading.Thread(target=ask, args=(service, "POST", "/v2/models/m/learn", content)) for _ in "ab"]
        asking[0].start()
        inside.wait()
        asking[1].start()
        while served.facts()["queue_requests"] == 0:
            pass
        status, headers, answer = ask(service, "POST", "/v2/models/m/learn", content)
        assert status == 429 and headers["retry-after"] == "1" and "wait to be learned" in answer["error"]
        go.set()
        for thread in asking:
            thread.join()
        assert served.snapshot.rows == 4


# -- clients that mean no good


@contextlib.contextmanager
def raw(service):
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        yield connection


def answer_of(connection):
    """Everything until the service closes."""
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def head(length, path="/v2/models/m/learn"):
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_of_100_megabytes_is_refused_at_its_head(alive):
    with raw(alive) as connection:
        connection.sendall(head(10**8))
        assert b" 413 " in answer_of(connection)


def test_a_body_without_a_length_is_counted(alive):
    with raw(alive) as connection:
        connection.sendall(head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        with contextlib.suppress(OSError):
            for _ in range(100):
                connection.sendall(b"2710\r\n" + b" " * 10_000 + b"\r\n")
        assert b" 413 " in answer_of(connection) or alive.models["m"].progress.refused.get(413, 0)


def test_a_body_that_does_not_come_is_given_up(alive):
    with raw(alive) as connection:
        connection.sendall(head(100) + b'{"rows"')
        found = answer_of(connection)
        assert b" 408 " in found and b"did not arrive within 0.3 seconds" in found


def test_bodies_share_a_bound(alive):
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(raw(alive)) for _ in range(4)]
        for connection in slow:
            connection.sendall(head(90_000) + b" " * 80_000)
        answers = [answer_of(connection) for connection in slow]
    assert any(b" 429 " in found for found in answers)
    assert alive._reading == 0


def test_a_head_that_does_not_come_is_given_up(alive, monkeypatch):
    monkeypatch.setattr(ImpatientProtocol, "head_seconds", 0.1)
    with raw(alive) as silent, raw(alive) as slow, raw(alive) as second:
        slow.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: 127")
        second.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert second.recv(65536).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET ")
        assert [answer_of(connection).count(b"HTTP") for connection in (silent, slow, second)] == [0, 0, 0]


@pytest.mark.parametrize("line", [b"x", b"X: x\r\n"])
def test_a_head_that_is_too_long_is_refused(alive, line):
    with raw(alive) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + line * (65_000 // len(line)))
        connection.sendall(line * (600 // len(line)))  # in one piece: an answer is lost beside bytes that were not read
        assert b"The header of the request is too long." in answer_of(connection)


def test_connections_that_nobody_closes_do_not_matter(alive):
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(raw(alive))
        assert ask(alive, "POST", "/v2/models/m/infer", {"rows": X[:1].tolist()})[0] == 200


@loop
@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"\x00" * 100, 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00" * 30, 400),
        (b"A" * 100_000, 400),
    ],
)
def test_what_is_no_http_is_refused(alive, garbage, status):
    with raw(alive) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(garbage)
        connection.shutdown(socket.SHUT_WR)
        found = answer_of(connection)
    # an answer is lost where the service closes before it has read all that was sent
    assert found.startswith(f"HTTP/1.1 {status} ".encode()) or (found == b"" and len(garbage) > 65536)


def test_a_client_that_leaves_in_the_middle(alive):
    for cut in (20, 150, 300):
        body = json.dumps({"rows": X[:5].tolist(), "labels": Y[:5].tolist()}).encode()
        with raw(alive) as connection:
            connection.sendall((head(len(body)) + body)[:cut])


# -- seeing


def test_metrics(alive):
    ask(alive, "POST", "/v2/models/m/learn", {"rows": [[1]], "labels": [1]})
    _, _, text = ask(alive, "GET", "/metrics")
    lines = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))
    model = alive.models["m"].snapshot
    assert float(lines['onkel_rows_learned{model="m"}']) == model.rows
    assert float(lines['onkel_support_vectors{model="m"}']) == model.model.n_support_
    assert float(lines['onkel_refused_requests_total{model="m",status="422"}']) >= 1
    assert float(lines['onkel_request_seconds_count{model="m",request="learn"}']) >= 1
    assert 0 < float(lines['onkel_progressive_accuracy{model="m"}']) <= 1
    for name in ("queue_requests", "queue_rows", "log_bytes", "pending_labels", "model_bytes", "kernel_gamma"):
        assert f'onkel_{name}{{model="m"}}' in lines


def test_the_live_page_is_told_of_learning(alive):
    ask(alive, "POST", "/v2/models/m/learn", {"rows": X[:7].tolist(), "labels": Y[:7].tolist()})
    status, _, state = ask(alive, "GET", "/v2/models/m/live")
    assert status == 200 and state["facts"]["rows learned"] == f"{alive.models['m'].snapshot.rows:,}"


def test_stopping_saves(tmp_path):
    with running(tmp_path, {"m": new_model()}) as service:
        ask(service, "POST", "/v2/models/m/learn", {"rows": X.tolist(), "labels": Y.tolist()})
    assert onkel.load(tmp_path / "m" / "version-000001.onkel").t_ == 200
