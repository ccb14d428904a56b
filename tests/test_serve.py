"""The one writer of a served model: what it answers is on the disk, learned once, and seen by predictions."""

import errno
import gc
import os
import sys
import threading

import numpy as np
import pytest

import onkel
from looping import loop
from onkel.serve._batch import Batch
from onkel.serve._refusal import Refusal
from onkel.serve._served import Served
from onkel.serve._store import Store
from serving import settings_of

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 3))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] > 0, "yes", "no")
ORIGIN = {"learner": "a test"}


def new_model(**options):
    return onkel.SPAClassifier(**{"gamma": 0.5, "random_state": 1, "budget": 30, "beta": 3.0, **options})


def batch(begin, end, **others):
    return Batch(X[begin:end], Y[begin:end], **others)


def serve(folder, model=None, *, origin=ORIGIN, classes=("no", "yes"), **settings):
    chosen = settings_of(**{"every": 100, "versions": 20, **settings})
    model = new_model() if model is None else model
    store = Store(folder, chosen.kept)
    return Served("m", store, model, origin, None if classes is None else list(classes), settings=chosen)


def kill(served):
    """Leave everything as a kill would: nothing is finished, nothing is written any more."""
    served._queue.close()
    served._thread.join()
    served._store.close()


def newest(folder):
    return sorted(folder.glob("version-*.onkel"))[-1].read_bytes()


def refused(done):
    """The status and the sentence of a refusal: of what waits, or of what may not even wait."""
    with pytest.raises(Refusal) as caught:
        done() if callable(done) else done.result()
    return caught.value.status, caught.value.sentence


def test_an_answer_says_that_the_rows_are_learned_and_seen(tmp_path):
    plain = new_model()
    with serve(tmp_path) as served:
        for begin in range(0, 400, 40):
            answer = served.learn(batch(begin, begin + 40)).result()
            plain.partial_fit(X[begin : begin + 40], Y[begin : begin + 40], classes=["no", "yes"])
            assert answer == {"rows": 40, "rows_learned": begin + 40, "repeated": False}
            seen = served.snapshot
            assert seen.rows == begin + 40 and seen.model.t_ == begin + 40
            made = seen.predict(X, ["predict", "decision_function"])
            assert (made["predict"] == plain.predict(X)).all()
            assert (made["decision_function"] == plain.decision_function(X)).all()


@pytest.mark.parametrize("crashes", [(1,), (3, 4, 9), tuple(range(1, 10))], ids=str)
def test_after_a_crash_the_model_has_the_bytes_of_one_that_never_stopped(tmp_path, crashes):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with serve(whole) as served:
        for n in range(10):
            served.learn(batch(40 * n, 40 * n + 40), key=str(n)).result()
    served = serve(killed)
    for n in range(10):
        served.learn(batch(40 * n, 40 * n + 40), key=str(n)).result()
        if n + 1 in crashes:
            kill(served)
            served = serve(killed)
            assert served.snapshot.rows == 40 * n + 40
    served.close()
    assert newest(whole) == newest(killed)
    assert onkel.load(sorted(killed.glob("version-*.onkel"))[-1]).t_ == 400


def test_at_the_end_the_log_is_empty_and_the_newest_version_is_whole(tmp_path):
    with serve(tmp_path) as served:
        served.learn(batch(0, 30)).result()
    with Store(tmp_path) as store:
        assert list(store.waiting()) == [] and store.is_newest_complete()
    with serve(tmp_path):
        pass
    assert onkel.load(tmp_path / "version-000001.onkel").t_ == 30
    assert not (tmp_path / "version-000002.onkel").exists()  # nothing was learned


def test_a_retry_changes_nothing(tmp_path):
    served = serve(tmp_path)
    first = served.learn(batch(0, 40), key="a").result()
    again = served.learn(batch(0, 40), key="a").result()
    assert not first["repeated"] and again == {"rows": 40, "rows_learned": 40, "repeated": True}
    kill(served)
    served = serve(tmp_path)  # from the log
    assert served.learn(batch(0, 40), key="a").result()["repeated"]
    served.close()
    with serve(tmp_path) as served:  # from the version
        assert served.learn(batch(0, 40), key="a").result()["repeated"]
        assert served.snapshot.rows == 40
        status, sentence = refused(served.learn(batch(40, 80), key="a"))
        assert status == 409 and "'key a' was used before" in sentence


