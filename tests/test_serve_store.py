"""What the service keeps on the disk: requests, keys, rows that wait for labels and versions, in one SQLite file."""

import shutil
import sqlite3
import subprocess
import tarfile
import textwrap
import time

import numpy as np
import pytest

import onkel
import warm
from looping import loop
from onkel.serve import _database, _store
from onkel.serve._batch import Batch
from onkel.serve._database import Damaged
from onkel.serve._store import Request, Retention, Store, restore


def model():
    return onkel.OGDClassifier(gamma=1.0, random_state=0)


def request(record, n_rows=1, **others):
    return Request(record, n_rows, **others)


def opened(folder, **kept):
    return Store(folder, Retention(**{"history_bytes": 0, **kept}))


def log_of(store):
    """The numbers and the records after the newest version."""
    store.open()
    return [(found.number, found.record) for found in store.waiting()]


def left_by_a_kill(folder, copy):
    """What a kill at this moment would leave of an open store."""
    shutil.copytree(folder, copy)
    return copy


GROUPS = [[b"one", b"two"], [b"three" * 2000], [b""], [b"five", b"six", b"seven" * 1000]]


@pytest.fixture
def killed(tmp_path):
    """What a kill leaves after a version and four groups of requests; and the WAL's length after each group."""
    folder = tmp_path / "open"
    with opened(folder) as store:
        store.save(model(), {})
        store._database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ends = []
        for group in GROUPS:
            store.log([request(record) for record in group])
            ends.append((folder / "state.sqlite-wal").stat().st_size)
        yield left_by_a_kill(folder, tmp_path / "killed"), ends


def records(n_groups):
    return list(enumerate((record for group in GROUPS[:n_groups] for record in group), 1))


def test_what_was_logged_is_there_after_a_kill(killed):
    folder, _ = killed
    with opened(folder) as store:
        assert log_of(store) == records(4)
        assert store.log([request(b"next")]) == 8
    with opened(folder) as store:
        assert log_of(store) == [*records(4), (8, b"next")]
        assert store.log_bytes == sum(len(record) for _, record in log_of(store))


def test_a_torn_end_is_cut_at_every_place(killed):
    folder, ends = killed
    wal = folder / "state.sqlite-wal"
    whole, file = wal.read_bytes(), (folder / "state.sqlite").read_bytes()
    cuts = {size + change for size in [32, *ends] for change in (-4096, -4095, -20, -1, 0)}
    for size in sorted(cut for cut in cuts if 32 <= cut <= len(whole)):
        (folder / "state.sqlite").write_bytes(file)
        wal.write_bytes(whole[:size])
        n_groups = sum(end <= size for end in ends)
        with opened(folder) as store:
            assert log_of(store) == records(n_groups)


def test_a_last_group_whose_pages_came_in_any_order_is_cut(killed):
    folder, ends = killed
    wal, file = folder / "state.sqlite-wal", (folder / "state.sqlite").read_bytes()
    whole = wal.read_bytes()
    for at in range(ends[2], ends[3], 4120):
        (folder / "state.sqlite").write_bytes(file)
        torn = bytes(255 - byte for byte in whole[at + 100 : at + 1100])
        wal.write_bytes(whole[: at + 100] + torn + whole[at + 1100 :])
        with opened(folder) as store:
            assert log_of(store) == records(3)


def test_a_damaged_middle_is_not_taken_for_a_torn_end(killed):
    folder, ends = killed
    wal = folder / "state.sqlite-wal"
    whole = wal.read_bytes()
    for at in range(32, ends[1], 4120):
        wal.write_bytes(whole[: at + 100] + bytes([whole[at + 100] ^ 16]) + whole[at + 101 :])
        with pytest.raises(Damaged, match=r"state.sqlite-wal is damaged at byte \d+ but goes on after it"):
            opened(folder)


