"""The engine: work over partitions as tasks of Dask's distributed scheduler.

A pass is one graph: one task per partition, and the fixed tree that adds their results. All that the tasks need lies in
the graph, so that a lost worker costs what it computed, and no more: no task is pinned to a worker, nothing is
scattered. Only the root of the tree, and a mark for each partition that is done, are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, Future, as_completed, default_client

from onkel import _core
from onkel.partitions.engines import PartitionError, Tell, Work, result_of, tree
from onkel.partitions.sources import ArrayPartition, Chunk, Partition

# The graph carries what is shared on purpose.
_QUIET = {"distributed.admin.large-graph-warning-threshold": "1TB"}


@dataclass(frozen=True)
class DelayedPartition(Partition):
    """Rows that Dask computes: delayed blocks of rows, of targets and, it may be, of weights."""

    name: str
    X: Any
    y: Any
    weight: Any = None

    def chunks(self) -> Iterator[Chunk]:
        """Compute the rows here."""
        yield from ArrayPartition(self.name, *dask.compute(self.X, self.y, self.weight)).chunks()


@dataclass(frozen=True)
class Cluster:
    """A client's cluster.

    Parameters
    ----------
    client : distributed.Client
    level : str, default=onkel.isa
        The instruction set that all workers must use, this process's own. With None they may use different ones, and
        the last bits of the result depend on which worker computed what.
    """

    client: Client
    level: str | None = _core.isa

    def total(
        self, work: Work, partitions: Sequence[Partition], shared: object, add: Callable[[Any, Any], Any], tell: Tell
    ) -> Any:
        """Return the sum of the work of all partitions; whatever happens, nothing of it is left running."""
        common = dask.delayed((work, shared, self.level), traverse=False, pure=False)
        work_on, add_up, mark = (dask.delayed(f, pure=False) for f in (_worked, add, _mark))
        leaves = [work_on(number, *_parts(partition), common) for number, partition in enumerate(partitions)]
        marks = [mark(leaf) for leaf in leaves]
        root = tree(leaves, add_up)
        with dask.config.set(_QUIET):
            futures: list[Future] = self.client.compute([root, *marks], optimize_graph=False)
        number_of = {future.key: number for number, future in enumerate(futures[1:])}
        try:
            for future in as_completed(futures[1:]):
                number = number_of[future.key]
                if future.status == "error":
                    raise _named(future.exception(), partitions[number])
                tell(number)
            return futures[0].result()
        finally:
            self.client.cancel([future for future in futures if not future.done()])
            for future in futures:
                future.release()


def cluster_of(client: Client | None, mixed_levels: bool = False) -> Cluster:
    """Return the engine of a client; None is the one that was made last."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ValueError("there is no client: make one first, for example dask.distributed.Client()") from None
    return Cluster(client, None if mixed_levels else _core.isa)


def _parts(partition: Partition) -> tuple[Any, ...]:
    """A partition as arguments of a task: what Dask computes must be seen to be computed."""
    if isinstance(partition, DelayedPartition):
        return partition.name, partition.X, partition.y, partition.weight
    return dask.delayed(partition, traverse=False, pure=False), None, None, None


def _worked(number: int, partition: Any, X: Any, y: Any, weight: Any, common: tuple[Work, Any, str | None]) -> Any:
    work, shared, level = common
    if isinstance(partition, str):
        partition = ArrayPartition(partition, X, y, weight)
    return result_of(work, number, partition, shared, level)


def _mark(leaf: object) -> None:
    """A partition is done."""


def _named(error: BaseException | None, partition: Partition) -> BaseException:
    """A failure by the name of its partition, also where the rows could not even be computed."""
    if isinstance(error, PartitionError):
        return error
    named = PartitionError(f"partition {partition.name!r}: {error}")
    named.__cause__ = error
    return named
