"""The service on loopback, with its clients on the same cores: what durability and HTTP cost, as ratios of one run.

- One row a request, one client: the time of a request beside 1.5 ms and two syncs of the same disk, which take turns
  with the requests; and the processor's time of the service beside that of `partial_fit`.
- 64 clients of one row a request each: the rate beside that of a service whose syncs do nothing.
- Batches of 1,000 rows: the rate beside that of `partial_fit`.
- One-row predictions at a fixed rate, by a clock that does not wait for answers: a late answer makes the next ones late
  too, and all of it counts. First idle, then while another client learns batches as fast as they are taken.
- The same beside FastAPI as most people would write it: JSON, one lock, a pickle after each request, no sync. It is
  left out where FastAPI is not installed.

SECONDS=20 measures longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import onkel
from figures import Figure, main, state
from onkel.serve._arrow import MEDIA_TYPE, to_stream

SECONDS = float(os.environ.get("SECONDS", "5"))
RATE, CONNECTIONS = 200, 8  # predictions a second
BATCH, WIDTH, BUDGET, CLIENTS, SINGLE = 1_000, 10, 400, 64, 300
SHIM = "int fsync(int f) { (void)f; return 0; }\nint fdatasync(int f) { (void)f; return 0; }\n"

RIVAL = """
import pickle, sys, threading
import numpy as np, onkel, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app, lock = FastAPI(), threading.Lock()
model = onkel.NewtonClassifier(budget=400, gamma=0.5, random_state=0)


class Rows(BaseModel):
    rows: list[list[float]]
    labels: list[int] | None = None


@app.post("/v2/models/newton/learn")
def learn(body: Rows):
    with lock:
        model.partial_fit(np.array(body.rows), np.array(body.labels), classes=[0, 1])
        with open(sys.argv[1] + "/model.pkl", "wb") as file:
            pickle.dump(model, file)
    return {"rows": len(body.rows)}


@app.post("/v2/models/newton/infer")
def infer(body: Rows):
    return {"predict": model.predict(np.array(body.rows)).tolist()}


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""

RNG = np.random.default_rng(0)


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = RNG.normal(size=(n, WIDTH))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"POST /v2/models/newton/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def learn_json(X: np.ndarray, y: np.ndarray) -> bytes:
    return request("learn", json.dumps({"rows": X.tolist(), "labels": y.tolist()}).encode())


def learn_arrow(X: np.ndarray, y: np.ndarray) -> bytes:
    columns = {f"x{i}": np.ascontiguousarray(X[:, i]) for i in range(WIDTH)} | {"label": y}
    return request("learn", to_stream(columns), MEDIA_TYPE)


INFER = request("infer", json.dumps({"rows": rows(1)[0].tolist()}).encode())
BATCHES = [rows(BATCH) for _ in range(20)]


def length_of(head: bytes) -> int:
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"not answered: {head!r}")
    return int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


class Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, wanted: bytes) -> None:
        self.socket.sendall(wanted)
        found = b""
        while b"\r\n\r\n" not in found:
            found += self.socket.recv(65536)
        head, _, body = found.partition(b"\r\n\r\n")
        left = length_of(head) - len(body)
        while left > 0:
            left -= len(self.socket.recv(65536))


class Running:
    """A service in a process of its own, that has learned from some rows."""

    def __init__(self, command: list[str], warm: list[bytes], **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, *command, str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        while True:
            try:
                connection = Connection(self.port)
                break
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise SystemExit(f"it did not start: {command}") from None
                time.sleep(0.1)
        for wanted in warm:
            connection.ask(wanted)

    def seconds(self) -> float:
        """The processor's time of the process."""
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def service(folder: Path, **environment: str) -> Running:
    learner = ["--learner", "newton", "--budget", str(BUDGET), "--gamma", "0.5", "--classes", "0,1", "--raw"]
    return Running(
        ["-m", "onkel", "serve", *learner, "--dir", str(folder), "--port"],
        [learn_arrow(*each) for each in BATCHES[:5]],
        **environment,
    )


def model() -> onkel.NewtonClassifier:
    """The model of the service, in this process."""
    made = onkel.NewtonClassifier(budget=BUDGET, gamma=0.5, random_state=0)
    for X, y in BATCHES[:5]:
        made.partial_fit(X, y, classes=[0, 1])
    return made


def percentile(taken: list[float], share: float) -> float:
    return sorted(taken)[int(share * (len(taken) - 1))]


def single_rows(running: Running, folder: Path) -> Iterator[Figure]:
    """One row a request, keep-alive, one client."""
    connection, probe = Connection(running.port), os.open(folder / "probe", os.O_CREAT | os.O_WRONLY)
    own, (X, y) = model(), rows(2 * SINGLE)
    wanted = [learn_json(X[i : i + 1], y[i : i + 1]) for i in range(2 * SINGLE)]
    for each in wanted[:SINGLE]:
        connection.ask(each)
    asked, synced = [], []
    for each in wanted[SINGLE:]:
        begin = time.perf_counter()
        connection.ask(each)
        asked.append(time.perf_counter() - begin)
        os.write(probe, bytes(4096))
        begin = time.perf_counter()
        os.fdatasync(probe)
        synced.append(time.perf_counter() - begin)
    os.close(probe)
    allowed = 0.0015 + 2 * percentile(synced, 0.5)
    peer = f"1.5 ms + 2 syncs = {1000 * allowed:.1f} ms"
    yield state(
        f"one row learned, {own.n_support_} points, median", percentile(asked, 0.5) / allowed, "x", peer, 1, True
    )
    yield state("one row learned, 99th percentile", percentile(asked, 0.99) / allowed, "x", peer, 3, True)

    spent, alone = [np.inf], [np.inf]
    for _ in range(5):
        begin = running.seconds()
        for each in wanted[SINGLE:]:
            connection.ask(each)
        spent.append((running.seconds() - begin) / SINGLE)
        begin = time.process_time()
        for i in range(SINGLE):
            own.partial_fit(X[i : i + 1], y[i : i + 1])
        alone.append((time.process_time() - begin) / SINGLE)
    yield state(
        "one row learned, processor's time beyond partial_fit", 1000 * (min(spent) - min(alone)), "ms", "", 1, True
    )


async def by_many(port: int, n_clients: int, seconds: float) -> float:
    """Rows learned a second by clients of one row a request each."""
    wanted = [learn_json(*rows(1)) for _ in range(200)]
    end, done = time.perf_counter() + seconds, 0

    async def client(number: int) -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            writer.write(wanted[(done + number) % len(wanted)])
            await reader.readexactly(length_of(await reader.readuntil(b"\r\n\r\n")))
            done += 1
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*map(client, range(n_clients)))
    return done / (time.perf_counter() - begin)