def test_damage_of_the_file_is_found(tmp_path):
    with opened(tmp_path) as store:
        store.save(model(), {})
        store.log([request(b"one" * 100), request(b"two" * 3000, known_as={"key k": "digest"})])
    file = tmp_path / "state.sqlite"
    whole = file.read_bytes()

    def spoilt(at, n_bytes=1):
        file.write_bytes(whole[:at] + bytes(255 - byte for byte in whole[at : at + n_bytes]) + whole[at + n_bytes :])

    spoilt(whole.index(b"oneone"))
    with opened(tmp_path) as store, pytest.raises(Damaged, match="request 1 is damaged"):
        log_of(store)
    spoilt(whole.rindex(b"twotwo"))
    with opened(tmp_path) as store, pytest.raises(Damaged, match="request 2 is damaged"):
        log_of(store)
    for page in range(len(whole) // 4096):
        spoilt(4096 * page, 200)
        with pytest.raises((Damaged, ValueError)), opened(tmp_path) as store:
            log_of(store)
    file.write_bytes(b"something else")
    with pytest.raises(Damaged, match="is not a database"):
        opened(tmp_path)


def test_a_file_of_somebody_else_is_refused(tmp_path):
    other = sqlite3.connect(tmp_path / "state.sqlite")
    other.execute("CREATE TABLE requests (number)")
    other.close()
    with pytest.raises(Damaged, match="is not the state of a service of onkel"):
        opened(tmp_path)
    (tmp_path / "state.sqlite").unlink()
    opened(tmp_path).close()
    other = sqlite3.connect(tmp_path / "state.sqlite")
    other.execute("PRAGMA user_version=7")
    other.close()
    with pytest.raises(ValueError, match="has version 7, and this version of onkel reads version 1"):
        opened(tmp_path)


def test_a_missing_request_is_noticed(tmp_path):
    for missing in (1, 2):
        folder = tmp_path / str(missing)
        with opened(folder) as store:
            store.save(model(), {})
            store.log([request(b"a"), request(b"b"), request(b"c")])
            store._database.execute("DELETE FROM requests WHERE number = ?", missing)
            with pytest.raises(Damaged, match="holds 2 requests of 1 to 3"):
                log_of(store)


def test_two_processes_do_not_share_a_directory(tmp_path):
    program = f"""
    import pathlib, onkel.serve._store as store
    try:
        store.Store(pathlib.Path({str(tmp_path)!r}))
    except ValueError as error:
        print(error)
    """
    with opened(tmp_path) as store:
        with pytest.raises(ValueError, match="in use by another process"):
            opened(tmp_path)
        for _ in range(2):
            done = subprocess.run([warm.python(), "-c", textwrap.dedent(program)], capture_output=True, text=True)
            assert "in use by another process" in done.stdout, done.stderr
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            sqlite3.connect(tmp_path / "state.sqlite", timeout=0).execute("SELECT * FROM keys")
        store.log([request(b"one")])
    opened(tmp_path).close()


def test_a_failed_transaction_is_taken_back_whole(tmp_path):
    with opened(tmp_path) as store:
        store.save(model(), {})
        store.hold("visit", b"rows", 1)
        store._database.rows("PRAGMA max_page_count=1")
        large = request(b"x" * 100_000, 5, known_as={"key k": "digest"}, id="visit")
        for _ in range(2):
            with pytest.raises(OSError, match=r"database or disk is full \(SQLITE_FULL\)"):
                store.log([request(b"small"), large])
        with pytest.raises(sqlite3.IntegrityError):
            store.log([request(b"small"), request(b"", None)])
        assert log_of(store) == [] and store.known("key k") is None and store.held("visit") == b"rows"
        assert store.log_bytes == 0 and store.n_held == 1
        store._database.rows("PRAGMA max_page_count=10000")
        assert store.log([large]) == 1 and store.held("visit") is None and store.n_held == 0


def test_the_wal_does_not_grow_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(_database, "_WAL_BYTES", 100_000)
    with opened(tmp_path) as store:
        sizes = []
        for _ in range(50):
            store.log([request(b"x" * 10_000)])
            store.tidy()
            sizes.append((tmp_path / "state.sqlite-wal").stat().st_size)
        assert max(sizes) < 120_000 and min(sizes) == 0
    assert not (tmp_path / "state.sqlite-wal").exists()


# -- versions


def test_a_version_ends_the_log(tmp_path):
    with opened(tmp_path, versions=2, history_bytes=1000) as store:
        assert store.open() is None
        for version in range(4):
            assert store.save(model(), {"n": version}) == version
            store.log([request(b"a"), request(b"b")])
        assert store.versions() == [2, 3]
        assert store.load(2)[1] == {"n": 2, "sequence": 4}
        with pytest.raises(LookupError, match="there is no version 0; there are 2, 3"):
            store.load(0)
    with opened(tmp_path, versions=2, history_bytes=1000) as store:
        assert log_of(store) == [(7, b"a"), (8, b"b")]
        store.save(model(), {})
        assert store.is_newest_complete() and log_of(store) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "state.sqlite",
        "version-000003.onkel",
        "version-000004.onkel",
    ]


def test_a_crash_between_a_version_and_its_row_learns_nothing_twice(tmp_path):
    with opened(tmp_path / "open") as store:
        store.save(model(), {})
        store.log([request(b"a")])
        store._database.rows("PRAGMA max_page_count=1")
        shutil.copyfile(tmp_path / "open" / "version-000000.onkel", tmp_path / "open" / "version-000001.onkel")
        killed = left_by_a_kill(tmp_path / "open", tmp_path / "killed")
    with opened(killed) as store:
        assert log_of(store) == [(1, b"a")] and store.versions() == [0]
        assert not (killed / "version-000001.onkel").exists()
        assert store.save(model(), {}) == 1 and log_of(store) == []


