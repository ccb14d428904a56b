"""The command on real tables: names, categories, gaps, dates, weights, and what it says of the result."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import onkel
import onkel.cli._show
from onkel.cli import main

TOWNS = ("Bern", "Chur", "Genf")


def customers(n=400, seed=0, target=True):
    rng = np.random.default_rng(seed)
    age, town, late = rng.normal(45, 12, n), rng.integers(3, size=n), rng.random(n) < 0.3
    days = rng.integers(0, 700, n)
    leaves = (age < 40) ^ (town == 0)
    lines = ["customer,age,town,since,late,importance,churn" if target else "customer,late,since,town,age"]
    for i in range(n):
        since = str(np.datetime64("2022-01-01") + days[i])
        shown = "" if rng.random() < 0.05 else f"{age[i]:.1f}"
        place = "NA" if rng.random() < 0.05 else TOWNS[town[i]]
        word = "true" if late[i] else "false"
        row = [f"c{i}", shown, place, since, word, f"{1 + i % 2}", "yes" if leaves[i] else "no"]
        lines.append(",".join(row if target else [row[0], row[4], row[3], row[2], row[1]]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("customers.csv").write_text(customers())
    Path("new.csv").write_text(customers(20, seed=1, target=False))

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["onkel", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


def table_of(path, **options):
    with onkel.streams.open(path, drop=["customer"], table=True, **options) as stream:
        return next(stream)


QUICK = ("--budget", 40, "--gamma", 0.1, "--set", "lam=0.01")


def test_a_table_needs_nothing_but_its_name(run):
    code, out, err = run("fit", "customers.csv", "--drop", "customer,importance", *QUICK)
    assert (code, out) == (0, "")
    assert re.match(
        r"onkel: customers.onkel: NewtonClassifier of 400 rows, 40 support vectors; progressive accuracy", err
    )
    model = onkel.load("customers.onkel")
    assert model.feature_names_in_.tolist() == ["age", "town", "since", "late"]
    assert model.transformers_[0].schema_ == {
        "age": "number?", "town": "category?", "since": "date", "late": "boolean",
    }  # fmt: skip
    said = run("info", "customers.onkel")[1]
    assert "columns          age number?, town category?, since date, late boolean" in said
    by_hand = onkel.make_stream_pipeline(onkel.NewtonClassifier(budget=40, gamma=0.1, lam=0.01, random_state=0))
    for X, y in onkel.streams.open("customers.csv", drop=["customer", "importance"], table=True, chunk_rows=90):
        by_hand.partial_fit(X, y, classes=["no", "yes"])
    assert by_hand.estimator_._fingerprint() == model.estimator_._fingerprint()


def test_columns_are_found_by_name(run):
    run("fit", "customers.csv", "--drop", "importance", "--id", "customer", *QUICK)
    code, out, err = run("predict", "customers.onkel", "new.csv", "--id", "customer")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert [name for name, _ in lines] == [f"c{i}" for i in range(20)]
    model = onkel.load("customers.onkel")
    X, _ = table_of("new.csv", target=False)
    assert [label for _, label in lines] == model.predict(X).tolist()
    first = json.loads(run("predict", "customers.onkel", "new.csv", "--id", "customer", "--json")[1].splitlines()[0])
    assert first == {"id": "c0", "prediction": lines[0][1]}
    code, out, err = run("predict", "customers.onkel", "customers.csv", "--drop", "customer,importance")
    assert code == 0 and re.fullmatch(r"onkel: 400 rows, [89]\d[.]\d+ % right\n", err)
    scored = out
    code, _, err = run("predict", "customers.onkel", "customers.csv", "--drop", "customer,importance,town")
    assert code == 1 and "has no column 'town': the model's columns are 'age', 'town'" in err
    code, _, err = run("predict", "customers.onkel", "customers.csv")
    assert code == 1 and "has a column 'customer' too many" in err and "(--drop customer,importance,churn leaves" in err
    again = run("predict", "customers.onkel", "customers.csv", "--drop", "customer", "--drop", "importance")
    assert again[0] == 0 and again[1] == scored


def test_weights_and_classes_that_are_rare(run):
    words = ("--drop", "customer", *QUICK)
    assert run("fit", "customers.csv", *words, "--weight", "importance", "--class-weight", "balanced")[0] == 0
    model = onkel.load("customers.onkel")
    assert model.estimator_.class_weight == "balanced" and "importance" not in model.feature_names_in_
    X, y = table_of("customers.csv")
    again = onkel.make_stream_pipeline(model.estimator)
    again.partial_fit(X.without(["importance"]), y, classes=["no", "yes"], sample_weight=1.0 + np.arange(400) % 2)
    assert again.estimator_._fingerprint() == model.estimator_._fingerprint()
    assert run("fit", "customers.csv", *words, "--weight", "age")[2].strip().endswith("expected a finite number")
    code, _, err = run("fit", "customers.csv", *words, "--weight", "weight")
    assert code == 1 and "has no column 'weight' for --weight" in err
    code, _, err = run(
        "fit", "customers.csv", "--target", "importance", "--task", "regression", "--class-weight", "balanced"
    )
    assert code == 2 and "the task is regression, which has no classes" in err


def test_info_shows_the_names(run):
    for words in (["--raw"], ["--scale", "standard"]):
        assert run("fit", "customers.csv", "-l", "spa", "--columns", "importance", *words, "-o", "m")[0] == 0
        assert re.search(r"^columns +importance$", run("info", "m")[1], re.MULTILINE)
        assert json.loads(run("info", "m", "--json")[1])["columns"] == ["importance"]


def test_importances_have_the_names_of_columns(run):
    kernel = onkel.parts.RBF(0.1, (1.0, 2.0, 3.0))
    X = {"late": [True, False] * 20, "town": ["Bern", "Chur"] * 20}
    model = onkel.make_stream_pipeline(onkel.OGDClassifier(kernel=kernel)).partial_fit(X, [0, 1] * 20)
    onkel.save(model, "m")
    importances = json.loads(run("info", "m", "--json")[1])["importances"]
    assert importances == {"town": 1.0, "late": 0.2}
    assert model.feature_names_in_.tolist() == ["late", "town"]
    assert model.feature_importances_.tolist() == pytest.approx([1 / 6, 5 / 6])
    display = onkel.plot.ImportanceDisplay.from_estimator(model)
    assert display.names == ["late", "town"] and display.importances.tolist() == pytest.approx([0.2, 1.0])
    report = run("compare", "customers.csv", "-l", "newton", "--drop", "customer", "--set", "relevances=stream")[0]
    assert report == 0


def test_tables_that_are_not_what_they_seem(run):
    Path("empty.csv").write_text("")
    assert "empty.csv is empty" in run("fit", "empty.csv")[2]
    assert "empty.csv has no column 'y' for target: it is empty" in run("fit", "empty.csv", "--target", "y")[2]
    Path("semicolons.csv").write_text(Path("customers.csv").read_text().replace(",", ";"))
    code, _, err = run("fit", "semicolons.csv", "--target", "churn")
    assert code == 1 and err.strip().endswith("perhaps its delimiter is ';'")
    code, _, err = run("fit", "customers.csv", "--target", "churn", *QUICK)
    assert code == 0 and "warning: column 'customer' holds 32 different values or more" in err
    assert "different values" not in run("fit", "customers.csv", "--target", "churn", "--drop", "customer", *QUICK)[2]


def test_checkpoints_of_tables(run):
    words = ("fit", "customers.csv", "--drop", "customer,importance", *QUICK)
    run(*words, "-o", "whole")
    run(*words, "-o", "part", "--checkpoint", "run", "--every", 100)
    Path("run/rows-000000000400.onkel").unlink()  # as if it had been stopped after 300 rows
    assert run(*words, "-o", "again", "--checkpoint", "run", "--every", 100)[0] == 0
    assert Path("again").read_bytes() == Path("whole").read_bytes()
    assert run(*words, "-o", "shuffled", "--shuffle")[0] == 0


def test_metrics(run):
    words = ("evaluate", "customers.csv", "--drop", "customer,importance", *QUICK)
    summary = run(*words, "--metric", "auc")[1]
    assert re.search(
        r"^AUC 0[.]\d+, accuracy [\d.]+ % \(majority class [\d.]+ %\), balanced accuracy", summary, re.MULTILINE
    )
    numbers = ("evaluate", "customers.csv", "--target", "age", "--task", "regression", "--drop", "customer", *QUICK)
    code, out, err = run(*numbers, "--skip-errors")
    assert code == 0 and re.search(r"^RMSE [\d.]+, MAE [\d.]+, R² ", out, re.MULTILINE)
    code, _, err = run(*numbers, "--skip-errors", "--metric", "auc")
    assert code == 2 and "--metric auc: the task is regression" in err
    document = json.loads(run(*words, "--json")[1])["runs"][0]["curve"]
    assert {"commonest", "balanced_accuracy", "auc"} <= document.keys()


def test_warnings(run):
    rng = np.random.default_rng(0)
    noise = "\n".join(
        f"{a:.3f},{b:.3f},{c}" for a, b, c in zip(*rng.normal(size=(2, 3000)), rng.random(3000) < 0.1, strict=True)
    )
    Path("noise.csv").write_text(f"a,b,label\n{noise}\n")
    _, _, err = run("fit", "noise.csv", *QUICK)
    assert "warning: this is no better than guessing the majority class" in err
    _, _, err = run("fit", "noise.csv", "-l", "ogd", "--gamma", 30, "--set", "loss=log_loss")
    assert "support vectors without a bound: they grow with the rows; use --budget" in err
    Path("wide.csv").write_text("a,b,label\n" + "\n".join(f"{i % 7},{1e4 * (i % 5)},{i % 2}" for i in range(50)))
    _, _, err = run("fit", "wide.csv", "--raw", *QUICK)
    assert re.search(r"warning: the columns of wide.csv differ in scale by a factor of [\d,]+", err)
    assert "differ in scale" not in run("fit", "wide.csv", *QUICK)[2]


def test_files_of_other_shapes(run):
    text = Path("customers.csv").read_text()
    Path("other.csv").write_text(text.partition("\n")[2].replace(",", ";"))
    words = ("--delimiter", ";", "--no-header", "--columns", "1,2", *QUICK)
    assert run("fit", "other.csv", "-o", "one", *words)[0] == 0
    assert onkel.load("one").feature_names_in_.tolist() == ["2", "3"]
    assert (
        run("fit", "customers.csv", "-o", "two", "--columns", "age,town", "--gamma", "stream", "--budget", 20)[0] == 0
    )
    model = onkel.load("two")
    assert model.feature_names_in_.tolist() == ["age", "town"] and model.estimator_.gamma == "stream"
    one_class = "\n".join(line.replace(",yes", ",no") for line in text.splitlines())
    Path("same.csv").write_text(one_class)
    code, _, err = run("fit", "same.csv", *QUICK)
    assert code == 1 and "same.csv has one class only, no; expected two or more" in err
    Path("twice.csv").write_text("a,a,y\n1,2,0\n3,4,1\n")
    code, _, err = run("fit", "twice.csv")
    assert code == 1 and "2 columns called 'a': rename all but one" in err
    late = text + "c9,old,Bern,2022-01-01,true,1,yes\n"
    Path("late.csv").write_text(text + text.partition("\n")[2] * 11 + late.splitlines()[-1] + "\n")
    code, _, err = run("fit", "late.csv", "--drop", "customer", *QUICK)
    assert code == 0
    sentence = "column 'age' is of kind 'number', and 1 of its first 4,801 values is something else, such as 'old'"
    assert err.count(sentence) == 1 and "such as 'old': these are gaps" in err
    assert json.loads(run("info", "late.onkel", "--json")[1])["strays"] == {"age": 1}


def test_the_guess_between_classes_and_counts_is_said_and_can_be_overruled(run):
    rng = np.random.default_rng(0)
    x, visits = rng.normal(size=500), rng.integers(0, 40, 500)
    Path("visits.csv").write_text("x,visits\n" + "\n".join(f"{a:.3f},{b}" for a, b in zip(x, visits, strict=True)))
    err = run("fit", "visits.csv", *QUICK)[2]
    assert "onkel: the targets are whole numbers of 40 values: classes (--task regression: a quantity)" in err
    err = run("fit", "visits.csv", "--task", "regression", *QUICK)[2]
    assert "whole numbers" not in err and "NewtonRegressor" in err
    Path("steps.csv").write_text("x,steps\n" + "\n".join(f"{a:.3f},{i}" for i, a in enumerate(x)))
    err = run("fit", "steps.csv", *QUICK)[2]
    assert "whole numbers of more than 100 values: a quantity (--task classification: classes)" in err
    assert "NewtonRegressor" in err
    assert "whole numbers" not in run("fit", "customers.csv", *QUICK)[2]
    assert "at most 100 values" in " ".join(run("fit", "--help")[1].split())


def test_a_run_without_a_terminal_says_how_far_it_is(run, monkeypatch):
    monkeypatch.setattr(onkel.cli._show.StreamView, "EVERY", 0.0)
    words = ("fit", "customers.csv", "--drop", "customer", "--checkpoint", "run", "--every", 100, *QUICK)
    err = run(*words)[2]
    assert re.search(r"onkel: \d+ rows, (\d+ % of the stream, \d+ s left, )?accuracy \d.*, log loss 0", err), err
    assert "of the stream" not in run(*words, "--json")[2]


def test_a_folder_and_a_pattern_are_one_stream_and_probabilities_are_printed(run):
    head, *rows = Path("customers.csv").read_text().splitlines()
    Path("parts").mkdir()
    for i in range(4):
        Path(f"parts/{i}.csv").write_text("\n".join([head, *rows[100 * i : 100 * (i + 1)]]) + "\n")
    words = ("--target", "churn", "--drop", "customer,importance", *QUICK)
    for data, name in (("customers.csv", "one"), ("parts", "two"), ("parts/*.csv", "three")):
        assert run("fit", data, "-o", name, *words)[0] == 0
    one, two, three = (onkel.load(name).estimator_._fingerprint() for name in ("one", "two", "three"))
    assert one == two == three
    code, out, _ = run("predict", "two", "new.csv", "--id", "customer", "--proba")
    assert code == 0 and all(abs(sum(map(float, line.split()[1:])) - 1) < 1e-9 for line in out.splitlines())


def test_no_better_than_guessing_is_not_said_beside_a_good_auc(run):
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    rare = rng.random(4000) < 1 / (1 + np.exp(4 - 1.2 * x))
    Path("rare.csv").write_text("x,rare\n" + "\n".join(f"{a:.3f},{b}" for a, b in zip(x, rare, strict=True)))
    err = run("fit", "rare.csv", *QUICK)[2]
    assert "AUC 0." in err and "no better than guessing" not in err


def test_a_schema_says_what_columns_are(run):
    words = ("fit", "customers.csv", "--drop", "customer", *QUICK)
    assert run(*words, "--schema", "importance=category, since=drop")[0] == 0
    schema = onkel.load("customers.onkel").transformers_[0].schema_
    assert (schema["importance"], schema["since"], schema["age"]) == ("category", "drop", "number?")
    for wrong, sentence in (
        ("age", "--schema age: expected a column and its kind, such as zip=category"),
        ("age=numeric", "--schema age=numeric: expected a column and its kind"),
        ("height=number", "customers.csv has no column 'height' to learn from"),
    ):
        code, _, err = run(*words, "--schema", wrong)
        assert code == 2 and sentence in err
    assert run(*words, "--raw", "--schema", "age=number")[0] in (1, 2)


def test_info_says_what_its_facts_mean(run):
    rng = np.random.default_rng(0)
    model = onkel.NewtonClassifier(gamma=1.0, lam=0.1, budget=20, random_state=0)
    X = rng.normal(size=(3000, 2))
    model.partial_fit(X, (X[:, 0] > 0) ^ (np.arange(3000) // 200 % 2 == 1))
    onkel.save(model, "m")
    out = run("info", "m")[1]
    assert model.memory_ <= 100 and f"memory {model.memory_:.0f} rows: of a short" in out and "--set forget=1" in out
    steady = onkel.NewtonClassifier(gamma=1.0, lam=0.1, budget=20, forget=1.0).fit(X, X[:, 0] > 0)
    onkel.save(steady, "m")
    assert "--set forget=1" not in run("info", "m")[1]
