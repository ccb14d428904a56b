"""Requests and answers as JSON: plain rows, and the tensors of the Open Inference Protocol v2."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.serve._batch import Batch, check_columns, check_names
from onkel.serve._json import parsed
from onkel.serve._refusal import Refusal
from onkel.streams.table import Table
from onkel.utils.labels import as_labels

Features = NDArray[np.float64] | Table

_AT_ONCE = 512  # rows that are converted while the interpreter's lock is held
MOST_KEY = 200  # the largest number of characters of a key or an id
MOST_LABEL = 1_000  # and of a label
_NUMBERS = {"FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "BOOL"}
_LEARN = ("rows", "labels", "weights", "key", "id")
_INFER = ("rows", "inputs", "outputs", "id", "parameters")


@dataclass(frozen=True)
class ModelShape:
    """What must be known about a model to read requests.

    Parameters
    ----------
    names : tuple of str, default=None
        Names of its features.
    target : str, default="label"
        The field, or column, of the label in rows with names.
    fitted : bool, default=False
        Whether it has learned from any row; then its features have names only if `names` are given.
    most_rows : int, default=100_000
    takes_tables : bool, default=False
        Whether its features may be text, dates, booleans and missing values as well as numbers.
    """

    names: tuple[str, ...] | None = None
    target: str = "label"
    fitted: bool = False
    most_rows: int = 100_000
    takes_tables: bool = False


@dataclass(frozen=True)
class LearnRequest:
    """Rows with labels; or labels alone, for rows that were predicted under an id."""

    batch: Batch | None
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    key: str | None
    id: str | None


@dataclass(frozen=True)
class InferRequest:
    """Rows to predict."""

    rows: Features
    names: tuple[str, ...] | None
    outputs: list[str]
    id: str | None


def learn_request(body: bytes, shape: ModelShape) -> LearnRequest:
    """Read a request to learn.

    Examples
    --------
    >>> request = learn_request(b'{"rows": [{"x": 1, "y": 2}], "labels": ["no"]}', ModelShape())
    >>> request.batch.rows.tolist(), request.batch.names, request.labels.tolist()
    ([[1.0, 2.0]], ('x', 'y'), ['no'])
    >>> learn_request(b'{"rows": [[1, 2], [3]], "labels": [0, 1]}', ModelShape())
    Traceback (most recent call last):
    onkel.serve._refusal.Refusal: row 1 has 1 numbers; expected 2, as row 0 has
    """
    content = parsed(body)
    _check_members(content, _LEARN)
    key, id = _word(content, "key"), _word(content, "id")
    weights = None if content.get("weights") is None else _weights(content["weights"])
    rows = content.get("rows")
    if rows is None:
        if id is None:
            raise Refusal(422, "expected rows with labels, or the id of rows that were predicted with their labels")
        labels = labels_of(_list(content, "labels"))
        return LearnRequest(None, labels, weights, key, id)
    if id is not None:
        raise Refusal(422, "expected rows or an id, not both; a request with rows is identified by its key")
    _check_rows_list(rows, shape)
    given = content.get("labels")
    if given is None and isinstance(rows[0], dict) and shape.target in rows[0]:
        given = [_popped(row, shape.target, i) for i, row in enumerate(rows)]
    labels = labels_of(_list({"labels": given}, "labels"))
    features, names = rows_of(rows, shape)
    if len(labels) != len(features):
        raise Refusal(422, f"expected a label for each of the {len(features)} rows, got {len(labels)}")
    if weights is not None and len(weights) != len(features):
        raise Refusal(422, f"expected a weight for each of the {len(features)} rows, got {len(weights)}")
    return LearnRequest(Batch(features, labels, weights, names), labels, weights, key, None)


def infer_request(body: bytes, shape: ModelShape) -> InferRequest:
    """Read a request to predict: rows, or tensors of the Open Inference Protocol.

    Examples
    --------
    >>> tensor = b'{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}'
    >>> infer_request(b'{"inputs": [' + tensor + b']}', ModelShape()).rows.tolist()
    [[1.0, 2.0]]
    >>> infer_request(b'{"rows": [[1, 2]]}', ModelShape()).rows.tolist()
    [[1.0, 2.0]]
    """
    content = parsed(body)
    _check_members(content, _INFER)
    outputs = []
    asked = content.get("outputs") or []
    for output in asked if isinstance(asked, list) else [None]:
        if not isinstance(output, dict) or not isinstance(output.get("name"), str):
            raise Refusal(422, "outputs must be objects with a name, such as predict or decision_function")
        outputs.append(output["name"])
    if ("rows" in content) == ("inputs" in content):
        raise Refusal(422, "expected either rows or inputs")
    if "rows" in content:
        _check_rows_list(content["rows"], shape)
        rows, names = rows_of(content["rows"], shape)
    else:
        rows, names = _tensors(content["inputs"], shape)
    return InferRequest(rows, names, outputs or ["predict"], _word(content, "id"))


def rows_of(rows: list[Any], shape: ModelShape) -> tuple[Features, tuple[str, ...] | None]:
    """Return an array of rows that are lists of numbers, or objects of named numbers; and the names.

    Where the model takes tables, return a table of lists or objects with any JSON values.
    """
    named = isinstance(rows[0], dict)
    check_columns(rows[0] if named else None, len(rows[0]) if named else _length(rows[0]))
    if shape.takes_tables:
        table = _table_of(rows, shape)
        return table, table.names
    names = shape.names
    if named and names is None:
        names = tuple(rows[0])
    width = len(names) if named and names is not None else _length(rows[0])
    array = np.empty((len(rows), width))
    for begin in range(0, len(rows), _AT_ONCE):
        block = rows[begin : begin + _AT_ONCE]
        if named and names is not None:
            block = [_in_order(row, names, begin + i) for i, row in enumerate(block)]
        for i, row in enumerate(block):
            if not isinstance(row, list) or len(row) != width:
                raise Refusal(422, _ragged(row, begin + i, width), begin + i)
            if not {*map(type, row)} <= {int, float, bool}:
                column = next(c for c, value in enumerate(row) if type(value) not in (int, float, bool))
                field = f"column {column}" if not named or names is None else f"field {names[column]!r}"
                raise Refusal(422, f"row {begin + i}, {field}: expected a number, got {_shown(row[column])}", begin + i)
        try:
            array[begin : begin + len(block)] = block
        except OverflowError:
            raise Refusal(422, f"row {begin} or one after it has a number too large for a float", begin) from None
    return array, names if named else None


def _table_of(rows: list[Any], shape: ModelShape) -> Table:
    named = isinstance(rows[0], dict)
    numbered = () if named else tuple(map(str, range(_length(rows[0]))))
    names = shape.names or (tuple(rows[0]) if named else numbered)
    columns: list[list[Any]] = [[] for _ in names]
    for i, row in enumerate(rows):
        values = _in_order(row, names, i) if named else row
        if not isinstance(values, list) or len(values) != len(names):
            raise Refusal(422, _ragged(values, i, len(names)), i)
        for name, column, value in zip(names, columns, values, strict=True):
            if not isinstance(value, str | int | float | None):
                raise Refusal(
                    422,
                    f"row {i}, field {name!r}: expected a number, text, true, false or null, got {_shown(value)}",
                    i,
                )
            column.append(value)
    return _as_table(dict(zip(names, columns, strict=True)))


def _as_table(columns: dict[str, list[Any]]) -> Table:
    """A table whose text may represent numbers, dates or missing values, as in a CSV file."""
    return replace(Table.of(columns), typed=False)


def infer_answer(
    name: str, version: int, id: str | None, outputs: dict[str, NDArray[Any]], parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return the answer of the Open Inference Protocol.

    Examples
    --------
    >>> infer_answer("m", 3, None, {"predict": np.array(["yes"])}, {})["outputs"]
    [{'name': 'predict', 'datatype': 'BYTES', 'shape': [1], 'data': ['yes']}]
    """
    tensors = [
        {"name": n, "datatype": datatype(a), "shape": list(a.shape), "data": a.reshape(-1).tolist()}
        for n, a in outputs.items()
    ]
    answer = {"model_name": name, "model_version": str(version), "outputs": tensors, "parameters": parameters}
    return answer if id is None else {**answer, "id": id}


