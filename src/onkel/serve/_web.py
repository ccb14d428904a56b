"""The service over HTTP: the Open Inference Protocol v2, with extensions for learning (`_openapi` lists all)."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import math
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import onkel
from onkel.serve import _arrow, _live, _openapi, _wire
from onkel.serve._export import line_of, moment_of
from onkel.serve._json import parsed
from onkel.serve._metrics import Metrics
from onkel.serve._queue import Full
from onkel.serve._refusal import Refusal
from onkel.serve._requests import Identified
from onkel.serve._served import Served
from onkel.serve._tasks import Snapshot

_LARGE = 2**16  # bodies of more bytes, and predictions of more kernel values, are processed in another thread
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on the memory and the time that clients can use."""

    body_bytes: int = 2**24  # of one request
    bodies_bytes: int = 2**27  # of all requests that are being read at the same time
    body_seconds: float = 30.0  # to send a body
    rows: int = 100_000  # of one request


class Service:
    """Served models behind HTTP.

    Parameters
    ----------
    models : dict of Served
        The models by name.
    token : str, default=None
        The token that requests must have, as ``Authorization: Bearer`` or as the password in a browser. Without a
        token, only requests to a loopback name are answered.
    limits : Limits, default=None
    log_all : bool, default=False
        Whether all requests are logged, not only those that are refused.
    """

    def __init__(
        self,
        models: dict[str, Served],
        token: str | None = None,
        limits: Limits | None = None,
        log_all: bool = False,
    ) -> None:
        self.models = models
        self.token = token
        self.limits = limits or Limits()
        self.log_all = log_all
        self.stopping = False  # whether it takes no more connections
        self.metrics = Metrics(models)
        self._reading = 0  # bytes of the bodies that are being read
        self._backups: set[str] = set()  # the models of which one is being written
        self._described = _openapi.document(list(models), self.limits.rows)

    def app(self) -> Any:
        """Return the ASGI application."""
        routes = []
        for operation in _openapi.OPERATIONS:
            guard = self._guarded if operation.guarded else self._open
            handler = guard(getattr(self, f"_{operation.name}"))
            routes.append(Route(operation.path, handler, methods=[operation.method]))
        app = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed, 500: _failed})
        return Identified(app, self.log_all)

    # -- authorisation

    def _open(self, answer: Callable[[Request], Awaitable[Response]]) -> Any:
        """Answer all requests."""

        async def endpoint(request: Request) -> Response:
            try:
                return await answer(request)
            except Refusal as refusal:
                return _refused(refusal)
            except ClientDisconnect:
                return Response(status_code=400)  # the client has gone

        return endpoint

    def _guarded(self, answer: Callable[[Request], Awaitable[Response]]) -> Any:
        """Refuse requests without the token."""

        async def checked(request: Request) -> Response:
            self._check_asker(request)
            return await answer(request)

        return self._open(checked)

    def _check_asker(self, request: Request) -> None:
        if self.token is None:
            # A page of another site may reach a service on this machine under a host name of its own (DNS rebinding).
            host = request.headers.get("host", "")
            if host.rpartition(":")[0] not in _LOOPBACK and host not in _LOOPBACK:
                raise Refusal(403, f"only requests to a loopback name are answered, and this one is for {host[:100]!r}")
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except ValueError:
                given = ""
        if kind.lower() not in ("bearer", "basic") or not hmac.compare_digest(given.encode(), self.token.encode()):
            raise Refusal(401, "a token is needed: Authorization: Bearer TOKEN")

    def _served(self, request: Request) -> Served:
        name = request.path_params.get("model") or next(iter(self.models))
        if name not in self.models:
            raise Refusal(404, f"there is no model {name!r}; there are {', '.join(map(repr, self.models))}")
        return self.models[name]

    # -- bodies

    async def _body(self, request: Request) -> bytes:
        """The body, within the limits on its size, on the size of all bodies together and on time."""
        most = self.limits.body_bytes
        too_large = Refusal(413, f"the body is larger than the {most:,} bytes allowed")
        claimed = request.headers.get("content-length", "0")
        if claimed.isdigit() and int(claimed) > most:
            raise too_large
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for piece in request.stream():
                    size += len(piece)
                    self._reading += len(piece)
                    if size > most:
                        raise too_large
                    if self._reading > self.limits.bodies_bytes:
                        raise Full(429, "other requests use all the memory reserved for bodies; try again in a second")
                    pieces.append(piece)
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {self.limits.body_seconds:g} seconds") from None
        finally:
            self._reading -= size
        return b"".join(pieces)

    def _shape(self, served: Served, snapshot: Snapshot) -> _wire.ModelShape:
        takes_tables = snapshot.inside.takes_tables
        return _wire.ModelShape(snapshot.names, served.target, snapshot.is_fitted, self.limits.rows, takes_tables)

    # -- answers

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def _ready(self, request: Request) -> Response:
        broken = next((served.broken for served in self.models.values() if served.broken), None)
        ready = broken is None and not self.stopping
        return JSONResponse({"ready": ready} | ({"error": broken} if broken else {}), 200 if ready else 503)

    async def _about(self, request: Request) -> Response:
        extensions = ["learn", "rollback", "backup", "learned"]
        about = {"name": "onkel", "version": onkel.__version__, "extensions": extensions}
        return JSONResponse({**about, "sqlite": sqlite3.sqlite_version})

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"models": list(self.models)})

    async def _metadata(self, request: Request) -> Response:
        served = self._served(request)
        snapshot = served.snapshot
        classes = snapshot.inside.classes
        outputs = [{"name": name, "datatype": "FP64", "shape": [-1]} for name in snapshot.outputs()]
        if classes is not None:
            outputs[0]["datatype"] = _wire.datatype(classes)
        facts = {
            "estimator": type(snapshot.inside.estimator).__name__,
            "features": snapshot.names,
            "target": served.target,
            "classes": None if classes is None else classes.tolist(),
            "rows_learned": snapshot.rows,
            "read_only": served.settings.read_only,
        }
        return JSONResponse(
            {
                "name": served.name,
                "versions": [str(version) for version in served.versions()],
                "platform": "onkel",
                "inputs": _inputs(snapshot),
                "outputs": outputs,
                "parameters": facts,
            }
        )

    async def _model_ready(self, request: Request) -> Response:
        served = self._served(request)
        ready = served.snapshot.is_fitted
        return JSONResponse({"name": served.name, "ready": ready}, 200 if ready else 503)

    async def _infer(self, request: Request) -> Response:
        served, begin = self._served(request), time.perf_counter()
        arrow = _is_arrow(request)
        snapshot = served.snapshot
        shape = self._shape(served, snapshot)
        body = await self._body(request)
        asked = request.query_params
        id = asked.get("id") and _wire.checked_word("id", asked.get("id"))
        outputs = asked["outputs"].split(",") if "outputs" in asked else []

        def read() -> _wire.InferRequest:
            return _arrow.arrow_infer_request(body, shape, outputs, id) if arrow else _wire.infer_request(body, shape)

        wanted = await _aside(read, len(body))
        learner = snapshot.inside.learner
        work = math.prod(wanted.rows.shape) * (learner.n_support if learner is not None else 0)
        predictions = await _aside(lambda: snapshot.predict(wanted.rows, wanted.outputs), work)
        parameters: dict[str, Any] = {"rows_learned": snapshot.rows}
        if wanted.id is not None:
            parameters["held"] = await asyncio.to_thread(served.hold, wanted.id, wanted.rows, wanted.names)
        self.metrics.took(served.name, "infer", begin)
        if arrow:
            headers = {f"onkel-{name.replace('_', '-')}": json.dumps(value) for name, value in parameters.items()}
            return Response(_arrow.arrow_answer(predictions), media_type=_arrow.MEDIA_TYPE, headers=headers)
        return JSONResponse(_wire.infer_answer(served.name, snapshot.version, wanted.id, predictions, parameters))

    async def _learn(self, request: Request) -> Response:
        served, begin = self._served(request), time.perf_counter()
        arrow = _is_arrow(request)
        try:
            body = await self._body(request)
            shape = self._shape(served, served.snapshot)
            header = request.headers.get("idempotency-key")
            key = None if header is None else _wire.checked_word("Idempotency-Key", header)

            def read() -> _wire.LearnRequest:
                return _arrow.arrow_learn_request(body, shape) if arrow else _wire.learn_request(body, shape)

            wanted = await _aside(read, len(body))
            key = wanted.key or key
            if wanted.batch is not None:
                done = served.learn(wanted.batch, key)
            else:
                assert wanted.id is not None
                done = served.label(wanted.id, wanted.labels, wanted.weights, key)
        except Refusal as refusal:
            served.progress.refuse(refusal.status, refusal.sentence)
            raise
        answer = await asyncio.wrap_future(done)
        self.metrics.took(served.name, "learn", begin)
        return JSONResponse(answer)

    async def _roll_back(self, request: Request) -> Response:
        served = self._served(request)
        _check_type(request, "application/json")
        wanted = parsed(await self._body(request))
        version = wanted.get("version")
        if wanted.keys() != {"version"} or not re.fullmatch("[0-9]{1,12}", str(version)):
            raise Refusal(422, 'expected {"version": NUMBER}, one of the model\'s versions')
        return JSONResponse(await asyncio.wrap_future(served.roll_back(int(str(version)))))

    async def _metrics(self, request: Request) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _page(self, request: Request) -> Response:
        html = _live.live_page(self._served(request), list(self.models))
        return HTMLResponse(html, headers={"content-security-policy": _POLICY, "cache-control": "no-store"})

    _page_of = _page

    async def _state(self, request: Request) -> Response:
        return JSONResponse(_live.state(self._served(request)), headers={"cache-control": "no-store"})

    async def _backup(self, request: Request) -> Response:
        served = self._served(request)
        if served.name in self._backups:
            raise Full(429, "a backup is being written already; try again when it is done")
        self._backups.add(served.name)
        try:
            file = await asyncio.wrap_future(served.back_up())
        finally:
            self._backups.discard(served.name)
        headers = {
            "content-length": str(file.seek(0, 2)),
            "content-disposition": f'attachment; filename="{served.name}.tar"',
        }
        file.seek(0)
        return StreamingResponse(_pieces(file), media_type=_openapi.TAR, headers=headers)

    async def _learned(self, request: Request) -> Response:
        served, asked = self._served(request), request.query_params
        begin, end = moment_of("begin", asked.get("begin"), 0.0), moment_of("end", asked.get("end"), math.inf)
        return StreamingResponse(map(line_of, served.learned(begin, end)), media_type=_openapi.LINES)

    async def _document(self, request: Request) -> Response:
        return JSONResponse(self._described)

    async def _interface(self, request: Request) -> Response:
        return HTMLResponse(_openapi.interface_page(), headers={"content-security-policy": _POLICY})


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(2**18):
            yield piece


