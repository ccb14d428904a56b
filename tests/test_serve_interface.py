"""What people who run a service expect: a document of the interface, ids of requests, backups, exports, a drain."""

import asyncio
import datetime as dt
import json
import logging
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import onkel
from onkel.serve import _openapi
from onkel.serve._server import JsonLines
from onkel.serve.start import ServiceSettings, open_models, restore
from serving import ask, running

ROOT = Path(__file__).parents[1]
X = np.random.default_rng(5).normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
LEARN = "/v2/models/m/learn"


def new_model():
    return onkel.NewtonClassifier(gamma=0.5, budget=20, random_state=0)


@pytest.fixture
def service(tmp_path):
    with running(tmp_path / "state", {"m": new_model()}) as service:
        yield service


def learn(service, begin, end, **others):
    content = {"rows": X[begin:end].tolist(), "labels": Y[begin:end].tolist(), **others}
    status, _, answer = ask(service, "POST", LEARN, content)
    assert status == 200, answer
    return answer


# -- the document


def test_the_document_lists_what_there_is(service):
    learn(service, 0, 20)
    status, headers, document = ask(service, "GET", "/openapi.json")
    assert status == 200 and headers["content-type"] == "application/json"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            status, headers, _ = ask(service, method.upper(), path.replace("{model}", "m"))
            assert str(status) in operation["responses"], (path, status)
            if status == 200:
                assert headers["content-type"].partition(";")[0] in operation["responses"]["200"]["content"]
    status, headers, _ = ask(service, "DELETE", "/v2/models/m")
    assert status == 405 and "GET" in headers["allow"].split(", ")


def test_the_page_of_the_document_has_every_request(service):
    status, _, page = ask(service, "GET", "/openapi")
    assert status == 200
    for operation in _openapi.OPERATIONS:
        assert f"{operation.method} {operation.path}" in page.decode()


# -- outputs


@pytest.mark.parametrize("piped", [False, True])
def test_a_regressor_says_how_sure_it_is(piped, tmp_path):
    model = onkel.NewtonRegressor(gamma=0.5, budget=20, random_state=0)
    model = onkel.make_stream_pipeline(model) if piped else model
    with running(tmp_path, {"m": model}) as service:
        content = {"rows": X.tolist(), "labels": X[:, 1].tolist()}
        assert ask(service, "POST", LEARN, content)[0] == 200
        wanted = {"rows": X[:3].tolist(), "outputs": [{"name": "predict"}, {"name": "predict_std"}]}
        mean, std = ask(service, "POST", "/v2/models/m/infer", wanted)[2]["outputs"]
        names = [each["name"] for each in ask(service, "GET", "/v2/models/m")[2]["outputs"]]
        snapshot = service.models["m"].snapshot
        assert names == ["predict", "predict_std"] and std["shape"] == [3]
        rows = snapshot.inside.transformers[0].transform(pd.DataFrame(X[:3], columns=list("012"))) if piped else X[:3]
        expected = snapshot.inside.estimator.predict(rows, return_std=True)
    assert (mean["data"], std["data"]) == (expected[0].tolist(), expected[1].tolist())


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("output", ["predict_interval", "predict_set"])
def test_a_model_that_keeps_account_gives_intervals_or_sets(output, piped, tmp_path):
    kind = onkel.NewtonRegressor if output == "predict_interval" else onkel.NewtonClassifier
    models = {
        name: kind(gamma=0.5, budget=20, random_state=0, coverage=levels)
        for name, levels in (("m", (0.8, 0.5)), ("other", None))
    }
    if piped:
        models = {name: onkel.make_stream_pipeline(model) for name, model in models.items()}
    with running(tmp_path, models) as service:
        wanted = {"rows": X[:3].tolist(), "outputs": [{"name": output}]}
        labels = (X[:, 1] if output == "predict_interval" else X[:, 1] > 0).tolist()
        for name in models:
            for rows in (slice(0, 1), slice(1, None)):
                content = {"rows": X[rows].tolist(), "labels": labels[rows]}
                if output == "predict_set":
                    content = {"rows": X.tolist(), "labels": labels}
                assert ask(service, "POST", f"/v2/models/{name}/learn", content)[0] == 200
                if output == "predict_interval" and rows.start == 0 and name == "m":
                    assert ask(service, "POST", "/v2/models/m/infer", wanted)[0] == 503  # nothing is known yet
        (found,) = ask(service, "POST", "/v2/models/m/infer", wanted)[2]["outputs"]
        assert output in [each["name"] for each in ask(service, "GET", "/v2/models/m")[2]["outputs"]]
        status, _, refusal = ask(service, "POST", "/v2/models/other/infer", wanted)
        assert status == 422 and output in refusal["error"]
        rows = pd.DataFrame(X[:3], columns=list("012")) if piped else X[:3]
        expected = getattr(service.models["m"].snapshot.model, output)(rows, 0.8)
    assert found["shape"] == [3, 2] and found["data"] == expected.ravel().tolist()
    assert found["datatype"] == ("FP64" if output == "predict_interval" else "BOOL")


# -- ids of requests, and the log


def lines_about_requests(caplog):
    """The lines, which are written after the answers."""
    while not (found := [record for record in caplog.records if record.message == "answered a request"]):
        time.sleep(0.01)
    return found


