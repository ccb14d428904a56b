"""Requests that nobody wrote: from the service's own document, and by changing those that it takes.

`make fuzz` sends more of them, drawn anew each time. No answer is a 500, and each has a status of the document.
"""

import copy
import json
import os
import random

import hypothesis
import numpy as np
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import onkel
from onkel.serve import _openapi
from onkel.serve._arrow import MEDIA_TYPE, to_stream
from serving import ask, running

# Gaps and numbers that are no numbers are warned of, in the log.
pytestmark = pytest.mark.filterwarnings("ignore")
REQUESTS = int(os.environ.get("ONKEL_FUZZ_REQUESTS", "400"))
SEED = int(os.environ.get("ONKEL_FUZZ_SEED", "1"))
X = np.random.default_rng(5).normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, "yes", "no").tolist()
TABLE = [{"x": x, "town": "Bern" if x > 0 else None, "at": "2024-05-01"} for x in X[:, 0].tolist()]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    models = {
        "m": onkel.OGDClassifier(gamma=0.5, budget=20, random_state=0),
        "t": onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=0.5, budget=20, random_state=0)),
        "r": onkel.NewtonRegressor(gamma=0.5, budget=20, random_state=0),
    }
    with running(tmp_path_factory.mktemp("state"), models, versions=3) as service:
        for name, rows, labels in (("m", X.tolist(), Y), ("t", TABLE, Y), ("r", X.tolist(), X[:, 1].tolist())):
            assert ask(service, "POST", f"/v2/models/{name}/learn", {"rows": rows, "labels": labels})[0] == 200
        yield service


def given(operation):
    """The modes in which there is something to generate."""
    is_plain = operation.request is None and not operation.query and "{model}" not in operation.path
    return ["positive"] if is_plain else ["positive", "negative"]


@pytest.mark.parametrize(
    ("name", "mode"), [(each.name, mode) for each in _openapi.OPERATIONS for mode in given(each)], ids=str
)
def test_every_answer_is_one_of_the_document(name, mode, service):
    documented = schemathesis.openapi.from_url(f"http://127.0.0.1:{service.port}/openapi.json")
    operation = documented.find_operation_by_id(name)

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=max(1, REQUESTS // (4 * len(_openapi.OPERATIONS))),
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def asked(case):
        case.call_and_validate(checks=CHECKS)

    asked()


# -- requests that the models take, changed

ODD = (None, True, 0, -1, 2**70, 1e308, -0.0, "", "x", "\x00", "ß" * 300, "1e5", "2024-02-30", [], {}, [[]], {"": 0})
HERE = "what no Python object is written as"
LARGE = ("1e999", "-1e999", '"\\ud800"', "1" * 400, "[" * 500, "NaN", '"' + "y" * 2000 + '"')


def valid(draws):
    """A path and a body that the model takes."""
    name = draws.choice("mtr")
    rows = copy.deepcopy((TABLE if name == "t" else X.tolist())[: draws.randint(1, 4)])
    labels = draws.sample(X[:, 1].tolist() if name == "r" else Y, len(rows))
    kind = draws.randrange(5)
    if kind == 0:
        return f"{name}/learn", {"rows": rows, "labels": labels, "weights": [1.0] * len(rows), "key": str(kind)}
    if kind == 1:
        return f"{name}/learn", {"id": str(draws.randrange(5)), "labels": labels}
    if kind == 2:
        return f"{name}/rollback", {"version": draws.randrange(4)}
    if kind == 3 and name != "t":
        data = [value for row in rows for value in row]
        tensor = {"name": "x", "shape": [len(rows), 3], "datatype": "FP64", "data": data}
        return f"{name}/infer", {"inputs": [tensor], "outputs": [{"name": "predict"}]}
    return f"{name}/infer", {"rows": rows, "id": str(draws.randrange(5))}


def places(value, path=()):
    """Where the values of a body are."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in pairs:
        yield from places(each, (*path, name))


def changed(body, draws):
    """The body as bytes, with some values in the place of others."""
    for _ in range(draws.randint(0, 2)):
        found = [place for place in places(body) if place]
        if not found:
            break
        outer = [place for place in found if len(place) == 1]
        *path, last = draws.choice(outer if draws.random() < 0.4 and outer else found)
        holder = body
        for name in path:
            holder = holder[name]
        what = draws.randrange(6)
        if what == 0:
            del holder[last]
        elif what == 1 and isinstance(holder, list):
            holder.insert(last, draws.choice(ODD))
        else:
            holder[last] = draws.choice(ODD) if what < 4 else HERE
    text = json.dumps(body).replace(f'"{HERE}"', draws.choice(LARGE))
    if draws.random() < 0.1:
        text = text[: draws.randrange(len(text) + 1)]
    return text.encode()


def arrow(draws):
    """An Arrow stream, with some bytes in the place of others."""
    columns = {f"x{i}": X[:3, i] for i in range(3)} | {"label": Y[:3], "weight": np.ones(3)}
    body = bytearray(to_stream({name: columns[name] for name in columns if draws.random() < 0.95}))
    for _ in range(draws.randint(0, 3)):
        body[draws.randrange(len(body))] = draws.randrange(256)
    return bytes(body[: draws.choice((len(body), draws.randrange(len(body) + 1)))])


def test_requests_that_were_changed_are_taken_or_refused(service):
    allowed = {operation.path.partition("}/")[2]: _openapi.statuses_of(operation) for operation in _openapi.OPERATIONS}
    draws = random.Random(SEED)
    for number in range(REQUESTS // 2):
        path, body = valid(draws)
        kind = "application/json"
        if draws.random() < 0.2 and not path.endswith("rollback"):
            body, kind = arrow(draws), MEDIA_TYPE
        else:
            body = changed(body, draws)
        status, _, answer = ask(service, "POST", f"/v2/models/{path}", body, {"Content-Type": kind})
        assert status in allowed[path.partition("/")[2]], (number, path, body, answer)
        if status != 200:
            assert isinstance(answer["error"], str) and answer.keys() <= {"error", "row"}
    for name in "mtr":
        assert service.models[name].broken is None
        lines = ask(service, "GET", f"/v2/models/{name}/learned")[2].splitlines()
        assert all(json.loads(line)["rows"] for line in lines)
