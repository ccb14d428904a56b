"""A client of the service: predictions, rows to learn and labels, with retries that change nothing twice."""

from __future__ import annotations

import http.client
import itertools
import json
import time
import urllib.parse
import uuid
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.serve._arrow import MEDIA_TYPE, to_stream
from onkel.serve._batch import rows_as_json
from onkel.streams.table import Table

_AGAIN = (408, 429, 500, 502, 503, 504)  # statuses after which a retry of the same request may succeed


class ServiceError(RuntimeError):
    """A request that the service refused, with the reason.

    Parameters
    ----------
    status : int
    sentence : str
    row : int, default=None
        The row at fault, where there is one.
    """

    def __init__(self, status: int, sentence: str, row: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.row = row


class Client:
    """A client of a service that ``onkel serve`` has started.

    Every request to learn has an idempotency key. It can therefore be sent again after a lost connection or a full
    queue, and its rows are learned once, whether the request or its answer was lost.

    Parameters
    ----------
    url : str
        Such as ``http://127.0.0.1:8080``.
    token : str, default=None
    model : str, default=None
        May be None if there is only one model.
    timeout : float, default=60.0
        Seconds to wait for an answer, through lost connections, a full queue and restarts of the service.
    retries : int, default=None
        The largest number of times that a request is sent again; None goes on until `timeout`.
    arrow : bool, default=False
        Whether to send arrays of rows to learn as Arrow streams, which is faster and needs pyarrow on both sides.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8080")            # doctest: +SKIP
    >>> client.learn([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"])  # doctest: +SKIP
    2
    >>> client.predict([[0.9, 0.1]], id="visit-17")         # doctest: +SKIP
    array(['yes'], dtype='<U3')
    >>> client.label("visit-17", ["no"])                    # doctest: +SKIP
    1
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        model: str | None = None,
        timeout: float = 60.0,
        retries: int | None = None,
        arrow: bool = False,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be http://HOST:PORT or https://HOST:PORT, got {url!r}")
        self._new = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}[parts.scheme]
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._token = token
        self._model = model
        self._timeout = timeout
        self._retries = retries
        self._arrow = arrow
        self._features: list[str] | None = None
        self._connection: http.client.HTTPConnection | None = None

    def predict(self, rows: Any, *, id: str | None = None, output: str = "predict") -> NDArray[Any]:
        """Return predictions.

        Parameters
        ----------
        rows : array-like of shape (n, n_features), data frame, or list of dicts
        id : str, default=None
            The id under which the rows are held until `label` sends their labels.
        output : {"predict", "decision_function", "predict_proba", "predict_std", "predict_interval", "predict_set"}
        """
        content: dict[str, Any] = {"rows": _listed(rows), "outputs": [{"name": output}]}
        if id is not None:
            content["id"] = id
        answer = self._ask("POST", "infer", content)
        tensor = answer["outputs"][0]
        return np.array(tensor["data"]).reshape(tensor["shape"])

    def learn(self, rows: Any, labels: ArrayLike, weights: ArrayLike | None = None, *, key: str | None = None) -> int:
        """Learn from rows; return their number once they are on the disk, learned and visible to predictions.

        Parameters
        ----------
        rows : array-like of shape (n, n_features), data frame, or list of dicts
        labels : array-like of shape (n,)
        weights : array-like of shape (n,), default=None
        key : str, default=None
            The idempotency key of the request; None draws one at random.
        """
        key = key or uuid.uuid4().hex
        if self._arrow and not _are_dicts(rows) and not hasattr(rows, "columns"):
            body = self._stream(np.asarray(rows, np.float64), labels, weights)
            headers = {"Content-Type": MEDIA_TYPE, "Idempotency-Key": key}
            return int(self._request("POST", self._path("learn"), body, headers)["rows"])
        content = {"rows": _listed(rows), "labels": np.asarray(labels).tolist(), "key": key}
        if weights is not None:
            content["weights"] = np.asarray(weights, np.float64).tolist()
        return int(self._ask("POST", "learn", content)["rows"])

    def label(self, id: str, labels: ArrayLike) -> int:
        """Learn from rows that were predicted under an id, now that their labels are known; return their number."""
        content = {"id": id, "labels": np.asarray(labels).reshape(-1).tolist()}
        return int(self._ask("POST", "learn", content)["rows"])

    def roll_back(self, version: int) -> int:
        """Go back to an earlier version; return the number of the new version that equals it."""
        return int(self._ask("POST", "rollback", {"version": version})["version"])

    def metadata(self) -> dict[str, Any]:
        """Return the service's description of the model: versions, features, classes, rows learned."""
        return self._ask("GET", "")

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stream(self, rows: NDArray[np.float64], labels: ArrayLike, weights: ArrayLike | None) -> bytes:
        """Rows as an Arrow stream; the columns have the names of the model's features, if there are any."""
        if self._features is None:
            about = self.metadata()["parameters"]
            self._features, self._target = about["features"], about["target"]
        names = self._features or [f"x{i}" for i in range(rows.shape[1])]
        columns = {name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(names)}
        columns[self._target] = np.asarray(labels)
        if weights is not None:
            columns["weight"] = np.asarray(weights, np.float64)
        return to_stream(columns)

    def _path(self, what: str) -> str:
        return f"{self._prefix}/v2/models/{urllib.parse.quote(self._name(), safe='')}" + (f"/{what}" if what else "")

    def _ask(self, method: str, what: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        body = None if content is None else json.dumps(content).encode()
        return self._request(method, self._path(what), body, {"Content-Type": "application/json"})

    def _name(self) -> str:
        if self._model is None:
            names = self._request("GET", f"{self._prefix}/v2/models", None, {})["models"]
            if len(names) != 1:
                raise ValueError(f"the service has the models {', '.join(names)}: pass one of them as model")
            self._model = names[0]
        return self._model

    def _request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        end = time.monotonic() + self._timeout
        for attempt in itertools.count():
            try:
                return self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                failure: Exception = error
            except ServiceError as error:
                if error.status not in _AGAIN:
                    raise
                failure = error
            pause = min(2.0, 0.05 * 2 ** min(attempt, 6))
            if attempt == self._retries or time.monotonic() + pause > end:
                raise failure
            time.sleep(pause)
        raise AssertionError("a count has no end")

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        if self._connection is None:
            self._connection = self._new(self._host, self._port, timeout=self._timeout)
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read() or b"{}")
        if response.will_close:
            self.close()
        if response.status != 200:
            raise ServiceError(response.status, answer.get("error", response.reason), answer.get("row"))
        return dict(answer)


def _are_dicts(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and bool(rows) and isinstance(rows[0], dict)


def _listed(rows: Any) -> Any:
    """Rows as JSON values."""
    if _are_dicts(rows):
        return list(rows)
    if hasattr(rows, "columns"):  # a data frame
        table = Table.of(rows)
        return rows_as_json(table, table.names)
    return np.asarray(rows, np.float64).tolist()
