"""The commands' work on a Dask cluster (docs/scale.md)."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from onkel.cli._guard import Misused, say
from onkel.cli._options import Learning, Reading


@contextmanager
def client_of(address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start processes on this machine for as long as they are needed."""
    from onkel.utils.extras import needed

    distributed = needed("distributed", "dask", "--cluster")
    kind, _, number = address.partition(":")
    if kind == "local":
        if not number.isdigit() or int(number) < 1:
            raise Misused(f"--cluster {address}: expected local:N with N processes, such as local:2")
        from onkel.dask.local import LocalProcesses

        with LocalProcesses(int(number)) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(f"--cluster {address}: no Dask scheduler answers there ({error})") from None
    with client:
        yield client


def files_of(data: str) -> list[str]:
    """Return the files that a pattern names, in the order of their names."""
    files = sorted(glob.glob(data))
    if not files:
        raise ValueError(f"there is no file {data!r}: --cluster works on files, each a partition")
    return files


def fit_on_cluster(
    data: str, output: str, learner: str, address: str, checkpoint: str | None, options: Learning, *, as_json: bool
) -> None:
    """Learn from all files and save the model."""
    from onkel import save
    from onkel.cli._data import kind_of_rows, open_source, reading
    from onkel.cli._learners import make, parameters
    from onkel.cli._show import Counter, print_json
    from onkel.dask import cluster_of
    from onkel.evaluate import learner_of
    from onkel.partitions import FilePartition, fit

    if options.shuffle or options.rows is not None:
        raise Misused("--cluster: --shuffle and --rows are for one pass over one stream")
    files = files_of(data)
    with open_source(files[0], options) as source:
        ((name, model),) = make(learner, source, options).items()
        how = reading(replace(options, id=None), **kind_of_rows(files[0], options))
        if source.stream.dense:
            how["dense"] = True
        if options.id is not None and options.columns is None:
            how["drop"] = [*how.get("drop", []), options.id]
    with client_of(address) as client, Counter(as_json, unit="partitions") as counter:
        counter.title = type(learner_of(model)).__name__
        parts = [FilePartition(file, how, options.weight) for file in files]

        def tell(phase: str, done: int, of: int) -> None:
            counter.show(done, of, phase)

        fitted = fit(model, parts, engine=cluster_of(client), checkpoint=checkpoint, tell=tell)
    save(fitted.model, output)
    final, report = learner_of(fitted.model), fitted.report
    if as_json:
        facts = {"rows": report.rows, "partitions": report.partitions, "rounds": report.rounds}
        print_json({"model": output, "learner": name, "parameters": parameters(model), **facts})
        return
    rounds = f" in {len(report.rounds)} rounds" if report.rounds else ""
    say(
        f"{output}: {type(final).__name__} of {report.rows:,} rows in {report.partitions} partitions{rounds}, "
        f"{final.n_support_:,} support vectors"
    )


def predictions(
    model: object, method: str, data: str, address: str, options: Reading, no_target: bool
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield for each file, in the order of their names, the results of the method, predictions, targets and names."""
    from onkel.partitions import PartitionError

    files = files_of(data)
    with client_of(address) as client:
        shared = client.submit(_same, model, pure=False)
        futures = [client.submit(_predicted, shared, method, file, options, no_target, pure=False) for file in files]
        for file, future in zip(files, futures, strict=True):
            try:
                yield from future.result()
            except Exception as error:
                raise PartitionError(f"partition {file!r}: {error}") from error
            future.release()


def _same(model: object) -> Any:
    return model


def _predicted(
    model: Any, method: str, file: str, options: Reading, no_target: bool
) -> list[tuple[Any, Any, Any, Any]]:
    from onkel.cli.predict import opened_for

    with opened_for(model, file, options, no_target) as chunks:
        return [(getattr(model, method)(X), None if y is None else model.predict(X), y, ids) for X, y, ids in chunks]
