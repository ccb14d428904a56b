"""Services for tests: on loopback, in a thread of the test's own process, gone when the test is."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import threading
import time

from onkel.serve._served import Served
from onkel.serve._server import Server, config_of
from onkel.serve._store import Retention, Store
from onkel.serve._tasks import ServiceSettings
from onkel.serve._web import Service


def settings_of(**settings):
    """Settings from their names and those of what is kept."""
    kept = {each.name: settings.pop(each.name) for each in dataclasses.fields(Retention) if each.name in settings}
    return ServiceSettings(**settings, kept=Retention(**kept))


@contextlib.contextmanager
def running(folder, models, *, token=None, limits=None, target="label", classes=None, drain_seconds=0.0, **settings):
    """Serve new models, by name; yields the service, with its port."""
    chosen = settings_of(**settings)
    served = {
        name: Served(name, Store(folder / name, chosen.kept), model, None, classes, target, chosen)
        for name, model in models.items()
    }
    service = Service(served, token, limits)
    server = Server(config_of(service, "127.0.0.1", 0), service, drain_seconds)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    try:
        while not hasattr(server, "port"):
            time.sleep(0.005)
        service.port, service.server = server.port, server
        yield service
    finally:
        server.stop()
        thread.join()
        for each in served.values():
            each.close()


def ask(service, method, path, content=None, headers=None):
    """The status, the headers and the body of an answer; JSON is read."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
    connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    kind = response.headers.get("content-type", "")
    return response.status, response.headers, json.loads(answer) if kind == "application/json" else answer