def blocked(served):
    """Make the writer wait inside of its next learning; returns what is set when it is there, and what lets it go."""
    inside, go, learn, close = threading.Event(), threading.Event(), served._learn, served.close

    def slowly(batch):
        inside.set()
        go.wait()
        return learn(batch)

    def let_go_and_close():
        go.set()
        close()

    served._learn, served.close = slowly, let_go_and_close  # a test that fails ends, too
    return inside, go


def test_two_requests_with_one_key_in_one_group_are_one(tmp_path):
    with serve(tmp_path) as served:
        inside, go = blocked(served)
        first = served.learn(batch(0, 1))
        inside.wait()
        pair = [served.learn(batch(40, 80), key="a") for _ in range(2)]
        other = served.learn(batch(80, 120), key="a")
        go.set()
        assert [done.result()["repeated"] for done in (first, *pair)] == [False, False, True]
        assert refused(other)[0] == 409
        assert served.snapshot.rows == 41


def test_as_many_keys_are_remembered_as_is_said(tmp_path):
    with serve(tmp_path, keys=3) as served:
        for n in range(5):
            served.learn(batch(n, n + 1), key=str(n)).result()
        assert [served.learn(batch(n, n + 1), key=str(n)).result()["repeated"] for n in (4, 3, 2, 1)] == [
            True,
            True,
            True,
            False,
        ]


def test_predictions_do_not_wait_for_learning(tmp_path):
    with serve(tmp_path) as served:
        served.learn(batch(0, 40)).result()
        inside, go = blocked(served)
        done = served.learn(batch(40, 80))
        inside.wait()
        assert served.snapshot.predict(X, ["predict"])["predict"].shape == (400,)  # while the writer is learning
        assert served.snapshot.rows == 40 and not done.done()
        go.set()
        done.result()
        assert served.snapshot.rows == 80


def test_requests_that_wait_share_one_sync(tmp_path):
    with serve(tmp_path, every=10**6) as served:
        inside, go = blocked(served)
        first = served.learn(batch(0, 1))
        inside.wait()
        commits = []
        served._store._database._connection.set_trace_callback(lambda said: said == "COMMIT" and commits.append(said))
        waiting = [served.learn(batch(n, n + 1)) for n in range(1, 50)]
        go.set()
        for done in (first, *waiting):
            done.result()
        assert len(commits) == 1


def test_a_full_queue_says_so(tmp_path):
    with serve(tmp_path, queue_requests=3, queue_rows=50) as served:
        inside, go = blocked(served)
        served.learn(batch(0, 1))
        inside.wait()
        served.learn(batch(0, 40))
        status, sentence = refused(lambda: served.learn(batch(0, 40)))
        assert status == 429 and "1 requests with 40 rows wait" in sentence
        served.learn(batch(0, 5))
        served.learn(batch(0, 5))
        assert refused(lambda: served.learn(batch(0, 1)))[0] == 429
        go.set()


def room_for(served, n_pages):
    """Let the file have so many pages more than it has."""
    database = served._store._database
    ((n_now,),) = database.rows("PRAGMA page_count")
    database.rows(f"PRAGMA max_page_count={n_now + n_pages}")


@pytest.mark.parametrize("n_pages", [0, 1])
def test_a_full_disk_refuses_learning_and_nothing_else(tmp_path, n_pages):
    served = serve(tmp_path)
    served.learn(batch(0, 40)).result()
    room_for(served, n_pages)
    status, sentence = refused(served.learn(batch(40, 400), key="a"))
    assert status == 507 and "database or disk is full" in sentence and "nothing was learned" in sentence
    assert served.snapshot.predict(X, ["predict"])["predict"].shape == (400,) and served.snapshot.rows == 40
    assert not served.hold("visit", X, None)
    room_for(served, 10_000)
    assert served.learn(batch(40, 400), key="a").result() == {"rows": 360, "rows_learned": 400, "repeated": False}
    room_for(served, 0)
    kill(served)
    with serve(tmp_path) as served:
        assert served.snapshot.rows == 400 and served.facts()["pending_labels"] == 0


