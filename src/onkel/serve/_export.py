"""What was learned, as lines of JSON: each has a request that may be sent to learn again."""

from __future__ import annotations

import datetime as dt
import json

from onkel.serve._batch import Batch, rows_as_json
from onkel.serve._refusal import Refusal
from onkel.serve._store import StoredRequest


def line_of(found: StoredRequest) -> bytes:
    """Return a request of the log as a line.

    Examples
    --------
    >>> import numpy as np
    >>> record = Batch(np.array([[1.0, 2.0]]), np.array(["yes"]), names=("x", "y")).record
    >>> print(line_of(StoredRequest(7, 0.0, record, None)).decode(), end="")
    {"number": 7, "time": "1970-01-01T00:00:00+00:00", "rows": [{"x": 1.0, "y": 2.0}], "labels": ["yes"]}
    """
    batch = Batch.of_record(found.record)
    line = {
        "number": found.number,
        "time": dt.datetime.fromtimestamp(found.time, dt.UTC).isoformat(),
        "rows": rows_as_json(batch.rows, batch.names),
        "labels": batch.labels.tolist(),
    }
    if batch.weights is not None:
        line["weights"] = batch.weights.tolist()
    if found.refused is not None:
        line["refused"] = found.refused
    return json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def moment_of(name: str, text: str | None, default: float) -> float:
    """Return a time as seconds since 1970, or refuse it; one without a zone is UTC.

    >>> moment_of("begin", "2026-11-19T12:00+01:00", 0.0) == moment_of("begin", "2026-11-19T11:00", 0.0)
    True
    """
    if text is None:
        return default
    try:
        moment = dt.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Refusal(422, f"{name} must be a time such as 2026-11-19T12:00:00, got {text[:60]!r}") from None