def datatype(array: NDArray[Any]) -> str:
    """Return the protocol's name of an array's type."""
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    return {"b": "BOOL", "i": f"INT{bits}", "u": f"UINT{bits}", "f": f"FP{bits}"}.get(kind, "BYTES")


def _tensors(inputs: Any, shape: ModelShape) -> tuple[Features, tuple[str, ...] | None]:
    """One tensor of rows, or a tensor for each feature, by name."""
    if not isinstance(inputs, list) or not inputs:
        raise Refusal(422, "inputs must be a list of tensors")
    columns = [_tensor(tensor, shape) for tensor in inputs]
    check_columns([name for name, _ in columns], max(len(columns), *(math.prod(a.shape[1:]) for _, a in columns)))
    if shape.takes_tables:
        return _table_of_tensors(columns, shape)
    if len(columns) == 1 and columns[0][1].ndim == 2 and (shape.names is None or len(shape.names) != 1):
        return columns[0][1], None
    names = tuple(name for name, _ in columns)
    if shape.names is None:
        raise Refusal(422, f"expected one tensor of shape [rows, features], got {len(columns)} tensors")
    check_names(names, shape.names)
    flat = {name: values.reshape(-1) for name, values in columns if values.size == len(values)}
    if len(flat) != len(shape.names) or len({len(values) for values in flat.values()}) != 1:
        raise Refusal(422, "tensors of single features must all have the shape [rows] or [rows, 1]")
    return np.column_stack([flat[name] for name in shape.names]), shape.names


