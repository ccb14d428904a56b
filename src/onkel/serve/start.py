"""Starting a service with the models of the given files, or with those of its directory."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
from pathlib import Path
from typing import Any

import onkel
from onkel.files.tree import Writer
from onkel.serve._database import is_on_network
from onkel.serve._served import Served
from onkel.serve._server import log_to_standard_error, serve
from onkel.serve._store import NAME, Retention, Store, restore
from onkel.serve._tasks import ServiceSettings
from onkel.serve._web import Limits, Service

__all__ = [
    "Limits",
    "Retention",
    "Service",
    "ServiceSettings",
    "is_loopback",
    "log_to_standard_error",
    "open_models",
    "restore",
    "run",
    "token_of",
]

logger = logging.getLogger("onkel.serve")

Fresh = tuple[str, Any, list[Any] | None]  # the name, the model and the classes to start with


def open_models(
    folder: str, files: list[str], fresh: Fresh | None, target: str, settings: ServiceSettings
) -> dict[str, Served]:
    """Open every model; if one is refused, those before it are closed again.

    Parameters
    ----------
    folder : str
        Each model has a directory of its own in it.
    files : list of str
        Model files; the name of a model is its file's stem.
    fresh : (name, model, classes), default=None
        An unfitted model, instead of files.
    target : str
        The name of the label in rows with names.
    settings : ServiceSettings
    """
    root = Path(folder)
    wanted = {_name(Path(file)): Path(file) for file in files}
    if len(wanted) != len(files):
        raise ValueError("two model files have the same name, which is the name of a served model")
    models: dict[str, Served] = {}
    try:
        for name, path in wanted.items():
            origin = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            models[name] = _served(root, name, onkel.load(path), origin, None, target, settings)
        if fresh is not None:
            name, model, classes = fresh
            models[name] = _served(root, name, model, _origin(model, classes), classes, target, settings)
        if not models:
            for path in sorted(root.glob("*/version-*.onkel")):
                if path.parent.name not in models:
                    models[path.parent.name] = _served(root, path.parent.name, None, None, None, target, settings)
            if not models:
                raise ValueError(f"{folder} holds no model yet: give a model file, or --learner")
    except BaseException:
        for served in models.values():
            served.close()
        raise
    return models


def run(service: Service, host: str, port: int, drain_seconds: float) -> None:
    """Answer requests until SIGTERM or Ctrl-C, and for so many seconds after it."""
    serve(service, host, port, drain_seconds)


def token_of(path: str) -> str:
    """Return the token in the first line of a file; refuse one that is too short."""
    token = (Path(path).read_text("utf-8").splitlines() or [""])[0].strip()
    if len(token) < 16:
        raise ValueError(f"{path} must contain a token of at least 16 characters in its first line")
    return token


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _served(
    root: Path,
    name: str,
    model: Any,
    origin: dict[str, Any] | None,
    classes: list[Any] | None,
    target: str,
    settings: ServiceSettings,
) -> Served:
    if model is not None and not hasattr(model, "predict_then_learn"):
        raise ValueError(f"{name} holds a {type(model).__name__}, which cannot be served: save an estimator instead")
    store = Store(root / name, settings.kept)
    if kind := is_on_network(store.folder):
        facts = {"model": name, "file_system": kind}
        logger.warning("the state is on a file system of a network, which may lose rows", extra={"facts": facts})
    return Served(name, store, model, origin, classes, target, settings)


def _name(path: Path) -> str:
    if not NAME.fullmatch(path.stem):
        raise ValueError(f"{path}: the file's name is that of the model, and may contain letters, digits, . _ and -")
    return path.stem


def _origin(model: Any, classes: list[Any] | None) -> dict[str, Any]:
    """What identifies a new learner: its class, its parameters and the classes."""
    description = {"learner": type(model).__name__, "parameters": Writer().tree(model), "classes": classes}
    return dict(json.loads(json.dumps(description)))
