"""A service whose model has an encoder: rows with text, dates, booleans and gaps, as a person writes them."""

import numpy as np
import pandas
import pyarrow as pa

import onkel
from onkel.serve import Client
from onkel.serve._arrow import to_stream
from serving import ask, running

RNG = np.random.default_rng(5)


def table(n):
    """Rows as JSON has them, and their labels."""
    rows, labels = [], []
    for i in range(n):
        town, size = RNG.choice(["Bern", "Chur", "Genf"]), round(float(RNG.normal(80, 20)), 2)
        day = f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"
        rows.append({"town": town, "size": None if i % 9 == 4 else size, "day": day, "new": bool(i % 3)})
        labels.append("dear" if (size > 80) ^ (town == "Bern") else "cheap")
    return rows, labels


def new_model():
    return onkel.make_stream_pipeline(onkel.NewtonClassifier(budget=30, gamma=0.2, lam=0.1, random_state=0))


def newest(folder):
    return sorted(folder.glob("version-*.onkel"))[-1]


def test_rows_are_what_json_has_and_the_model_is_the_one_that_learns_alone(tmp_path):
    rows, labels = table(300)
    with running(tmp_path, {"homes": new_model()}, classes=["cheap", "dear"]) as service:
        for begin in range(0, 300, 60):
            part = {"rows": rows[begin : begin + 60], "labels": labels[begin : begin + 60]}
            assert ask(service, "POST", "/v2/models/homes/learn", part)[0] == 200
        _, _, about = ask(service, "GET", "/v2/models/homes")
        assert {each["name"]: each["datatype"] for each in about["inputs"]} == {
            "town": "BYTES",
            "size": "FP64",
            "day": "BYTES",
            "new": "BOOL",
        }
        asked = {"rows": rows[:5], "outputs": [{"name": "decision_function"}]}
        _, _, answer = ask(service, "POST", "/v2/models/homes/infer", asked)
        scores = answer["outputs"][0]["data"]
        # columns by name in any order, tensors, and Arrow say the same
        turned = [dict(reversed(row.items())) for row in rows[:5]]
        _, _, again = ask(service, "POST", "/v2/models/homes/infer", {**asked, "rows": turned})
        tensors = [
            {"name": each["name"], "shape": [5], "datatype": each["datatype"], "data": data}
            for each, data in ((each, [row[each["name"]] for row in rows[5:10]]) for each in about["inputs"])
        ]
        tensors[1]["data"] = [80.0 if value is None else value for value in tensors[1]["data"]]
        status, _, by_tensors = ask(service, "POST", "/v2/models/homes/infer", {"inputs": tensors})
        assert status == 200 and len(by_tensors["outputs"][0]["data"]) == 5
        stream = to_stream({name: pa.array([row[name] for row in rows[:5]]) for name in rows[0]})
        path = "/v2/models/homes/infer?outputs=decision_function"
        headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
        status, _, body = ask(service, "POST", path, stream, headers)
        assert status == 200
        assert pa.ipc.open_stream(body).read_all()["decision_function"].to_pylist() == scores
        assert again["outputs"][0]["data"] == scores
    served = onkel.load(newest(tmp_path / "homes"))
    alone = new_model().partial_fit(rows[:60], labels[:60], classes=["cheap", "dear"])
    for begin in range(60, 300, 60):
        alone.partial_fit(rows[begin : begin + 60], labels[begin : begin + 60])
    assert served.t_ == 300
    assert served.decision_function(rows).tolist() == alone.decision_function(rows).tolist()
    assert served.decision_function(rows[:5]).tolist() == scores


def test_a_log_of_tables_is_learned_again_to_the_bit(tmp_path):
    rows, labels = table(120)
    paths = []
    for name, stops in (("whole", ()), ("killed", (40, 80))):
        folder = tmp_path / name
        for begin in range(0, 120, 40):
            with running(folder, {"m": new_model()}, classes=["cheap", "dear"]) as service:
                body = {"rows": rows[begin : begin + 40], "labels": labels[begin : begin + 40]}
                assert ask(service, "POST", "/v2/models/m/learn", body)[0] == 200
                if begin + 40 in stops:  # what a kill leaves: the log, and no version of its rows
                    service.models["m"]._store.is_newest_complete = lambda: True
        paths.append(newest(folder / "m"))
    whole, killed = (onkel.load(path) for path in paths)
    assert whole.decision_function(rows).tolist() == killed.decision_function(rows).tolist()
    assert whole.t_ == killed.t_ == 120


def test_a_label_may_come_later_and_a_wrong_value_is_refused_by_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(onkel.preprocess.deciding, "FIRST_ROWS", 50)
    rows, labels = table(100)
    with running(tmp_path, {"m": new_model()}, classes=["cheap", "dear"]) as service:
        with Client(f"http://127.0.0.1:{service.port}", model="m") as client:
            client.learn(rows, labels)
            client.predict(rows[:2], id="two")
            assert client.label("two", labels[:2]) == 2
            frame = pandas.DataFrame(rows).assign(day=pandas.to_datetime([row["day"] for row in rows]))
            assert client.predict(frame).tolist() == client.predict(rows).tolist()
        for wrong, sentence in (
            ({**rows[0], "sise": 3}, "row 1 has a field 'sise' too many"),
            ({"town": "Bern"}, "row 1 has no field 'size'"),
            ({**rows[0], "town": ["Bern"]}, "row 1, field 'town': expected a number, text, true, false or null"),
        ):
            for path, more in (("learn", {"labels": labels[:2]}), ("infer", {})):
                status, _, answer = ask(service, "POST", f"/v2/models/m/{path}", {"rows": [rows[0], wrong], **more})
                assert (status, answer.get("row")) == (422, 1), answer
                assert sentence in answer["error"]
        assert service.models["m"].snapshot.rows == 102


def test_rows_without_names_have_numbered_columns_and_giants_are_refused(tmp_path):
    with running(tmp_path, {"m": new_model()}) as service:
        status, _, answer = ask(service, "POST", "/v2/models/m/learn", {"rows": [[10**400]], "labels": ["a"]})
        assert status == 422 and "row 0, column 0 ('0'); expected a finite number" in answer["error"]
        assert ask(service, "POST", "/v2/models/m/learn", {"rows": [[1.5, "Bern"]], "labels": ["a"]})[0] == 200
        assert service.models["m"].snapshot.names == ("0", "1")
