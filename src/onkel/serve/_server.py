"""The process: sockets with timeouts, signals, structured logs."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import signal
import sqlite3
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from onkel.serve._web import Service

logger = logging.getLogger("onkel.serve")

_HEAD_SECONDS = 10.0  # for the header of a request
_HEAD_BYTES = 2**16
_KEEP_SECONDS = 30  # between two requests of a connection
_DRAIN_SECONDS = 30  # for requests in progress when the service is told to stop
_CONNECTIONS = 512
_SWITCH_SECONDS = 0.0001  # of the interpreter's lock: a prediction waits no longer for a thread that learns


class ImpatientProtocol(HttpToolsProtocol):
    """A connection that is closed when the header of a request does not arrive in time, or is too long."""

    head_seconds = _HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Keep waiting, unless a request has arrived."""
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is None or cycle.response_complete:
            self._wait()
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The header of the request is too long.")
        else:
            self._stop_waiting()
            self._head_bytes = 0

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """A server that stops when it is told to."""

    def __init__(self, config: uvicorn.Config, service: Service, drain_seconds: float = 0.0) -> None:
        super().__init__(config)
        self.service = service
        self.drain_seconds = drain_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve`: uvicorn would raise them again, and nothing would be saved."""
        yield

    def drain(self) -> None:
        """Be no longer ready, so that nobody sends more, and stop after a while, or when told again."""
        if self.service.stopping or self.drain_seconds == 0:
            self.stop()
        else:
            self.service.stopping = True
            logger.info("draining", extra={"facts": {"seconds": self.drain_seconds}})
            asyncio.get_running_loop().call_later(self.drain_seconds, self.stop)

    def stop(self) -> None:
        """Accept no more connections, and finish the requests in progress."""
        self.service.stopping = True
        self.should_exit = True

    async def startup(self, sockets: Any = None) -> None:
        """Log the address once the service is listening."""
        await super().startup(sockets)
        if self.started:
            self.port = self.servers[0].sockets[0].getsockname()[1]
            facts = {"host": self.config.host, "port": self.port, "models": list(self.service.models)}
            facts["sqlite"] = sqlite3.sqlite_version
            logger.info("ready", extra={"facts": facts})


def serve(service: Service, host: str, port: int, drain_seconds: float = 0.0) -> None:
    """Answer requests until SIGTERM or Ctrl-C; then finish those in progress, learn the waiting rows and save."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # otherwise every full collection would scan all imported modules and delay all answers
    server = Server(config_of(service, host, port), service, drain_seconds)

    async def answer() -> None:
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, server.drain)
        await server.serve()

    try:
        asyncio.run(answer())
    finally:
        close(service)


def close(service: Service) -> None:
    """Learn the waiting rows, and write a last checkpoint of every model."""
    for served in service.models.values():
        served.close()
    logger.info("stopped")


def config_of(service: Service, host: str, port: int) -> uvicorn.Config:
    """Return the settings of the web server."""
    return uvicorn.Config(
        service.app(),
        host=host,
        port=port,
        http=ImpatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_KEEP_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )


class JsonLines(logging.Formatter):
    """A log whose lines are JSON: time, level, message, and further fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line.

        >>> record = logging.LogRecord("onkel.serve", logging.INFO, "", 0, "ready", (), None)
        >>> json.loads(JsonLines().format(record))["message"]
        'ready'
        """
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_standard_error() -> None:
    """Write the log of the service, and warnings of the web server and of the models, as structured lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("onkel.serve", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    warnings.showwarning = lambda message, *_, **__: logging.getLogger("onkel.serve").warning(str(message))
