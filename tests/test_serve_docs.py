"""What docs/serve.md shows is true, and the command starts as it says."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import onkel
import warm
from onkel.cli._app import app
from onkel.cli._options import Learning, Task
from onkel.cli.serve import _fresh
from onkel.serve._batch import MOST_COLUMNS, MOST_NAME
from onkel.serve._checks import MOST_CLASSES, MOST_SCORES
from onkel.serve._openapi import OPERATIONS, statuses_of
from onkel.serve._wire import MOST_KEY, MOST_LABEL
from onkel.serve.start import Limits, ServiceSettings, open_models
from serving import ask, running

ROOT = Path(__file__).parents[1]
PAGE, REFERENCE = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("serve", "serve-reference"))
X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def service(tmp_path):
    model = onkel.NewtonClassifier(gamma="stream", random_state=0)
    with running(tmp_path, {"newton": model}, classes=["no", "yes"]) as service:
        yield service


def test_the_page_prints_what_it_shows(service):
    ((program, shown),) = re.findall(r"```python\n(.*?)```\s*```text\n(.*?)```", PAGE, re.DOTALL)
    program = program.replace("127.0.0.1:8080", f"127.0.0.1:{service.port}")
    done = subprocess.run([warm.python(), "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith(shown), done.stderr


def test_the_requests_of_the_page_are_answered(service):
    requests = re.findall(r"curl 127.0.0.1:8080(\S+) -H 'Content-Type: application/json' \\\n  -d '(.*)'", PAGE)
    assert len(requests) == 3
    for path, body in requests:
        status, _, answer = ask(service, "POST", path, json.loads(body))
        assert status == 200, answer
    assert answer == {"rows": 1, "rows_learned": 3, "repeated": False}


def test_the_bounds_of_the_reference_are_those_of_the_service():
    limits, settings = Limits(), ServiceSettings()
    assert (limits.body_bytes, limits.bodies_bytes) == (16 * 2**20, 128 * 2**20)
    assert f"| rows of a request | {limits.rows:,} " in REFERENCE
    assert f"| requests and rows that wait | {settings.queue_requests:,} and {settings.queue_rows:,} |" in REFERENCE
    words = f"| {MOST_LABEL:,}, {MOST_KEY}, {MOST_NAME} characters, of valid UTF-8 |"
    assert f"| a label; a key or an id; the name of a field {words}" in REFERENCE
    assert f"| classes of a model; columns of a row | {MOST_CLASSES:,}; {MOST_COLUMNS:,} |" in REFERENCE
    assert f"| scores of a request (rows times classes) | {MOST_SCORES:,} |" in REFERENCE
    kept = settings.kept
    assert f"last {kept.keys:,} requests" in REFERENCE and f"After every {settings.every:,} rows" in REFERENCE
    assert f"more than {kept.held_rows:,} rows or 256 MB" in REFERENCE and kept.held_bytes == 256 * 2**20
    assert f"there are {kept.keys:,} newer ones" in REFERENCE and kept.history_bytes == 256 * 2**20
    assert (kept.versions, settings.log_bytes, kept.held_seconds) == (10, 64 * 2**20, 86_400)


def test_the_reference_lists_every_request():
    listed = REFERENCE.replace("{m}", "{model}")
    for operation in OPERATIONS:
        assert f"`{operation.path}`" in listed or f"`{operation.method} {operation.path}`" in listed, operation.path
    for status in {status for operation in OPERATIONS for status in statuses_of(operation)} - {200}:
        assert re.search(rf"(?m)^\|[ 0-9,]*\b{status}\b[ 0-9,]*\|", REFERENCE), status


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_one_that_systemd_takes(tmp_path):
    unit = (ROOT / "packaging" / "service" / "onkel.service").read_text()
    (tmp_path / "onkel.service").write_text(unit.replace("/opt/onkel/bin/onkel", shutil.which("true")))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "onkel.service"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("name", ["onkel.service", "Dockerfile"])
def test_what_starts_the_service_has_options_that_it_has(name):
    text = (ROOT / "packaging" / "service" / name).read_text()
    known = {option for parameter in get_command(app).commands["serve"].params for option in parameter.opts}
    assert (
        used := set(re.findall(r"(?<![\w-])--(?:dir|host|token-file|learner|[a-z-]+-file)\b", text))
    ) <= known and used


# -- the start


def refused(*arguments):
    done = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert done.exit_code in (1, 2), done.output
    return done.output.strip()


def saved(path, **parameters):
    onkel.save(onkel.OGDClassifier(gamma=1.0, random_state=0, **parameters).fit(X, Y), path)
    return path


def test_the_command_refuses_in_one_sentence(tmp_path):
    model, state = saved(tmp_path / "m.onkel"), tmp_path / "state"
    (tmp_path / "short").write_text("abc\n")
    (tmp_path / "token").write_text("a token of some length\n")
    scaler = tmp_path / "scaler.onkel"
    onkel.save(onkel.StreamMinMaxScaler().fit(X), scaler)
    for arguments, sentence in [
        (["--host", "0.0.0.0", model, "--dir", state], "--token-file is needed"),
        (["--token-file", tmp_path / "short", model, "--dir", state], "a token of at least 16 characters"),
        (["--dir", state], "holds no model yet: give a model file, or --learner"),
        ([model, "--learner", "spa", "--dir", state], "it takes no MODEL"),
        (["--learner", "spa,ogd", "--dir", state], "expected one learner"),
        (["--learner", "what", "--dir", state], "there is no learner 'what'"),
        (["--learner", "spa", "--classes", "a", "--dir", state], "expected two labels or more"),
        (["--learner", "spa", "--gamma", "x", "--dir", state], "expected a number, stream, scale or auto"),
        (["--learner", "spa", "--schema", "zip=word", "--dir", state], "expected a column and its kind"),
        (["--learner", "spa", "--raw", "--schema", "zip=category", "--dir", state], "--schema: it is for a learner"),
        ([scaler, "--dir", state], "cannot be served"),
        ([tmp_path / "nothing.onkel", "--dir", state], "No such file"),
    ]:
        assert sentence in refused(*arguments), arguments


def test_a_new_learner_prepares_its_fields_by_their_schema():
    _, model, classes = _fresh("ogd", Task.AUTO, Learning(schema="zip=category", gamma="stream"), "a,b")
    model.partial_fit({"zip": [8001, 8002] * 20, "x": range(40)}, ["a", "b"] * 20, classes=classes)
    assert model.transformers_[0].schema_ == {"zip": "category", "x": "number"}


def test_several_models_and_a_second_start(tmp_path):
    files = [str(saved(tmp_path / f"{name}.onkel", budget=n)) for n, name in enumerate(("a", "b"), 5)]
    state = str(tmp_path / "state")

    def start(files, **settings):
        return open_models(state, files, None, "label", ServiceSettings(**settings))

    models = start(files)
    assert list(models) == ["a", "b"] and models["a"].snapshot.model.n_support_ == 5
    for served in models.values():
        served.close()
    for given in ([], files[:1]):  # from the directory; from one of the files
        again = start(given)
        assert again["a"].snapshot.is_fitted
        for served in again.values():
            served.close()
    saved(tmp_path / "a.onkel", budget=9)
    with pytest.raises(ValueError, match=r"was started with sha256 \w+, and now with sha256"):
        start(files)
    start(files[1:])["b"].close()  # those before a refused one are closed again
    (tmp_path / "sub").mkdir()
    with pytest.raises(ValueError, match="the same name"):
        start([files[1], str(saved(tmp_path / "sub" / "b.onkel"))])


def test_a_new_learner_with_other_parameters_is_refused(tmp_path):
    def start(budget):
        model = onkel.OGDClassifier(gamma=1.0, budget=budget, random_state=0)
        return open_models(str(tmp_path), [], ("ogd", model, [0, 1]), "label", ServiceSettings())["ogd"]

    start(5).close()
    start(5).close()
    with pytest.raises(ValueError, match="another directory"):
        start(6)