async def _aside(work: Callable[[], Any], size: int) -> Any:
    """Do the work here if it is small, otherwise in another thread, so that other requests are answered meanwhile."""
    return work() if size <= _LARGE else await asyncio.to_thread(work)


def _inputs(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The tensors that a model takes: one of rows, or one for each column of a table."""
    if not snapshot.inside.takes_tables or not snapshot.is_fitted:
        width = snapshot.model.n_features_in_ if snapshot.is_fitted else -1
        return [{"name": "rows", "datatype": "FP64", "shape": [-1, width]}]
    kinds = snapshot.inside.transformers[0].schema_
    types = {"number": "FP64", "boolean": "BOOL"}
    return [
        {"name": name, "datatype": types.get(kind.removesuffix("?"), "BYTES"), "shape": [-1]}
        for name, kind in kinds.items()
    ]


def _is_arrow(request: Request) -> bool:
    """Whether the body is an Arrow stream; refused where it is neither that nor JSON.

    A content type is required, since a page of another site cannot send these two without a preflight request.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _arrow.MEDIA_TYPE:
        return True
    _check_type(request, "application/json")
    return False


def _check_type(request: Request, expected: str) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != expected:
        raise Refusal(415, f"expected Content-Type: application/json (or {_arrow.MEDIA_TYPE}), got {kind[:60]!r}")


def _refused(refusal: Refusal) -> Response:
    headers = {}
    if isinstance(refusal, Full):
        headers["retry-after"] = "1"
    if refusal.status == 401:
        headers["www-authenticate"] = 'Basic realm="onkel"'
    if refusal.status in (401, 403, 408, 413, 415, 429):  # before the body was read
        headers["connection"] = "close"
    return JSONResponse(refusal.answer(), refusal.status, headers)


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"there is nothing at {request.url.path[:200]}"}, 404)


async def _not_allowed(request: Request, error: Exception) -> Response:
    sentence = f"{request.method} is not allowed for {request.url.path[:200]}"
    return JSONResponse({"error": sentence}, 405, headers=getattr(error, "headers", None))


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "the service failed on this request; see its log"}, 500)
