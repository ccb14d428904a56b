"""LIBSVM text: exact numbers, equal rows however the bytes arrive, and a sentence for each line that is wrong."""

import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import warm
from looping import loop
from onkel import _core, streams
from onkel.streams import _libsvm
from onkel.streams._bytes import Bytes


def read(text, **options):
    """All rows of a text: X (CSR), y and the stream."""
    stream = streams.open(io.BytesIO(text), **{"chunk_rows": 2**20, **options})
    chunks = list(stream)
    assert len(chunks) == 1
    return *chunks[0], stream


def only(text, **options):
    """The one row of a text, dense, and its label."""
    X, y, _ = read(text, dense=True, **options)
    assert X.shape[0] == 1
    return X[0].tolist(), None if y is None else y[0]


# -- what is right ----------------------------------------------------------------------------------------------------


@loop
@pytest.mark.parametrize(
    ("text", "row", "label"),
    [
        (b"1 1:2 3:4\n", [2, 0, 4], 1),
        (b"+1 1:+2\n", [2], 1),
        (b"-1.5e1 1:-2.5\n", [-2.5], -15),
        (b"3 1:.5 2:5. 3:1e-3\n", [0.5, 5, 0.001], 3),
        (b"0 1:1", [1], 0),  # no end of line
        (b"1\n", [0], 1),  # no feature at all
        (b"1 2:0\n", [0, 0], 1),
        (b"1\t1:2  2:3 \n", [2, 3], 1),
        (b"1 1:2 2:3\r\n", [2, 3], 1),
        (b"1 qid:7 1:2\n", [2], 1),
        (b"1 qid:7\n", [0], 1),
        (b"1 1:2 # a comment: 1:2\n", [2], 1),
        (b"1 1:2#a comment\n", [2], 1),
        (b"1 # nothing\n", [0], 1),
        (b"# a comment\n\n \t\r\n1 1:2\n\n#\n", [2], 1),
        (b"1 1:123456789012345678901234567890\n", [123456789012345678901234567890.0], 1),
        (b"1 1:0." + b"0" * 500 + b"1\n", [0], 1),  # what no double can hold, below
        (b"1 1:-1e-400\n", [-0.0], 1),
        (b"1 1:1e-99999999999999999999\n", [0], 1),
        (b"1 1:0." + b"0" * 500 + b"1e501\n", [1], 1),
        (b"1 1:4.9e-324\n", [5e-324], 1),
    ],
)
def test_a_row(text, row, label):
    assert only(text) == (row, label)


def test_indices_up_to_the_last_that_32_bits_can_number():
    X, _, _ = read(b"1 2147483647:5\n")
    assert X.shape == (1, 2**31 - 1)
    assert X.indices.tolist() == [2**31 - 2]
    X, _, _ = read(b"1 0:4 2147483646:5\n", zero_based=True)
    assert X.indices.tolist() == [0, 2**31 - 2]


def test_missing_features_at_the_end_are_zero():
    X, _, _ = read(b"1 1:1\n2 1:1 5:2\n", n_features=7)
    assert X.shape == (2, 7)
    assert X.toarray()[:, 4].tolist() == [0, 2]


def test_rows_without_a_label():
    assert only(b"1:2 2:3\n", target=False) == ([2, 3], None)
    assert only(b"anything 1:2\n", target=False) == ([2], None)


def test_float32_is_the_double_rounded():
    value = 0.1234567890123
    assert only(b"1 1:%r\n" % value, dtype="float32")[0] == [float(np.float32(value))]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_numbers_are_exact(values):
    for spell in (repr, "{:.17g}".format, "{:.17e}".format, "{:+.6f}".format, "{:.3f}".format):
        texts = [spell(v) for v in values]
        line = "1 " + " ".join(f"{i + 1}:{text}" for i, text in enumerate(texts)) + "\n"
        np.testing.assert_array_equal(only(line.encode())[0], [float(text) for text in texts])


def test_numbers_of_many_digits_are_exact():
    for digits in (15, 16, 17, 18, 19):  # 2^53 has sixteen
        texts = [f"{v:.{digits}f}" for v in np.random.default_rng(digits).random(200)]
        line = "1 " + " ".join(f"{i + 1}:{text}" for i, text in enumerate(texts)) + "\n"
        np.testing.assert_array_equal(only(line.encode())[0], [float(text) for text in texts])


@given(st.text("0123456789.eE+-", min_size=1, max_size=40))
def test_what_is_a_number_is_what_python_says(text):
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if np.isfinite(value):
        assert only(f"1 1:{text}\n".encode())[0] == [value]
    else:
        with pytest.raises(ValueError, match="line 1, column"):
            read(f"1 1:{text}\n".encode())


# -- what is wrong ----------------------------------------------------------------------------------------------------

