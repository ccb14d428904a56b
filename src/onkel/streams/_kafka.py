"""Streams of Kafka topics: records are rows as JSON, and a position is an offset for each partition.

A chunk holds records of one partition, in their order. Which records the next chunk holds is a part of the position, so
that a program that goes on from there gets the same chunk, whatever has come in meanwhile. With `onkel.Checkpointer`,
which keeps positions with the model, every record is then learned exactly once; Kafka's own offsets are not used.
"""

from __future__ import annotations

import json
import math
from collections import deque
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from onkel.streams._columns import ColumnChoice, choose, labels
from onkel.streams._stream import Chunk, Stream
from onkel.utils.labels import is_missing
from onkel.utils.validation import check_choice, check_number

SCHEME = "kafka://"
_PATIENCE = 1.0  # seconds between two checks of the interpreter's signals
_OWN = {"from": ("begin", "end"), "until": ("never", "end")}


class KafkaStream(Stream):
    """The rows of a topic.

    Parameters
    ----------
    url : str
        ``kafka://HOST:PORT[,HOST:PORT...]/TOPIC?NAME=VALUE&...``. `from` is "begin" (default) or "end", where reading
        begins; `until` is "never" (default), or "end" to stop at what is the end when the stream is opened. Names with
        a dot are properties of librdkafka.
    target : str, int, False or None
        The label's field; None is the last one of the first record.
    columns : sequence of str or int, default=None
    dtype : str, default=None
    chunk_rows : int
    on_error : {"raise", "skip"}
    """

    def __init__(
        self, url: str, *, target: object, columns: object, dtype: str | None, chunk_rows: int, on_error: str
    ) -> None:
        servers, self.topic, own, properties = parse_url(url)
        super().__init__(f"topic {self.topic!r}", chunk_rows, on_error)
        self._target, self._columns, self._dtype = target, columns, dtype or "float64"
        self._chosen: ColumnChoice | None = None
        self._fields: list[str] | None = None  # of the first record; None for arrays
        self._consumer = _consumer(servers, properties)
        try:
            lows, self._ends = self._watermarks()
        except BaseException:
            self._consumer.close()
            raise
        self._offsets = dict(self._ends if own["from"] == "end" else lows)  # of the next record of each partition
        self._stops = own["until"] == "end"
        self._buffers: dict[int, deque[tuple[int, Any]]] = {partition: deque() for partition in self._offsets}
        self._ready: tuple[int, list[tuple[int, Any]]] | None = None  # the next chunk's partition and records
        self._assign(self._offsets)

    # -- places

    def position(self) -> Any:
        """Return where the next chunk begins, and which records it holds; waits for the next record."""
        self._prepare()
        chunk = None if self._ready is None else [self._ready[0], self._ready[1][-1][0] + 1]
        return {
            "rows": self.rows,
            "skipped": self.skipped,
            "offsets": {str(partition): offset for partition, offset in self._offsets.items()},
            "chunk": chunk,
            "fields": self._fields,
        }

    def seek(self, position: object) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        names = {"rows", "skipped", "offsets", "chunk", "fields"}
        if not isinstance(position, dict) or position.keys() != names:
            raise ValueError(
                f"a position of {self.name} must be a dict of {', '.join(sorted(names))}, got {position!r}"
            )
        offsets = {int(partition): offset for partition, offset in position["offsets"].items()}
        for partition, offset in offsets.items():
            check_number(f"the offset of partition {partition}", offset, at_least=0, integer=True)
        if not offsets.keys() <= self._offsets.keys():
            raise ValueError(f"{self.name} has fewer partitions than the position: it is another topic")
        lows, _ = self._watermarks()
        for partition, offset in offsets.items():
            if offset < lows[partition]:
                raise ValueError(
                    f"{self.name}, partition {partition}: the records from offset {offset} on are wanted, and those "
                    f"before offset {lows[partition]} have been deleted"
                )
        self._offsets |= offsets
        self._fields = position["fields"]
        self._chosen = None
        self._count_from(position)
        self._buffers = {partition: deque() for partition in self._offsets}
        self._ready = None
        following = dict(self._offsets)
        if position["chunk"] is not None:
            partition, end = position["chunk"]
            self._ready = partition, self._read_chunk(partition, end)
            following[partition] = end
        self._assign(following)

    def rewind(self) -> None:
        """Go back to the first record that the topic still has."""
        lows, _ = self._watermarks()
        offsets = {str(partition): low for partition, low in lows.items()}
        self.seek({"rows": 0, "skipped": 0, "offsets": offsets, "chunk": None, "fields": None})

    def close(self) -> None:
        """Disconnect from the brokers."""
        self._consumer.close()

    # -- records

    def _next(self) -> Chunk | None:
        while True:
            self._prepare()
            if self._ready is None:
                return None
            partition, records = self._ready
            X, y, used = self._rows(partition, records)
            self._offsets[partition] = records[used - 1][0] + 1
            self._ready = (partition, records[used:]) if used < len(records) else None
            if len(X):
                return np.array(X, self._dtype), None if y is None else labels(y)

    def _prepare(self) -> None:
        """Fetch the next chunk's records, unless the stream is at its end."""
        while self._ready is None:
            waiting = next((p for p, buffer in self._buffers.items() if buffer), None)
            if waiting is not None:
                buffer = self._buffers[waiting]
                count = min(self.chunk_rows, len(buffer))
                self._ready = waiting, [buffer.popleft() for _ in range(count)]
            elif self._stops and all(self._offsets[p] >= end for p, end in self._ends.items()):
                return
            else:
                self._consume()

    def _consume(self) -> None:
        """Take what the brokers have into the buffers."""
        from confluent_kafka import KafkaError

        for message in self._messages():
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._offsets[message.partition()] = max(self._offsets[message.partition()], self._end_of(message))
                    continue
                if error.retriable() or error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                    continue  # librdkafka goes on trying
                raise OSError(f"{self.name}: {error.str()}")
            partition, offset = message.partition(), message.offset()
            if not self._stops or offset < self._ends[partition]:
                self._buffers[partition].append((offset, message.value()))

    def _end_of(self, message: Any) -> int:
        """Up to where a partition has been read whose end was met: what waits in the buffer has not been."""
        buffer = self._buffers[message.partition()]
        ready = self._ready is not None and self._ready[0] == message.partition()
        return 0 if buffer or ready else int(message.offset())

    def _read_chunk(self, partition: int, end: int) -> list[tuple[int, Any]]:
        """The records of one partition up to an offset: those that a chunk had before."""
        self._assign({partition: self._offsets[partition]})
        records: list[tuple[int, Any]] = []
        while not records or records[-1][0] < end - 1:
            for message in self._messages():
                if message.error() is None and message.offset() < end:
                    records.append((message.offset(), message.value()))
        return records

    def _messages(self) -> list[Any]:
        """What there is, at most a chunk of it; waits a moment for the first."""
        return [*self._consumer.consume(1, _PATIENCE), *self._consumer.consume(self.chunk_rows, 0)]

    def _assign(self, offsets: dict[int, int]) -> None:
        from confluent_kafka import TopicPartition

        self._consumer.assign([TopicPartition(self.topic, p, offset) for p, offset in offsets.items()])

    def _watermarks(self) -> tuple[dict[int, int], dict[int, int]]:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            known = self._consumer.list_topics(self.topic, timeout=30).topics[self.topic]
            if known.error is not None or not known.partitions:
                raise ValueError(f"there is no topic {self.topic!r}")
            marks = {
                p: self._consumer.get_watermark_offsets(TopicPartition(self.topic, p), timeout=30)
                for p in sorted(known.partitions)
            }
        except KafkaException as error:
            raise OSError(f"{self.name} cannot be reached: {error.args[0].str()}") from None
        return {p: low for p, (low, _) in marks.items()}, {p: high for p, (_, high) in marks.items()}

    # -- rows

    def _rows(self, partition: int, records: list[tuple[int, Any]]) -> tuple[list[list[float]], list[Any] | None, int]:
        """The rows of records, their targets, and how many records were used: those before a wrong one come first."""
        X: list[list[float]] = []
        y: list[Any] = []
        for used, (offset, value) in enumerate(records):
            try:
                row, target = self._row(value)
            except (ValueError, TypeError, RecursionError) as error:
                if X and self.on_error == "raise":
                    return X, None if self._has_no_target() else y, used
                self._wrong(f"{self.name}, partition {partition}, offset {offset}: {error}")
                continue
            X.append(row)
            y.append(target)
        return X, None if self._has_no_target() else y, len(records)

    def _has_no_target(self) -> bool:
        return self._chosen is None or self._chosen.target is None

    def _row(self, value: Any) -> tuple[list[float], Any]:
        content = json.loads(value) if value is not None else None
        if not isinstance(content, dict | list) or not content:
            raise ValueError(f"expected a JSON object or array of numbers, got {str(content)[:40]!r}")
        if self._chosen is None:
            if self._fields is None and isinstance(content, dict):
                self._fields = list(content)
            names = self._fields if self._fields is not None else [str(i) for i in range(len(content))]
            self._chosen = choose(self.name, names, self._target, self._columns, last=True)
            self.columns = self._chosen.feature_names if self._fields is not None else None
            self.n_features = len(self._chosen.features)
        chosen = self._chosen
        if isinstance(content, dict) == (self._fields is None):
            raise ValueError("expected what the first record is, all objects or all arrays")
        values: list[Any] = content if isinstance(content, list) else [content.get(name) for name in chosen.names]
        if len(values) != len(chosen.names):
            raise ValueError(f"expected {len(chosen.names)} values, got {len(values)}")
        row = []
        for i in chosen.features:
            if type(values[i]) not in (int, float, bool) or not math.isfinite(values[i]):
                raise ValueError(f"expected a finite number as {chosen.names[i]!r}, got {str(values[i])[:40]!r}")
            row.append(float(values[i]))
        target = None if chosen.target is None else values[chosen.target]
        if chosen.target is not None and (is_missing(target) or isinstance(target, dict | list)):
            raise ValueError(f"expected a target as {chosen.names[chosen.target]!r}, got {str(target)[:40]!r}")
        return row, target


