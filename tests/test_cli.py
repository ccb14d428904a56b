"""The command `onkel`: what it prints, where, and how it ends."""

import bz2
import dataclasses
import hashlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import onkel
import warm
from looping import loop
from onkel.cli import main

COMMAND = [sys.executable, "-m", "onkel"]


def rows(n=1200, n_features=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features)).round(4)
    return X, X[:, 0] * X[:, 1]


def libsvm(X, labels):
    return "".join(
        f"{label} {' '.join(f'{i + 1}:{v}' for i, v in enumerate(x))}\n" for x, label in zip(X, labels, strict=True)
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, z = rows()
    Path("two.txt").write_text(libsvm(X, np.where(z > 0, 1, -1)))
    Path("three.txt").write_text(libsvm(X, np.digitize(z, [-0.3, 0.3])))
    Path("numbers.csv").write_text(
        "a,b,c,price\n" + "".join(f"{a},{b},{c},{p:.4f}\n" for (a, b, c), p in zip(X, z, strict=True))
    )
    Path("words.csv").write_text(
        "a,b,c,sign\n"
        + "".join(f"{a},{b},{c},{'up' if p > 0 else 'down'}\n" for (a, b, c), p in zip(X, z, strict=True))
    )
    return tmp_path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Calls the command; returns its exit code and what it wrote."""

    def call(*words, stdin=None):
        monkeypatch.setattr(sys, "argv", ["onkel", *map(str, words)])
        if stdin is not None:
            pipe = io.TextIOWrapper(io.BytesIO(stdin.encode())) if isinstance(stdin, str) else stdin
            monkeypatch.setattr(sys, "stdin", pipe)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


# -- what the commands do


def test_fit_predict_info(run):
    code, out, err = run(
        "fit", "two.txt", "-l", "spa", "--budget", 100, "--gamma", 0.5, "--set", "eta=0.3", "-o", "model"
    )
    assert (code, out) == (0, "")
    assert re.fullmatch(
        r"onkel: model: SPAClassifier of 1,200 rows, \d+ support vectors; progressive accuracy [\d.]+ % "
        r"\(majority class 5[\d.]+ %\), balanced accuracy [\d.]+ %, AUC 0[.]\d+\n",
        err,
    )
    X, z = rows()
    model = onkel.SPAClassifier(budget=100, gamma=0.5, eta=0.3, random_state=0)
    model.partial_fit(X, np.where(z > 0, 1.0, -1.0), classes=[-1.0, 1.0])
    saved = onkel.load("model")
    assert (saved.dual_coef_ == model.dual_coef_).all() and saved.get_params() == model.get_params()

    code, out, err = run("predict", "model", "two.txt")
    assert code == 0
    assert out.split() == [f"{label:.0f}" for label in model.predict(X)]
    right = np.mean(model.predict(X) == np.where(z > 0, 1, -1))
    assert err == f"onkel: 1,200 rows, {100 * right:.2f} % right\n"

    code, out, err = run("info", "model")
    assert (code, err) == (0, "")
    assert "SPAClassifier(budget=100, eta=0.3, gamma=0.5, random_state=0)" in out
    assert re.search(r"^classes +-1, 1$", out, re.MULTILINE) and re.search(r"^rows +1,200$", out, re.MULTILINE)
    facts = json.loads(run("info", "model", "--json")[1])
    assert facts["n_support"] == model.n_support_ and facts["parameters"]["eta"] == 0.3


def test_predictions_in_other_forms(run):
    run("fit", "two.txt", "-l", "ogd", "--set", "loss=log_loss", "-o", "model")
    model, (X, _) = onkel.load("model"), rows()
    out = run("predict", "model", "two.txt", "--scores")[1]
    assert np.array_equal([float(line) for line in out.split()], model.decision_function(X))
    out = run("predict", "model", "two.txt", "--proba")[1]
    assert np.array_equal([[float(v) for v in line.split()] for line in out.splitlines()], model.predict_proba(X))
    out = run("predict", "model", "two.txt", "--json", "--rows", 2)[1]
    assert [json.loads(line) for line in out.splitlines()] == [{"prediction": int(p)} for p in model.predict(X[:2])]
    line = json.loads(run("predict", "model", "two.txt", "--json", "--proba", "--rows", 1)[1])
    assert line == {"probabilities": dict(zip(["-1", "1"], model.predict_proba(X[:1])[0].tolist(), strict=True))}
    unlabelled = "".join(line.partition(" ")[2] for line in Path("two.txt").read_text().splitlines(True))
    code, out, err = run("predict", "model", "-", "--no-target", stdin=unlabelled)
    assert (code, err) == (0, "") and out.split() == [str(int(p)) for p in model.predict(X)]


def test_labels_of_another_kind_are_not_called_wrong(run, folder):
    X, z = rows(100)
    onkel.save(onkel.OGDClassifier(gamma=1.0, random_state=0).fit(X, z > 0), folder / "booleans.onkel")
    code, out, err = run("predict", "booleans.onkel", "two.txt", "--rows", 4)
    assert code == 0, err
    assert set(out.split()) <= {"True", "False"}
    assert "4 rows, none of whose labels is one of the model's classes" in err


def test_classes_may_be_words_and_tables_may_be_read(run):
    assert run("fit", "words.csv", "-l", "rbp", "--budget", 50, "-o", "model")[0] == 0
    model = onkel.load("model")
    assert model.classes_.tolist() == ["down", "up"]
    code, out, _ = run("predict", "model", "words.csv")
    assert code == 0 and set(out.split()) == {"down", "up"}


def test_the_target_decides_the_task(run):
    assert run("fit", "numbers.csv", "-l", "spa", "--raw", "-o", "model")[0] == 0
    assert type(onkel.load("model")) is onkel.SPARegressor
    code, out, err = run("predict", "model", "numbers.csv")
    assert code == 0 and len(out.split()) == 1200 and re.search("RMSE 0[.][0-9]{4}", err)
    assert run("fit", "two.txt", "-l", "spa", "--task", "regression", "-o", "model")[0] == 0
    assert type(onkel.load("model")) is onkel.SPARegressor
    assert run("fit", "numbers.csv", "--target", "a", "-l", "spa", "-o", "model")[0] == 0
    assert run("fit", "three.txt", "-l", "spa", "-o", "model")[0] == 0
    assert sorted(onkel.load("model").classes_) == [0, 1, 2]


def test_evaluate_prints_the_curve(run):
    code, out, err = run("evaluate", "two.txt", "-l", "ogd", "--gamma", 1, "--set", "loss=log_loss")
    assert (code, err) == (0, "")
    title, _, head, *lines, _, summary = out.splitlines()
    assert title == "two.txt: 1,200 rows, 3 features, classification"
    assert re.split(r"  +", head.strip()) == [
        "rows", "accuracy", "recent accuracy", "AUC", "log loss", "support vectors", "seconds",
    ]  # fmt: skip
    X, z = rows()
    model = onkel.OGDClassifier(loss="log_loss", gamma=1.0, random_state=0)
    curve = onkel.evaluate.progressive(model, [(X, np.where(z > 0, 1, -1))], classes=[-1, 1])
    assert lines[-1].split()[:7] == [
        "1,200", f"{100 * curve.last.accuracy:.2f}", "%", f"{100 * curve.last.recent_accuracy:.2f}", "%",
        f"{curve.last.auc:.4f}", f"{curve.last.log_loss:.4f}",
    ]  # fmt: skip
    assert re.match(
        r"accuracy [\d.]+ % \(majority class 5[\d.]+ %\), balanced accuracy [\d.]+ %, AUC 0[.]\d+, log loss", summary
    )
    document = json.loads(run("evaluate", "two.txt", "-l", "ogd", "--gamma", 1, "--set", "loss=log_loss", "--json")[1])
    assert document["data"] == {
        "name": "two.txt", "rows": 1200, "n_features": 3, "task": "classification", "classes": [-1, 1],
    }  # fmt: skip
    assert document["runs"][0]["curve"]["accuracy"] == curve["accuracy"].tolist()
    every = json.loads(run("evaluate", "two.txt", "-l", "spa", "--every", 500, "--json")[1])
    assert every["runs"][0]["curve"]["rows"] == [500, 1000, 1200]


def test_compare_gives_each_learner_what_it_would_have_alone(run):
    words = ["--gamma", 1, "--budget", 60, "--set", "eta=0.2", "--set", "bogd.lam=0.001", "--json"]
    together = json.loads(run("compare", "two.txt", "-l", "spa,bogd,perceptron", *words)[1])
    own = {"spa": ["--set", "eta=0.2"], "bogd": ["--set", "eta=0.2", "--set", "lam=0.001"], "perceptron": []}
    for single in together["runs"]:
        words = ["--gamma", 1, "--budget", 60, "--json", *own[single["learner"]]]
        alone = json.loads(run("evaluate", "two.txt", "-l", single["learner"], *words)[1])["runs"][0]
        assert alone["parameters"] == single["parameters"]
        assert alone["curve"]["accuracy"] == single["curve"]["accuracy"]
        assert alone["curve"]["n_support"] == single["curve"]["n_support"]
    code, out, _ = run("compare", "two.txt", "-l", "spa,bogd,perceptron", "--budget", 60)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["learner", "spa", "bogd", "perceptron"]


@loop
@pytest.mark.parametrize(
    ("data", "task"), [("two.txt", "Classifier"), ("three.txt", "Classifier"), ("numbers.csv", "Regressor")]
)
def test_every_learner_of_the_package_is_known_by_its_name(run, data, task):
    document = json.loads(run("compare", data, "-l", "all", "--budget", 20, "--rows", 200, "--json")[1])
    names = {name.removesuffix(task).lower() for name in onkel.__all__ if name.endswith(task)}
    wrappers = {"kernel", "multikernel", "platt"}  # of a recipe, or of another estimator
    assert {one["learner"] for one in document["runs"]} == names - wrappers


def test_a_report_is_written(run):
    code, _, err = run("compare", "two.txt", "-l", "spa,rbp", "--budget", 50, "--report", "out.html")
    assert (code, err) == (0, "onkel: the curves are in out.html\n")
    assert "2 learners on two.txt" in Path("out.html").read_text()


@loop
@pytest.mark.parametrize("data", ["two.txt", "three.txt", "numbers.csv"])
def test_standard_input_is_a_file_like_any_other(run, data):
    words = ["-l", "spa", "--budget", 50, "--format", "csv" if data.endswith("csv") else "libsvm"]
    assert run("fit", data, *words, "-o", "one")[0] == 0
    assert run("fit", "-", *words, "-o", "other", stdin=Path(data).read_text())[0] == 0
    assert Path("one").read_bytes() == Path("other").read_bytes()


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_features_are_scaled_on_the_way(run, scale):
    assert run("fit", "two.txt", "-l", "spa", "--scale", scale, "--budget", 50, "-o", "model")[0] == 0
    assert type(onkel.load("model")) is onkel.StreamPipeline
    assert run("predict", "model", "two.txt")[0] == 0
    assert run("info", "model")[1].count("Scaler") == 1
    code, out, _ = run("compare", "two.txt", "-l", "spa,rbp", "--scale", scale, "--budget", 50)
    assert code == 0 and len(out.splitlines()) == 5


def test_shuffle_is_for_files_that_are_sorted_by_class(run):
    lines = sorted(Path("two.txt").read_text().splitlines(True))
    Path("sorted.txt").write_text("".join(lines))
    more = "".join(line for line in lines if line.startswith("1")) * 10
    Path("long.txt").write_text(more + "".join(lines))
    assert "are all of class 1; if it is sorted by class, use --shuffle" in run("evaluate", "long.txt", "-l", "rbp")[2]
    shuffled = [
        json.loads(run("evaluate", "sorted.txt", "-l", "rbp", "--shuffle", "--seed", seed, "--json")[1])
        for seed in (0, 0, 1)
    ]
    curves = [one["runs"][0]["curve"]["accuracy"] for one in shuffled]
    assert curves[0] == curves[1] != curves[2]


def test_wrong_rows_may_be_left_out(run):
    Path("two.txt").write_text("oops\n" + Path("two.txt").read_text())
    code, _, err = run("fit", "two.txt", "-l", "rbp", "--skip-errors", "-o", "model")
    assert code == 0
    assert "onkel: warning: 1 rows of two.txt were skipped; the first: two.txt, line 1" in err
    assert onkel.load("model").t_ == 1200


def test_results_do_not_depend_on_threads(run):
    for jobs, path in ((1, "one"), (2, "two")):
        run("fit", "two.txt", "--gamma", 0.5, "--budget", 50, "--jobs", jobs, "-o", path)
    one, two = onkel.load("one"), onkel.load("two")
    assert (one.dual_coef_ == two.dual_coef_).all()


def test_data_sets_and_generators_have_names(run):
    code, out, err = run("data", "list")
    assert (code, err) == (0, "")
    for name in (*onkel.datasets.names(), *onkel.streams.generators.STREAMS):
        assert re.search(rf"^{re.escape(name)} ", out, re.MULTILINE), name
    document = json.loads(run("data", "list", "--json")[1])
    assert [one["name"] for one in document["datasets"]] == onkel.datasets.names()
    out = run("data", "info", "cod-rna")[1]
    assert "59,535" in out and "shuffle first (--shuffle)" in out and "https://" in out
    assert json.loads(run("data", "info", "a9a", "--json")[1])["features"] == 123
    assert "mixture of the POLK paper" in run("data", "info", "mixture")[1]


def test_a_data_set_is_read_by_its_name(run, folder, monkeypatch):
    monkeypatch.setenv("ONKEL_DATA", str(folder))
    (folder / "svmguide3.bz2").write_bytes(b"not the file")
    code, out, err = run("data", "get", "svmguide3")
    assert (code, out) == (1, "") and "is not the expected file" in err
    text = "".join(f"{label} 22:{i}\n" for i, label in enumerate([1, -1] * 50))
    content = bz2.compress(text.encode())
    (folder / "svmguide3.bz2").write_bytes(content)
    (file,) = onkel.datasets.info("svmguide3").files
    known = dataclasses.replace(file, sha256=hashlib.sha256(content).hexdigest())
    table = {**onkel.datasets._table()}
    table["svmguide3"] = dataclasses.replace(table["svmguide3"], files=(known,), order="shuffle")
    monkeypatch.setattr(onkel.datasets, "_table", lambda: table)
    assert run("data", "get", "svmguide3")[1] == f"{folder / 'svmguide3.bz2'}\n"
    code, out, err = run("evaluate", "svmguide3", "-l", "rbp", "--json")
    assert code == 0 and json.loads(out)["data"]["rows"] == 100
    assert err == "onkel: warning: svmguide3 is stored in blocks of one class; use --shuffle\n"
    assert run("evaluate", "svmguide3", "-l", "rbp", "--shuffle")[2] == ""


def test_a_generator_is_drawn(run):
    document = json.loads(run("evaluate", "mixture", "-l", "rbp", "--budget", 20, "--rows", 3000, "--json")[1])
    assert document["data"] == {"name": "mixture", "rows": 3000, "n_features": 2, "task": "classification"}
    assert json.loads(run("evaluate", "switching", "-l", "rbp", "--budget", 9, "--json")[1])["data"]["rows"] == 20_000


# -- how they refuse


@loop
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("fit empty -o m", 1, "empty has no rows"),
        ("fit missing -o m", 1, "there is no file 'missing', and no data set of that name"),
        ("fit nothing -o m", 1, "nothing is a directory without files to read"),
        ("fit nothing/*.csv -o m", 1, "there is no file 'nothing/*.csv', and no data set of that name"),
        ("fit binary -o m", 1, "binary, line 1, column 1: expected a label"),
        ("fit comments -o m", 1, "comments has no rows"),
        ("fit one-class -o m", 1, "one-class has one class only, 1; expected two or more"),
        ("fit nan -o m", 1, "nan, line 1001, column 5: expected a finite number"),
        ("fit late -l rbp -o m", 1, "row 5,001: the label 7 is not one of -1 and 1, the classes so far; name all"),
        ("fit two.txt -l spam -o m", 2, "there is no learner 'spam'; expected one of bogd, bpa"),
        ("fit numbers.csv -l klr -o m", 2, "there is no learner 'klr' for regression; expected one of bogd"),
        ("fit two.txt -l spa,ogd -o m", 2, "expected one learner (onkel compare takes several)"),
        ("fit two.txt -l spa --set etta=1 -o m", 2, "spa: no parameter 'etta'; expected one of alpha, average, beta"),
        ("fit two.txt --set eta -o m", 2, "expected a parameter and its value, such as eta=0.5"),
        ("fit two.txt --set ogd.eta=1 -o m", 2, "'ogd' is not one of the learners newton"),
        ("fit two.txt -l spa --set eta=high -o m", 1, "eta must be a number greater than 0, got 'high'"),
        ("fit two.txt --gamma wide -o m", 2, "--gamma wide: expected a number, scale, auto or stream"),
        ("fit two.txt --gamma -1 -o m", 1, "gamma must be a number greater than 0, got -1.0"),
        ("fit two.txt --classes 1 -o m", 2, "expected two labels or more"),
        ("fit two.txt --classes a,b -o m", 2, "the targets are numbers, and these labels are not"),
        ("fit two.txt --format xml -o m", 1, "format must be one of 'libsvm', 'csv'"),
        ("fit numbers.csv --target cost -o m", 1, "no column 'cost'"),
        ("fit two.txt -o nowhere/m", 1, "nowhere/m cannot be written: there is no directory"),
        ("fit two.txt -o .", 1, ". is a directory; expected the name of a file to write"),
        ("evaluate two.txt --report nowhere/m", 1, "nowhere/m cannot be written: there is no directory"),
        ("evaluate two.txt -l all", 2, "expected one learner"),
        ("compare two.txt -l spa,", 2, "there is no learner ''"),
        ("predict corrupt two.txt", 1, "cannot load 'corrupt': its header claims"),
        ("predict two.txt two.txt", 1, "cannot load 'two.txt': it does not begin like a file written by onkel.save"),
        ("predict missing two.txt", 1, "missing: No such file or directory"),
        ("predict model wide", 1, "wide, line 1, column"),
        ("predict model wide.csv", 1, "X has 4 features, but SPAClassifier is expecting 3 features"),
        ("predict model empty", 1, "empty has no rows"),
        ("predict model two.txt --scores --proba", 2, "--scores and --proba: expected one of them"),
        ("predict model two.txt --proba", 2, "--proba: a SPAClassifier with these parameters does not have them"),
        ("predict fresh two.txt", 1, "fresh has learned nothing yet"),
        ("data info nothing", 1, "there is no data set 'nothing'"),
        ("data get mixture", 1, "mixture is a generator, and there is nothing to download"),
        ("fit mixture --format csv -o m", 2, "mixture is not a file: --format, --target"),
        ("info corrupt", 1, "cannot load 'corrupt'"),
        ("info .", 1, "cannot load '.': it is a directory"),
    ],
)
def test_refusals(run, words, code, said):
    text = Path("two.txt").read_text()
    lines = text.splitlines(True)
    Path("empty").touch()
    Path("binary").write_bytes(bytes(range(256)) * 20)
    Path("comments").write_text("# nothing\n\n# at all\n")
    Path("nothing").mkdir(exist_ok=True)
    Path("one-class").write_text("".join(line for line in lines if line.startswith("1")))
    Path("nan").write_text("".join(lines[:1000]) + "1 1:nan\n")
    Path("late").write_text("".join((lines * 5)[:5000]) + "7 1:1\n")
    Path("wide").write_text("".join(line.strip() + " 9:1\n" for line in lines))
    Path("wide.csv").write_text("1,2,3,4,1\n")
    onkel.save(onkel.SPAClassifier(), "fresh")
    run("fit", "two.txt", "-l", "spa", "--budget", 50, "-o", "model")
    Path("corrupt").write_bytes(Path("model").read_bytes()[:500])
    got, out, err = run(*words.split())
    assert (got, out) == (code, "")
    *warnings, sentence = err.splitlines()
    assert all(line.startswith("onkel: warning: ") for line in warnings)
    assert sentence.startswith("onkel: ") and said in sentence
    assert not Path("m").exists()


@loop
@pytest.mark.parametrize(
    "words", ["", "fit", "fit two.txt -o m --budget many", "nonsense", "fit two.txt -o m --task no"]
)
def test_wrong_calls_end_with_2_and_the_usage(run, words):
    code, out, err = run(*words.split())
    assert code == 2 and "Usage: onkel" in err + out and "Traceback" not in err


def test_nothing_to_read_from(folder):
    words = [warm.python(), "-m", "onkel", "fit", "-", "-o", "m"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "onkel: standard input has no rows\n")
    closed = subprocess.run(["sh", "-c", f"'{sys.executable}' -m onkel fit - -o m <&-"], capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (1, "onkel: standard input is closed\n")


# -- pipes, terminals, Ctrl-C


def test_a_reader_that_has_enough_is_no_error(run, folder):
    Path("long.txt").write_text(Path("two.txt").read_text() * 30)
    run("fit", "two.txt", "-l", "rbp", "-o", "model")
    script = f"set -o pipefail; '{warm.python()}' -m onkel predict model long.txt | head -n 2"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.split()) == 2 and done.stderr == ""


def test_a_pipe_with_a_name_is_read_once(run, folder):
    run("fit", "two.txt", "-l", "rbp", "--n-features", "3", "-o", "one")
    script = f"'{sys.executable}' -m onkel fit <(cat two.txt) -l rbp -o other"
    subprocess.run(["bash", "-c", script], check=True, capture_output=True)
    assert (onkel.load("one").dual_coef_ == onkel.load("other").dual_coef_).all()


class Drip(io.RawIOBase):
    """A pipe that brings a few rows at a time."""

    def __init__(self, text):
        self.text = text

    def readable(self):
        return True

    def readinto(self, buffer):
        piece, self.text = self.text[:500], self.text[500:]
        buffer[: len(piece)] = piece
        return len(piece)


def test_a_slow_pipe_makes_the_same_model(run):
    run("fit", "two.txt", "-l", "rbp", "--n-features", "3", "-o", "one")
    pipe = io.TextIOWrapper(io.BufferedReader(Drip(Path("two.txt").read_bytes())))
    assert run("fit", "-", "-l", "rbp", "--n-features", "3", "-o", "other", stdin=pipe)[0] == 0
    assert Path("one").read_bytes() == Path("other").read_bytes()


def test_without_a_terminal_there_are_no_control_codes(folder):
    words = ["compare", "two.txt", "-l", "spa,rbp", "--budget", "50"]
    done = subprocess.run([warm.python(), "-m", "onkel", *words], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "\x1b" not in done.stdout and "\r" not in done.stdout


def test_in_a_terminal_the_run_can_be_watched(folder):
    ours, theirs = pty.openpty()
    Path("long.txt").write_text(Path("two.txt").read_text() * 60)
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [warm.python(), "-m", "onkel", "evaluate", "long.txt", "-l", "polk", "--budget", "100"]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, text=True, env=environment) as process:
        os.close(theirs)
        watched = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            watched += piece
        out = process.stdout.read()
        assert process.wait() == 0
    os.close(ours)
    for word in (b"rows", b"accuracy", b"support vectors", b"rows/s", b"left"):
        assert word in watched, word
    assert "72,000" in out and "\x1b" not in out


def test_the_time_left_is_reckoned_from_rows_not_from_bytes_read_ahead(folder):
    with onkel.streams.open("two.txt", chunk_rows=300) as stream:
        assert [stream.fraction() for _ in stream] == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.02)


def started(*words):
    return subprocess.Popen([*COMMAND, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE)


def interrupted(process):
    process.send_signal(signal.SIGINT)
    err = process.stderr.read().decode()
    process.stdin.close()
    process.stderr.close()
    assert process.wait() == 130
    return err


def test_ctrl_c_says_where_it_stopped_and_saves_the_model(folder):
    process = started("fit", "-", "-l", "rbp", "--budget", "50", "-o", "model")
    text = Path("two.txt").read_bytes()
    for _ in range(-(-4_000_000 // len(text))):  # more than buffers hold: most of it has been learned from
        process.stdin.write(text)
    process.stdin.flush()
    err = interrupted(process)
    stopped = re.fullmatch(r"onkel: interrupted after row ([\d,]+); the model of these rows is in model\n", err)
    assert stopped, err
    assert onkel.load("model").t_ == int(stopped[1].replace(",", "")) > 1000


def test_a_run_with_checkpoints_goes_on_where_it_was_interrupted(folder, run):
    text = Path("two.txt").read_bytes() * 20
    Path("long.txt").write_bytes(text)
    quick = ["-l", "rbp", "--n-features", "3", "--budget", "50"]
    words = [*quick, "--checkpoint", "run", "--every", "5000", "-o", "model"]
    process = started("fit", "-", *words)
    half = text[: text.index(b"\n", len(text) // 2) + 1]
    process.stdin.write(half)
    process.stdin.flush()
    while not list(Path().glob("run/rows-*")):
        assert process.poll() is None
        time.sleep(0.05)
    err = interrupted(process)
    pattern = (
        r"onkel: interrupted after row [\d,]+; the checkpoint of row ([\d,]+) is in run: the same command resumes .*\n"
    )
    found = re.fullmatch(pattern, err)
    assert found and int(found[1].replace(",", "")) % 5000 == 0
    assert not Path("model").exists()
    assert run("fit", "-", *words, stdin=text.decode())[0] == 0
    assert run("fit", "-", *quick, "-o", "whole", stdin=text.decode())[0] == 0
    assert Path("model").read_bytes() == Path("whole").read_bytes()
    # Once more: nothing is left to learn, and the model is the same.
    assert run("fit", "-", *words, stdin=text.decode())[0] == 0
    assert Path("model").read_bytes() == Path("whole").read_bytes()


def test_ctrl_c_shows_what_there_is_of_a_comparison(folder):
    process = subprocess.Popen(
        [*COMMAND, "compare", "-", "-l", "spa,rbp", "--budget", "50"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    text = Path("two.txt").read_bytes()
    for _ in range(-(-4_000_000 // len(text))):
        process.stdin.write(text)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out = process.stdout.read().decode()
    err = interrupted(process)
    process.stdout.close()
    assert re.fullmatch(r"onkel: interrupted after row [\d,]+; the results are those of the rows so far\n", err)
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["learner", "spa", "rbp"]


# -- starting


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_loads_nothing_slow(words):
    program = (
        "import sys\nfrom onkel.cli import main\n"
        f"sys.argv = ['onkel', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\nprint('LOADED', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    shown, _, loaded = done.stdout.partition("LOADED")
    core = set() if words == ["--version"] else {"onkel._core"}  # which alone knows the instruction set
    assert not ({"numpy", "scipy", "sklearn", "rich.console"} | core) & set(loaded.split())
    said = f"onkel {onkel.__version__}, instruction set {onkel.isa}"
    assert shown.strip() == said if words == ["--version"] else "Examples:" in shown


def test_without_its_libraries_the_command_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("onkel.cli._")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert capsys.readouterr().err == "onkel: the command needs typer: pip install 'onkel[cli]'\n"
