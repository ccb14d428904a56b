"""Tables in other programs' hands: what the encoder does is inside of ONNX, C and JSON."""

import datetime as dt
import functools
import json
import math
import re
import subprocess

import numpy as np
import onnxruntime
import pytest

import onkel
from onkel.parts import RBF
from test_export import close, json_scores, sure

NO_DATE = np.iinfo(np.int64).min
WORDS = ["Bern", "Chur", 'a "quoted" \\ one', "Zürich", "4"]


def table(n=400, seed=0, strange=False):
    """Columns of all kinds, most with gaps; strange rows have words, dates and gaps that no row had before."""
    rng = np.random.default_rng(seed)
    age = rng.normal(100_000, 0.5, n).astype(np.float32).astype(np.float64)
    town = np.array(WORDS + ["rare"] * strange, object)[rng.integers(0, len(WORDS) + strange, n)]
    late = rng.random(n) < 0.3
    micros = rng.integers(-(10**14), 2 * 10**14 if strange else 10**14, n)
    since = micros.astype("datetime64[us]").astype(object)
    y = (age > 100_000) ^ (town == "Bern") ^ late
    gaps = rng.random((4, n)) < 0.1
    columns = {
        "age": np.where(gaps[0], np.nan, age),
        "town": np.where(gaps[1], None, town),
        "int": np.where(gaps[2], None, late.astype(object)),
        "paid on": np.where(gaps[3], None, since),
        "is new": rng.random(n) < 0.5,
        "nothing": np.full(n, None),
        "id": np.arange(n, dtype=np.float64),
        "length": np.where((rng.random(n) < 0.1) & strange, np.nan, rng.integers(0, 1000, n)),
    }
    return columns, np.where(y, "yes", "no")


def pipeline(learner=None, schema=None, **settings):
    learner = onkel.NewtonClassifier(budget=40, gamma=0.3, random_state=0) if learner is None else learner
    return onkel.make_stream_pipeline(learner, schema={"id": "drop", **(schema or {})}, **settings)


def fitted(**settings):
    columns, y = table()
    return pipeline(**settings).partial_fit(columns, y, classes=["no", "yes"])


def onnx_inputs(columns, dtype="float64"):
    """Columns as the graph takes them."""
    made = {name: np.asarray(columns[name], dtype) for name in ("age", "length", "int")}
    made |= {name: np.array([w or "" for w in columns[name]], object) for name in ("town", "nothing")}
    made["paid on"] = np.array(columns["paid on"], "datetime64[us]").astype(np.int64)
    made["is new"] = columns["is new"]
    return {name: values.reshape(-1, 1) for name, values in made.items()}


MODELS = {
    "newton": fitted,
    "relevances": lambda: fitted(
        learner=onkel.OGDClassifier(kernel=RBF(0.1, tuple(np.linspace(0.2, 1, 60))), random_state=0)
    ),
    "random features": lambda: fitted(
        learner=onkel.DualSGDClassifier(lam=0.1, budget=40, n_components=50, gamma=0.1, random_state=0)
    ),
    "linear": lambda: fitted(learner=onkel.OGDClassifier(kernel="linear", random_state=0), max_categories=3),
    "several kernels": lambda: fitted(
        learner=onkel.MultiKernelClassifier(onkel.recipes.PA(), kernels=[RBF(0.1), RBF(0.03)], random_state=0)
    ),
    "scaled behind": lambda: onkel.StreamPipeline(
        [onkel.StreamEncoder(schema={"id": "drop"}), onkel.StreamMinMaxScaler(feature_range=(1, 2))],
        onkel.OGDClassifier(kernel="linear", random_state=0),
    ).partial_fit(*table(), classes=["no", "yes"]),
}
NAMES = list(MODELS)


@functools.cache
def model_named(name):
    return MODELS[name]()


@pytest.mark.parametrize("name", NAMES)
def test_onnx_has_the_columns_of_a_table_as_inputs(name):
    model = model_named(name)
    columns, _ = table(300, seed=1, strange=True)
    expected, clear = model.decision_function(columns), sure_rows(model, columns)
    for dtype, tolerance in (("float64", 1e-9), ("float32", 2e-5)):
        proto = onkel.export.to_onnx(model, dtype=dtype)
        assert sorted(value.name for value in proto.graph.input) == sorted(columns.keys() - {"id"})
        session = onnxruntime.InferenceSession(proto.SerializeToString())
        label, scores = session.run(["label", "scores"], onnx_inputs(columns, dtype))
        close(scores[clear], expected[clear], tolerance)
        np.testing.assert_array_equal(label[clear], model.predict(columns)[clear])


