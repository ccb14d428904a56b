"""The lab runs cells on all cores and stores every result in a file of its own, so that nothing is run twice.

A result is written atomically; whatever ends a run (Ctrl-C, kill -9, a power failure) costs only the cells that were
running, and the same call resumes from there.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Self, TypeVar

from onkel import datasets
from onkel_papers import _data
from onkel_papers._cells import Cell, Result
from onkel_papers._data import Data, Missing
from onkel_papers._files import write_whole

Key = TypeVar("Key")

QUICK_ROWS = 20_000  # the number of rows that a quick run draws from a larger set
_QUICK_RUNS = 2
_MOST_RUNS = {False: {40_000: 3, 10_000: 5}, True: {100_000: 3}}  # from how many rows on, by whether they are cheap
_SEARCH_ROWS = {False: 10_000, True: 2_000}  # rows of the permutation that a grid is searched on, by quick


class Lab:
    """Runs experiments.

    Parameters
    ----------
    folder : path
        The folder of the results.
    quick : bool, default=False
        Fewer runs, rows drawn from large sets, searches on few rows.
    runs : int, default=None
        Number of permutations; None: as many as in the paper, fewer for large sets (quick: 2).
    data : iterable of str, default=None
        The data sets to run; None: all.
    jobs : int, default=1
        Number of processes.
    kept : bool, default=False
        Run nothing: results that are not stored are missing.
    executor : concurrent.futures.Executor, default=None
        Runs the cells in place of processes on this machine; for example the executor of a Dask client.
    watch : callable, default=None
        Called with the numbers of cells done and planned so far, and a description of the last one.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        quick: bool = False,
        runs: int | None = None,
        data: Iterable[str] | None = None,
        jobs: int = 1,
        kept: bool = False,
        executor: Executor | None = None,
        watch: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.quick = quick
        self.asked_runs = runs
        self.asked_data = None if data is None else set(data)
        self.jobs = jobs
        self.kept = kept
        self.executor = executor
        self.watch = watch or (lambda done, known, name: None)
        self.done = self.known = 0
        self._missing: dict[str, str | None] = {}
        self._took: dict[str, float] = {}
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # -- what the options mean for an experiment

    def runs(self, paper: int, data: Data, *, cheap: bool = False) -> range:
        """Return the seeds of the permutations of a set, given their number in the paper."""
        large = [runs for rows, runs in _MOST_RUNS[cheap].items() if _rows_here(data) >= rows]
        most = _QUICK_RUNS if self.quick else min(large, default=paper)
        return range(self.asked_runs or min(paper, most))

    def rows(self, data: Data) -> int | None:
        """Return the number of rows to draw from a set; None: all."""
        return QUICK_ROWS if self.quick and _rows_here(data) > QUICK_ROWS else None

    def share(self, data: Data) -> float:
        """Return the fraction of the paper's rows that a run has: less than 1 for a subset, and for a quick run."""
        here = _rows_here(data)
        return min(1.0, min(here, self.rows(data) or here) / data.paper_rows) if here else 1.0

    @property
    def search_rows(self) -> int:
        """The number of rows of a permutation on which a grid is searched."""
        return _SEARCH_ROWS[self.quick]

    def sets(self, known: Mapping[str, Data]) -> dict[str, Data]:
        """Return the requested data sets."""
        return {name: data for name, data in known.items() if self.asked_data is None or name in self.asked_data}

    # -- running

    def run(self, cells: Mapping[Key, Cell]) -> dict[Key, Result]:
        """Return the results of all cells, stored ones and those that have to be run."""
        if not self.kept:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.known += len(cells)
        results: dict[str, Result] = {}
        open_cells: dict[str, Cell] = {}
        names = {key: cell.name for key, cell in cells.items()}
        for key, cell in cells.items():
            known = self._known(cell)
            if known is None:
                open_cells[names[key]] = cell  # equal cells are run once
            else:
                results[names[key]] = known
        self.done += len(cells) - len(open_cells)
        for name, result, took in self._run(open_cells):
            if "missing" not in result:
                document = {**open_cells[name].document(), "result": result, "took": took}
                write_whole(self.folder / name, json.dumps(document))
                self._took[name] = took
            results[name] = result
            self.done += 1
            self.watch(self.done, self.known, open_cells[name].label)
        return {key: results[name] for key, name in names.items()}

    def _known(self, cell: Cell) -> Result | None:
        """A result that is known without running the cell."""
        spec = cell.parameters.get("data")
        if spec is not None:
            name = json.dumps(spec, sort_keys=True)
            if name not in self._missing:
                self._missing[name] = _data.missing(spec)
            if (reason := self._missing[name]) is not None:
                return {"missing": reason}
        try:
            document = json.loads((self.folder / cell.name).read_bytes())
            result: Result = document["result"]
            self._took[cell.name] = document["took"]
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return result

    def _run(self, cells: dict[str, Cell]) -> Iterator[tuple[str, Result, float]]:
        """Yield results as they are completed, and the seconds of each."""
        if self.kept:
            yield from ((name, {"missing": "not run"}, 0.0) for name in cells)
            return
        if self.jobs == 1 and self.executor is None:
            for name, cell in cells.items():
                yield name, *_result_of(cell)
            return
        if self._pool is None and self.executor is None:
            for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
                os.environ.setdefault(threads, "1")  # the cores are shared by cells, not by threads within a cell
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.jobs, mp_context=spawn, initializer=_start_worker)
        workers = self.executor or self._pool
        assert workers is not None
        futures: dict[Future[tuple[Result, float]], str] = {
            workers.submit(_result_of, cell): name for name, cell in cells.items()
        }
        try:
            for future in as_completed(futures):
                yield futures[future], *future.result()
        except BrokenProcessPool:
            self.close()
            raise MemoryError(
                "a worker process was killed, perhaps because memory ran out; finished results are stored: "
                "run it again with fewer --jobs"
            ) from None
        except BaseException:
            for future in futures:
                future.cancel()
            self.close()
            raise

    def spent(self) -> float:
        """Return the core seconds behind all results since the last call, with equal cells counted once."""
        seconds = sum(self._took.values())
        self._took.clear()
        return seconds

    def close(self) -> None:
        """End the workers at once; only the cells that they were running are lost."""
        if self._pool is not None:
            workers = list(self._pool._processes.values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                with contextlib.suppress(OSError, ValueError):
                    worker.terminate()
            self._pool = None


def _rows_here(data: Data) -> int:
    return round(sum(datasets.info(name).rows for name in data.train) * (1 - data.share_kept))


def _result_of(cell: Cell) -> tuple[Result, float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a recipe warns about some corners of a grid
        try:
            result = cell.function(**cell.parameters)
        except Missing as reason:
            result = {"missing": str(reason)}
        except ValueError as error:
            raise ValueError(f"{cell.name}: {error}") from error
    return result, time.process_time() - start


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
