"""What the service keeps on the disk: the write-ahead log, versions, rows that wait for labels."""

import errno
import os

import numpy as np
import pytest

import onkel
from looping import loop
from onkel.serve import _log
from onkel.serve._batch import Batch
from onkel.serve._held import HeldRows
from onkel.serve._log import CorruptLog, Disk, Log, read
from onkel.serve._store import Store


class QuickDisk(Disk):
    """A disk that is not waited for."""

    def sync(self, handle):
        pass


GROUPS = [[b"one", b"two"], [b"three" * 50], [b""], [b"five", b"six", b"grup" * 20]]
RECORDS = [record for group in GROUPS for record in group]


@pytest.fixture
def log(tmp_path):
    """A log of seven records in four groups, and where each group ends."""
    path, ends = tmp_path / "log", [_log.EMPTY_BYTES]
    with Log(path, 1) as opened:
        for group in GROUPS:
            opened.append(group)
            ends.append(opened.bytes)
    return path, ends


def records(path):
    return [bytes(record) for _, record in read(path).records]


def test_what_was_appended_is_read_and_numbered(log):
    path, ends = log
    found = read(path)
    assert records(path) == RECORDS
    assert [number for number, _ in found.records] == list(range(1, 8))
    assert (found.next, found.sound_bytes, found.torn_bytes) == (8, ends[-1], 0)
    with Log(path, 1) as again:
        again.append([b"seven"])
    assert records(path) == [*RECORDS, b"seven"]


def test_a_torn_end_is_cut_at_every_byte(log, tmp_path):
    path, ends = log
    whole = path.read_bytes()
    for size in range(_log.EMPTY_BYTES, len(whole)):
        torn = tmp_path / "torn"
        torn.write_bytes(whole[:size])
        groups = sum(end <= size for end in ends[1:])
        with Log(torn, 1, QuickDisk()) as opened:
            assert opened.bytes == ends[groups]
            opened.append([b"next"])
        assert records(torn) == [record for group in GROUPS[:groups] for record in group] + [b"next"]


def test_a_last_group_whose_pages_came_in_any_order_is_cut(log):
    path, ends = log
    whole = bytearray(path.read_bytes())
    for at in range(ends[-2], ends[-1]):
        spoilt = bytearray(whole)
        spoilt[at] ^= 0xFF
        path.write_bytes(spoilt)
        assert records(path) == RECORDS[:4]


def test_a_corrupt_middle_is_refused_with_its_place(log):
    path, ends = log
    whole = path.read_bytes()
    for at in range(_log.EMPTY_BYTES, ends[-2]):
        spoilt = bytearray(whole)
        spoilt[at] ^= 0x10
        path.write_bytes(spoilt)
        begin = max(end for end in ends if end <= at)
        with pytest.raises(CorruptLog, match=f"damaged at byte {begin} but intact from byte "):
            read(path)


def test_a_spoilt_head_is_refused(log):
    path, _ = log
    whole = path.read_bytes()
    for at in range(_log.EMPTY_BYTES):
        spoilt = bytearray(whole)
        spoilt[at] ^= 0x10
        path.write_bytes(spoilt)
        with pytest.raises(CorruptLog, match=r"header of a log|version"):
            read(path)


class FailingDisk(Disk):
    """A disk that takes so many bytes, and may fail in other ways when told to."""

    def __init__(self, room=10**9):
        self.room = room
        self.failing = set()

    def write(self, handle, data):
        taken = data[: max(0, self.room)]
        self.room -= len(taken)
        os.write(handle, taken)
        if len(taken) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self, handle):
        if "sync" in self.failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(handle)

    def truncate(self, handle, size):
        if "truncate" in self.failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().truncate(handle, size)


@loop
@pytest.mark.parametrize("room", [0, 1, 19, 21, 30])
def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, room):
    disk = FailingDisk()
    with Log(tmp_path / "log", 1, disk) as log:
        log.append([b"one"])
        disk.room = room
        with pytest.raises(OSError, match="No space left"):
            log.append([b"two" * 20])
        assert records(tmp_path / "log") == [b"one"] and (tmp_path / "log").stat().st_size == log.bytes
        disk.room = 10**9
        log.append([b"three"])
    assert records(tmp_path / "log") == [b"one", b"three"]


