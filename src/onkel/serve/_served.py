"""A served model: one writer that logs and learns, and snapshots for predictions, which do not wait for it."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from onkel.evaluate import learner_of
from onkel.inside import inside
from onkel.serve._batch import Batch
from onkel.serve._checks import check_batch, check_classes
from onkel.serve._names import names_put_back, take_names
from onkel.serve._progress import LiveProgress
from onkel.serve._queue import TaskQueue
from onkel.serve._refusal import Refusal
from onkel.serve._store import Known, Request, Store, StoredRequest, groups_of
from onkel.serve._tasks import Backup, Learn, Logged, Rollback, ServiceSettings, Snapshot
from onkel.streams.table import Table

logger = logging.getLogger("onkel.serve")


def _logged(found: StoredRequest) -> Logged:
    """A request of the log."""
    refusal = None if found.refused is None else Refusal(422, found.refused)
    return Logged(Learn(), Batch.of_record(found.record), found.number, refusal)


class Served:
    """A model that learns from a queue and predicts at the same time.

    A request to `learn` is answered when its rows are on the disk, have been learned, and affect every later
    prediction.

    Parameters
    ----------
    name : str
    store : Store
        Owned by this object, which closes it.
    fresh : model, default=None
        The model to start with if the store is empty.
    origin : dict, default=None
        What the store started with (JSON); a store that started with something else is refused. None accepts any.
    classes : list, default=None
        All classes, for a model that is not fitted yet.
    target : str, default="label"
        The name of the label in rows with names.
    settings : ServiceSettings, default=None

    Examples
    --------
    >>> import onkel, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> model = onkel.OGDClassifier(gamma=1.0, random_state=0)
    >>> with Served("m", Store(folder), model, {"learner": "ogd"}) as served:
    ...     done = served.learn(Batch(np.eye(2), np.array(["no", "yes"])), key="first")
    ...     done.result()["rows"], served.snapshot.predict(np.eye(2), ["predict"])["predict"].tolist()
    (2, ['yes', 'yes'])
    >>> onkel.load(folder / "version-000001.onkel").t_
    2
    """

    def __init__(
        self,
        name: str,
        store: Store,
        fresh: Any = None,
        origin: dict[str, Any] | None = None,
        classes: list[Any] | None = None,
        target: str = "label",
        settings: ServiceSettings | None = None,
    ) -> None:
        self.name = name
        self.settings = settings or ServiceSettings()
        self.progress = LiveProgress()
        self.broken: str | None = None  # why learning has stopped, if it has
        self.committed: Callable[[int, float], None] = lambda n_rows, seconds: None  # told of each group on the disk
        self._store = store
        self._queue = TaskQueue(self.settings.queue_requests, self.settings.queue_rows, self.settings.group_rows)
        try:
            self._begin(fresh, origin, classes, target)
        except BaseException:
            store.close()
            raise
        self._thread = threading.Thread(target=self._work, name=f"writer of {name}", daemon=True)
        self._thread.start()

    # -- asked from any thread

    def learn(self, batch: Batch, key: str | None = None) -> Future[dict[str, Any]]:
        """Queue rows to be logged and learned; refuse them at once if the queue is full or learning is off."""
        return self._put(Learn(batch=batch, key=key))

    def label(
        self, id: str, labels: NDArray[Any], weights: NDArray[np.float64] | None = None, key: str | None = None
    ) -> Future[dict[str, Any]]:
        """Learn from rows that were predicted under an id, now that their labels are known."""
        return self._put(Learn(id=id, labels=labels, weights=weights, key=key))

    def roll_back(self, version: int) -> Future[dict[str, Any]]:
        """Go back to a version; the present state is saved as a version first, so that this can be undone."""
        return self._put(Rollback(version))

    def hold(self, id: str, rows: NDArray[np.float64] | Table, names: tuple[str, ...] | None) -> bool:
        """Hold predicted rows until their labels come; return whether they are on the disk."""
        if self.settings.read_only or self._store.known(f"id {id}") is not None:
            return False
        waiting = Batch(rows, np.zeros(len(rows), bool), names=names)  # the labels are still to come
        return self._store.hold(id, waiting.record, len(waiting))

    def back_up(self) -> Future[IO[bytes]]:
        """Write everything, as it is between two requests, to a tar file that is gone once it is closed."""
        task = Backup()
        self._queue.put(task)
        return task.done

    def learned(self, begin: float, end: float) -> Iterator[StoredRequest]:
        """Yield the requests of a range of time (seconds since 1970) that the store still has."""
        return self._store.learned(begin, end)

    def versions(self) -> list[int]:
        """Return the versions that are kept, oldest first."""
        return self._store.versions()

    def facts(self) -> dict[str, Any]:
        """Return current figures: what is waiting, and the sizes of the model and the log."""
        learner = self.snapshot.inside.learner
        tasks, rows = self._queue.size
        kernel = None if learner is None else learner.kernel
        return {
            "rows": self.snapshot.rows,
            "version": self.snapshot.version,
            "queue_requests": tasks,
            "queue_rows": rows,
            "n_support": 0 if learner is None else learner.n_support,
            "model_bytes": 0 if learner is None else learner.nbytes,
            "gamma": getattr(kernel, "gamma", None),
            "log_bytes": self._store.log_bytes,
            "pending_labels": self._store.n_held,
            "broken": int(self.broken is not None),
            "changes": len(getattr(self.snapshot.inside.estimator, "changes_", ())),
        }

    def close(self) -> None:
        """Learn from the waiting rows, save a last version and leave an empty log."""
        self._queue.close()
        self._thread.join()
        try:
            if not self.settings.read_only and self.broken is None and not self._store.is_newest_complete():
                self._try_checkpoint()
        finally:
            self._store.close()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, task: Learn | Rollback) -> Future[dict[str, Any]]:
        if self.settings.read_only:
            raise Refusal(403, "the service is read-only: it predicts and does not learn")
        if self.broken is not None:
            raise Refusal(503, self.broken)
        self._queue.put(task)
        return task.done

    # -- at the start

    def _begin(self, fresh: Any, origin: dict[str, Any] | None, classes: list[Any] | None, target: str) -> None:
        opened = self._store.open()
        if opened is None:
            if fresh is None:
                raise ValueError(f"{self._store.folder} contains no model to continue with")
            self._model, self._rows = fresh, 0
            self._names = take_names(fresh)
            self._origin, self._classes, self.target = origin, classes, target
            with names_put_back(fresh, self._names):
                self._version = self._store.save(fresh, self._notes())
        else:
            notes = opened.notes
            if origin is not None and origin != notes["origin"]:
                raise ValueError(
                    f"{self._store.folder} was started with {_in_words(notes['origin'])}, and now with "
                    f"{_in_words(origin)}: use the former, or another directory"
                )
            self._model, self._version = opened.model, opened.version
            take_names(self._model)
            self._take_notes(notes)
        self._share_among_threads()
        self._rows_at_version = self._rows
        self._is_regressor = is_regressor(self._model)
        self._publish()
        self._replay()

    def _take_notes(self, notes: dict[str, Any]) -> None:
        self._rows, self._origin, self._classes = notes["rows"], notes["origin"], notes["classes"]
        self.target = notes["target"]
        self._names = None if notes["names"] is None else tuple(notes["names"])

    def _replay(self) -> None:
        """Learn the requests after the newest version again, exactly as before."""
        for found in groups_of(self._store.waiting()):
            self._learn_all([_logged(each) for each in found])
            self._publish()
            logger.info("replayed the log", extra=self._log_fields(requests=len(found), rows=self._rows))

    # -- the writer

    def _work(self) -> None:
        while group := self._queue.take():
            try:
                if isinstance(group[0], Rollback):
                    self._roll_back(group[0])
                elif isinstance(group[0], Backup):
                    self._back_up(group[0])
                else:
                    self._commit_in_turn([task for task in group if isinstance(task, Learn)])
            except BaseException as error:
                self._break(error, group)

    def _break(self, error: BaseException, group: list[Any]) -> None:
        """After an unexpected failure stop learning but keep predicting; the next start replays the log."""
        self.broken = f"learning has stopped after an unexpected failure ({error!r}); start the service again"
        logger.error(self.broken, extra=self._log_fields(), exc_info=error)
        for task in group:
            if not task.done.done():
                task.done.set_exception(Refusal(503, self.broken))

    def _commit_in_turn(self, tasks: list[Learn]) -> None:
        """Commit a group at once, but one by one until there is a model: the first rows name its columns."""
        while tasks:
            size = 1 if inside(self._model).learner is None else len(tasks)
            self._commit(tasks[:size])
            tasks = tasks[size:]

    def _commit(self, tasks: list[Learn]) -> None:
        """Check, log, learn, publish and answer a group of requests, in this order."""
        new: list[Logged] = []
        waiting: dict[str, Logged] = {}  # by the keys of this group
        repeated: list[tuple[Learn, Logged]] = []
        for task in tasks:
            try:
                known = self._known(task, waiting)
                if known is None:
                    new.append(logged := Logged(task, self._checked(task)))
                    waiting.update(dict.fromkeys(task.known_as, logged))
                elif isinstance(known, Logged):
                    repeated.append((task, known))
                elif known.refused is not None:
                    raise Refusal(422, known.refused)
                else:
                    self._answer(task, known.n_rows, repeated=True)
            except Refusal as refusal:
                self._refuse(task, refusal)
        if new and self._log(new):
            scored = self._learn_all(new)
            self._publish()
            for logged in new:
                self._conclude(logged.task, logged, repeated=False)
            self._watch(scored)
        for task, logged in repeated:
            self._conclude(task, logged, repeated=True)
        self._checkpoint_if_due()

    def _known(self, task: Learn, waiting: dict[str, Logged]) -> Known | Logged | None:
        """The result of an earlier request with the same key; refused if that one had other rows."""
        for key, digest in task.known_as.items():
            earlier = waiting.get(key) or self._store.known(key)
            if earlier is None:
                continue
            before = earlier.digest if isinstance(earlier, Known) else earlier.task.known_as[key]
            if before != digest:
                raise Refusal(409, f"the {key!r} was used before, for other rows or labels")
            return earlier
        return None

    def _checked(self, task: Learn) -> Batch:
        batch = task.batch
        if batch is None:
            assert task.id is not None
            assert task.labels is not None
            record = self._store.held(task.id)
            if record is None:
                raise Refusal(404, f"no row is held under the id {task.id!r}: it has expired, or never existed")
            held = Batch.of_record(record)
            batch = Batch(held.rows, task.labels, task.weights, held.names)
        structure = inside(self._model)
        if self._names is not None or structure.learner is not None:
            batch = batch.named(self._names)
        check_batch(batch, structure, self._is_regressor, self._classes)
        return batch

    def _log(self, new: list[Logged]) -> bool:
        """Make requests durable; refuse them all if they cannot be written."""
        requests = [
            Request(logged.batch.record, len(logged.batch), logged.task.known_as, logged.task.id) for logged in new
        ]
        begin = time.perf_counter()
        try:
            first = self._store.log(requests)
        except OSError as error:
            refusal = Refusal(507, f"the log cannot be written ({error}); nothing was learned")
            for logged in new:
                logged.refusal = refusal
                self._refuse(logged.task, refusal)
            logger.error(refusal.sentence, extra=self._log_fields())
            return False
        self.committed(sum(request.n_rows for request in requests), time.perf_counter() - begin)
        for number, logged in enumerate(new, first):
            logged.number = number
        return True

    def _learn_all(self, new: list[Logged]) -> list[tuple[NDArray[np.float64], Batch]]:
        """Learn from requests in turn, and return their scores from before.

        A request that fails is undone completely: the others are learned again without it.
        """
        scored = []
        for place, logged in enumerate(new):
            if logged.refusal is not None:
                continue
            try:
                scored.append((self._learn(logged.batch), logged.batch))
            except (ValueError, ArithmeticError, MemoryError, Refusal) as error:
                logged.refusal = Refusal(422, f"the rows could not be learned: {error}")
                self._model, self._names = copy.deepcopy(self.snapshot.model), self.snapshot.names
                for earlier in new[:place]:
                    if earlier.refusal is None:
                        self._learn(earlier.batch)
                self._note_refusal(logged)
                continue
            self._rows += len(logged.batch)
        return scored

    def _watch(self, scored: list[tuple[NDArray[np.float64], Batch]]) -> None:
        """Take the scores of new rows into the progress."""
        learner = inside(self._model).learner
        if learner is not None:
            for scores, batch in scored:
                self.progress.add(scores, batch.labels, self._model)
            self.progress.draw(learner.n_support)

    def _learn(self, batch: Batch) -> NDArray[np.float64]:
        options: dict[str, Any] = {} if batch.weights is None else {"sample_weight": batch.weights}
        structure = inside(self._model)
        if not self._is_regressor:
            check_classes(batch.labels, structure)  # those of the group's other requests included
        if structure.learner is None:
            self._names = batch.names
            if self._classes is not None:
                options["classes"] = self._classes
        return np.asarray(self._model.predict_then_learn(batch.rows, batch.labels, **options))

    def _note_refusal(self, logged: Logged) -> None:
        assert logged.refusal is not None
        try:
            self._store.refuse(logged.number, logged.refusal.sentence)
        except OSError as error:  # the next start will come to the same result
            logger.error("a refusal could not be logged", extra=self._log_fields(reason=str(error)))

    def _publish(self) -> None:
        """Make what was learned visible to predictions."""
        self.snapshot = Snapshot(copy.deepcopy(self._model), self._names, self._rows, self._version)

    def _conclude(self, task: Learn, logged: Logged, repeated: bool) -> None:
        if logged.refusal is not None:
            self._refuse(task, logged.refusal)
        else:
            self._answer(task, len(logged.batch), repeated)

    def _answer(self, task: Learn, n_rows: int, repeated: bool) -> None:
        if not task.done.done():
            task.done.set_result({"rows": n_rows, "rows_learned": self._rows, "repeated": repeated})

    def _refuse(self, task: Learn, refusal: Refusal) -> None:
        self.progress.refuse(refusal.status, refusal.sentence)
        if not task.done.done():
            task.done.set_exception(refusal)

    # -- versions

    def _notes(self) -> dict[str, Any]:
        return {
            "rows": self._rows,
            "origin": self._origin,
            "classes": self._classes,
            "target": self.target,
            "names": None if self._names is None else list(self._names),
        }

    def _checkpoint_if_due(self) -> None:
        rows = self._rows - self._rows_at_version
        if rows >= self.settings.every or self._store.log_bytes > self.settings.log_bytes:
            self._try_checkpoint()
        self._store.tidy()

    def _try_checkpoint(self) -> None:
        """Save a version; if it cannot be written, the log still has everything."""
        try:
            self._checkpoint()
        except OSError as error:
            logger.error("a checkpoint could not be written", extra=self._log_fields(reason=str(error)))

    def _checkpoint(self) -> None:
        self._save(self._model, self._notes())
        self.snapshot = Snapshot(self.snapshot.model, self._names, self._rows, self._version)

    def _save(self, model: Any, notes: dict[str, Any]) -> None:
        with names_put_back(model, notes["names"]):
            self._version = self._store.save(model, notes)
        self._rows_at_version = notes["rows"]
        logger.info("wrote a checkpoint", extra=self._log_fields(version=self._version, rows=notes["rows"]))

    def _share_among_threads(self) -> None:
        """Let the model use as many threads as the service was told; they change no bit."""
        if self.settings.jobs is not None:
            learner_of(self._model).n_jobs = self.settings.jobs

    def _roll_back(self, task: Rollback) -> None:
        try:
            model, notes = self._store.load(task.version)
            take_names(model)
            if not self._store.is_newest_complete():
                self._checkpoint()
            self._save(model, notes)
        except LookupError as error:
            task.done.set_exception(Refusal(404, str(error.args[0])))
        except ValueError as error:
            task.done.set_exception(Refusal(409, f"version {task.version} cannot be read: {error}"))
        except OSError as error:
            task.done.set_exception(Refusal(507, f"the version cannot be written ({error.strerror or error})"))
        else:
            self._model = model
            self._share_among_threads()
            self._take_notes(notes)
            self._publish()
            task.done.set_result({"version": self._version, "rows_learned": self._rows})

    def _back_up(self, task: Backup) -> None:
        try:
            file = self._store.back_up()
        except OSError as error:
            task.done.set_exception(Refusal(507, f"the backup cannot be written ({error})"))
        else:
            logger.info("wrote a backup", extra=self._log_fields(version=self._version, rows=self._rows))
            task.done.set_result(file)

    def _log_fields(self, **facts: Any) -> dict[str, Any]:
        """The fields that a line of the structured log has besides its message."""
        return {"facts": {"model": self.name, **facts}}


def _in_words(origin: Any) -> str:
    """What a store was started with, in words."""
    if not isinstance(origin, dict):
        return "something else"
    return ", ".join(f"{name} {str(value)[:60]}" for name, value in origin.items())
