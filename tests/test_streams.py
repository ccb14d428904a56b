"""Streams: equal rows whatever the chunk, a place to go on from, and one rule for rows that are wrong."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy.sparse import csr_array

import onkel
from looping import loop
from onkel import streams
from table import in_turn

X = np.random.default_rng(0).normal(size=(100, 4))
Y = (X[:, 0] > 0).astype(int)
TEXT = "".join(
    f"{label:+d} " + " ".join(f"{i + 1}:{float(v)!r}" for i, v in enumerate(row)) + "\n"
    for label, row in zip(Y, X, strict=True)
).encode()


def zstd(content):
    """Two frames, one after the other, as `cat` makes them."""
    half = len(content) // 2
    return b"".join(pa.compress(part, "zstd", asbytes=True) for part in (content[:half], content[half:]))


CSV = "".join(",".join(map(repr, [*row, int(label)])) + "\n" for row, label in zip(X.tolist(), Y, strict=True)).encode()
TABLE = dict(zip("abcd", X.T, strict=True)) | {"label": Y}
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def written(name, content):
    def write(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return write


def saved(name, save):
    def write(folder):
        save(folder / name)
        return str(folder / name)

    return write


SOURCES = {
    "arrays": lambda folder: (X, Y),
    "sparse": lambda folder: (csr_array(X), Y),
    "lists": lambda folder: (X.tolist(), Y.tolist()),
    "rows": lambda folder: list(zip(X, Y, strict=True)),
    "chunks": lambda folder: [(X[i : i + 13], Y[i : i + 13]) for i in range(0, 100, 13)],
    "pandas": lambda folder: (pd.DataFrame(X), pd.Series(Y)),
    "polars": lambda folder: (pl.DataFrame(X), pl.Series(Y)),
    "open file": lambda folder: io.BytesIO(TEXT),
    "libsvm": written("rows.libsvm", TEXT),
    "no suffix": written("rows", TEXT),
    "csv": written("rows.csv", CSV),
    "csv with a header": written("rows.csv", b"a,b,c,d,label\n" + CSV),
    "tsv": written("rows.tsv", CSV.replace(b",", b"\t")),
    "tsv.gz": written("rows.tsv.gz", gzip.compress(b"\n\na\tb\tc\td\tlabel\r\n" + CSV.replace(b",", b"\t"))),
    "parquet": saved("rows.parquet", lambda path: parquet.write_table(pa.table(TABLE), path, row_group_size=31)),
    "feather": saved("rows.feather", lambda path: feather.write_feather(pa.table(TABLE), path, chunksize=31)),
    "npy": saved("rows.npy", lambda path: np.save(path, np.column_stack([X, Y]))),
    **{kind: written(f"rows.txt.{kind}", press(TEXT)) for kind, press in COMPRESS.items()},
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path):
    """Makes the source anew, as a program that is started again does."""
    return lambda: SOURCES[request.param](tmp_path)


def rows(stream):
    parts = list(stream)
    dense = [X.toarray() if hasattr(X, "toarray") else X for X, _ in parts]
    return np.concatenate(dense), np.concatenate([y for _, y in parts])


def test_every_source_gives_its_rows(source):
    for chunk_rows in (1, 7, 100, 4096):
        with streams.open(source(), chunk_rows=chunk_rows) as stream:
            first = next(stream)
            assert 1 <= first[0].shape[0] <= chunk_rows
            stream.rewind()
            assert stream.rows == 0
            got, labels = rows(stream)
            assert stream.rows == 100
            assert stream.fraction() in (1.0, None)
        np.testing.assert_array_equal(got, X)
        np.testing.assert_array_equal(labels, Y)


def test_a_stream_goes_on_from_a_position(source):
    stream = streams.open(source(), chunk_rows=9)
    next(stream), next(stream)
    place = stream.position()
    wanted = rows(stream)
    stream.seek(place)
    got = rows(stream)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_array_equal(a, b)


def test_checkpointer_takes_streams(source, tmp_path):
    def run(checkpointer, chunk_rows, stop=None):
        model = onkel.OGDClassifier(gamma=1.0, random_state=0)
        with streams.open(source(), chunk_rows=chunk_rows, dense=True) as stream:
            for i, (A, b) in enumerate(checkpointer.run(model, stream)):
                if i == stop:
                    break
                model.partial_fit(A, b, classes=[0, 1])
        return model

    whole = run(onkel.Checkpointer(tmp_path / "whole", every=30), 17)
    run(onkel.Checkpointer(tmp_path / "cut", every=30), 17, stop=5)
    again = run(onkel.Checkpointer(tmp_path / "cut", every=30), 11)
    assert again._fingerprint() == whole._fingerprint()
    assert again.t_ == 100


# -- rows that are wrong ----------------------------------------------------------------------------------------------


def with_a_hole(row, column=1):
    made = X.copy()
    made[row, column] = np.nan
    return made


BAD_ROWS = {
    "arrays": (lambda folder: (with_a_hole(50), Y), "a ndarray, row 51, column 2: expected a finite number, got nan"),
    "sparse": (
        lambda folder: (csr_array(with_a_hole(50)), Y),
        "a csr_array, row 51, column 2: expected a finite number, got nan",
    ),
    "pandas": (
        lambda folder: pd.DataFrame({"a": X[:, 0], "b": with_a_hole(50)[:, 1], "y": Y}),
        "a DataFrame, row 51, column 2 ('b'): expected a finite number, got nan",
    ),
    "short rows": (
        lambda folder: [*zip(X[:50], Y[:50], strict=True), (X[50, :3], 1), (X[51], 1)],
        f"a list, row 51: expected 4 numbers and a target, got {str(X[50, :3])[:60]!r}",
    ),
    "rows of text": (
        lambda folder: [*zip(X.tolist()[:50], Y[:50], strict=True), ("abcd", 1)],
        "a list, row 51: expected 4 numbers and a target, got 'abcd'",
    ),
    "csv": (
        written("rows.csv", b"a,b,c,d,label\n" + b"".join(CSV.splitlines(True)[:50]) + b"1,,3,4,1\n" + CSV[:0]),
        "rows.csv, line 52, column 2 ('b'): expected a finite number, got ''",
    ),
    "csv text": (
        written("rows.csv", b"".join(CSV.splitlines(True)[:50]) + b"1,two,3,4,1\n"),
        "rows.csv, line 51, column 2: expected a finite number, got 'two'",
    ),
    "csv target": (
        written("rows.csv", b"".join(CSV.splitlines(True)[:50]) + b"1,2,3,4,yes\n"),
        "rows.csv, line 51, column 5: expected a number as target, got 'yes'",
    ),
    "csv fields": (
        written("rows.csv", b"".join(CSV.splitlines(True)[:50]) + b"\n1,2,3,4\n"),
        "rows.csv, line 52: expected 5 fields, got 4",
    ),
    "parquet": (
        saved(
            "rows.parquet",
            lambda path: parquet.write_table(pa.table({"a": [*X[:50, 0], None, 1.0], "y": ["u"] * 52}), path),
        ),
        "rows.parquet, row 51, column 1 ('a'): expected a finite number, got nan",
    ),
    "parquet target": (
        saved(
            "rows.parquet",
            lambda path: parquet.write_table(pa.table({"a": X[:52, 0], "y": [*["u"] * 50, None, "v"]}), path),
        ),
        "rows.parquet, row 51: expected a target, got None",
    ),
}


@loop
@pytest.mark.parametrize("name", BAD_ROWS)
def test_the_rows_before_a_wrong_one_come_first(name, tmp_path):
    make, problem = BAD_ROWS[name]
    options = {"target": "y"} if name == "pandas" else {}
    for chunk_rows in (1, 20, 50, 4096):
        stream = streams.open(make(tmp_path), chunk_rows=chunk_rows, **options)
        with stream, pytest.raises(ValueError) as refusal:
            list(stream)
        assert str(refusal.value).endswith(problem)
        assert stream.rows == 50


@loop
@in_turn({"chunk_rows": [1, 20, 4096]}, name=BAD_ROWS)
def test_wrong_rows_can_be_skipped(name, chunk_rows, tmp_path):
    make, problem = BAD_ROWS[name]
    options = {"target": "y"} if name == "pandas" else {}
    with streams.open(make(tmp_path), chunk_rows=chunk_rows, on_error="skip", **options) as stream:
        with pytest.warns(RuntimeWarning, match="1 rows of .* were skipped"):
            got, labels = rows(stream)
        assert len(got) == stream.rows
        assert np.isfinite(got).all()
        assert (stream.skipped, len(stream.problems)) == (1, 1)
        assert stream.problems[0].endswith(problem)
        place = stream.position()
        stream.seek(place)
        with pytest.warns(RuntimeWarning, match="skipped"):
            assert next(stream, None) is None  # a position counts what was skipped
    assert labels.dtype.kind in "ifU"


def test_columns_by_name_and_by_number(tmp_path):
    source = written("rows.csv", b"a,b,c,d,label\n" + CSV)(tmp_path)
    for target, columns in (("label", ["d", "b"]), (4, [3, 1]), (-1, ["d", -4])):
        with streams.open(source, target=target, columns=columns) as stream:
            got, labels = rows(stream)
            assert stream.columns == ["d", "b"]
        np.testing.assert_array_equal(got, X[:, [3, 1]])
        np.testing.assert_array_equal(labels, Y)
    with streams.open(source, target=False) as stream:
        chunk, y = next(stream)
        assert chunk.shape == (100, 5)
        assert y is None


@loop
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "lable"}, "has no column 'lable' for target; it has 'a', 'b', 'c', 'd', 'label'"),
        ({"target": 5}, "has 5 columns, and target asks for number 5 (they begin at 0)"),
        ({"columns": ["a", "label"]}, "column 'label' cannot be both the target and a feature"),
        ({"columns": []}, "has no column for features beside the target"),
        ({"n_features": 4}, "n_features is for libsvm, and the source is csv"),
        ({"zero_based": True}, "zero_based is for libsvm, and the source is csv"),
        ({"delimiter": "::"}, "delimiter must be one character, got '::'"),
        ({"chunk_rows": 0}, "chunk_rows must be an integer of at least 1, got 0"),
        ({"on_error": "ignore"}, "on_error must be one of 'raise', 'skip', got 'ignore'"),
        ({"format": "excel"}, "format must be one of"),
        ({"dtype": "int8"}, "dtype must be one of 'float64', 'float32', got 'int8'"),
        ({"target": True}, "target must be a column's name or number, False or None, got True"),
        ({"format": "libsvm", "header": True}, "header is for csv, tsv, and the source is libsvm"),
        ({"format": "libsvm", "target": "a"}, "the target of LIBSVM text is its label"),
        ({"format": "parquet"}, "is not a Parquet file"),
        ({"format": "arrow"}, "is not an Arrow file"),
        ({"format": "npy"}, "is not an .npy file that can be mapped"),
    ],
)
def test_refusals(options, sentence, tmp_path):
    source = written("rows.csv", b"a,b,c,d,label\n" + CSV)(tmp_path)
    with pytest.raises(ValueError) as refusal:
        streams.open(source, **options)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


MIXED = {"age": [1], "sex": ["M"], "y": [0]}
TEXT_COLUMN = "holds {}, and features must be numbers: encode it first, or choose other columns with columns="


@loop
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (written("rows.csv", b"age,sex,y\n1,M,0\n2,F,1\n"), "text such as 'M'"),
        (
            saved("rows.parquet", lambda p: parquet.write_table(pa.table({"age": [1], "sex": ["M"], "y": [0]}), p)),
            "string",
        ),
        (
            saved("rows.arrow", lambda p: feather.write_feather(pa.table({"age": [1], "sex": ["M"], "y": [0]}), p)),
            "string",
        ),
        (lambda folder: pd.DataFrame({"age": [1], "sex": pd.Categorical(["M"]), "y": [0]}), "category"),
        (lambda folder: pd.DataFrame({"age": [1], "sex": pd.to_datetime(["2020-01-01"]), "y": [0]}), "datetime64"),
        (lambda folder: pl.DataFrame(MIXED), "String"),
    ],
)
def test_features_that_are_no_numbers(make, what, tmp_path):
    with pytest.raises(ValueError) as refusal:
        streams.open(make(tmp_path), target="y")
    before, after = TEXT_COLUMN.format("@").split("@")
    assert re.search(re.escape(f"column 2 ('sex') {before}{what}") + ".*" + re.escape(after), str(refusal.value))
    with streams.open(make(tmp_path), target="y", columns=["age"]) as stream:
        assert next(stream)[0].tolist()[0] == [1]


def test_text_labels_stay_text(tmp_path):
    for make in (
        written("rows.data.csv", b"1,2,g\n3,4,hadron\n"),
        saved(
            "r.parquet", lambda p: parquet.write_table(pa.table({"a": [1, 3], "b": [2, 4], "y": ["g", "hadron"]}), p)
        ),
    ):
        with streams.open(make(tmp_path), chunk_rows=1) as stream:
            chunks = list(stream)
        assert [y.tolist() for _, y in chunks] == [["g"], ["hadron"]]
        assert all(y.dtype.kind == "U" for _, y in chunks)


def test_dtypes(tmp_path):
    for source, expected in (
        ((X.astype("float32"), Y), "float32"),
        ((X.astype("float16"), Y), "float64"),
        ((np.arange(4).reshape(2, 2), [0, 1]), "float64"),
        (SOURCES["parquet"](tmp_path), "float64"),
        (written("x.csv", CSV)(tmp_path), "float64"),
    ):
        for dtype in (None, "float32", "float64"):
            with streams.open(source, dtype=dtype) as stream:
                assert next(stream)[0].dtype == (dtype or expected)
    stream = streams.open(written("x.csv", b"1e300,1\n")(tmp_path), dtype="float32")
    with stream, pytest.raises(ValueError, match="line 1, column 1: expected a finite number, got '1e300'"):
        next(stream)


@loop
@pytest.mark.parametrize("kind", COMPRESS)
def test_a_file_that_ends_in_the_middle(kind, tmp_path):
    content = COMPRESS[kind](TEXT)
    path = written(f"rows.{kind}", content[: len(content) // 2])(tmp_path)
    with pytest.raises(ValueError, match=r"rows.* is broken after byte"):
        rows(streams.open(path))
    path = written(f"other.{kind}", TEXT)(tmp_path)
    with pytest.raises(ValueError, match=r"other.* is broken after byte 0"):
        list(streams.open(path))


def test_missing_files_and_packages(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        streams.open(tmp_path / "nothing")
    for name in list(sys.modules):
        if name.partition(".")[0] == "pyarrow":
            monkeypatch.setitem(sys.modules, name, None)
    for name, what in {"a.csv": "CSV text", "a.parquet": "a Parquet file", "a.arrow": "an Arrow file"}.items():
        with pytest.raises(ImportError) as refusal:
            streams.open(written(name, CSV)(tmp_path))
        assert str(refusal.value) == f"{what} needs the package pyarrow: pip install 'onkel[streams]'"
    with pytest.raises(ImportError, match=r"zstd needs the package pyarrow: pip install 'onkel\[streams\]'"):
        streams.open(written("a.zst", b"")(tmp_path))


def test_an_iterator_is_read_once():
    stream = streams.open(iter(list(zip(X, Y, strict=True))), chunk_rows=30)
    next(stream)
    place = stream.position()
    next(stream)
    with pytest.raises(ValueError, match="a list_iterator can be read only once, and its row 31 has been read"):
        stream.seek(place)
    fresh = streams.open(iter(list(zip(X, Y, strict=True))), chunk_rows=7)
    fresh.seek(place)  # forward is always possible
    np.testing.assert_array_equal(rows(fresh)[0], X[30:])


@loop
@pytest.mark.parametrize("position", [None, {}, {"rows": 1}, {"rows": -1, "skipped": 0}, {"rows": 0.5, "skipped": 0}])
def test_positions_are_checked(position):
    with pytest.raises(ValueError, match="position"):
        streams.open((X, Y)).seek(position)


def test_a_position_beyond_the_end(source):
    with streams.open(source()) as stream:
        place = dict.fromkeys(stream.position(), 10**6)
        with pytest.raises(ValueError, match="another"):
            stream.seek(place)


def test_sources_that_are_none():
    for source, sentence in (
        (5, "expected a path, arrays or an iterable of rows to stream, got a int"),
        ([1, 2, 3], r"expected rows \(x, y\) or chunks \(X, y\), got a int"),
        ((X, Y[:50]), "y must have one target for each of the 100 rows"),
        ((np.empty((0, 3)), []), "a ndarray has no rows"),
        ([], "a list has no rows"),
        ([(X, Y), (X, Y[:3])], "a list, the chunk after row 100: y must have one target for each of the 100 rows"),
    ):
        with pytest.raises(ValueError, match=sentence):
            list(streams.open(source))


def test_fractions_grow_to_one(source):
    with streams.open(source(), chunk_rows=10) as stream:
        seen = [stream.fraction() for _ in stream]
    if seen[0] is not None:
        assert seen == sorted(seen)
        assert 0 < seen[0] <= seen[-1] == 1


def test_a_pipe_is_read_as_it_comes():
    """Rows that are there are handed out before the pipe ends, once the width is known."""
    program = (
        "import onkel\nfor X, y in onkel.streams.open('-', n_features=2): print(X.shape[0], int(y[-1]), flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for i in range(3):
            process.stdin.write(b"%d 1:1\n" % i)
            process.stdin.flush()
            assert process.stdout.readline().split()[1] == b"%d" % i
        process.stdin.close()
    assert process.returncode == os.EX_OK


# -- memory -----------------------------------------------------------------------------------------------------------

FLAT = """
import sys, onkel