def test_a_failed_sync_takes_the_group_back(tmp_path):
    disk = FailingDisk()
    with Log(tmp_path / "log", 1, disk) as log:
        disk.failing = {"sync"}
        with pytest.raises(OSError, match="Input/output error"):
            log.append([b"one"])
        disk.failing = set()
        log.append([b"two"])
    assert records(tmp_path / "log") == [b"two"]


def test_a_log_that_cannot_be_repaired_takes_nothing_more(tmp_path):
    disk = FailingDisk()
    with Log(tmp_path / "log", 1, disk) as log:
        disk.failing = {"sync", "truncate"}
        with pytest.raises(OSError):
            log.append([b"one"])
        disk.failing = set()
        with pytest.raises(OSError, match="could not be repaired"):
            log.append([b"two"])


# -- versions


def numbers(store):
    return [(number, bytes(record)) for number, record in store.open().records]


def model():
    return onkel.OGDClassifier(gamma=1.0, random_state=0)


def test_a_version_cuts_the_log(tmp_path):
    with Store(tmp_path, keep=2) as store:
        assert store.open() is None
        for version in range(4):
            assert store.save(model(), {"n": version}) == version
            store.append([b"a", b"b"])
        assert store.versions() == [2, 3]
        assert store.load(2)[1]["n"] == 2
        with pytest.raises(LookupError, match="there is no version 0; there are 2, 3"):
            store.load(0)
    with Store(tmp_path, keep=2) as store:
        assert numbers(store) == [(7, b"a"), (8, b"b")]
        store.save(model(), {})
        assert store.is_newest_complete()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lock",
        "log-000000000009.wal",
        "version-000003.onkel",
        "version-000004.onkel",
    ]


def test_a_crash_between_version_and_log_learns_nothing_twice(tmp_path, monkeypatch):
    with Store(tmp_path, keep=2) as store:
        store.save(model(), {})
        store.append([b"a", b"b"])
        monkeypatch.setattr("onkel.serve._store.Log", None)  # what a kill just before the new log leaves behind
        with pytest.raises(TypeError):
            store.save(model(), {})
        monkeypatch.undo()
    with Store(tmp_path, keep=2) as store:
        assert numbers(store) == []
        store.append([b"c"])
    with Store(tmp_path, keep=2) as store:
        assert numbers(store) == [(3, b"c")]


def test_a_version_without_room_for_its_log_is_none(tmp_path):
    disk = FailingDisk()
    with Store(tmp_path, keep=2, disk=disk) as store:
        store.save(model(), {})
        store.append([b"a"])
        disk.room = 3
        with pytest.raises(OSError):
            store.save(model(), {})
        disk.room = 10**9
        store.append([b"b"])
    with Store(tmp_path, keep=2) as store:
        assert numbers(store) == [(1, b"a"), (2, b"b")]


def test_a_spoilt_or_missing_newest_version_is_refused(tmp_path):
    with Store(tmp_path, keep=3) as store:
        for _ in range(2):
            store.save(model(), {})
            store.append([b"a"])
    newest = tmp_path / "version-000001.onkel"
    content = newest.read_bytes()
    newest.write_bytes(content[:-1])
    with Store(tmp_path, keep=3) as store, pytest.raises(ValueError, match="the newest version is needed"):
        store.open()
    newest.unlink()
    with Store(tmp_path, keep=3) as store, pytest.raises(CorruptLog, match="records are missing"):
        store.open()
    newest.write_bytes(content)
    with Store(tmp_path, keep=3) as store:
        assert numbers(store) == [(2, b"a")]


def test_a_log_that_was_torn_while_it_was_made_is_made_again(tmp_path):
    with Store(tmp_path, keep=3) as store:
        store.save(model(), {})
    (tmp_path / "log-000000000001.wal").write_bytes(b"onkel")
    with Store(tmp_path, keep=3) as store:
        assert numbers(store) == []
        store.append([b"a"])
    with Store(tmp_path, keep=3) as store:
        assert numbers(store) == [(1, b"a")]


