"""Checkpoints: kill the program whenever you like, start it again, and the model is that of one run, to the byte."""

import os
import random
import resource
import subprocess
import textwrap

import numpy as np
import pytest

import onkel
import warm
from looping import loop

RNG = np.random.default_rng(7)
X = RNG.normal(size=(500, 3))
Y = (np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] > 0).astype(int)
CLASSES = [0, 1]


def new_model(**settings):
    return onkel.SPAClassifier(**{"gamma": 0.5, "random_state": 1, "budget": 40, "beta": 3.0, **settings})


def chunks(size=60, n=500):
    for begin in range(0, n, size):
        yield X[begin : min(n, begin + size)], Y[begin : min(n, begin + size)]


class Reader:
    """A stream with a place to go back to, which remembers what was asked of it."""

    def __init__(self, size=60):
        self.row, self.size, self.first_read = 0, size, None

    def __iter__(self):
        while self.row < len(X):
            begin, self.row = self.row, min(len(X), self.row + self.size)
            self.first_read = begin if self.first_read is None else self.first_read
            yield X[begin : self.row], Y[begin : self.row]

    def position(self):
        return {"row": self.row}

    def seek(self, position):
        self.row = position["row"]


class Crash(Exception):
    pass


def until(stream, n_chunks):
    for i, chunk in enumerate(stream):
        if i == n_chunks:
            raise Crash
        yield chunk


def crash_after(folder, rows, every=50, stream=None, **settings):
    """Learn, and be gone after so many rows."""
    model, seen = new_model(**settings), 0
    for x, y in onkel.Checkpointer(folder, every).run(model, chunks() if stream is None else stream):
        model.partial_fit(x, y, classes=CLASSES)
        seen += len(x)
        if seen >= rows:
            return model
    return model


def test_is_one_run(tmp_path):
    whole = onkel.Checkpointer(tmp_path / "whole", 50).fit(new_model(), chunks(), classes=CLASSES)
    assert whole._fingerprint() == new_model().partial_fit(X, Y, CLASSES)._fingerprint()
    for rows in (1, 50, 51, 119, 300, 499):
        folder = tmp_path / str(rows)
        crash_after(folder, rows)
        resumed = onkel.Checkpointer(folder, 50)
        model = resumed.fit(new_model(), chunks(size=33), classes=CLASSES)  # cut otherwise, and still the same
        assert resumed.rows == model.t_ == len(X)
        (*_, last), (*_, expected) = resumed.paths(), onkel.Checkpointer(tmp_path / "whole").paths()
        assert last.name == expected.name == "rows-000000000500.onkel"
        assert last.read_bytes() == expected.read_bytes()


def test_a_readers_position(tmp_path):
    onkel.Checkpointer(tmp_path / "whole", 50).fit(new_model(), Reader(), classes=CLASSES)
    crash_after(tmp_path / "cut", 300, stream=Reader())
    reader = Reader(size=25)
    onkel.Checkpointer(tmp_path / "cut", 50).fit(new_model(), reader, classes=CLASSES)
    assert reader.first_read == 240  # the chunk of row 250, where the last checkpoint was made
    names = [sorted(p.name for p in (tmp_path / folder).iterdir()) for folder in ("whole", "cut")]
    assert names[0] == names[1]
    last = [(tmp_path / folder / names[0][-1]).read_bytes() for folder in ("whole", "cut")]
    assert last[0] == last[1]
    with pytest.raises(ValueError, match="has no seek"):
        onkel.Checkpointer(tmp_path / "cut", 50).fit(new_model(), chunks(), classes=CLASSES)


def test_a_checkpoint_is_a_model(tmp_path):
    checkpointer = onkel.Checkpointer(tmp_path, 200)
    model = checkpointer.fit(new_model(), chunks(), classes=CLASSES)
    loaded = onkel.load(checkpointer.paths()[-1])
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_weights_notes_and_open_labels(tmp_path):
    weights = RNG.uniform(size=len(X))
    stream = [(X[i : i + 60], Y[i : i + 60], weights[i : i + 60]) for i in range(0, 500, 60)]
    model = onkel.Checkpointer(tmp_path / "a", 70).fit(new_model(), stream)
    assert model._fingerprint() == (new_model().partial_fit(X, Y, sample_weight=weights)._fingerprint())
    checkpointer = onkel.Checkpointer(tmp_path / "b", 70)
    for _ in range(2):  # counted while it is learned, and not again when it is resumed
        for x, y in checkpointer.run(new_model(), chunks()):
            checkpointer.notes["rows of class 1"] = checkpointer.notes.get("rows of class 1", 0) + int(y.sum())
            checkpointer.notes["unfitted"] = len(x)
        checkpointer = onkel.Checkpointer(tmp_path / "b", 70)
    checkpointer.resume(new_model())
    assert checkpointer.notes["rows of class 1"] == Y.sum()