def _table_of_tensors(columns: list[tuple[str, NDArray[Any]]], shape: ModelShape) -> tuple[Features, tuple[str, ...]]:
    if len(columns) == 1 and columns[0][1].ndim == 2 and columns[0][1].shape[1] != 1:
        table = _table_of(columns[0][1].tolist(), shape)
        return table, table.names
    if any(values.size != len(values) for _, values in columns) or len({len(values) for _, values in columns}) != 1:
        raise Refusal(422, "tensors of single features must all have the shape [rows] or [rows, 1]")
    names = tuple(name for name, _ in columns)
    if shape.names is not None:
        check_names(names, shape.names)
    if len(set(names)) < len(names):
        raise Refusal(422, "two tensors have the same name, which must be that of a feature")
    return _as_table({name: values.reshape(-1).tolist() for name, values in columns}), names


def _tensor(tensor: Any, shape: ModelShape) -> tuple[str, NDArray[Any]]:
    if not isinstance(tensor, dict) or not {"name", "shape", "datatype", "data"} <= tensor.keys():
        raise Refusal(422, "a tensor must have name, shape, datatype and data")
    name, kind, wanted = tensor["name"], tensor["datatype"], tensor["shape"]
    text = shape.takes_tables and kind == "BYTES"
    if not isinstance(name, str) or not isinstance(kind, str) or not (text or kind in _NUMBERS):
        raise Refusal(422, f"tensor {name!r} has datatype {kind!r}; expected numbers, such as FP64")
    sized = isinstance(wanted, list) and 1 <= len(wanted) <= 2 and all(type(n) is int and n >= 0 for n in wanted)
    if not sized:
        raise Refusal(422, f"tensor {name!r} has shape {wanted!r}; expected [rows, features]")
    data = tensor["data"]
    _check_count(wanted[0], shape)
    nested = isinstance(data, list) and bool(data) and all(isinstance(row, list) for row in data)
    flat = [value for row in data for value in row] if nested else data
    if not isinstance(flat, list) or len(flat) != math.prod(wanted):
        raise Refusal(422, f"tensor {name!r} must have as many numbers as its shape {wanted} says")
    if not {*map(type, flat)} <= ({str, type(None)} if text else {int, float, bool}):
        raise Refusal(422, f"tensor {name!r} must hold {'text' if text else 'numbers'} only")
    if text or (shape.takes_tables and kind == "BOOL"):
        return name, np.array(flat, object if text else bool).reshape(wanted)
    try:
        return name, np.array(flat, np.float64).reshape(wanted)
    except OverflowError:
        raise Refusal(422, f"tensor {name!r} has a number too large for a float") from None


