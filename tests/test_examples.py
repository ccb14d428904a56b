"""The stories of examples/: each is short, runs as it stands, and says what the documentation says it does."""

import contextlib
import io
import json
import re
import runpy
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

from test_cli_tables import customers

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT = 20  # lines


def run(name, folder, *words):
    """What the program prints; in this process, since imports take long."""
    path = str(EXAMPLES / f"{name}.py")
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()) as printed,
        mock.patch.object(sys, "argv", [path, *words]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # a program shows them on the other stream
        warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
        runpy.run_path(path, run_name="__main__")
    return printed.getvalue()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short_and_shown(path):
    text = path.read_text()
    assert len(text.splitlines()) < SHORT
    pages = [page.read_text() for page in (EXAMPLES.parent / "docs").glob("*.md")]
    assert any(text.partition('"""\n')[2].strip() in page for page in pages), "a page of docs/ shows the example"


def test_stories_are_notebooks_too():
    notebooks = sorted(EXAMPLES.glob("*.ipynb"))
    without = {path.stem for path in EXAMPLES.glob("*.py") if "sys.argv" not in path.read_text()}
    assert {path.stem for path in notebooks} == without
    for path in notebooks:
        about, program = ("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
        assert f'"""{about}"""\n\n{program}\n' == path.with_suffix(".py").read_text()  # which is run below


def test_a_table_with_everything_wrong_in_it(tmp_path):
    text = customers(600).replace(",importance", "").replace("customer,age", "customer,age")
    lines = [",".join(line.split(",")[:5] + line.split(",")[-1:]) for line in text.splitlines()]
    (tmp_path / "customers.csv").write_text("\n".join(lines) + "\n")
    out = run("messy_table", tmp_path, "customers.csv")
    assert "'town': 'category?'" in out and "'since': 'date'" in out
    right, commonest = map(float, re.search(r"accuracy ([\d.]+), majority class ([\d.]+)", out).groups())
    assert right > commonest + 0.1
    assert out.splitlines()[-1] in ("['yes']", "['no']")


def test_the_river_user(tmp_path):
    assert float(re.search(r"Accuracy: ([\d.]+)%", run("river_user", tmp_path))[1]) > 85


def test_the_svc_user(tmp_path):
    svc, newton, last = run("svc_user", tmp_path).splitlines()
    assert float(newton.split()[1]) > float(svc.split()[1]) - 0.02 and last.startswith("3000 rows")


def test_the_embedded_engineer(tmp_path):
    out = run("embedded", tmp_path)
    assert float(re.search(r"accuracy ([\d.]+)", out)[1]) > 0.9
    (tmp_path / "main.c").write_text(
        '#include "alarm.h"\nint main(void) { float x[32] = {0}, s[8], p[2]; alarm_scores_batch(x, s);\n'
        "alarm_probabilities(x, p); return !(p[0] > 0 && p[1] > 0 && alarm_predict(x) == (p[1] > p[0])); }\n"
    )
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "main.c", "-o", "alarm", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "alarm"]).returncode == 0


def test_the_stream_of_frauds(tmp_path):
    plain, balanced = (re.findall(r"[\d.]+", line) for line in run("fraud", tmp_path).splitlines())
    assert float(balanced[1]) > float(plain[1]) + 0.1 and float(balanced[2]) > 0.8
    page = (EXAMPLES.parent / "docs" / "stories.md").read_text()
    said = re.search(r"from ([\d.]+) to ([\d.]+), and balanced accuracy rises from ([\d.]+) to ([\d.]+)\.", page)
    found = [plain[0], balanced[0], plain[1], balanced[1]]
    assert [float(figure) for figure in found] == pytest.approx([float(figure) for figure in said.groups()], abs=0.02)


def test_the_statistician(tmp_path):
    fit, noise, within = map(float, re.findall(r"[\d.]+(?=[,%])", run("statistician", tmp_path))[:3])
    assert fit > 0.9 and 0.25 < noise < 0.4 and 85 < within < 95


def test_text(tmp_path):
    accuracy, words = re.search(r"accuracy ([\d.]+), ([\d,]+) words", run("text", tmp_path)).groups()
    assert float(accuracy) > 0.75 and 1000 < int(words.replace(",", "")) <= 5000


def test_the_researcher(tmp_path):
    own, forgetron, spa = (float(line.split()[1]) for line in run("researcher", tmp_path).splitlines())
    assert own < 0.6 * spa and own < 0.4 * forgetron


def test_operations(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    said = run("operations", tmp_path, port).splitlines()
    assert said == ["500 rows, of (1, 1) yes", "1000 rows, of (1, 1) yes"]


def test_the_contributor(tmp_path):
    assert "the budget holds" in run("contributor", tmp_path)