def many_clients(running: Running, folder: Path) -> Iterator[Figure]:
    (folder / "shim.c").write_text(SHIM)
    shim = folder / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(folder / "shim.c")], check=True)
    with service(folder / "stubbed", LD_PRELOAD=str(shim)) as stubbed:
        rates: dict[int, list[float]] = {running.port: [], stubbed.port: []}
        for _ in range(3):  # in turns
            for port, found in rates.items():
                found.append(asyncio.run(by_many(port, CLIENTS, SECONDS / 3)))
    rate, without = (max(found) for found in rates.values())
    yield state(f"{CLIENTS} clients of one row, rows a second", rate / without, "x", f"no syncs: {without:,.0f}/s", 0.7)


def batches(running: Running) -> Iterator[Figure]:
    connection, own = Connection(running.port), model()
    wanted = [learn_arrow(*each) for each in BATCHES]
    served, alone = [], []
    for i, (X, y) in enumerate(BATCHES * 2):
        begin = time.perf_counter()
        connection.ask(wanted[i % len(wanted)])
        served.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        own.partial_fit(X, y)
        alone.append(time.perf_counter() - begin)
    speed = percentile(alone, 0.5) / percentile(served, 0.5)
    yield state("batches of 1,000 rows", speed, "x", f"partial_fit: {BATCH / percentile(alone, 0.5):,.0f}/s", 0.7)


async def latencies(port: int, seconds: float) -> list[float]:
    """Milliseconds from when a prediction was due to its answer, at a fixed rate."""
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    taken: list[float] = []

    async def ask(due: float) -> None:
        reader, writer = await free.get()
        writer.write(INFER)
        await reader.readexactly(length_of(await reader.readuntil(b"\r\n\r\n")))
        taken.append(1000 * (time.perf_counter() - due))
        free.put_nowait((reader, writer))

    begin, tasks = time.perf_counter(), []
    for n in range(int(seconds * RATE)):
        due = begin + n / RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(due)))
    await asyncio.gather(*tasks)
    return taken


@contextlib.contextmanager
def learning(port: int, wanted: list[bytes]) -> Iterator[None]:
    """Meanwhile a client learns batches as fast as they are taken."""
    stop = threading.Event()

    def learn() -> None:
        connection = Connection(port)
        while not stop.is_set():
            for each in wanted:
                connection.ask(each)

    thread = threading.Thread(target=learn)
    thread.start()
    time.sleep(0.5)  # until it learns
    try:
        yield
    finally:
        stop.set()
        thread.join()


def beside_learning(port: int, wanted: list[bytes]) -> tuple[float, float]:
    """The 99th percentiles of predictions in milliseconds: idle, and while learning."""
    idle, busy = [], []
    for _ in range(3):  # in turns
        idle += asyncio.run(latencies(port, SECONDS / 3))
        with learning(port, wanted):
            busy += asyncio.run(latencies(port, SECONDS / 3))
    return percentile(idle, 0.99), percentile(busy, 0.99)


def predictions(running: Running, folder: Path) -> Iterator[Figure]:
    idle, busy = beside_learning(running.port, [learn_arrow(*each) for each in BATCHES[:5]])
    allowed = max(15.0, 3 * idle)
    peer = f"15 ms, or 3 times idle: {allowed:.0f} ms"
    yield state("99th percentile of predictions while learning", busy / allowed, "x", peer, 1, True)
    if importlib.util.find_spec("fastapi"):
        wanted = [learn_json(*each) for each in BATCHES[:5]]
        with Running(["-c", RIVAL, str(folder)], wanted) as rival:
            _, theirs = beside_learning(rival.port, wanted)
        yield state("the same of FastAPI and pickle", theirs / busy, "x", "onkel serve")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with service(folder / "state") as running:
            yield from single_rows(running, folder)
            yield from many_clients(running, folder)
            yield from batches(running)
            yield from predictions(running, folder)


if __name__ == "__main__":
    main(figures)