def test_without_room_for_a_version_the_log_goes_on(tmp_path, monkeypatch, caplog):
    served = serve(tmp_path)

    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("onkel.files.persistence.container.write", no_room)
    for n in range(4):
        assert served.learn(batch(40 * n, 40 * n + 40)).result()["rows_learned"] == 40 * n + 40
    assert served.versions() == [0]
    monkeypatch.undo()
    kill(served)
    with serve(tmp_path) as served:
        assert served.snapshot.rows == 160


WRONG = {
    "a label that is no class": (lambda: Batch(X[:2], np.array(["yes", "maybe"])), 1),
    "a label of another kind": (lambda: Batch(X[:2], np.array([1, 2])), 0),
    "another width": (lambda: Batch(X[:2, :2], Y[:2]), 0),
    "not finite": (lambda: Batch(np.where(np.arange(6).reshape(2, 3) == 4, np.inf, 1.0), Y[:2]), 1),
    "a negative weight": (lambda: Batch(X[:2], Y[:2], np.array([1.0, -1.0])), 1),
    "names that the model does not have": (lambda: Batch(X[:2], Y[:2], names=("a", "b", "c")), None),
    "too few labels": (lambda: Batch(X[:2], Y[:1]), None),
}


@loop
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused_before_anything_is_logged(tmp_path, what):
    make, row = WRONG[what]
    with serve(tmp_path) as served:
        served.learn(batch(0, 40)).result()
        before = served.facts()["log_bytes"]
        with pytest.raises(Refusal) as caught:
            served.learn(make()).result()
        assert caught.value.status == 422 and caught.value.row == row
        assert served.facts()["log_bytes"] == before and served.snapshot.rows == 40
        assert served.progress.refused == {422: 1}


def overflowing(rows):
    """Rows that are finite, and whose kernel values are not."""
    return Batch(np.where(np.arange(len(rows))[:, None] == 1, 1e300, rows), np.array(["yes", "no", "yes"]))