def test_a_version_without_room_for_its_row_is_none(tmp_path, monkeypatch):
    with opened(tmp_path, versions=3) as store:
        store.save(model(), {})
        store.log([request(b"a")])

        def full(*_):
            raise OSError("no room")

        monkeypatch.setattr(store, "_last_given_up", full)
        with pytest.raises(OSError, match="no room"):
            store.save(model(), {})
        monkeypatch.undo()
        assert store.versions() == [0] and not (tmp_path / "version-000001.onkel").exists()
        store.log([request(b"b")])
        assert log_of(store) == [(1, b"a"), (2, b"b")]


def test_a_spoilt_or_missing_newest_version_is_refused(tmp_path):
    with opened(tmp_path) as store:
        for _ in range(2):
            store.save(model(), {})
            store.log([request(b"a")])
    newest, older = tmp_path / "version-000001.onkel", tmp_path / "version-000000.onkel"
    content = newest.read_bytes()
    for wrong in (content[:-1], older.read_bytes(), None):
        newest.unlink() if wrong is None else newest.write_bytes(wrong)
        with opened(tmp_path) as store, pytest.raises(ValueError, match="the newest version is needed"):
            store.open()
    newest.write_bytes(content)
    with opened(tmp_path) as store:
        assert log_of(store) == [(2, b"a")]
    (tmp_path / "state.sqlite").unlink()
    with pytest.raises(Damaged, match=r"holds versions but no state\.sqlite"):
        opened(tmp_path)


def test_the_history_is_what_was_learned_within_its_bytes(tmp_path):
    with opened(tmp_path, history_bytes=2500) as store:
        for n in range(6):
            store.log([request(str(n).encode() * 1000)])
            store.save(model(), {})
        store.log([request(b"not in a version", known_as={"key k": "d"})])
        store.refuse(7, "why")
        now = time.time()
        found = list(store.learned(now - 100, now + 100))
        assert [each.number for each in found] == [5, 6, 7]
        assert [each.refused for each in found] == [None, None, "why"] and found[0].record == b"4" * 1000
        assert store.known("key k").refused == "why"
        assert list(store.learned(now + 50, now + 100)) == list(store.learned(0, now - 100)) == []


def test_a_backup_is_unpacked_and_goes_on(tmp_path):
    folder = tmp_path / "m"
    with opened(folder) as store:
        store.save(model(), {"n": 1})
        store.log([request(b"a", known_as={"key k": "d"})])
        store.hold("visit", b"rows", 1)
        with store.back_up() as file:
            (tmp_path / "m.tar").write_bytes(file.read())
        store.log([request(b"b")])
        assert not [*folder.glob(".*")]
    assert restore(tmp_path / "m.tar", tmp_path / "restored") == "m"
    with opened(tmp_path / "restored" / "m") as store:
        assert log_of(store) == [(1, b"a")] and store.open().notes["n"] == 1
        assert store.known("key k") is not None and store.held("visit") == b"rows" and store.n_held == 1


def test_a_backup_replaces_nothing(tmp_path):
    with opened(tmp_path / "m") as store, store.back_up() as file:
        store.save(model(), {})
        (tmp_path / "m.tar").write_bytes(file.read())
    with pytest.raises(ValueError, match="a backup is restored to where there is none of its model"):
        restore(tmp_path / "m.tar", tmp_path)
    (tmp_path / "cut.tar").write_bytes((tmp_path / "m.tar").read_bytes()[:3000])
    with pytest.raises((ValueError, tarfile.ReadError)):
        restore(tmp_path / "cut.tar", tmp_path / "new")
    assert not (tmp_path / "new" / "m").exists()
    for name in ("m/../../state.sqlite", "../state.sqlite", "m/other", "state.sqlite"):
        with tarfile.open(tmp_path / "other.tar", "w") as archive:
            archive.add(tmp_path / "m.tar", name)
        with pytest.raises(ValueError, match="is not a backup of a service"):
            restore(tmp_path / "other.tar", tmp_path / "new")


def test_requests_are_read_in_groups_of_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_store, "_AT_ONCE", 3)
    monkeypatch.setattr(_store, "_BYTES_AT_ONCE", 100)
    records = [b"x" * size for size in (10, 10, 10, 10, 90, 90, 300, 10)]
    with opened(tmp_path) as store:
        store.log([request(record) for record in records])
        groups = list(_store.groups_of(store.waiting()))
    assert [found.record for group in groups for found in group] == records
    assert [len(group) for group in groups] == [3, 3, 1, 1]


