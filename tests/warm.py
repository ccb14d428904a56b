"""Programs without their start: a process that has imported everything forks for each of them.

Most of the time of a short program goes into importing scikit-learn. What is tested by typing many commands into a
shell finds an `onkel` on its path that hands its arguments, folder, environment and open files to such a process; and
`python()` is an interpreter of that kind, for `-c` and `-m onkel`, in a process that may crash, fork and start threads.
Signals reach the caller alone. That a program starts by itself is tested elsewhere.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    call = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(call).to_bytes(8, "big") + call], [0, 1, 2])
    sys.exit((server.recv(1) or b"\\1")[0])
"""


@contextlib.contextmanager
def command(folder: Path) -> Iterator[Path]:
    """A folder for the path in which `onkel` is, and `warm-python`; `folder` is to be short: it holds the socket."""
    address = folder / "socket"
    clients = folder / "bin"
    clients.mkdir()
    for name in ("onkel", "warm-python"):
        (clients / name).write_text(CLIENT.format(python=sys.executable, address=str(address)))
        (clients / name).chmod(0o755)
    words = [sys.executable, __file__, str(address)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"ready\n"
        yield clients  # the server ends when its standard input is closed


@cache
def python() -> str:
    """An interpreter that has imported onkel; one process stands behind it until the tests end."""
    until_the_end = contextlib.ExitStack()
    atexit.register(until_the_end.close)
    folder = until_the_end.enter_context(tempfile.TemporaryDirectory())
    return str(until_the_end.enter_context(command(Path(folder))) / "warm-python")


def interpret(words: list[str]) -> None:
    """Do what an interpreter does with `-c PROGRAM` or `-m onkel`."""
    faulthandler.enable()
    while words[0] in ("-X", "-W"):
        if words[0] == "-W":
            warnings.simplefilter(words[1])
        words = words[2:]
    if words[0] == "-m":
        from onkel.cli import main

        sys.argv = words[1:]
        main()
    else:
        sys.argv = ["-c", *words[2:]]
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), vars(module))


def answer(server: socket.socket) -> int:
    """Run the command that a client asks for, with its files, and return its exit code."""
    from onkel.cli import main

    first, files, _, _ = socket.recv_fds(server, 1 << 16, 3)
    size, call = int.from_bytes(first[:8], "big"), first[8:]
    while len(call) < size:
        call += server.recv(1 << 16)
    for target, file in enumerate(files):
        os.dup2(file, target)
    sys.argv, folder, environment = json.loads(call)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        interpret(sys.argv[1:]) if Path(sys.argv[0]).name == "warm-python" else main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def serve(address: str) -> None:
    for name in ("onkel.cli.compare", "onkel.evaluate", "onkel.estimators.named", "onkel.models", "onkel.report"):
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no one waits for the children
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while select.select([listening, sys.stdin], [], [])[0] == [listening]:
            server, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                code = answer(server)
                server.send(bytes([code]))
                os._exit(code)
            server.close()


if __name__ == "__main__":
    serve(sys.argv[1])
