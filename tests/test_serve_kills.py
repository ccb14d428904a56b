"""A service that is killed at any moment: no row that it acknowledged is lost or learned twice, and no byte differs."""

import os
import random
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import warm

# Everything runs in children of one process that has imported everything, so that a kill costs a fork.
PROGRAM = """
import ctypes, http.client, itertools, os, random, signal, socket, sqlite3, sys, threading, time
from pathlib import Path
import numpy as np
import onkel
import onkel.serve.start, onkel._public
from onkel.cli._app import app
from onkel.serve import Client, ServiceError
from onkel.serve._store import Request, Store

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


def requests(n, n_held=4):
    # Rows with a key; and rows that are predicted under an id and get their labels later: one request of n_held.
    X = rng.normal(size=(n, 37, 3))
    y = np.where(np.sin(2 * X[..., 0]) + X[..., 0] * X[..., 1] > 0, "yes", "no")
    made = []
    for i in range(n):
        if i % n_held == n_held - 1:
            made.append(lambda client, i=i: client.predict(X[i, :5], id=f"visit-{i}"))
            made.append(lambda client, i=i: client.label(f"visit-{i}", y[i, :5]))
        else:
            made.append(lambda client, i=i: client.learn(X[i], y[i], key=f"batch-{i}"))
    return made


def finished(where, pid):
    os.kill(pid, signal.SIGTERM)
    code = ended(pid)
    assert code == 0, (code, Path(f"{where}.log").read_text()[-3000:])
    with sqlite3.connect(where / "rbp" / "state.sqlite") as file:
        after = "SELECT count(*) FROM requests WHERE number > (SELECT max(sequence) FROM versions)"
        assert file.execute(after).fetchone() == (0,), "the log is not empty"
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()
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
faults = ctypes.CDLL(None)
calls = {"pwrite64": 90, "fdatasync": 18, "fsync": 5, "rename": 3, "unlink": 1}  # fewer than there are
steps = [("pwrite64", "after"), ("fdatasync", "before"), ("rename", "after"), ("unlink", "before")]
if n_kills > 5:
    steps = [moment for moment in itertools.product(calls, ["before", "after"]) for _ in range(n_kills // 10)]
for number, (name, when) in enumerate(steps):
    where = folder / f"{name}-{when}-{number}"
    n_fatal = moments.randint(1, calls[name])
    pid, waiting, killed = service(where, lambda: faults.arm(name.encode(), when.encode(), n_fatal)), list(asked), False
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
    assert killed, (name, when, n_fatal)
    assert finished(where, pid) == whole, (name, when, n_fatal)
"""

AT_FAILING_DISKS = """
import resource

faults = ctypes.CDLL(None)
with Store(folder / "sync") as store:  # a failed sync takes the group back
    store.save(onkel.OGDClassifier(), {})
    faults.arm(b"fdatasync", b"error", 1)
    try:
        store.log([Request(b"one", 1)])
        raise AssertionError("the sync did not fail")
    except OSError as error:
        assert "SQLITE_IOERR_FSYNC" in str(error), error
    store.log([Request(b"two", 1)])
    assert [found.record for found in store.waiting()] == [b"two"]

asked = requests(12, n_held=100)  # a prediction that was not held has no label later
whole = without_kills(asked)


def little_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    most = moments.randint(60_000, 120_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))  # no file may become longer


def one_error():
    name, first, last = moments.choice([("pwrite64", 20, 60), ("fdatasync", 6, 12), ("ftruncate64", 1, 1)])
    faults.arm(name.encode(), b"error", moments.randint(first, last))


refusals = 0
for number in range(max(2, n_kills // 2)):
    where = folder / f"full-{number}"
    pid, waiting, failures = service(where, little_room if number % 2 == 0 else one_error), list(asked), 0
    moments.random()  # for those of the child
    client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
    while waiting and failures < 5:
        try:
            until_it_answers(pid, lambda: waiting[0](client))
            waiting.pop(0)
            failures = 0
        except Killed:  # a start without room says so, and does not stand in the way of the next one
            assert ended(pid) == 1 and len(waiting) == len(asked), Path(f"{where}.log").read_text()[-3000:]
            assert "onkel: state.sqlite: " in Path(f"{where}.log").read_text()
            pid = service(where)
        except ServiceError as error:
            assert error.status == 507 and "nothing was learned" in str(error), error
            failures += 1
            refusals += 1
            try:
                assert client.predict(np.zeros((2, 3))).shape == (2,)
            except ServiceError as error:
                assert error.status == 503 and "has learned nothing yet" in str(error)
    client.close()
    os.kill(pid, signal.SIGTERM)
    assert ended(pid) == 0
    pid = service(where)  # with room again
    client = Client(f"http://127.0.0.1:{PORT}", model="rbp", retries=0)
    until_it_answers(pid, client.metadata)
    for ask in waiting:
        ask(client)
    client.close()
    assert finished(where, pid) == whole, number
assert refusals > 0
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """A library whose calls kill or fail when they are told to (tests/native/faults.c)."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("needs a C compiler and Linux, for a library to preload")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).parent / "native" / "faults.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def run(program, python, folder, **environment):
    number, seed = os.environ.get("ONKEL_SOAK_KILLS", "5"), str(random.randrange(2**31))
    command = [python, "-c", textwrap.dedent(PROGRAM + program), folder, number, seed]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"


def test_killed_at_random_and_started_again(tmp_path):
    run(AT_RANDOM, warm.python(), tmp_path)


@pytest.mark.parametrize("program", [AT_EVERY_STEP, AT_FAILING_DISKS], ids=["killed at a step", "failing disks"])
def test_no_call_of_the_system_is_the_wrong_one_to_stop_at(program, tmp_path, faults):
    run(program, sys.executable, tmp_path, LD_PRELOAD=str(faults))