# -- keys


def test_keys_are_of_the_last_requests(tmp_path):
    with opened(tmp_path, keys=2) as store:
        for n in range(3):
            store.log([request(b"", n, known_as={f"key {n}": f"digest {n}", f"id {n}": "other"})])
        assert [store.known(f"key {n}") for n in range(3)] == [
            None,
            _store.Known("digest 1", 1, None),
            _store.Known("digest 2", 2, None),
        ]
        assert store.known("id 0") is None and store.known("id 2").digest == "other"


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
    again = Batch.of_record(batch.record)
    assert again.rows.tobytes() == rows.tobytes() and again.weights.tobytes() == batch.weights.tobytes()
    assert again.labels.dtype == batch.labels.dtype and again.labels.tobytes() == batch.labels.tobytes()
    assert again.names == ("a", "ö")
    assert batch.digest() == again.digest() != Batch(rows + 1, batch.labels, batch.weights, batch.names).digest()


# -- rows that wait for labels


def test_held_rows_survive_a_kill_and_leave_once(tmp_path):
    with opened(tmp_path / "open") as store:
        for n in range(10):
            assert store.hold(f"id-{n}", b"%d" % n, 1)
        store.log([request(b"", id="id-3"), request(b"", id="nobody")])
        assert store.hold("id-4", b"again", 2)
        killed = left_by_a_kill(tmp_path / "open", tmp_path / "killed")
    with opened(killed) as store:
        assert store.n_held == 9 and store._held_rows == 10 and store._held_bytes == 13
        assert store.held("id-3") is None
        assert store.held("id-4") == b"again" and store.held("id-9") == b"9"


@pytest.mark.parametrize("jump", [-400 * 86_400.0, 50_000.0], ids=["a year back", "half a day ahead"])
def test_a_clock_that_jumps_loses_no_row_and_changes_no_order(tmp_path, monkeypatch, jump):
    now = time.time()
    with opened(tmp_path / "m") as store:
        store.log([request(b"a", known_as={"key a": "d"})])
        store.hold("visit", b"rows", 1)
        monkeypatch.setattr(_store.time, "time", lambda: now + jump)
        store.log([request(b"b", known_as={"key b": "d"})])
        store.hold("other", b"more", 1)
        assert store.held("visit") == b"rows" and store.held("other") == b"more"
        monkeypatch.undo()
        store.log([request(b"c")])
    with opened(tmp_path / "m") as store:
        assert log_of(store) == [(1, b"a"), (2, b"b"), (3, b"c")]
        assert store.known("key a") is not None and store.known("key b") is not None
        assert store.held("visit") == b"rows"


def test_held_rows_are_bounded_in_number_bytes_and_time(tmp_path, monkeypatch):
    with opened(tmp_path / "rows", held_rows=3) as few:
        for n in range(5):
            few.hold(str(n), b"", 1)
        assert [few.held(str(n)) is not None for n in range(5)] == [False, False, True, True, True]
        assert not few.hold("many", b"", 4) and few.n_held == 3
    with opened(tmp_path / "bytes", held_bytes=2000) as small:
        for n in range(100):
            small.hold(str(n), bytes(100), 1)
        assert small.n_held == 20 and small.held("80") is not None and small.held("79") is None
    with opened(tmp_path / "time", held_seconds=100.0) as brief:
        brief.hold("early", b"", 1)
        now = time.time()
        monkeypatch.setattr(_store.time, "time", lambda: now + 90)
        assert brief.held("early") is not None
        monkeypatch.setattr(_store.time, "time", lambda: now + 110)
        assert brief.held("early") is None
        brief.hold("late", b"", 1)
        assert brief.n_held == 1
        monkeypatch.undo()


def test_those_who_hold_at_the_same_time_share_a_transaction(tmp_path):
    with opened(tmp_path) as store:
        waiting = [_store._Hold(str(n), b"x" * n, 1, time.time()) for n in range(5)]
        store._holds.extend([*waiting, _store._Hold("0", b"again", 7, time.time())])
        assert store.hold("last", b"", 1) and all(each.done for each in waiting)
        assert store.held("0") == b"again"
        assert (store.n_held, store._held_rows, store._held_bytes) == (6, 12, 15)


def test_a_full_disk_holds_no_rows_and_says_so(tmp_path):
    with opened(tmp_path) as store:
        assert store.hold("a", b"", 1)
        store._database.rows("PRAGMA max_page_count=1")
        assert not store.hold("b", bytes(10_000), 1)
        store._database.rows("PRAGMA max_page_count=10000")
        assert store.hold("c", bytes(10_000), 1)
        assert [store.held(name) is not None for name in "abc"] == [True, False, True]