def test_a_request_has_an_id_in_its_answer_and_in_the_log(service, caplog):
    with caplog.at_level(logging.INFO, "onkel.serve"):
        _, headers, _ = ask(service, "GET", "/v2/models/none", headers={"X-Request-Id": "mine-1"})
        assert headers["x-request-id"] == "mine-1"
        _, headers, _ = ask(service, "GET", "/v2", headers={"X-Request-Id": "with space"})
        assert re.fullmatch("[0-9a-f]{16}", headers["x-request-id"])
    (record,) = lines_about_requests(caplog)  # none is about the one that went well
    line = json.loads(JsonLines().format(record))
    assert (line["request"], line["status"], line["level"]) == ("mine-1", 404, "warning")


def test_a_failure_is_told_to_the_log_with_its_id_and_to_nobody_else(service, caplog, monkeypatch):
    monkeypatch.setattr(service.models["m"], "versions", lambda: 1 / 0)
    status, headers, answer = ask(service, "GET", "/v2/models/m")
    assert (status, answer) == (500, {"error": "the service failed on this request; see its log"})
    (record,) = lines_about_requests(caplog)
    assert record.exc_info
    assert record.facts["request"] == headers["x-request-id"] and record.levelname == "ERROR"


# -- metrics


def test_an_alert_asks_for_metrics_that_there_are(service):
    learn(service, 0, 20)
    learn(service, 20, 40)
    text = ask(service, "GET", "/metrics")[2].decode()
    there = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    rules = (ROOT / "packaging" / "service" / "alerts.yml").read_text()
    asked = set(re.findall(r"onkel_[a-z_]+", rules))
    assert len(asked) > 4 and asked <= there
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values['onkel_scored_rows_total{model="m"}']) == 40
    share = float(values['onkel_right_rows_total{model="m"}']) / 40
    assert share == float(values['onkel_progressive_accuracy{model="m"}'])
    assert float(values['onkel_commit_rows_sum{model="m"}']) == 40
    assert "process_resident_memory_bytes" in values


# -- backups and exports


def test_a_backup_is_taken_while_it_learns_and_restored_by_one_command(service, tmp_path):
    learn(service, 0, 20, key="first")
    status, headers, backup = ask(service, "GET", "/v2/models/m/backup")
    assert status == 200 and int(headers["content-length"]) == len(backup)
    learn(service, 20, 40)
    (tmp_path / "m.tar").write_bytes(backup)
    assert not [*(tmp_path / "state" / "m").glob(".*")]
    restore(tmp_path / "m.tar", tmp_path / "again")
    served = open_models(str(tmp_path / "again"), [], None, "label", ServiceSettings())["m"]
    assert served.snapshot.rows == 20
    served.close()


def test_one_backup_at_a_time(service):
    service._backups.add("m")
    assert ask(service, "GET", "/v2/models/m/backup")[0] == 429
    service._backups.clear()
    assert ask(service, "GET", "/v2/models/m/backup")[0] == 200


def test_what_was_learned_is_exported_and_can_be_sent_again(service, tmp_path):
    learn(service, 0, 20)
    learn(service, 20, 40, weights=[0.5] * 20)
    status, _, lines = ask(service, "GET", "/v2/models/m/learned")
    found = [json.loads(line) for line in lines.splitlines()]
    assert status == 200 and [line["number"] for line in found] == [1, 2]
    with running(tmp_path / "again", {"m": new_model()}) as other:
        for line in found:
            content = {name: line[name] for name in ("rows", "labels", "weights") if name in line}
            assert ask(other, "POST", LEARN, content)[0] == 200
        scores = [each.models["m"].snapshot.model.decision_function(X).tolist() for each in (service, other)]
    assert scores[0] == scores[1]
    now = dt.datetime.now(dt.UTC)
    for begin, n in ((now - dt.timedelta(hours=1), 2), (now + dt.timedelta(hours=1), 0)):
        path = f"/v2/models/m/learned?begin={begin.isoformat().replace('+', '%2B')}"
        assert len(ask(service, "GET", path)[2].splitlines()) == n
    status, _, answer = ask(service, "GET", "/v2/models/m/learned?end=soon")
    assert status == 422 and answer["error"].startswith("end must be a time such as")


def test_tables_are_exported_as_they_were_sent(tmp_path):
    model = onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=1.0, budget=10, random_state=0))
    rows = [{"town": "Bern", "at": "2024-05-01", "x": 1.5, "y": None}, {"town": None, "at": "?", "x": 2, "y": True}]
    with running(tmp_path, {"m": model}) as service:
        assert ask(service, "POST", LEARN, {"rows": rows, "labels": [3, 4]})[0] == 200
        (line,) = ask(service, "GET", "/v2/models/m/learned")[2].splitlines()
    found = json.loads(line)
    assert found["rows"] == rows and found["labels"] == [3, 4]


# -- the end


def test_a_drain_answers_while_it_is_no_longer_ready(tmp_path):
    with running(tmp_path, {"m": new_model()}, drain_seconds=3600.0) as service:
        loop = service.server.servers[0].get_loop()
        loop.call_soon_threadsafe(service.server.drain)
        while not service.stopping:
            time.sleep(0.01)
        assert ask(service, "GET", "/v2/health/ready")[0] == 503
        learn(service, 0, 20)
        assert not service.server.should_exit
        asyncio.run_coroutine_threadsafe(_now(service.server.drain), loop).result()  # told again
        assert service.server.should_exit


async def _now(call):
    call()
