"""The objects that the parts of a served model exchange: settings, snapshots and requests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache, cached_property
from inspect import signature
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from onkel.coverage import checked_levels
from onkel.inside import Inside, inside
from onkel.serve._batch import Batch
from onkel.serve._checks import check_rows, check_size, refused_by_row
from onkel.serve._refusal import Refusal
from onkel.serve._store import Retention
from onkel.streams.table import Table
from onkel.utils.validation import n_threads


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """The limits of a served model."""

    every: int = 100_000  # rows between two checkpoints
    log_bytes: int = 2**26  # the size of the requests after the newest version at which a checkpoint is due
    kept: Retention = field(default_factory=Retention)
    queue_requests: int = 1_000
    queue_rows: int = 200_000
    group_rows: int = 20_000  # the largest number of rows that share one fsync and one snapshot
    read_only: bool = False
    jobs: int | None = None  # threads of the model; None leaves what it says itself

    def __post_init__(self) -> None:
        n_threads(self.jobs)  # refuses what is no number of threads


@dataclass(frozen=True)
class Snapshot:
    """A copy of the model that does not change, for predictions."""

    model: Any
    names: tuple[str, ...] | None
    rows: int  # the number of rows acknowledged so far, all of which the model has learned from
    version: int  # the number of the newest version on the disk

    @cached_property
    def inside(self) -> Inside:
        """What the model consists of."""
        return inside(self.model)

    @property
    def is_fitted(self) -> bool:
        """Whether it has learned from any row."""
        return self.inside.learner is not None

    def predict(self, rows: NDArray[np.float64] | Table, outputs: list[str]) -> dict[str, NDArray[Any]]:
        """Return the requested outputs."""
        if not self.is_fitted:
            raise Refusal(503, "the model has learned nothing yet")
        if not isinstance(rows, Table):
            check_rows(rows, self.model.n_features_in_)
        check_size(len(rows), 1 if self.inside.classes is None else len(self.inside.classes))
        answers, known = {}, self.outputs()
        for name in dict.fromkeys(outputs):
            if name not in known:
                raise Refusal(422, f"the model has no output {name!r}; it has {', '.join(known)}")
            with refused_by_row() if isinstance(rows, Table) else contextlib.nullcontext():
                answers[name] = np.asarray(
                    self._std(rows) if name == "predict_std" else getattr(self.model, name)(rows, *self._level(name))
                )
            if name == "predict_interval" and not np.isfinite(answers[name]).all():
                raise Refusal(503, "the model has learned too few rows for an interval yet")
        return answers

    def outputs(self) -> list[str]:
        """Return the outputs that the model has."""
        found = [name for name in ("predict", "decision_function", "predict_proba") if hasattr(self.model, name)]
        if _has_std(type(self.inside.estimator).predict):
            found.append("predict_std")
        if self._levels:
            found += [name for name in ("predict_interval", "predict_set") if hasattr(self.model, name)]
        return found

    @property
    def _levels(self) -> Any:
        """The levels of coverage that the model keeps account of, if any."""
        return getattr(self.inside.estimator, "coverage", None)

    def _level(self, name: str) -> tuple[float, ...]:
        """The level of an interval or a set: the first of the model's, and nothing for other outputs."""
        return checked_levels(self._levels)[:1] if name in ("predict_interval", "predict_set") else ()

    def _std(self, rows: Any) -> NDArray[Any]:
        """The standard deviation of each row's target."""
        for transformer in self.inside.transformers:
            rows = transformer.transform(rows)
        return np.asarray(self.inside.estimator.predict(rows, return_std=True)[1])


@cache
def _has_std(predict: Callable[..., Any]) -> bool:
    return "return_std" in signature(predict).parameters


@dataclass
class Learn:
    """A request to learn: rows with labels, or labels for rows that are held under an id."""

    batch: Batch | None = None
    key: str | None = None
    id: str | None = None
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    done: Future[dict[str, Any]] = field(default_factory=Future)
    alone = False

    @property
    def n_rows(self) -> int:
        """Number of its rows."""
        return len(self.batch) if self.batch is not None else 0 if self.labels is None else len(self.labels)

    @cached_property
    def known_as(self) -> dict[str, str]:
        """The keys under which it is remembered, each with a digest of the request."""
        keys = [f"{what} {name}" for what, name in (("key", self.key), ("id", self.id)) if name is not None]
        return dict.fromkeys(keys, self._digest()) if keys else {}

    def _digest(self) -> str:
        if self.batch is not None:
            return self.batch.digest()
        assert self.labels is not None
        return Batch(np.empty((len(self.labels), 0)), self.labels, self.weights).digest()


@dataclass
class Rollback:
    """A request to go back to an earlier version."""

    version: int
    done: Future[dict[str, Any]] = field(default_factory=Future)
    alone = True
    n_rows = 0


@dataclass
class Backup:
    """A request to write everything to a file."""

    done: Future[IO[bytes]] = field(default_factory=Future)
    alone = True
    n_rows = 0


@dataclass
class Logged:
    """A request that is in the log, with the batch as it was logged."""

    task: Learn
    batch: Batch
    number: int = -1
    refusal: Refusal | None = None
