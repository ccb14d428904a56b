"""Data sets: found or fetched, checked, and read, in every format, with files of our own and a server of our own."""

import bz2
import gzip
import hashlib
import http.server
import lzma
import os
import struct
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import issparse

from looping import loop
from onkel.streams import datasets
from onkel.streams.datasets import Dataset
from onkel.streams.datasets.store import File

LIBSVM = b"+1 1:0.5 3:2\n-1 2:1\n+1 3:4\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def dataset(name, form, content, *, url=None, exact=True, rows=3, features=3, press=bz2.compress, suffix=".bz2"):
    """A table's row for files of our own: name, what is in them, and what lies in the user's folder."""
    contents = content if isinstance(content, list) else [content]
    kept = [
        File(f"{name}.{i}{suffix}", sha256(press(content)), sha256(content), exact, url)
        for i, content in enumerate(contents)
    ]
    made = Dataset(name, rows, features, "binary", "as it is", "any", form, "ours", tuple(kept))
    return made, {file.name: press(content) for file, content in zip(kept, contents, strict=True)}


@pytest.fixture
def table(monkeypatch, tmp_path):
    """Add a data set to the table, alone; with ``found`` its files are in ONKEL_DATA."""
    monkeypatch.setenv("ONKEL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ONKEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "data").mkdir()

    def add(made, found=True):
        monkeypatch.setattr(datasets, "_table", lambda: {made[0].name: made[0]})
        for name, content in made[1].items() if found else ():
            (tmp_path / "data" / name).write_bytes(content)
        return made[0].name

    return add


@pytest.fixture
def server():
    """Serves what is in `files` on the loopback, and remembers what it was asked for."""
    files, asked = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", files, asked
        running.shutdown()
        thread.join()


# -- formats ----------------------------------------------------------------------------------------------------------

IDX = [
    struct.pack(">IIII", 0x803, 3, 1, 2) + bytes([0, 255, 1, 2, 3, 4]),
    struct.pack(">II", 0x801, 3) + bytes([7, 0, 7]),
]
ARFF = b"""% a comment
@relation r
@attribute 'Sex' { M, F}
@attribute b real
@attribute c integer
@data
M,0.5,1
F,2,2

M,0,3
"""
FORMATS = {
    "libsvm": (LIBSVM, [[0.5, 0, 2], [0, 1, 0], [0, 0, 4]], [1, -1, 1]),
    "csv": (b"1,2,3,g\n4,5,6,h\n7,8,9,g\n", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], ["g", "h", "g"]),
    "csv-first": (b"y,a,b,c\n1,1,2,3\n0,4,5,6\n1,7,8,9\n", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [1, 0, 1]),
    "spaces": (b"  1 2  3 1 \n 4 5 6 2\n7 8 9 1\n", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [1, 2, 1]),
    "spaces-pair": ([b"1 2 3\n4 5 6\n7 8 9\n", b"5\n6\n7\n"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [5, 6, 7]),
    "arff": (ARFF, [[1, 0, 0.5], [0, 1, 2], [1, 0, 0]], [1, 2, 3]),
    "idx": (IDX, [[0, 255], [1, 2], [3, 4]], [7, 0, 7]),
}


@loop
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read(form, table):
    content, X, y = FORMATS[form]
    name = table(dataset("ours", form, content, features=len(X[0])))
    A, b = datasets.load(name, dtype="float32")
    assert A.dtype == np.float32
    np.testing.assert_array_equal(A.toarray() if issparse(A) else A, X)
    np.testing.assert_array_equal(b, y)
    stream = datasets.stream(name, chunk_rows=2, dense=True)
    assert stream.name == "ours"
    assert [chunk.shape[0] for chunk, _ in stream] == [2, 1]


def test_shuffled(table):
    name = table(dataset("ours", "spaces", FORMATS["spaces"][0]))
    X, y = next(datasets.stream(name, shuffle=3))
    order = np.random.default_rng(3).permutation(3)
    np.testing.assert_array_equal(X, datasets.load(name)[0][order])
    np.testing.assert_array_equal(y, datasets.load(name)[1][order])


def test_rows_and_features_are_counted(table):
    name = table(dataset("ours", "spaces", FORMATS["spaces"][0], rows=4))
    with pytest.raises(ValueError, match=r"ours should have 4 rows of 3 features, and has the shape \(3, 3\)"):
        datasets.load(name)


# -- found, fetched, checked ------------------------------------------------------------------------------------------


def test_a_changed_file_in_the_folder_is_refused(table, tmp_path):
    made = dataset("ours", "libsvm", LIBSVM)
    name = table(made)
    path = tmp_path / "data" / made[0].files[0].name
    path.write_bytes(bz2.compress(LIBSVM + b"1 1:1\n"))
    with pytest.raises(ValueError, match=r"ours.0.bz2 is not the expected file: its SHA-256 is"):
        datasets.load(name)


@pytest.mark.parametrize(("suffix", "press"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_fetched_once_whatever_its_compression(suffix, press, table, server, tmp_path):
    url, files, asked = server
    files[f"/sets/ours{suffix}"] = press(LIBSVM)
    name = table(dataset("ours", "libsvm", LIBSVM, url=f"{url}/sets/ours{suffix}"), found=False)
    for _ in range(2):
        X, _ = datasets.load(name)
        np.testing.assert_array_equal(X.toarray(), FORMATS["libsvm"][1])
    assert asked == [f"/sets/ours{suffix}"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"ours{suffix}"]


def test_the_folder_comes_before_the_network(table, server):
    url, _, asked = server
    name = table(dataset("ours", "libsvm", LIBSVM, url=f"{url}/ours"))
    datasets.load(name)
    assert asked == []


def test_what_is_fetched_is_checked(table, server, tmp_path):
    url, files, _ = server
    files["/ours"] = LIBSVM.replace(b"4", b"5")
    name = table(dataset("ours", "libsvm", LIBSVM, url=f"{url}/ours"), found=False)
    with pytest.raises(ValueError, match="cache/ours is not the expected file"):
        datasets.load(name)
    assert list((tmp_path / "cache").iterdir()) == []
    (tmp_path / "cache" / "ours").write_bytes(b"spoilt later")
    with pytest.raises(ValueError, match="cache/ours is not the expected file"):
        datasets.load(name)


def test_content_that_was_normalised_is_checked_by_its_rows(table, server):
    url, files, _ = server
    files["/ours"] = LIBSVM.replace(b"\n", b"\r\n")
    name = table(dataset("ours", "libsvm", LIBSVM, url=f"{url}/ours", exact=False), found=False)
    assert datasets.load(name)[0].shape == (3, 3)


def test_missing_and_offline(table, server, tmp_path, monkeypatch):
    url, _, _ = server
    name = table(dataset("ours", "libsvm", LIBSVM, url=f"{url}/nowhere"), found=False)
    with pytest.raises(ConnectionError) as refusal:
        datasets.load(name)
    assert str(refusal.value) == (
        f"ours is not on this machine (not in ONKEL_DATA, {tmp_path / 'data'}, and not in the cache, "
        f"{tmp_path / 'cache'}), and {url}/nowhere cannot be fetched (HTTPError): "
        f"fetch it elsewhere and put it in {tmp_path / 'cache'}"
    )
    assert list((tmp_path / "cache").iterdir()) == []
    closed = dataset("ours", "libsvm", LIBSVM, url="http://127.0.0.1:9/ours")
    monkeypatch.delenv("ONKEL_DATA")
    with pytest.raises(ConnectionError, match=r"\(ONKEL_DATA is not set, .* cannot be fetched \(ConnectionError\)"):
        datasets.load(table(closed, found=False))


def test_missing_without_pooch_or_address(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    name = table(dataset("ours", "libsvm", LIBSVM, url="http://127.0.0.1:9/ours"), found=False)
    with pytest.raises(ImportError, match=r"ours is not on this machine .* pip install 'onkel\[datasets\]'"):
        datasets.load(name)
    name = table(dataset("ours", "libsvm", LIBSVM), found=False)
    with pytest.raises(FileNotFoundError, match=r"ours has no address to be fetched from: put ours.0.bz2 in a folder"):
        datasets.load(name)


# -- the table --------------------------------------------------------------------------------------------------------


def test_the_table_makes_sense():
    assert len(set(datasets.names())) == len(datasets.names()) > 30
    for name in datasets.names():
        known = datasets.info(name)
        assert known.rows > 0
        assert known.features > 0
        assert known.task in ("binary", "multiclass", "regression")
        assert known.order in ("any", "shuffle", "stream")
        assert known.format in FORMATS
        assert known.note
        for file in known.files:
            assert len(file.sha256) == len(file.content) == 64
            assert file.url is None or file.url.startswith("https://")
    with pytest.raises(ValueError, match="there is no data set 'a9b'; there are a9a"):
        datasets.info("a9b")


def test_the_papers_data_are_as_the_table_says():
    """Only where ONKEL_DATA names a folder that has them."""
    folder = os.environ.get("ONKEL_DATA", "")
    for name in datasets.names():
        known = datasets.info(name)
        here = all(os.path.exists(os.path.join(folder, file.name)) for file in known.files)
        if folder and here and known.rows < 10_000:
            X, y = datasets.load(name)
            assert X.shape == (known.rows, known.features)
            n_values = len(np.unique(y))
            assert (n_values == 2) == (known.task == "binary")
