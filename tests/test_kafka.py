"""Streams of Kafka topics, on librdkafka's own mock broker: it lives in one client, and others find it on loopback."""

import json
import subprocess
import sys

import numpy as np
import pytest

import onkel
from onkel.streams import open as open_stream

confluent_kafka = pytest.importorskip("confluent_kafka")

RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 2)).round(6)
Y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


class Broker:
    """A mock broker, with a producer to fill its topics."""

    def __init__(self):
        self.producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0, "linger.ms": 0})
        (broker,) = self.producer.list_topics(timeout=30).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def send(self, topic, records, partition=0):
        for record in records:
            value = record if isinstance(record, bytes) or record is None else json.dumps(record).encode()
            self.producer.produce(topic, value, partition=partition)
        self.producer.flush()

    def url(self, topic):
        return f"kafka://{self.address}/{topic}?until=end&fetch.wait.max.ms=10"


@pytest.fixture(scope="module")
def broker():
    made = Broker()
    for n in range(300):
        made.send("rows", [{"a": X[n, 0], "b": X[n, 1], "label": Y[n]}], partition=n % 3)
    return made


def named(rows):
    return [{"a": X[n, 0], "b": X[n, 1], "label": Y[n]} for n in rows]


def test_rows_of_all_partitions_come_once_and_in_order(broker):
    with open_stream(broker.url("rows"), chunk_rows=40, target="label") as stream:
        chunks = list(stream)
        assert stream.rows == 300 and stream.columns == ["a", "b"] and stream.n_features == 2
    rows = np.concatenate([chunk[0] for chunk in chunks])
    assert all(len(chunk[0]) <= 40 for chunk in chunks)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, X.tolist()))
    for partition in range(3):
        own = {tuple(row) for row in X[partition::3].tolist()}
        assert [row for row in map(tuple, rows.tolist()) if row in own] == list(map(tuple, X[partition::3].tolist()))
    labels = np.concatenate([chunk[1] for chunk in chunks])
    truth = dict(zip(map(tuple, X.tolist()), Y.tolist(), strict=True))
    assert labels.tolist() == [truth[tuple(row)] for row in rows.tolist()]


def test_arrays_columns_and_no_target(broker):
    broker.send("arrays", [[1, 2, 3], [4, 5, 6]])
    with open_stream(broker.url("arrays")) as stream:
        rows, labels = map(np.concatenate, zip(*stream, strict=True))  # however many come at once
    assert rows.tolist() == [[1, 2], [4, 5]] and labels.tolist() == [3, 6]
    with open_stream(broker.url("arrays"), target=False, columns=[2, 0], dtype="float32") as stream:
        chunks = list(stream)
    rows = np.concatenate([rows for rows, _ in chunks])
    assert rows.tolist() == [[3, 1], [6, 4]] and rows.dtype == np.float32
    assert all(labels is None for _, labels in chunks)


def test_a_chunk_is_the_same_one_again_whatever_has_come_in_meanwhile(broker):
    broker.send("again", named(range(10)), partition=0)
    broker.send("again", named(range(10, 20)), partition=1)
    with open_stream(broker.url("again"), chunk_rows=7, target="label") as stream:
        places, chunks = [stream.position()], []
        for chunk in stream:
            chunks.append(chunk)
            places.append(stream.position())
    broker.send("again", named(range(20, 30)), partition=1)
    broker.send("again", named(range(30, 40)), partition=0)
    for place, chunk in zip(json.loads(json.dumps(places)), chunks, strict=False):
        with open_stream(broker.url("again"), chunk_rows=100, target="label") as stream:
            stream.seek(place)
            assert stream.position() == place
            rows, labels = next(stream)
            assert rows.tolist() == chunk[0].tolist() and labels.tolist() == chunk[1].tolist()
            for _ in stream:
                pass
            assert stream.rows == 40


WRONG = [
    b"{",
    {"a": 1, "b": 2},
    {"a": 1, "b": "x", "label": "no"},
    {"a": 1, "b": None, "label": "no"},
    [1, 2, "no"],
    None,
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_record_that_is_wrong_is_named_by_its_place(broker, wrong):
    topic = f"wrong-{WRONG.index(wrong)}"
    broker.send(topic, [*named(range(3)), wrong, *named(range(3, 5))])
    with open_stream(broker.url(topic), target="label") as stream:
        while stream.rows < 3:  # however many come at once
            next(stream)
        for _ in range(2):
            with pytest.raises(ValueError, match=f"topic '{topic}', partition 0, offset 3: "):
                next(stream)
    with (
        open_stream(broker.url(topic), target="label", on_error="skip") as stream,
        pytest.warns(RuntimeWarning, match="1 rows of topic"),
    ):
        assert sum(len(rows) for rows, _ in stream) == 5 and stream.skipped == 1


def test_what_cannot_be_opened(broker):
    for source, sentence in [
        ("kafka://", "expected kafka://HOST:PORT/TOPIC"),
        (f"kafka://{broker.address}/rows?till=end", "has an option 'till'"),
        (f"kafka://{broker.address}/rows?until=then", "until must be one of 'never', 'end'"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            open_stream(source)
    with pytest.raises(ValueError, match="format is for files"):
        open_stream(broker.url("rows"), format="csv")
    with (
        open_stream(broker.url("rows"), target="label") as stream,
        pytest.raises(ValueError, match="a position of topic 'rows' must be a dict"),
    ):
        stream.seek({"rows": 0})


# The consumer is killed; the broker, which lives in the test's own process, is not. One process has imported everything
# and forks the consumers.
CONSUMERS = """
import os, signal, sys
import confluent_kafka, onkel, onkel._public

url, folder = sys.argv[1:]


def consume(die_after):
    model = onkel.SPAClassifier(gamma=0.5, random_state=1, budget=30, beta=3.0)
    checkpointer = onkel.Checkpointer(folder, every=35)
    with onkel.streams.open(url, target="label", chunk_rows=16) as stream:
        for n, (X, y) in enumerate(checkpointer.run(model, stream)):
            if n == die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            model.partial_fit(X, y, classes=["no", "yes"])
    assert model.t_ == 300, model.t_


for die_after in (4, 9, None):
    pid = os.fork()
    if not pid:
        try:
            consume(die_after)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    expected = 0 if die_after is None else signal.SIGKILL
    assert status == expected, (die_after, status)
"""


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_consumer_that_is_killed_learns_each_record_exactly_once(broker, tmp_path, partitions):
    topic = f"killed-{partitions}"
    for partition in range(partitions):
        broker.send(topic, named(range(partition, 300, partitions)), partition)
    command = [sys.executable, "-c", CONSUMERS, broker.url(topic), tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    saved = onkel.load(max((tmp_path / "run").glob("rows-*.onkel")))
    assert saved.t_ == 300
    if partitions == 1:  # the order of the records, and so every byte, is known
        plain = onkel.SPAClassifier(gamma=0.5, random_state=1, budget=30, beta=3.0)
        plain.partial_fit(X, Y, classes=["no", "yes"])
        for name, model in (("a", saved), ("b", plain)):
            onkel.save(model, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