def sure_rows(model, columns):
    clear = sure(model.estimator_, model._transformed(columns), 1e-4)
    assert clear.mean() > 0.9
    return clear


def in_c(model, columns, folder, dtype="float64"):
    """Scores of a program in C that holds the rows of the table as its own text."""
    (folder / "model.h").write_text(onkel.export.to_c(model, dtype=dtype))
    number = lambda value: "NAN" if math.isnan(value) else f"{value!r}{'f' * (dtype == 'float32')}"  # noqa: E731
    quoted = lambda word: "0" if word is None else json.dumps(word, ensure_ascii=False)  # noqa: E731
    micros = np.array(columns["paid on"], "datetime64[us]").astype(np.int64).tolist()
    rows = [
        f"{{{number(age)}, model_code_town({quoted(town)}), {-1 if late is None else int(late)}, "
        f"{'LLONG_MIN' if paid == NO_DATE else f'{paid}LL'}, {int(new)}, -1, {number(length)}}}"
        for age, town, late, paid, new, length in zip(
            columns["age"].tolist(),
            columns["town"],
            columns["int"],
            micros,
            columns["is new"],
            columns["length"].tolist(),
            strict=True,
        )
    ]
    real = "double" if dtype == "float64" else "float"
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\nint main(void) {\n  int i;\n'
        f"  const model_row rows[] = {{{','.join(rows)}}};\n"
        f"  for (i = 0; i < {len(rows)}; ++i) {{\n    {real} x[MODEL_N_FEATURES], s[MODEL_N_SCORES];\n"
        '    model_encode(&rows[i], x);\n    model_scores(x, s);\n    printf("%.17g %d\\n", (double)s[0], '
        "model_predict(x));\n  }\n  return 0;\n}\n"
    )
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-O0", "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    out = subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout
    return np.array([line.split() for line in out.splitlines()], np.float64).T


@pytest.mark.parametrize("name", NAMES)
def test_c_encodes_the_rows_of_a_table(name, tmp_path):
    model = model_named(name)
    columns, _ = table(60, seed=1, strange=True)
    expected, clear = model.decision_function(columns), sure_rows(model, columns)
    scores, labels = in_c(model, columns, tmp_path)
    close(scores[clear], expected[clear], 1e-9)
    np.testing.assert_array_equal(model.classes_[labels[clear].astype(int)], model.predict(columns)[clear])


def test_c_in_float_bears_a_large_mean(tmp_path):
    model = model_named("relevances")
    columns, _ = table(60, seed=1)
    close(in_c(model, columns, tmp_path, "float32")[0], model.decision_function(columns), 1e-5)


