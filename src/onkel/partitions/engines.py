"""Engines: this process, or jobs of joblib. :mod:`onkel.dask` adds a cluster.

Every engine adds results in one fixed tree over the numbers of the partitions, so that neither the workers nor the
order in which they finish changes a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from onkel import _core
from onkel.partitions.sources import Partition

T = TypeVar("T")
Work = Callable[[int, Partition, Any], Any]  # called with a partition's number, the partition, and what all share
Tell = Callable[[int], None]  # called with the number of each partition that is done


class PartitionError(ValueError):
    """An error in the source of a partition; the message names the partition."""


class Engine(Protocol):
    """Runs work over partitions and adds up what it returns."""

    def total(
        self, work: Work, partitions: Sequence[Partition], shared: object, add: Callable[[Any, Any], Any], tell: Tell
    ) -> Any:
        """Return the sum, in the fixed tree, of ``work(number, partition, shared)`` over all partitions."""


def tree(values: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Add values up in a binary tree whose shape depends on their number alone; only a few are in memory at a time.

    Examples
    --------
    >>> tree("abcdef", lambda left, right: f"({left}{right})")
    '(((ab)(cd))(ef))'
    """
    waiting: list[tuple[int, T]] = []  # trees of 2^level leaves, the largest first
    for value in values:
        level = 0
        while waiting and waiting[-1][0] == level:
            value = add(waiting.pop()[1], value)
            level += 1
        waiting.append((level, value))
    sum_of_all = waiting.pop()[1]
    while waiting:
        sum_of_all = add(waiting.pop()[1], sum_of_all)
    return sum_of_all


def result_of(work: Work, number: int, partition: Partition, shared: object, level: str | None) -> Any:
    """Do the work of one partition; an error names it. ``level`` is the instruction set that all workers must use."""
    if level is not None and _core.isa != level:
        raise PartitionError(
            f"partition {partition.name!r} was sent to a worker with the instruction set {_core.isa!r}, and others "
            f"have {level!r}: results would depend on the worker; set ONKEL_ISA to one level, or allow mixed levels"
        )
    try:
        return work(number, partition, shared)
    except Exception as error:
        raise PartitionError(f"partition {partition.name!r}: {error}") from error


@dataclass(frozen=True)
class Serial:
    """One partition after the other, in this process."""

    def total(
        self, work: Work, partitions: Sequence[Partition], shared: object, add: Callable[[Any, Any], Any], tell: Tell
    ) -> Any:
        """Return the sum of the work of all partitions."""

        def done() -> Iterable[Any]:
            for number, partition in enumerate(partitions):
                yield result_of(work, number, partition, shared, None)
                tell(number)

        return tree(done(), add)


@dataclass(frozen=True)
class Jobs:
    """Jobs of joblib: threads (the core works without the interpreter's lock), or the backend that is active.

    Parameters
    ----------
    n_jobs : int
        As in joblib: -1 means all cores.
    """

    n_jobs: int

    def total(
        self, work: Work, partitions: Sequence[Partition], shared: object, add: Callable[[Any, Any], Any], tell: Tell
    ) -> Any:
        """Return the sum of the work of all partitions."""
        from joblib import Parallel, delayed

        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        results = jobs(delayed(result_of)(work, i, part, shared, _core.isa) for i, part in enumerate(partitions))

        def done() -> Iterable[Any]:
            for number, result in enumerate(results):
                yield result
                tell(number)

        return tree(done(), add)


def engine_of(n_jobs: int | None) -> Engine:
    """Return the engine for this number of jobs on this machine."""
    return Serial() if n_jobs in (None, 1) else Jobs(n_jobs)
