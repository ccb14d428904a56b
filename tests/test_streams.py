"""Streams: equal rows whatever the chunk, a place to go on from, and one rule for rows that are wrong."""

import io

import numpy as np
import pytest
from scipy.sparse import csr_array

import onkel
from onkel import streams

X = np.random.default_rng(0).normal(size=(100, 4))
Y = (X[:, 0] > 0).astype(int)
TEXT = "".join(
    f"{label:+d} " + " ".join(f"{i + 1}:{float(v)!r}" for i, v in enumerate(row)) + "\n"
    for label, row in zip(Y, X, strict=True)
).encode()

SOURCES = {
    "arrays": lambda folder: (X, Y),
    "sparse": lambda folder: (csr_array(X), Y),
    "rows": lambda folder: list(zip(X, Y, strict=True)),
    "chunks": lambda folder: [(X[i : i + 13], Y[i : i + 13]) for i in range(0, 100, 13)],
    "text": lambda folder: io.BytesIO(TEXT),
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
        for i, (A, b) in enumerate(checkpointer.run(model, streams.open(source(), chunk_rows=chunk_rows, dense=True))):
            if i == stop:
                break
            model.partial_fit(A, b, classes=[0, 1])
        return model

    whole = run(onkel.Checkpointer(tmp_path / "whole", every=30), 17)
    run(onkel.Checkpointer(tmp_path / "cut", every=30), 17, stop=5)
    again = run(onkel.Checkpointer(tmp_path / "cut", every=30), 11)
    assert again._learner.fingerprint() == whole._learner.fingerprint()
    assert again.t_ == 100
