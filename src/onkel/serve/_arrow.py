"""Requests and answers as Arrow IPC streams: a column for each feature, one for the label, one for the weight."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.serve._batch import Batch, check_columns, check_names
from onkel.serve._refusal import Refusal
from onkel.serve._wire import Features, InferRequest, LearnRequest, ModelShape, labels_of
from onkel.streams.table import RefusedCell, Table

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


def arrow_learn_request(body: bytes, shape: ModelShape, key: str | None = None) -> LearnRequest:
    """Read a request to learn.

    The column `shape.target` has the labels, a column "weight" the weights, unless the model has a feature of that
    name; all others are features.
    """
    table = _table(body, shape)
    columns = {name: table.column(i) for i, name in enumerate(table.schema.names)}
    known = shape.names or ()
    if shape.target not in columns:
        raise Refusal(422, f"the stream has no column {shape.target!r} with the labels")
    labels = _labels(columns.pop(shape.target), shape.target)
    weights = None if "weight" in known or "weight" not in columns else _floats(columns.pop("weight"), "weight")
    rows, names = _rows(columns, shape)
    return LearnRequest(Batch(rows, labels, weights, names), labels, weights, key, None)


def arrow_infer_request(body: bytes, shape: ModelShape, outputs: list[str], id: str | None = None) -> InferRequest:
    """Read a request to predict; all columns are features."""
    table = _table(body, shape)
    rows, names = _rows({name: table.column(i) for i, name in enumerate(table.schema.names)}, shape)
    return InferRequest(rows, names, outputs or ["predict"], id)


def arrow_answer(outputs: dict[str, NDArray[Any]]) -> bytes:
    """Return predictions as a stream: a column for each output, or one for each of its columns."""
    pa = _pyarrow()
    columns = {}
    for name, values in outputs.items():
        if values.ndim == 1:
            columns[name] = pa.array(values.tolist() if values.dtype.kind in "US" else values)
        else:
            columns.update({f"{name}_{i}": pa.array(np.ascontiguousarray(c)) for i, c in enumerate(values.T)})
    return to_stream(columns)


def to_stream(columns: dict[str, Any]) -> bytes:
    """Return columns as an Arrow IPC stream."""
    pa = _pyarrow()
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise Refusal(415, "Arrow needs pyarrow where the service runs: pip install 'onkel[streams]'") from None
    return pyarrow


def _table(body: bytes, shape: ModelShape) -> Any:
    """The stream as a table, after checking that it takes no more memory than its bytes."""
    pa = _pyarrow()
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
            if message.type in ("record batch", "dictionary") and _is_compressed(bytes(message.metadata)):
                raise Refusal(422, "the stream is compressed, which is not accepted: its size must be known")
        batches, n_rows = [], 0
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            schema = reader.schema
            if len(set(schema.names)) != len(schema.names):
                raise Refusal(422, "the stream has two columns of the same name")
            for batch in reader:
                n_rows += batch.num_rows
                if n_rows > shape.most_rows:
                    raise Refusal(413, f"the request has {n_rows} rows or more, and the limit is {shape.most_rows}")
                batch.validate(full=True)
                batches.append(batch)
        if n_rows == 0:
            raise Refusal(422, "expected one or more rows")
        return pa.Table.from_batches(batches, schema).combine_chunks()
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        raise Refusal(400, f"the body is not an Arrow IPC stream: {str(error)[:200]}") from None


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message's flatbuffer (Message, then RecordBatch) has the field `compression`.

    pyarrow reports this only after it has allocated the sizes that the buffers claim to decompress to.
    """
    message = _root(metadata)
    kind_at = _field(metadata, message, 1)
    header = _follow(metadata, _field(metadata, message, 2))
    if kind_at and metadata[kind_at] == 2:  # DictionaryBatch: its field `data` is a RecordBatch
        header = _follow(metadata, _field(metadata, header, 1))
    return _field(metadata, header, 3) != 0


def _root(data: bytes) -> int:
    return int(struct.unpack_from("<I", data)[0])


def _follow(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """The position of a field in a flatbuffer's table; 0 where it is missing."""
    vtable = table - int(struct.unpack_from("<i", data, table)[0])
    (size,) = struct.unpack_from("<H", data, vtable)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + 4 + 2 * number)
    return table + int(offset) if offset else 0


def _rows(columns: dict[str, Any], shape: ModelShape) -> tuple[Features, tuple[str, ...] | None]:
    """The features; a model that has learned from rows without names takes the columns in their order."""
    names = tuple(columns)
    if not names:
        raise Refusal(422, "the stream has no column of features")
    check_columns(names, len(names))
    if shape.names is not None:
        check_names(names, shape.names)
        names = shape.names
    if shape.takes_tables:
        try:
            return Table.of(_pyarrow().table({name: columns[name] for name in names})), names
        except RefusedCell as refused:
            raise Refusal(422, str(refused), refused.row) from None
        except (_pyarrow().ArrowException, ValueError, OverflowError) as error:  # of types that no table has
            raise Refusal(422, f"the columns could not be read: {str(error)[:200]}") from None
    array = np.empty((len(columns[names[0]]), len(names)))
    for i, name in enumerate(names):
        array[:, i] = _floats(columns[name], name)
    return array, None if shape.names is None and shape.fitted else names


def _floats(column: Any, name: str) -> NDArray[np.float64]:
    pa = _pyarrow()
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise Refusal(422, f"column {name!r} holds {kind}; expected numbers")
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise Refusal(422, f"row {row}, column {name!r}: expected a number, got null", row)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _labels(column: Any, name: str) -> NDArray[Any]:
    pa = _pyarrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise Refusal(422, f"row {row}, column {name!r}: expected a label, got null", row)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return labels_of(column.to_pylist())
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise Refusal(422, f"column {name!r} holds {kind}; expected numbers, text or booleans")
    labels = column.to_numpy(zero_copy_only=False)
    return np.asarray(labels, np.float64 if labels.dtype.kind == "f" else labels.dtype)