WRONG = {
    "index 0": ("1 0:2", 3, "an index of at least 1 (zero_based=True reads files that count from 0), got '0:2'"),
    "descending": ("1 3:1 2:1", 7, "an index greater than 3, got '2:1'"),
    "twice": ("1 3:1 3:1", 7, "an index greater than 3, got '3:1'"),
    "negative index": ("1 -1:1", 3, "an index (a whole number), got '-1:1'"),
    "huge index": ("1 1:1 2147483648:1", 7, "an index of at most 2147483647, got '2147483648:1'"),
    "endless index": ("1 " + "9" * 40 + ":1", 21, "an index of at most 2147483647, got '" + "9" * 22 + ":1'"),
    "fractional index": ("1 1.5:1", 4, "a colon after the index, got '.5:1'"),
    "no index": ("1 :1", 3, "an index (a whole number), got ':1'"),
    "a lone colon": ("1 :", 3, "an index (a whole number), got ':'"),
    "no value": ("1 1: 2:3", 5, "a finite number after the colon, got nothing"),
    "no value at the end": ("1 1:", 5, "a finite number after the colon, got nothing"),
    "no colon": ("1 1:1 2", 8, "a colon after the index, got nothing"),
    "NaN": ("1 1:nan", 5, "a finite number after the colon, got 'nan'"),
    "infinity": ("1 1:-inf", 5, "a finite number after the colon, got '-inf'"),
    "overflow": ("1 1:1e999", 5, "a finite number after the colon, got '1e999'"),
    "long overflow": ("1 1:" + "9" * 400, 5, "a finite number after the colon, got '" + "9" * 30 + "'"),
    "two signs": ("1 1:+-1", 5, "a finite number after the colon, got '+-1'"),
    "hexadecimal": ("1 1:0x10", 6, "a blank after the value, got 'x10'"),
    "decimal comma": ("1 1:0,5", 6, "a blank after the value, got ',5'"),
    "text for a value": ("1 1:one", 5, "a finite number after the colon, got 'one'"),
    "text for a label": ("yes 1:1", 1, "a label (a finite number, then a blank), got 'yes'"),
    "NaN for a label": ("nan 1:1", 1, "a label (a finite number, then a blank), got 'nan'"),
    "infinity for a label": ("1e999 1:1", 1, "a label (a finite number, then a blank), got '1e999'"),
    "several labels": ("1,2 1:1", 1, "a label (a finite number, then a blank), got '1,2'"),
    "no label": ("1:2 2:3", 1, "a label (a finite number, then a blank), got '1:2'"),
    "blank before": ("  yes 1:1", 3, "a label (a finite number, then a blank), got 'yes'"),
    "empty qid": ("1 qid: 1:1", 7, "a whole number after qid:, got nothing"),
    "text qid": ("1 qid:x 1:1", 7, "a whole number after qid:, got 'x'"),
    "late qid": ("1 1:1 qid:1", 7, "an index (a whole number), got 'qid:1'"),
    "zero byte": ("1 1:1\0", 6, "a blank after the value, got '\\x00'"),
    "binary": ("\x7fELF\x02", 1, "a label (a finite number, then a blank), got '\\x7fELF\\x02'"),
    "old Mac line ends": ("1 1:2\r-1 1:3", 7, "an index (a whole number), got '-1'"),
}


every_wrong_line = pytest.mark.parametrize(("line", "column", "expected"), WRONG.values(), ids=WRONG)


@loop
@every_wrong_line
def test_a_wrong_line_stops_with_its_place_and_what_was_expected(line, column, expected):
    for end in ("\n", "\r\n", ""):
        stream = streams.open(io.BytesIO(f"1 1:1\n\n# comment\n{line}{end}".encode()))
        X, _ = next(stream)  # what is before it
        assert X.shape[0] == stream.rows == 1
        for _ in range(2):  # and it stays wrong
            with pytest.raises(ValueError) as refusal:
                next(stream)
            assert str(refusal.value) == f"a BytesIO, line 4, column {column}: expected {expected}"
        assert stream.rows == 1


@loop
@every_wrong_line
def test_a_wrong_line_can_be_skipped(line, column, expected):
    text = f"1 1:1\n{line}\n2 2:2\n{line}\n".encode()
    stream = streams.open(io.BytesIO(text), on_error="skip")
    with pytest.warns(RuntimeWarning, match="2 rows of a BytesIO were skipped; the first: a BytesIO, line 2, column"):
        chunks = list(stream)
    assert np.concatenate([y for _, y in chunks]).tolist() == [1, 2]
    assert all(X.shape[1] == 2 for X, _ in chunks)  # wrong rows do not count for the width
    assert (stream.rows, stream.skipped) == (2, 2)
    assert expected in stream.problems[0]