def parse_url(url: str) -> tuple[str, str, dict[str, str], dict[str, str]]:
    """Return servers, topic, this module's own options, and librdkafka's properties.

    Examples
    --------
    >>> parse_url("kafka://a:9092,b:9092/clicks?until=end&security.protocol=ssl")
    ('a:9092,b:9092', 'clicks', {'from': 'begin', 'until': 'end'}, {'security.protocol': 'ssl'})
    >>> parse_url("kafka://localhost")
    Traceback (most recent call last):
    ...
    ValueError: expected kafka://HOST:PORT/TOPIC, got 'kafka://localhost'
    """
    parts = urlsplit(url)
    topic = unquote(parts.path.strip("/"))
    if not parts.netloc or not topic or "/" in topic:
        raise ValueError(f"expected kafka://HOST:PORT/TOPIC, got {url!r}")
    own, properties = {name: choices[0] for name, choices in _OWN.items()}, {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name in _OWN:
            check_choice(name, value, _OWN[name])
            own[name] = value
        elif "." in name:
            properties[name] = value
        else:
            raise ValueError(f"{url!r} has an option {name!r}; expected from, until, or a property of librdkafka")
    return parts.netloc, topic, own, properties


def _consumer(servers: str, properties: dict[str, str]) -> Any:
    try:
        from confluent_kafka import Consumer
    except ImportError:
        raise ImportError("a Kafka topic needs confluent-kafka: pip install 'onkel[kafka]'") from None
    own = {
        "bootstrap.servers": servers,
        "group.id": "onkel",  # it must have one, and joins none: partitions are assigned by hand
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "log_level": 0,
    }
    return Consumer({**own, **properties})
