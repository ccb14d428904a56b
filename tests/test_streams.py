"""Streams: equal rows whatever the chunk, a place to go on from, and one rule for rows that are wrong."""

import bz2
import gzip
import io
import lzma
import os
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
from onkel import streams

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


@pytest.mark.parametrize("chunk_rows", [1, 7, 100, 4096])
def test_every_source_gives_its_rows(source, chunk_rows):
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
    assert again._learner.fingerprint() == whole._learner.fingerprint()
    assert again.t_ == 100