@loop
@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing but a comment\n\n", b"\r\n"])
def test_an_empty_file_is_no_stream(text):
    with pytest.raises(ValueError, match="a BytesIO has no rows"):
        read(text)


def test_a_file_of_wrong_lines_only_is_no_stream():
    with pytest.raises(ValueError, match="a BytesIO has no rows that can be read: a BytesIO, line 1, column 1"):
        read(b"yes 1:1\nno 1:2\n", on_error="skip")


def test_an_index_beyond_n_features_is_wrong():
    with pytest.raises(ValueError, match="line 1, column 7: expected an index of at most 2, got '3:1'"):
        read(b"1 1:1 3:1\n", n_features=2)
    with pytest.raises(ValueError, match="line 1, column 7: expected an index of at most 1, got '2:1'"):
        read(b"1 0:1 2:1\n", n_features=2, zero_based=True)


def test_a_pipe_learns_its_width_from_the_first_chunk(tmp_path):
    program = "import sys; from onkel import streams\nfor X, y in streams.open('-', chunk_rows=2): print(X.shape, y)"
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"1 1:1\n1 3:1\n2 2:1\n2 4:1\n", capture_output=True, check=False
    )
    assert done.stdout.splitlines() == [b"(2, 3) [1. 1.]", b"(1, 3) [2.]"]
    last = done.stderr.decode().splitlines()[-1]
    assert last == (
        "ValueError: standard input, line 4, column 3: expected an index of at most 3, got '4:1'; "
        "the first chunk has no higher index: give n_features"
    )


def test_standard_input_that_is_a_file_is_read_twice(tmp_path):
    (tmp_path / "rows").write_bytes(b"1 1:1\n1 9:1\n")
    program = "from onkel import streams\nfor X, y in streams.open('-', chunk_rows=1): print(X.shape)"
    with open(tmp_path / "rows", "rb") as file:
        done = subprocess.run([sys.executable, "-c", program], stdin=file, capture_output=True, check=True)
    assert done.stdout.splitlines() == [b"(1, 9)"] * 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"1 1:1\n1 9:1\n",))
    writer.start()
    with streams.open(tmp_path / "pipe") as stream:
        assert [X.shape for X, _ in stream] == [(2, 9)]
        assert stream.fraction() == 1.0
        with pytest.raises(ValueError, match="can be read only once"):
            stream.rewind()
    writer.join()


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:1\n")
    with streams.open(path) as stream:  # which holds its content
        path.write_bytes(b"1 1:1 500000:1\n")
        assert next(stream)[0].shape == (1, 1)
    monkeypatch.setattr(_libsvm, "MOST_KEPT_BYTES", 0)
    path.write_bytes(b"1 1:1\n")
    with streams.open(path) as stream:
        path.write_bytes(b"1 1:1 500000:1\n")
        with pytest.raises(ValueError, match="has changed since it was opened"):
            next(stream)


# -- any bytes, any buffers -------------------------------------------------------------------------------------------


def lines():
    blank = st.sampled_from([" ", "  ", "\t", " \t "])
    value = st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(repr), st.integers(-99, 99).map(str))
    features = st.lists(st.integers(1, 40), unique=True, max_size=6).map(sorted)
    end = st.sampled_from(["\n", "\r\n", " \n", " # c: 1\n", "#\n", "\n\n", "\n# 1:2\n"])
    row = st.builds(
        lambda y, gap, fs, vs, end: gap.join([y, *(f"{f}:{v}" for f, v in zip(fs, vs, strict=False))]) + end,
        st.sampled_from(["1", "-1", "+1", "0.5", "-2e3"]),
        blank,
        features,
        st.lists(value, min_size=6, max_size=6),
        end,
    )
    return st.one_of(row, st.sampled_from([text + "\n" for text, *_ in WRONG.values()]))


class Dribble(io.RawIOBase):
    """A pipe that hands out a text in pieces of given sizes."""

    def __init__(self, text, sizes):
        self.pieces, self.sizes = io.BytesIO(text), iter(sizes)

    def readable(self):
        return True

    def read(self, n=-1):
        return self.pieces.read(min(n, next(self.sizes, n)))