@pytest.mark.parametrize("crash", [False, True])
def test_what_fails_when_it_is_learned_is_undone_whole_and_logged_as_refused(tmp_path, crash):
    whole, other = tmp_path / "whole", tmp_path / "other"
    polynomial = new_model(kernel="poly", degree=3)
    with serve(whole, polynomial) as served:
        served.learn(batch(0, 10)).result()
        served.learn(batch(10, 20)).result()
        served.learn(batch(20, 30)).result()
    served = serve(other, new_model(kernel="poly", degree=3))
    inside, go = blocked(served)
    first = served.learn(batch(0, 10))
    inside.wait()
    group = [served.learn(batch(10, 20)), served.learn(overflowing(X[:3]), key="bad"), served.learn(batch(20, 30))]
    go.set()
    first.result()
    assert [group[0].result()["rows_learned"], group[2].result()["rows_learned"]] == [30, 30]
    status, sentence = refused(group[1])
    assert status == 422 and "could not be learned" in sentence
    if crash:
        kill(served)
        served = serve(other)
    assert refused(served.learn(overflowing(X[:3]), key="bad")) == (status, sentence)
    assert served.snapshot.rows == 30
    served.close()
    models = [onkel.load(sorted(folder.glob("version-*.onkel"))[-1]) for folder in (whole, other)]
    for name, model in zip("ab", models, strict=True):
        onkel.save(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unforeseen_failure_stops_learning_and_not_predicting(tmp_path):
    served = serve(tmp_path)
    served.learn(batch(0, 40)).result()

    def fails(batch):
        raise KeyError("nobody knows why")

    served._learn = fails
    assert refused(served.learn(batch(40, 80)))[0] == 503
    status, sentence = refused(lambda: served.learn(batch(40, 80)))
    assert status == 503 and "start the service again" in sentence
    assert served.snapshot.predict(X, ["predict"])["predict"].shape == (400,)
    served.close()
    with serve(tmp_path) as served:  # what was logged is learned now
        assert served.snapshot.rows == 80


def test_labels_come_later_by_id(tmp_path):
    plain = new_model().partial_fit(X[:40], Y[:40], classes=["no", "yes"])
    plain.partial_fit(X[40:43], Y[40:43])
    served = serve(tmp_path)
    served.learn(batch(0, 40)).result()
    assert served.hold("visit", X[40:43], None) and served.hold("other", X[50:51], None)
    assert served.facts()["pending_labels"] == 2
    kill(served)
    served = serve(tmp_path)
    assert served.facts()["pending_labels"] == 2
    assert refused(served.label("visit", Y[40:42]))[0] == 422
    assert served.label("visit", Y[40:43]).result() == {"rows": 3, "rows_learned": 43, "repeated": False}
    assert (served.snapshot.model.decision_function(X) == plain.decision_function(X)).all()
    for _ in range(2):
        assert served.label("visit", Y[40:43]).result()["repeated"]
        assert refused(served.label("visit", np.array(["no"] * 3)))[0] == 409
        assert not served.hold("visit", X[40:43], None)  # it has its label
        kill(served)
        served = serve(tmp_path)
    assert served.facts()["pending_labels"] == 1 and served.snapshot.rows == 43
    status, sentence = refused(served.label("unknown", Y[:1]))
    assert status == 404 and "no row is held under the id 'unknown'" in sentence
    served.close()


def test_versions_are_kept_and_rolled_back_to(tmp_path):
    with serve(tmp_path, versions=4) as served:
        for n in range(5):
            served.learn(batch(60 * n, 60 * n + 60), key=str(n)).result()
        assert served.versions() == [0, 1, 2]  # each of a hundred rows or more
        answer = served.roll_back(1).result()
        assert answer == {"version": 4, "rows_learned": 120}  # 3 is the present, to which one may come back
        assert served.snapshot.rows == 120 and served.snapshot.model.t_ == 120
        assert refused(served.roll_back(0))[0] == 404  # no longer kept
        assert served.learn(batch(240, 300), key="4").result()["repeated"]  # a retry is still one
        served.learn(batch(300, 360)).result()
        assert served.roll_back(3).result()["rows_learned"] == 300
    plain = new_model().partial_fit(X[:300], Y[:300], classes=["no", "yes"])
    assert (onkel.load(max(tmp_path.glob("version-*.onkel"))).decision_function(X) == plain.decision_function(X)).all()
    with serve(tmp_path) as served:
        assert served.snapshot.rows == 300


def test_a_model_uses_as_many_threads_as_the_service_was_told(tmp_path):
    with serve(tmp_path, versions=4) as served:
        served.learn(batch(0, 200)).result()
    with serve(tmp_path, jobs=2) as served:
        assert served.snapshot.model.n_jobs == 2
        served.learn(batch(200, 260)).result()
        served.roll_back(0).result()
        assert served.snapshot.model.n_jobs == 2
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        serve(tmp_path, jobs=0)


def test_a_state_that_began_otherwise_is_refused(tmp_path):
    serve(tmp_path).close()
    with pytest.raises(ValueError, match="was started with learner a test, and now with sha256 abc"):
        serve(tmp_path, origin={"sha256": "abc"})
    serve(tmp_path, origin=None).close()


def test_read_only_predicts_and_writes_nothing(tmp_path):
    with serve(tmp_path) as served:
        served.learn(batch(0, 40)).result()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with serve(tmp_path, read_only=True) as served:
        assert served.snapshot.predict(X, ["predict"])["predict"].shape == (400,)
        assert refused(lambda: served.learn(batch(40, 80)))[0] == 403
        assert refused(lambda: served.roll_back(0))[0] == 403
        assert not served.hold("a", X[:1], None)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_names_of_the_first_rows_are_the_models(tmp_path):
    names = ("a", "b", "c")
    served = serve(tmp_path, classes=None)
    served.learn(batch(0, 40, names=names)).result()
    served.learn(Batch(X[40:80, ::-1], Y[40:80], names=names[::-1])).result()
    kill(served)
    with serve(tmp_path) as served:
        assert served.snapshot.names == names
        assert refused(served.learn(Batch(X[:2], Y[:2], names=("a", "b", "x"))))[0] == 422
    saved = onkel.load(max(tmp_path.glob("version-*.onkel")))
    plain = new_model().partial_fit(X[:80], Y[:80])
    assert saved.feature_names_in_.tolist() == list(names)
    del saved.feature_names_in_
    assert (saved.decision_function(X) == plain.decision_function(X)).all()


@loop
@pytest.mark.parametrize("kind", ["pipeline", "platt", "newton", "regression"])
def test_models_of_all_kinds_go_on_after_a_crash(tmp_path, kind):
    inner = new_model()
    make = {
        "pipeline": lambda: onkel.StreamPipeline(onkel.StreamStandardScaler(), inner),
        "platt": lambda: onkel.PlattClassifier(inner),
        "newton": lambda: onkel.NewtonClassifier(gamma="stream", budget=20, random_state=0),
        "regression": lambda: onkel.OGDRegressor(gamma=0.5, budget=30, random_state=0),
    }[kind]
    labels = X[:, 0] if kind == "regression" else Y
    classes = None if kind == "regression" else ["no", "yes"]
    plain = make()
    served = serve(tmp_path, make(), classes=classes)
    for begin in range(0, 400, 80):
        cut = slice(begin, begin + 80)
        served.learn(Batch(X[cut], labels[cut], names=("a", "b", "c"))).result()
        plain.partial_fit(X[cut], labels[cut], **({} if begin or classes is None else {"classes": classes}))
        kill(served)
        served = serve(tmp_path, make(), classes=classes)
    assert (served.snapshot.model.predict(X) == plain.predict(X)).all()
    assert served.snapshot.names == ("a", "b", "c")
    served.close()


def test_a_spoilt_log_is_refused_with_its_place(tmp_path):
    served = serve(tmp_path, every=10**6)
    for n in range(3):
        served.learn(batch(n, n + 1)).result()
    kill(served)
    path = tmp_path / "state.sqlite"
    content = path.read_bytes()
    path.write_bytes(content.replace(X[1].tobytes(), X[2].tobytes(), 1))
    with pytest.raises(ValueError, match=r"state\.sqlite: request 2 is damaged"):
        serve(tmp_path)
    path.write_bytes(content)
    serve(tmp_path).close()


def test_full_collections_leave_out_what_was_imported(monkeypatch):
    """They would hold the interpreter's lock, and every answer, for a tenth of a second and more."""
    from onkel.serve import _server
    from onkel.serve._web import Service

    frozen, interval = [], sys.getswitchinterval()

    def run(answering):
        answering.close()
        frozen.append(gc.get_freeze_count())

    monkeypatch.setattr(_server.asyncio, "run", run)
    try:
        _server.serve(Service({}), "127.0.0.1", 0)
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval)
    assert frozen[0] > 10_000


def test_features_that_matter_have_the_names_of_what_columns_become():
    from onkel.serve._live import features
    from onkel.serve._tasks import Snapshot

    table = {"town": ["Bern", "Chur"] * 20, "late": [True, True, False, False] * 10}
    for kernel in ("linear", onkel.parts.RBF(0.1, (1.0, 1.0))):
        learner = onkel.OGDClassifier(kernel=kernel, random_state=0)
        model = onkel.make_stream_pipeline(learner, max_categories=2).partial_fit(table, [0, 1] * 20)
        found = [each["feature"] for each in features(Snapshot(model, ("town", "late"), 40, 0))]
        assert {"town=Bern", "town=Chur"} <= set(found) <= {*model.transformers_[0].get_feature_names_out()}
