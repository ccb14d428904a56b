"""A cluster of processes on this machine, which outlives its workers."""

from __future__ import annotations

from distributed import LocalCluster


class LocalProcesses(LocalCluster):  # type: ignore[misc]
    """Worker processes of one thread each, with the status pages at any free port of this machine.

    The scheduler may report the end of a worker that was killed before it reported the worker itself. `LocalCluster`
    stops listening at such a report and raises `KeyError` when it is closed, when the work has long been done.

    Parameters
    ----------
    n_workers : int
        The number of processes.
    """

    def __init__(self, n_workers: int) -> None:
        super().__init__(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")

    def _update_worker_status(self, op: str, msg: object) -> None:
        if op != "remove" or msg in self.scheduler_info["workers"]:
            super()._update_worker_status(op, msg)