def test_two_processes_do_not_share_a_directory(tmp_path):
    with Store(tmp_path, keep=1), pytest.raises(ValueError, match="in use by another process"):
        Store(tmp_path, keep=1)
    Store(tmp_path, keep=1).close()


# -- batches


@loop
@pytest.mark.parametrize(
    "labels",
    [np.array([2**63, 5], np.uint64), np.array([-1, 1]), np.array([0.5, -0.0]), np.array([True, False]), ["a", "ü"]],
    ids=lambda labels: str(np.asarray(labels).dtype),
)
def test_a_batch_comes_back_to_the_bit(labels):
    rows = np.array([[1e-310, -0.0], [np.pi, 1e308]])
    batch = Batch(rows, np.asarray(labels), np.array([0.0, 1 / 3]), ("a", "ö"))
    again, notes = Batch.of_record(batch.record(key="k", id=None))
    assert again.rows.tobytes() == rows.tobytes() and again.weights.tobytes() == batch.weights.tobytes()
    assert again.labels.dtype == batch.labels.dtype and again.labels.tobytes() == batch.labels.tobytes()
    assert (again.names, notes) == (("a", "ö"), {"key": "k", "id": None})
    assert batch.digest() == again.digest() != Batch(rows + 1, batch.labels, batch.weights, batch.names).digest()


# -- rows that wait for labels


def held(folder, **options):
    return HeldRows(folder, **{"most_rows": 100, "most_bytes": 10**6, "seconds": 100.0, **options})


def rows(n):
    return np.full((1, 3), float(n))


def test_held_rows_survive_a_kill_and_leave_once(tmp_path):
    first = held(tmp_path, segment_bytes=500)
    for n in range(10):
        assert first.hold(f"id-{n}", rows(n), ("a", "b", "c"), now=n)
    first.release("id-3")
    first.hold("id-4", rows(44), None, now=10)
    second = held(tmp_path, segment_bytes=500)  # the first was never closed
    assert len(second) == 9 and second.rows == 9
    assert second.get("id-3", now=10) is None
    assert second.get("id-4", now=10).rows.tolist() == [[44.0] * 3]
    assert second.get("id-9", now=10).names == ("a", "b", "c")
    for n in range(10):
        second.release(f"id-{n}")
    assert len(list(tmp_path.glob("held-*.wal"))) == 1 and len(second) == 0
    assert len(held(tmp_path)) == 0


def test_held_rows_are_bounded_in_number_bytes_and_time(tmp_path):
    (tmp_path / "a").mkdir()
    few = held(tmp_path / "a", most_rows=3)
    for n in range(5):
        few.hold(str(n), rows(n), None, now=n)
    assert [few.get(str(n), now=5) is not None for n in range(5)] == [False, False, True, True, True]
    assert few.get("4", now=105) is None and few.rows == 0
    (tmp_path / "b").mkdir()
    small = held(tmp_path / "b", most_bytes=2000, segment_bytes=500)
    for n in range(100):
        small.hold(str(n), rows(n), None, now=n / 10)
    assert 0 < len(small) < 20 and small.get("99", now=10) is not None
    assert sum(path.stat().st_size for path in (tmp_path / "b").iterdir()) < 3000


def test_a_full_disk_holds_no_rows_and_says_so(tmp_path):
    disk = FailingDisk()
    full = held(tmp_path, disk=disk)
    assert full.hold("a", rows(1), None, now=0)
    disk.room = 5
    assert not full.hold("b", rows(2), None, now=0)
    disk.room = 10**9
    assert full.hold("c", rows(3), None, now=0)
    assert [full.get(name, now=1) is not None for name in "abc"] == [True, False, True]


def test_a_spoilt_file_of_held_rows_is_given_up(tmp_path):
    first = held(tmp_path)
    for n in range(3):
        first.hold(str(n), rows(n), None, now=n)
    (path,) = tmp_path.glob("held-*.wal")
    spoilt = bytearray(path.read_bytes())
    spoilt[60] ^= 1
    path.write_bytes(spoilt)
    assert len(held(tmp_path)) == 0