def _check_members(content: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in content:
        if name not in known:
            raise Refusal(422, f"a request has no member {name!r}; it may have {', '.join(known)}")


def _check_rows_list(rows: Any, shape: ModelShape) -> None:
    if not isinstance(rows, list) or not rows:
        raise Refusal(422, "rows must be a list of one or more rows")
    _check_count(len(rows), shape)


def _check_count(n_rows: int, shape: ModelShape) -> None:
    if n_rows > shape.most_rows:
        raise Refusal(413, f"the request has {n_rows} rows, and the limit is {shape.most_rows}")
    if n_rows == 0:
        raise Refusal(422, "expected one or more rows")


def _length(row: Any) -> int:
    if not isinstance(row, list):
        raise Refusal(422, f"row 0: expected a list or an object of numbers, got {_shown(row)}", 0)
    return len(row)


def _ragged(row: Any, place: int, width: int) -> str:
    if not isinstance(row, list):
        return f"row {place}: expected a list of numbers as row 0 is, got {_shown(row)}"
    return f"row {place} has {len(row)} numbers; expected {width}, as row 0 has"


def _in_order(row: Any, names: tuple[str, ...], place: int) -> list[Any]:
    if not isinstance(row, dict):
        raise Refusal(422, f"row {place}: expected an object of named numbers as row 0 is, got {_shown(row)}", place)
    if len(row) != len(names) or any(name not in row for name in names):
        check_names(tuple(row), names, place)
    return [row[name] for name in names]


def _popped(row: Any, target: str, place: int) -> Any:
    if not isinstance(row, dict) or target not in row:
        raise Refusal(422, f"row {place} has no field {target!r}, which is the label", place)
    return row.pop(target)


def _list(content: dict[str, Any], name: str) -> list[Any]:
    value = content.get(name)
    if not isinstance(value, list) or not value:
        raise Refusal(422, f"expected {name}, a list with one for each row")
    return value


def labels_of(values: list[Any]) -> NDArray[Any]:
    """Return the labels of a request, or refuse them."""
    long = next((i for i, value in enumerate(values) if isinstance(value, str) and len(value) > MOST_LABEL), None)
    if long is not None:
        raise Refusal(422, f"row {long}: a label must have at most {MOST_LABEL:,} characters", long)
    try:
        return as_labels(values, "labels")
    except ValueError as error:
        found = re.search(r"at row (\d+)", str(error))
        raise Refusal(422, str(error), int(found[1]) if found else None) from None


def _weights(values: Any) -> NDArray[np.float64]:
    if not isinstance(values, list) or not {*map(type, values)} <= {int, float}:
        raise Refusal(422, "weights must be a list of numbers")
    try:
        return np.array(values, np.float64)
    except OverflowError:
        raise Refusal(422, "weights must be numbers that fit a float") from None


def _word(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    if value is None or value == "":
        return None
    return checked_word(name, value)


def checked_word(name: str, value: Any) -> str:
    """Return a key or an id, or refuse it."""
    if not isinstance(value, str) or len(value) > MOST_KEY:
        raise Refusal(422, f"{name} must be text of at most {MOST_KEY} characters")
    return value


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f"the text {value!r}"
    return "null" if value is None else text[:60]