@given(st.lists(lines(), min_size=1, max_size=12), st.lists(st.integers(1, 30), max_size=60), st.integers(1, 5))
def test_how_bytes_are_cut_into_buffers_changes_nothing(texts, sizes, chunk_rows):
    text = "".join(texts).encode()

    def rows(source, chunk_rows):
        stream = streams.open(source, n_features=40, on_error="skip", chunk_rows=chunk_rows)
        labels, parts = [], []
        try:
            for X, y in stream:
                labels += y.tolist()
                parts += [(X[[i]].indices.tolist(), X[[i]].data.tolist()) for i in range(X.shape[0])]
        except (RuntimeWarning, ValueError) as error:
            assert "skipped" in str(error) or "has no rows" in str(error)
        return labels, parts, stream.skipped, stream.position()

    assert rows(Dribble(text, sizes), chunk_rows) == rows(io.BytesIO(text), 2**20)


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_round_trip_with_scikit_learn(n_rows, n_features, seed, zero_based, with_query):
    rng = np.random.default_rng(seed)
    X = csr_matrix(np.where(rng.random((n_rows, n_features)) < 0.5, rng.normal(size=(n_rows, n_features)), 0))
    y = rng.integers(-3, 4, n_rows) + rng.choice([0.0, 0.25])
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=zero_based, query_id=np.arange(n_rows) if with_query else None)
    file.seek(0)
    theirs, their_labels = load_svmlight_file(file, n_features=n_features, zero_based=zero_based)
    file.seek(0)
    ours, labels, _ = read(file.getvalue(), n_features=n_features, zero_based=zero_based)
    assert (ours.toarray() == theirs.toarray()).all()
    assert (labels == their_labels).all()
    np.testing.assert_allclose(ours.toarray(), X.toarray(), rtol=1e-15)  # which writes 16 digits only


FUZZ = """
import random, sys
from onkel import _core
runs, seed = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
WORDS = [b"1", b"-1", b"+", b"1:2", b"3:0.5", b"2147483647:1", b"2147483648:1", b":", b"::", b"qid:", b"qid:1", b"#",
         b"nan", b"1e400", b"1e-400", b"9" * 30, b".", b"e", b"0x1p3", bytes(1), bytes([255]), b"\\r", b"\\t", b" ",
         b"\\n", b"\\n\\n"]
for _ in range(runs):
    text = b"".join(rng.choice(WORDS) if rng.random() < 0.8 else rng.randbytes(rng.randrange(4))
                    + (b" " if rng.random() < 0.5 else b"") for _ in range(rng.randrange(40)))
    rules = dict(labelled=rng.random() < 0.8, zero_based=rng.random() < 0.3, width=rng.choice([1, 5, 2**31 - 1]),
                 single=rng.random() < 0.5)
    for skip in (True, False):
        used = lines = rows = 0
        while True:
            made = _core.read_libsvm(text, begin=used, last=True, max_rows=rng.choice([1, 3, 100]), skip=skip, **rules)
            labels, values, features, offsets, n_bytes, n_lines, skipped, parse_error = made
            assert len(offsets) == len(labels) + 1 and offsets[-1] == len(values) == len(features)
            assert features.min(initial=0) >= 0 and features.max(initial=0) < rules["width"]
            used, lines, rows = used + n_bytes, lines + n_lines, rows + len(labels)
            if not skip and parse_error is not None:
                assert parse_error[0] == n_lines and parse_error[1] >= 1 and len(parse_error[3]) <= 30
                break
            if n_bytes == 0:
                assert used == len(text)
                assert lines == text.count(b"\\n") + (not text.endswith(b"\\n") and text != b"")
                break
"""


def test_text_that_nobody_wrote():
    runs, seed = os.environ.get("ONKEL_FUZZ_RUNS", "2000"), os.environ.get("ONKEL_FUZZ_SEED", "1")
    command = [warm.python(), "-X", "faulthandler", "-c", FUZZ, runs, seed]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"


def test_the_parser_stops_at_the_last_whole_line():
    rules = {"labelled": True, "zero_based": False, "width": 9, "skip": False, "single": False}
    labels, *_, n_bytes, n_lines, _, _ = _core.read_libsvm(b"1 1:1\n2 1:2\n3", begin=0, last=False, max_rows=9, **rules)
    assert (labels.tolist(), n_bytes, n_lines) == ([1, 2], 12, 2)


def test_a_file_that_fits_is_read_once(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_bytes(b"".join(b"%d %d:1\n" % (i % 2, i % 7 + 1) for i in range(5000)))
    taken = []
    original = Bytes.read
    monkeypatch.setattr(Bytes, "read", lambda self, *args: taken.append(original(self, *args)) or taken[-1])

    def rows_and_bytes():
        taken.clear()
        with streams.open(path, chunk_rows=300) as stream:
            found = [(X.toarray(), y, stream.position(), stream.fraction()) for X, y in stream]
        return found, sum(map(len, taken))

    once, n_once = rows_and_bytes()
    monkeypatch.setattr(_libsvm, "MOST_KEPT_BYTES", 100)
    twice, n_twice = rows_and_bytes()
    assert (n_once, n_twice) == (path.stat().st_size, 2 * path.stat().st_size)
    for one, other in zip(once, twice, strict=True):
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()
        assert one[2:] == other[2:]