def peak():  # of this program: what getrusage says includes the memory of the process that started it
    with open("/proc/self/status") as facts:
        return next(line.split()[1] for line in facts if line.startswith("VmHWM:"))

path, n_rows = sys.argv[1], int(sys.argv[2])
peaks = []
model = onkel.StreamPipeline(
    onkel.StreamStandardScaler(), onkel.SPAClassifier(eta=0.1, beta=10, budget=50, gamma=1.0, random_state=0)
)
with onkel.streams.open(path, n_features=3, dense=True) as stream:  # without a width a short file is held at once
    for X, y in stream:
        model.partial_fit(X, y, classes=[-1, 1])
        if not peaks and stream.fraction() > 0.1:
            peaks.append(peak())
peaks.append(peak())
assert model.t_ == n_rows, model.t_
print(*peaks)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
def test_a_long_file_streams_in_flat_memory(tmp_path):
    """ONKEL_STREAM_ROWS sets how many rows (`make flat`: ten million)."""
    n_rows = int(os.environ.get("ONKEL_STREAM_ROWS", "500000"))
    X, y = next(streams.generators.hyperplane(10_000, n_features=3, chunk_rows=10_000))
    lines = "".join(
        f"{2 * label - 1:+d} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f}\n" for (a, b, c), label in zip(X, y.tolist(), strict=True)
    ).encode()
    path = tmp_path / "long.libsvm"
    with open(path, "wb") as file:
        for _ in range(n_rows // 10_000):
            file.write(lines)
    done = subprocess.run([sys.executable, "-c", FLAT, path, str(n_rows)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tenth, whole = (int(kilobytes) for kilobytes in done.stdout.split())
    print(f"{n_rows} rows: a peak of {tenth >> 10} MB at a tenth of the file, of {whole >> 10} MB at its end")
    assert whole - tenth < 4 << 10
