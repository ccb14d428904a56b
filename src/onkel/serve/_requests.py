"""Every request has an id, which its answer and the lines of the log that are about it bear."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

logger = logging.getLogger("onkel.serve")

_ID = re.compile(rb"[!-~]{1,200}")
_HEADER = b"x-request-id"
Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class Identified:
    """An application whose requests have ids: the client's ``X-Request-Id``, or one that is drawn.

    Refusals and failures are logged; all requests if `every` is set.

    Parameters
    ----------
    app : ASGI application
    every : bool
    """

    def __init__(self, app: App, every: bool) -> None:
        self.app = app
        self.every = every

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Answer a request."""
        given = next((value for name, value in scope.get("headers", ()) if name == _HEADER), b"")
        id = given if _ID.fullmatch(given) else secrets.token_hex(8).encode()
        begin, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (_HEADER, id)]
            await send(message)

        failure: Exception | None = None
        try:
            await self.app(scope, receive, answer)
        except Exception as error:
            failure = error
            if status == 0:
                raise
        finally:
            if self.every or status >= 400 or failure is not None:
                facts = {
                    "request": id.decode("ascii"),
                    "method": scope.get("method"),
                    "path": str(scope.get("path"))[:200],
                    "status": status,
                    "seconds": round(time.perf_counter() - begin, 6),
                }
                level = logging.ERROR if failure is not None else logging.WARNING if status >= 400 else logging.INFO
                logger.log(level, "answered a request", extra={"facts": facts}, exc_info=failure)