def encoded_by_hand(column, value):
    """docs/deploy.md's words on columns, one by one."""
    missing = value is None or value != value
    numbers = [0.0] * column["places"]
    if missing and column["places"] == 1 and column["kind"] != "category":
        numbers = [column["gap"]]
    elif not missing and column["kind"] == "number":
        numbers = [(value - column["shift"]) * column["factor"]]
    elif not missing and column["kind"] == "boolean":
        numbers = [float(value)]
    elif not missing and column["kind"] == "category":
        place = column["words"].index(value) if value in column["words"] else column["places"] - 1
        numbers[place] = 1.0
        if value in column["targets"]:
            own = column["targets"][value]
            numbers[-1 - len(own) : -1] = own
    elif not missing:
        turns = [(value.month - 1) / 12, value.weekday() / 7, value.hour / 24]
        micros = (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
        numbers = [f(2 * math.pi * turn) for turn in turns for f in (math.cos, math.sin)]
        numbers.append((micros - column["origin"]) / (365.25 * 86_400_000_000))
    return numbers + [float(missing)] * column["indicator"]


@pytest.mark.parametrize("name", NAMES)
def test_json_says_how_columns_become_numbers(name):
    model = model_named(name)
    columns, _ = table(60, seed=1, strange=True)
    read = json.loads(onkel.export.to_json(model))
    rows = np.array(
        [[number for c in read["columns"] for number in encoded_by_hand(c, columns[c["name"]][i])] for i in range(60)]
    )
    clear = sure_rows(model, columns)
    close(np.array([json_scores(read, x)[0] for x in rows])[clear], model.decision_function(columns)[clear], 1e-9)


def test_places_that_no_word_took_are_not_exported():
    """32 places a category would be 32 numbers a point in a small device; a scaler may need them."""
    text = onkel.export.to_c(model_named("newton"))
    assert int(re.search(r"MODEL_N_FEATURES (\d+)", text)[1]) == 2 + (5 + 2) + 2 + 8 + 1 + 2 + 1
    text = onkel.export.to_c(model_named("scaled behind"))
    assert int(re.search(r"MODEL_N_FEATURES (\d+)", text)[1]) > 60


def test_what_a_format_lacks_is_refused_by_name():
    model = fitted()
    for export in (onkel.export.to_libsvm, onkel.export.to_libsvm_range):
        with pytest.raises(
            ValueError, match="column 'age' is of kind 'number\\?'; export the model as onnx, c or json"
        ):
            export(model)
    words = pipeline(schema={"town": "text"}).partial_fit(*table())
    for export in (onkel.export.to_onnx, onkel.export.to_c, onkel.export.to_json):
        with pytest.raises(ValueError, match="column 'town' is text, whose words are hashed, which cannot be exported"):
            export(words)
    for name in ("label", "scores", "/onkel/sub_1"):
        named = onkel.make_stream_pipeline(onkel.OGDClassifier()).partial_fit({name: [1.0, 2.0]}, [0, 1])
        with pytest.raises(ValueError, match=f"an input of ONNX cannot have the name of the column '{name}'"):
            onkel.export.to_onnx(named)


def test_an_empty_word_is_a_gap_unless_it_was_learned():
    for words, gap in ((["", "a"] * 20, False), (["b", "a"] * 20, True)):
        model = onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=1.0)).partial_fit({"w": words}, [0, 1] * 20)
        session = onnxruntime.InferenceSession(onkel.export.to_onnx(model, dtype="float64").SerializeToString())
        found = session.run(["scores"], {"w": np.array([[""]], object)})[0]
        close(found, model.decision_function({"w": [None if gap else ""]}), 1e-12)


def test_a_table_of_numbers_has_ranges_for_libsvm():
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(5, 2, 100), "b": rng.normal(-1, 3, 100)}
    model = onkel.make_stream_pipeline(onkel.OGDClassifier(gamma=1.0)).partial_fit(columns, columns["a"] > 5)
    assert onkel.export.to_libsvm_range(model).startswith("x\n-1 1\n1 ")
    assert onkel.export.to_libsvm(model, scaled=True).startswith("svm_type c_svc")


def test_a_calibrated_table_goes_to_c(tmp_path):
    columns, y = table()
    inside = pipeline(onkel.OGDClassifier(gamma=0.1, random_state=0))
    model = onkel.PlattClassifier(inside).fit(columns, y)
    columns, _ = table(60, seed=1)
    scores, labels = in_c(model, columns, tmp_path)
    close(scores, model.estimator_.decision_function(columns), 1e-9)
    agree = model.classes_[labels.astype(int)] == model.predict(columns)
    assert agree.mean() > 0.99


def test_the_command_exports_a_table(tmp_path, monkeypatch):
    from onkel.cli._app import app

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{'ab'[i % 2]},{'yes' if i % 2 else 'no'}\n" for i in range(100))
    (tmp_path / "t.csv").write_text("n,town,buys\n" + rows)
    for words in ["fit t.csv --target buys -o t.onkel"] + [
        f"export t.onkel --to {to} -o t.{to}" for to in ("onnx", "c")
    ]:
        with pytest.raises(SystemExit) as ended:
            app(words.split(), prog_name="onkel")
        assert ended.value.code == 0
    session = onnxruntime.InferenceSession((tmp_path / "t.onnx").read_bytes())
    inputs = {"n": np.array([[1.0], [2.0]], np.float32), "town": np.array([["b"], ["a"]], object)}
    assert session.run(["label"], inputs)[0].tolist() == ["yes", "no"]
    assert "int t_code_town(const char *text)" in (tmp_path / "t.c").read_text()