def test_a_learner(tmp_path):
    def new():
        return onkel.Learner(onkel.recipes.OGD(), gamma=0.5, budget=30)

    learner = new()
    for x, y in onkel.Checkpointer(tmp_path, 100).run(learner, until(chunks(), 9)):
        learner.learn_rows(x, y.astype(float))
    again = new()
    assert list(onkel.Checkpointer(tmp_path, 100).run(again, chunks())) == []
    assert again.fingerprint() == learner.fingerprint()


@loop
@pytest.mark.parametrize("spoil", ["torn", "empty", "changed", "foreign", "no place"])
def test_a_spoilt_checkpoint_is_passed_over(spoil, tmp_path):
    whole = onkel.Checkpointer(tmp_path / "whole", 50).fit(new_model(), chunks(), classes=CLASSES)
    crash_after(tmp_path / "cut", 320)
    newest = onkel.Checkpointer(tmp_path / "cut").paths()[-1]
    content = bytearray(newest.read_bytes())
    if spoil == "no place":
        onkel.save(onkel.load(newest), newest)
    else:
        content[-3] ^= 4
        newest.write_bytes({"torn": content[:900], "empty": b"", "changed": content, "foreign": b"hello" * 99}[spoil])
    checkpointer = onkel.Checkpointer(tmp_path / "cut", 35)
    with pytest.warns(RuntimeWarning, match=rf"a checkpoint is skipped: .*{newest.name}"):
        model = checkpointer.fit(new_model(), chunks(), classes=CLASSES)
    assert model._fingerprint() == whole._fingerprint()
    assert [p.name for p in checkpointer.paths()] == ["rows-000000000495.onkel", "rows-000000000500.onkel"]


def test_spoilt_ones_do_not_count_as_kept(tmp_path):
    crash_after(tmp_path, 170)
    old, newest = onkel.Checkpointer(tmp_path).paths()
    newest.write_bytes(newest.read_bytes()[:-1])  # 150 is torn
    model, checkpointer = new_model(), onkel.Checkpointer(tmp_path, 20)
    with pytest.warns(RuntimeWarning, match="is skipped"):
        for i, (x, y) in enumerate(checkpointer.run(model, chunks())):
            model.partial_fit(x, y, classes=CLASSES)
            if i == 1:
                break
    assert [p.name for p in checkpointer.paths()] == [old.name, "rows-000000000120.onkel"]


def test_without_any_sound_checkpoint_it_starts_anew(tmp_path):
    crash_after(tmp_path, 170)
    for path in onkel.Checkpointer(tmp_path).paths():
        path.write_bytes(b"")
    with pytest.warns(RuntimeWarning, match="it is empty"):
        model = onkel.Checkpointer(tmp_path, 50).fit(new_model(), chunks(), classes=CLASSES)
    assert model.t_ == len(X)


@pytest.mark.parametrize("failure", ["disk", "fsync"])
def test_a_full_disk_is_said_and_the_last_checkpoint_stays(failure, tmp_path, monkeypatch):
    crash_after(tmp_path, 120)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if failure == "disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    else:
        monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    try:
        with pytest.raises(OSError):
            onkel.Checkpointer(tmp_path, 50).fit(new_model(), chunks(), classes=CLASSES)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        monkeypatch.undo()
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert onkel.Checkpointer(tmp_path, 50).fit(new_model(), chunks(), classes=CLASSES).t_ == len(X)


def test_another_run_in_the_same_directory_is_refused(tmp_path):
    crash_after(tmp_path, 120)
    with pytest.raises(ValueError, match=r"made with eta=None, and the model has eta=0\.3"):
        onkel.Checkpointer(tmp_path).fit(new_model(eta=0.3), chunks())
    with pytest.raises(ValueError, match="holds a SPAClassifier, and the model is a OGDClassifier"):
        onkel.Checkpointer(tmp_path).fit(onkel.OGDClassifier(), chunks())
    with pytest.raises(ValueError, match="ended 40 rows before"):
        onkel.Checkpointer(tmp_path).fit(new_model(), chunks(n=60))
    assert onkel.Checkpointer(tmp_path).fit(new_model(n_jobs=2), chunks()).n_jobs == 2


