"""The metrics that Prometheus reads; current values are computed when they are read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from onkel.serve._served import Served

_ROWS = (1, 10, 100, 1_000, 10_000, 100_000)
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_GAUGES = {
    "rows": ("onkel_rows_learned", "Rows that the model has learned from, over all starts."),
    "version": ("onkel_version", "The newest version on the disk."),
    "queue_requests": ("onkel_queue_requests", "Requests waiting to be learned."),
    "queue_rows": ("onkel_queue_rows", "Rows waiting to be learned."),
    "n_support": ("onkel_support_vectors", "Support vectors of the model."),
    "model_bytes": ("onkel_model_bytes", "Memory that the model uses."),
    "gamma": ("onkel_kernel_gamma", "Width of the kernel, given or chosen by the stream."),
    "log_bytes": ("onkel_log_bytes", "Size of the write-ahead log."),
    "pending_labels": ("onkel_pending_labels", "Predictions that wait for their labels."),
    "changes": ("onkel_changes_noticed", "Changes of the stream that the model has noticed, over all starts."),
    "broken": ("onkel_learning_stopped", "1 if learning has stopped after an unexpected failure."),
}
_MEASURES = {
    "accuracy": "Fraction of rows predicted correctly before they were learned, since the start.",
    "log_loss": "Mean log loss of rows before they were learned, since the start.",
    "rmse": "Root mean squared error of rows before they were learned, since the start.",
    "mae": "Mean absolute error of rows before they were learned, since the start.",
}
_TOTALS = {  # of which a quotient of two rates is a mean over any window
    "scored_rows": "Rows that were scored before they were learned.",
    "right_rows": "Rows whose class was predicted before they were learned.",
    "log_loss": "Sum of the log losses of rows before they were learned.",
    "squared_error": "Sum of the squared errors of rows before they were learned.",
    "absolute_error": "Sum of the absolute errors of rows before they were learned.",
}


class Metrics:
    """The registry of one service.

    Examples
    --------
    >>> b"onkel_learn_requests_total" in Metrics({}).text()
    True
    """

    def __init__(self, models: Mapping[str, Served]) -> None:
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "onkel_request_seconds",
            "Time from the header of a request to its answer.",
            ["model", "request"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        commits = Histogram(
            "onkel_commit_seconds",
            "Time to write a group of requests to the disk.",
            ["model"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        rows = Histogram(
            "onkel_commit_rows", "Rows of a group of requests.", ["model"], buckets=_ROWS, registry=self.registry
        )
        for name, served in models.items():
            served.committed = partial(_committed, commits.labels(name), rows.labels(name))
        self._models = models
        self._each = {
            (name, request): self._seconds.labels(name, request) for name in models for request in ("infer", "learn")
        }
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def took(self, model: str, request: str, begin: float) -> None:
        """Record the duration of a request that began at this time of `time.perf_counter`."""
        self._each[model, request].observe(time.perf_counter() - begin)

    def collect(self) -> Iterable[Any]:
        """Return the current metrics of the models."""
        facts = {name: served.facts() for name, served in self._models.items()}
        for key, (metric, help) in _GAUGES.items():
            gauge = GaugeMetricFamily(metric, help, labels=["model"])
            for name, known in facts.items():
                if known[key] is not None:
                    gauge.add_metric([name], known[key])
            yield gauge
        for key, help in _MEASURES.items():
            gauge = GaugeMetricFamily(f"onkel_progressive_{key}", help, labels=["model"])
            for name, served in self._models.items():
                if key in (values := served.progress.values()):
                    gauge.add_metric([name], values[key])
            yield gauge
        for key, help in _TOTALS.items():
            counter = CounterMetricFamily(f"onkel_{key}", help, labels=["model"])
            for name, served in self._models.items():
                if key in (totals := served.progress.totals()):
                    counter.add_metric([name], totals[key])
            yield counter
        requests = CounterMetricFamily("onkel_learn_requests", "Requests learned since the start.", labels=["model"])
        refused = CounterMetricFamily(
            "onkel_refused_requests", "Requests refused since the start, by status.", labels=["model", "status"]
        )
        for name, served in self._models.items():
            requests.add_metric([name], served.progress.requests)
            for status, count in sorted(served.progress.refused.items()):
                refused.add_metric([name, str(status)], count)
        yield from (requests, refused)

    def text(self) -> bytes:
        """Return everything in Prometheus' format."""
        return bytes(generate_latest(self.registry))


def _committed(commits: Any, rows: Any, n_rows: int, seconds: float) -> None:
    commits.observe(seconds)
    rows.observe(n_rows)
