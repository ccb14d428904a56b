"""The service on loopback, with its clients on the same cores: latency of predictions beside learning, rows learned.

- One-row predictions at a fixed rate, by a clock that does not wait for answers: a late answer makes the next ones late
  too, and all of it counts. Meanwhile another client learns batches at a fixed rate.
- Rows learned as fast as they are taken, in batches of 1,000 rows, each in the log and synced before it is answered.
- The same model behind FastAPI as most people would write it: JSON, one lock, a pickle after each request, no sync.
  It is left out where FastAPI is not installed.

SECONDS=20 measures longer.
"""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from onkel.serve._arrow import MEDIA_TYPE, to_stream

SECONDS = float(os.environ.get("SECONDS", "8"))
RATE = 500  # predictions a second
BESIDE = 10_000  # rows a second learned beside them
BATCH, WIDTH, BUDGET = 1_000, 10, 200
CONNECTIONS = 8
GOAL_P99, GOAL_ROWS = 10.0, 50_000  # milliseconds; rows a second

RIVAL = """
import pickle, sys, threading
import numpy as np, onkel, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app, lock = FastAPI(), threading.Lock()
model = onkel.RBPClassifier(budget=200, gamma=0.1, random_state=0)


class Rows(BaseModel):
    rows: list[list[float]]
    labels: list[int] | None = None


@app.post("/learn")
def learn(body: Rows):
    with lock:
        model.partial_fit(np.array(body.rows), np.array(body.labels), classes=[0, 1])
        with open(sys.argv[1] + "/model.pkl", "wb") as file:
            pickle.dump(model, file)
    return {"rows": len(body.rows)}


@app.post("/infer")
def infer(body: Rows):
    return {"predict": model.predict(np.array(body.rows)).tolist()}


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""

RNG = np.random.default_rng(0)


def batch() -> tuple[np.ndarray, np.ndarray]:
    X = RNG.normal(size=(BATCH, WIDTH))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def as_json(X: np.ndarray, y: np.ndarray | None) -> bytes:
    return json.dumps({"rows": X.tolist()} | ({} if y is None else {"labels": y.tolist()})).encode()


def as_arrow(X: np.ndarray, y: np.ndarray) -> bytes:
    return to_stream({f"x{i}": np.ascontiguousarray(X[:, i]) for i in range(WIDTH)} | {"label": y})


class Contestant:
    """A service in a process of its own."""

    def __init__(self, name: str, command: list[str], learn: str, infer: str, arrow: bool) -> None:
        self.name, self.learn, self.infer, self.arrow = name, learn, infer, arrow
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.port = int(command[-1])
        self.bodies = [as_arrow(*batch()) if arrow else as_json(*batch()) for _ in range(20)]

    def wait(self) -> None:
        while True:
            try:
                return self.send(self.connection(), self.learn, self.bodies[0])
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    raise SystemExit(f"{self.name} did not start") from None
                time.sleep(0.1)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def send(self, connection: http.client.HTTPConnection, path: str, body: bytes) -> None:
        kind = MEDIA_TYPE if self.arrow and path == self.learn else "application/json"
        connection.request("POST", path, body, {"Content-Type": kind})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(f"{self.name}: {response.status} {answer[:200]!r}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def rows_a_second(service: Contestant, clients: int = 2) -> float:
    """Learn as fast as batches are taken, by a few clients at once."""
    end = time.perf_counter() + SECONDS
    done = [0] * clients

    def learn(client: int) -> None:
        connection = service.connection()
        while time.perf_counter() < end:
            service.send(connection, service.learn, service.bodies[done[client] % len(service.bodies)])
            done[client] += 1

    threads = [threading.Thread(target=learn, args=[client]) for client in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) * BATCH / (time.perf_counter() - begin)


LEARNING = """
import http.client, sys, time
port, path, kind, wait, name = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4]), sys.argv[5]
body = open(name, "rb").read()
connection = http.client.HTTPConnection("127.0.0.1", port)
due = time.perf_counter()
while True:
    connection.request("POST", path, body, {"Content-Type": kind})
    assert connection.getresponse().read()
    due = max(due + wait, time.perf_counter() - 1)
    time.sleep(max(0.0, due - time.perf_counter()))
"""


async def latencies(service: Contestant) -> np.ndarray:
    """Milliseconds from when a prediction was due to its answer, at a fixed rate."""
    X, _ = batch()
    body = as_json(X[:1], None)
    request = (
        f"POST {service.infer} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", service.port))
    taken: list[float] = []

    async def ask(due: float) -> None:
        reader, writer = await free.get()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{service.name}: {head!r}")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        taken.append(1000 * (time.perf_counter() - due))
        free.put_nowait((reader, writer))

    begin = time.perf_counter()
    tasks = []
    for n in range(int(SECONDS * RATE)):
        due = begin + n / RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(due)))
    await asyncio.gather(*tasks)
    return np.sort(taken)


def beside_learning(service: Contestant, folder: Path) -> np.ndarray:
    (folder / "body").write_bytes(service.bodies[0])
    kind = MEDIA_TYPE if service.arrow else "application/json"
    arguments = [str(service.port), service.learn, kind, str(BATCH / BESIDE), str(folder / "body")]
    learner = subprocess.Popen([sys.executable, "-c", LEARNING, *arguments])
    try:
        time.sleep(1)  # until it learns
        return asyncio.run(latencies(service))
    finally:
        learner.kill()
        learner.wait()


def free_port() -> str:
    import socket

    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return str(opened.getsockname()[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        learner = ["--learner", "rbp", "--budget", str(BUDGET), "--gamma", "0.1", "--classes", "0,1", "--raw"]
        onkel = [
            sys.executable,
            "-m",
            "onkel",
            "serve",
            *learner,
            "--dir",
            str(folder / "state"),
            "--port",
            free_port(),
        ]
        fastapi = [sys.executable, "-c", RIVAL, scratch, free_port()]
        contestants = [("onkel serve, Arrow", onkel, "/v2/models/rbp/learn", "/v2/models/rbp/infer", True)]
        if importlib.util.find_spec("fastapi"):
            contestants.append(("FastAPI and pickle", fastapi, "/learn", "/infer", False))
        print(f"RBP, budget {BUDGET}, {WIDTH} features, batches of {BATCH:,} rows; load {os.getloadavg()[0]:.1f}")
        print(f"{'':24}{'rows/s learned':>16}{'p50 ms':>10}{'p99 ms':>10}{'p99.9 ms':>10}")
        for name, command, learn, infer, arrow in contestants:
            service = Contestant(name, command, learn, infer, arrow)
            try:
                service.wait()
                rows = rows_a_second(service)
                taken = beside_learning(service, folder)
            finally:
                service.stop()
            p50, p99, p999 = (float(taken[int(share * (len(taken) - 1))]) for share in (0.5, 0.99, 0.999))
            print(f"{name:24}{rows:16,.0f}{p50:10.2f}{p99:10.2f}{p999:10.2f}")
            if name.startswith("onkel"):
                reached = rows >= GOAL_ROWS, p99 <= GOAL_P99
        said = ["missed", "reached"]
        print(f"goals: {GOAL_ROWS:,} rows/s {said[reached[0]]}; p99 of {GOAL_P99:g} ms at {RATE}/s {said[reached[1]]}")


if __name__ == "__main__":
    main()