def test_what_cannot_be_saved_is_refused_at_once(tmp_path):
    with pytest.raises(ValueError, match="kernel is a function"):
        next(onkel.Checkpointer(tmp_path).run(new_model(kernel=lambda a, b: a @ b.T), chunks()))


def test_bad_settings():
    for settings in ({"every": 0}, {"every": 2.5}, {"keep": 0}):
        with pytest.raises(ValueError, match="must be an integer of at least 1"):
            onkel.Checkpointer("nowhere", **settings)


# The program that is killed. It runs in children of one process that has imported everything, so that a kill costs a
# fork and not a second.
PROGRAM = """
import itertools, os, random, shutil, signal, sys, time
from pathlib import Path
import numpy as np
import onkel

folder, n_kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(11)
X = rng.normal(size=(int(sys.argv[4]), 3))
y = (np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] > 0).astype(int)
EVERY = 40


def train(where):
    model = onkel.SPAClassifier(gamma=0.5, random_state=1, budget=100, beta=3.0)
    chunks = ((X[i:i + 77], y[i:i + 77]) for i in range(0, len(X), 77))
    checkpointer = onkel.Checkpointer(where, EVERY)
    checkpointer.notes = {"ones": 0}
    for x_chunk, y_chunk in checkpointer.run(model, chunks):
        model.partial_fit(x_chunk, y_chunk, classes=[0, 1])
        checkpointer.notes["ones"] += int(y_chunk.sum())
    assert model.t_ == len(X), model.t_


def child(work):
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def ended(pid):
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def is_done(pid):  # leaving it to be waited for
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def rows(where):
    return max((int(p.stem[5:]) for p in where.glob("rows-*.onkel")), default=0)


def assert_same_end(where):
    assert ended(child(lambda: train(where))) == 0
    names = sorted(p.name for p in where.iterdir())
    assert names == sorted(p.name for p in (folder / "whole").iterdir()), names  # no litter either
    assert (where / names[-1]).read_bytes() == (folder / "whole" / names[-1]).read_bytes()


assert ended(child(lambda: train(folder / "whole"))) == 0
assert onkel.load(folder / "whole" / f"rows-{len(X):012d}.onkel").t_ == len(X)
"""

AT_RANDOM = """
where, moments = folder / "killed", random.Random(seed)
kills = 0
places = set()
while kills < n_kills or len(places) < 4:  # kills all over the run
    last = rows(where) + EVERY * moments.randint(0, max(2, 200 // n_kills))
    pid = child(lambda: train(where))
    while rows(where) < last and not is_done(pid):
        pass
    time.sleep(moments.uniform(0, 0.003))  # into the next rows, or into the next checkpoint
    os.kill(pid, signal.SIGKILL)
    if ended(pid) == 0:  # it was done: once more from the start
        assert_same_end(where)
        shutil.rmtree(where)
        continue
    kills += 1
    places.add(rows(where))
assert_same_end(where)
"""

AT_EVERY_STEP = """
# what a checkpoint does to the disk, one call after the other
steps = itertools.product(["open", "fsync", "replace", "unlink"], ["before", "after"])
for name, when in steps:
    def dies():
        import builtins
        module = builtins if name == "open" else os
        real, calls = getattr(module, name), itertools.count(1)

        def fatal(*arguments, **options):
            n = next(calls)
            if n == 9 and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            if n == 9:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(module, name, fatal)
        train(where)

    where = folder / f"{name}-{when}"
    assert ended(child(dies)) == -signal.SIGKILL
    assert 0 < rows(where) < len(X), (name, when, rows(where))
    assert_same_end(where)
"""


@pytest.mark.parametrize(
    ("kills", "rows"), [(AT_RANDOM, 4000), (AT_EVERY_STEP, 1000)], ids=["at random", "at every step"]
)
def test_killed_and_started_again(kills, rows, tmp_path):
    number, seed = os.environ.get("ONKEL_SOAK_KILLS", "10"), str(random.randrange(2**31))
    command = [warm.python(), "-c", textwrap.dedent(PROGRAM + kills), tmp_path, number, seed, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
