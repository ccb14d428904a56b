"""A service that is killed at any moment: no row that it acknowledged is lost or learned twice, and no byte differs."""

import os
import random
import subprocess
import textwrap

import pytest

import warm

# Everything runs in children of one process that has imported everything, so that a kill costs a fork.
PROGRAM = """
import http.client, itertools, os, random, signal, socket, sys, threading, time
from pathlib import Path
import numpy as np
import onkel
import onkel.serve.start, onkel._public
from onkel.cli._app import app
from onkel.serve import Client

folder, n_kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
moments = random.Random(seed)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
rng = np.random.default_rng(11)


def leave_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def service(where, before=lambda: None):
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        log = os.open(f"{where}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        threading.Thread(target=leave_with, args=[parent], daemon=True).start()
        before()
        learner = ["--learner", "rbp", "--gamma", "0.5", "--budget", "20", "--classes", "no,yes", "--raw"]
        app(
            ["serve", *learner, "--dir", str(where), "--port", str(PORT), "--every", "150", "--keep", "3"],
            prog_name="onkel",
        )
    except SystemExit as end:
        os._exit(end.code or 0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def ended(pid):
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def is_done(pid):  # leaving it to be waited for
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Killed(Exception):
    pass


def until_it_answers(pid, ask):
    while True:
        try:
            return ask()
        except ConnectionRefusedError:  # not there yet
            if is_done(pid):
                raise Killed from None
            time.sleep(0.01)
        except (OSError, ValueError, http.client.HTTPException) as error:  # cut off
            raise Killed from error


def requests(n):
    # Rows with a key; and rows that are predicted under an id and get their labels later.
    X = rng.normal(size=(n, 37, 3))
    y = np.where(np.sin(2 * X[..., 0]) + X[..., 0] * X[..., 1] > 0, "yes", "no")
    made = []
    for i in range(n):
        if i % 4 == 3:
            made.append(lambda client, i=i: client.predict(X[i, :5], id=f"visit-{i}"))
            made.append(lambda client, i=i: client.label(f"visit-{i}", y[i, :5]))
        else:
            made.append(lambda client, i=i: client.learn(X[i], y[i], key=f"batch-{i}"))
    return made


def finished(where, pid):
    os.kill(pid, signal.SIGTERM)
    code = ended(pid)
    assert code == 0, (code, Path(f"{where}.log").read_text()[-3000:])
    (log,) = (where / "rbp").glob("log-*.wal")
    assert log.stat().st_size == 32, "the log is not empty"
    return max((where / "rbp").glob("version-*.onkel")).read_bytes()


def without_kills(asked):
    where = folder / "whole"
    pid = service(where)
    client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
    for ask in asked:
        until_it_answers(pid, lambda: ask(client))
    client.close()
    made = finished(where, pid)
    assert onkel.load(max((where / "rbp").glob("version-*.onkel"))).t_ > 100
    return made
"""

AT_RANDOM = """
asked = requests(10 + 3 * n_kills)
whole = without_kills(asked)
where = folder / "killed"
pid, kills, waiting = service(where), 0, list(asked)
client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
while waiting:
    killer = None
    if kills < n_kills and moments.random() < 0.5:
        victim = pid
        killer = threading.Timer(moments.uniform(0, 0.02), lambda: os.kill(victim, signal.SIGKILL))
        killer.start()
    try:
        until_it_answers(pid, lambda: waiting[0](client))
        waiting.pop(0)
    except Killed:
        pass
    if killer is not None:
        killer.join()
        assert ended(pid) == -signal.SIGKILL
        kills += 1
        client.close()
        pid = service(where)
assert kills == n_kills, kills
client.close()
assert finished(where, pid) == whole
"""

AT_EVERY_STEP = """
asked = requests(12)
whole = without_kills(asked)
steps = [("write", "after"), ("fsync", "before"), ("replace", "after"), ("unlink", "before")]
if "ONKEL_WHOLE" in os.environ or "ONKEL_SOAK_KILLS" in os.environ:
    steps = itertools.product(["write", "fsync", "replace", "unlink"], ["before", "after"])
for name, when in steps:
    where = folder / f"{name}-{when}"
    n_fatal = {"write": 21, "fsync": 15, "replace": 3, "unlink": 1}[name]

    def dies():
        real, calls = getattr(os, name), itertools.count(1)

        def fatal(*arguments, **options):
            n = next(calls)
            if n == n_fatal and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            if n == n_fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(os, name, fatal)

    pid, waiting, killed = service(where, dies), list(asked), False
    client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
    while waiting:
        try:
            until_it_answers(pid, lambda: waiting[0](client))
            waiting.pop(0)
        except Killed:
            assert ended(pid) == -signal.SIGKILL and not killed
            killed = True
            client.close()
            pid = service(where)
    client.close()
    assert killed, (name, when)
    assert finished(where, pid) == whole, (name, when)
"""


AT_A_FULL_DISK = """
import resource
from onkel.serve import ServiceError

asked = requests(12)
whole = without_kills(asked)
where = folder / "full"


def little_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))  # no file may become longer


pid, waiting = service(where, little_room), list(asked)
client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
while True:
    try:
        until_it_answers(pid, lambda: waiting[0](client))
        waiting.pop(0)
    except ServiceError as error:
        assert error.status == 507 and "File too large" in str(error), error
        break
assert waiting and client.predict(np.zeros((2, 3))).shape == (2,)
try:
    waiting[0](client)
except ServiceError as error:
    assert error.status == 507
client.close()
os.kill(pid, signal.SIGTERM)
assert ended(pid) == 0
pid = service(where)  # with room again
client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
for ask in waiting:
    until_it_answers(pid, lambda: ask(client))
client.close()
assert finished(where, pid) == whole
"""


@pytest.mark.parametrize(
    "kills", [AT_RANDOM, AT_EVERY_STEP, AT_A_FULL_DISK], ids=["at random", "at every step", "at a full disk"]
)
def test_killed_and_started_again(kills, tmp_path):
    number, seed = os.environ.get("ONKEL_SOAK_KILLS", "5"), str(random.randrange(2**31))
    command = [warm.python(), "-c", textwrap.dedent(PROGRAM + kills), tmp_path, number, seed]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
