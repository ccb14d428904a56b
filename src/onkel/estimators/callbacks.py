"""scikit-learn's fit callbacks (progress bars, monitors), where the installed scikit-learn has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Without support for callbacks."""

    def with_callbacks(method: object) -> Any:
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "tasks", "with_callbacks"]

_TASKS_AN_EPOCH = 100


def tasks(
    estimator: Any, n_rows: int, n_epochs: int, fitted: Callable[[], dict[str, Any]]
) -> Iterator[tuple[int, slice]]:
    """Yield (epoch, rows) pairs to learn from in turn, calling the hooks around each; a hook may end the iteration.

    Without callbacks an epoch is one task: smaller tasks change no bit, but take time.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        for epoch in range(n_epochs):
            yield epoch, slice(0, n_rows)
        return
    step = max(1, -(-n_rows // _TASKS_AN_EPOCH))
    cuts = [slice(begin, min(n_rows, begin + step)) for begin in range(0, n_rows, step)]
    root = estimator._init_callback_context(max_subtasks=n_epochs * len(cuts))
    root.call_on_fit_task_begin(estimator=estimator)
    for epoch in range(n_epochs):
        for cut in cuts:
            context = root.subcontext(task_name="rows")
            context.call_on_fit_task_begin(estimator=estimator)
            yield epoch, cut
            if context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted):
                root.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted)
                return
    root.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted)
