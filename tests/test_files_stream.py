"""The files of a folder or of a pattern are one stream, in the order of their names."""

import numpy as np
import pytest

import onkel
from onkel.cli._app import app


def parts(folder, form="csv", sizes=(5, 0, 30, 7)):
    """Files of rows, one after the other, and all the rows in one file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sum(sizes), 2)).round(3)
    y = (X[:, 0] > 0).astype(int)
    folder.mkdir()

    def write(path, rows):
        if form == "csv":
            lines = ["a,b,target", *(f"{X[i, 0]},{X[i, 1]},{y[i]}" for i in rows)]
        else:
            lines = [f"{y[i]} 1:{X[i, 0]} 2:{X[i, 1]}" for i in rows]
        path.write_text("".join(f"{line}\n" for line in lines))

    ends = np.cumsum([0, *sizes])
    for i in range(len(sizes)):
        write(folder / f"part-{i}.{form}", range(ends[i], ends[i + 1]))
    write(folder.parent / f"whole.{form}", range(sum(sizes)))
    (folder / "_SUCCESS").write_text("")
    return folder.parent / f"whole.{form}"


def model(stream):
    learner = onkel.OGDClassifier(gamma=0.5, random_state=0)
    for X, y in stream:
        learner.partial_fit(X, y, classes=[0, 1])
    return learner._learner.fingerprint()


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("named", ["folder", "pattern"])
def test_files_are_one_stream(named, table, tmp_path):
    whole = parts(tmp_path / "parts")
    source = tmp_path / "parts" if named == "folder" else str(tmp_path / "parts" / "part-*.csv")
    with onkel.streams.open(source, table=table, chunk_rows=4) as stream, onkel.streams.open(whole) as one:
        assert (stream.columns, stream.n_features) == (["a", "b"], 2)
        if table:
            assert sum(len(X) for X, _ in stream) == 42
        else:
            assert model(stream) == model(one)
        assert (stream.rows, stream.fraction()) == (42, 1.0)


@pytest.mark.parametrize("form", ["csv", "svm"])
def test_a_stream_of_files_goes_on_from_any_position(form, tmp_path):
    parts(tmp_path / "parts", form, sizes=(5, 6, 7))
    how = {"chunk_rows": 4, "dtype": "float64"} | ({"dense": True} if form == "svm" else {})
    with onkel.streams.open(tmp_path / "parts", **how) as stream:
        positions, chunks = [stream.position()], []
        for X, y in stream:
            chunks.append((X.tolist(), y.tolist()))
            positions.append(stream.position())
        stream.rewind()
        assert next(stream)[0].tolist() == chunks[0][0] and stream.rows == 4
    for i, position in enumerate(positions[:-1]):
        with onkel.streams.open(tmp_path / "parts", **how) as again:
            again.seek(position)
            assert [(X.tolist(), y.tolist()) for X, y in again] == chunks[i:]


def test_files_of_other_columns_and_wrong_rows_are_named(tmp_path):
    parts(tmp_path / "parts")
    (tmp_path / "parts" / "part-2.csv").write_text("a,c,target\n1,2,0\n")
    sentence = r"part-2.csv has the columns \['a', 'c'\], and .*part-0.csv has \['a', 'b'\]"
    with onkel.streams.open(tmp_path / "parts") as stream, pytest.raises(ValueError, match=sentence):
        list(stream)
    (tmp_path / "parts" / "part-2.csv").write_text("a,b,target\n1,2,1\n1,wrong,0\n")
    sentence = r"1 rows of .*parts were skipped; the first: .*part-2.csv, line 3"
    with (
        onkel.streams.open(tmp_path / "parts", on_error="skip") as stream,
        pytest.warns(RuntimeWarning, match=sentence),
    ):
        assert sum(len(X) for X, _ in stream) == 5 + 1 + 7
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty is a directory without files"):
        onkel.streams.open(tmp_path / "empty")


@pytest.mark.parametrize("data", ["parts", "parts/part-*.csv"])
def test_the_command_learns_from_many_files_and_resumes(data, tmp_path, monkeypatch):
    whole = parts(tmp_path / "parts", sizes=(100, 0, 250, 50))
    monkeypatch.chdir(tmp_path)
    app(["fit", whole.name, "-l", "ogd", "--gamma", "0.5", "-o", "one.onkel"], standalone_mode=False)
    app(["fit", data, "-l", "ogd", "--gamma", "0.5"], standalone_mode=False)  # named after the folder
    assert (tmp_path / "parts.onkel").read_bytes() == (tmp_path / "one.onkel").read_bytes()
    checkpointed = [
        "fit",
        data,
        "-l",
        "ogd",
        "--gamma",
        "0.5",
        "-o",
        "two.onkel",
        "--checkpoint",
        "ck",
        "--every",
        "120",
    ]
    app(checkpointed, standalone_mode=False)
    for path in sorted((tmp_path / "ck").iterdir())[1:]:  # as if it had been killed in the last file
        path.unlink()
    app(checkpointed, standalone_mode=False)
    assert (tmp_path / "two.onkel").read_bytes() == (tmp_path / "one.onkel").read_bytes()
