"""Learning from long streams with checkpoints: the model and its position in the stream, in one file."""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from onkel import _core
from onkel.files import container, persistence
from onkel.files.tree import Writer
from onkel.learner import Learner
from onkel.utils.chunks import Chunk, Cuts, n_rows
from onkel.utils.files import UNFINISHED
from onkel.utils.validation import check_number

T = TypeVar("T")


@runtime_checkable
class Resumable(Protocol):
    """A stream of chunks that can be resumed at a position."""

    def __iter__(self) -> Iterator[Chunk]: ...

    def position(self) -> Any:
        """Return the position of the next chunk, as JSON."""

    def seek(self, position: object) -> None:
        """Go to a position, so that the next chunk is the one that begins there."""


class Checkpointer:
    """Crash-safe learning from a long stream.

    The model and its position in the stream are saved together at regular intervals, in one file that is written
    atomically. After a crash the same program, started again, resumes from the newest intact checkpoint: the final
    model equals that of a run without a crash, to the last byte; no row is lost, and none is learned from twice.

    Parameters
    ----------
    directory : str or path
        Directory of the checkpoints, one for each run; created if it does not exist. Two processes must not share it.
    every : int, default=100_000
        Number of rows between two checkpoints.
    keep : int, default=2
        Number of checkpoints to keep, so that the loss of one file does not lose the run.

    Attributes
    ----------
    rows : int
        Number of rows of the stream that the model has learned from.
    notes : dict
        Anything else to save with the model, as JSON.

    Examples
    --------
    The stream is an iterable of ``(X, y)`` chunks. A checkpoint is written when the next chunk is requested, so that a
    loop needs no more than this:

    >>> import numpy as np, onkel, tempfile
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = onkel.OGDClassifier(gamma=1.0, random_state=0)
    >>> checkpointer = onkel.Checkpointer(tempfile.mkdtemp(), every=100)
    >>> for X_chunk, y_chunk in checkpointer.run(model, zip(np.split(X, 6), np.split(y, 6))):
    ...     model = model.partial_fit(X_chunk, y_chunk, classes=[False, True])
    >>> [path.name for path in checkpointer.paths()]
    ['rows-000000000200.onkel', 'rows-000000000300.onkel']

    Started again, it finds that all rows have been learned:

    >>> again = onkel.OGDClassifier(gamma=1.0, random_state=0)
    >>> checkpointer.fit(again, zip(np.split(X, 6), np.split(y, 6))).t_
    300
    """

    def __init__(self, directory: str | os.PathLike[str], every: int = 100_000, *, keep: int = 2) -> None:
        check_number("every", every, at_least=1, integer=True)
        check_number("keep", keep, at_least=1, integer=True)
        self.directory = Path(directory)
        self.every = every
        self.keep = keep
        self.rows = 0
        self.notes: dict[str, Any] = {}
        self._sound: list[Path] = []  # checkpoints known to be intact, oldest first

    def fit(self, model: T, stream: Iterable[Chunk], **options: Any) -> T:
        """Call `partial_fit` with every chunk of a stream, from the newest checkpoint on.

        Parameters
        ----------
        model : estimator
            Unfitted, with the parameters of the run.
        stream : iterable of (X, y) or (X, y, sample_weight)
            The stream from its start; an object with ``position()`` and ``seek(position)`` need not be read from its
            start.
        **options
            For `partial_fit`, such as ``classes``.

        Returns
        -------
        model
        """
        learner: Any = model
        for X, y, *weight in self.run(model, stream):
            learner.partial_fit(X, y, **options, **({"sample_weight": weight[0]} if weight else {}))
        return model

    def run(self, model: object, stream: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the remaining chunks of a stream; write a checkpoint, when one is due, before the next chunk.

        The model becomes, in place, that of the newest intact checkpoint. Chunks are cut where a checkpoint is due,
        which changes no result. A loop that is left early keeps the checkpoints written so far.
        """
        place, skip = self.resume(model)
        if place is not None:
            if not isinstance(stream, Resumable):
                raise ValueError("the checkpoint has the position of a stream, and this stream has no seek()")
            stream.seek(place)
        elif isinstance(stream, Resumable):
            place = stream.position()
        cuts = Cuts(itertools.count(self.rows + self.every, self.every), self.rows)
        for chunk in stream:
            taken = min(skip, n_rows(chunk))  # rows of this chunk that the model has learned from
            skip -= taken
            for piece, is_due in cuts.pieces(chunk, taken):
                yield piece
                taken += n_rows(piece)
                self.rows = cuts.rows
                if is_due:
                    self.save(model, place, self.rows if place is None else taken)
            if isinstance(stream, Resumable):
                place = stream.position()
        if skip:
            raise ValueError(f"the stream ended {skip} rows before the checkpoint's place in it: it is another stream")
        if self.rows:
            self.save(model, place, self.rows if place is None else 0)

    def resume(self, model: object) -> tuple[Any, int]:
        """Restore the model from the newest intact checkpoint; return a position and the rows to skip after it.

        Without a checkpoint the model is unchanged, and the result is ``(None, 0)``, the start.
        """
        _parameters(model)  # a model that cannot be saved is refused now, not at the first checkpoint
        self.directory.mkdir(parents=True, exist_ok=True)
        for litter in self.directory.glob(f".rows-*{UNFINISHED}"):  # left by a crash while writing
            litter.unlink(missing_ok=True)
        self.rows, self._sound = 0, []
        found = None
        for path in reversed(self.paths()):
            try:
                if found is None:
                    found = path, *_read(path)
                else:
                    container.verify(path)
            except (ValueError, OSError) as error:
                warnings.warn(f"a checkpoint is skipped: {error}", RuntimeWarning, stacklevel=3)
                continue
            self._sound.insert(0, path)
        if found is None:
            return None, 0
        path, saved, header = found
        _take_over(model, saved, path)
        if header.get("isa") != _core.isa:
            warnings.warn(
                f"{path} was written with instruction set {header.get('isa')} and is continued with {_core.isa}: "
                "the last bits may differ from those of an uninterrupted run",
                RuntimeWarning,
                stacklevel=3,
            )
        notes = header["notes"]
        self.rows, self.notes = notes["rows"], notes["notes"]
        return notes["position"], notes["skip"]

    def save(self, model: object, position: object = None, skip: int = 0) -> Path:
        """Write a checkpoint now, and remove those that are no longer needed.

        Parameters
        ----------
        model : estimator
        position : JSON, default=None
            A position of the stream; None means its start.
        skip : int, default=0
            Number of rows after that position that the model has learned from.
        """
        path = self.directory / f"rows-{self.rows:012d}.onkel"
        notes = {"rows": self.rows, "position": position, "skip": skip, "notes": self.notes}
        persistence.write(model, path, notes)
        self._sound = [*(p for p in self._sound if p != path), path][-self.keep :]
        for old in self.paths():
            if old not in self._sound:
                old.unlink(missing_ok=True)
        return path

    def paths(self) -> list[Path]:
        """Return the paths of all checkpoints, intact or not, oldest first."""
        return sorted(p for p in self.directory.glob("rows-*.onkel") if re.fullmatch(r"rows-[0-9]{12}", p.stem))


def _read(path: Path) -> tuple[Any, dict[str, Any]]:
    """The model and the header of a checkpoint, or an error."""
    model, header = persistence.read(path)
    notes = header.get("notes")
    if not isinstance(notes, dict) or notes.keys() != {"rows", "position", "skip", "notes"}:
        raise ValueError(f"{path} holds a model without a place in a stream")
    for name in ("rows", "skip"):
        check_number(f"{name} of {path}", notes[name], at_least=0, integer=True)
    return model, header


def _take_over(model: Any, saved: Any, path: Path) -> None:
    """Replace the model by the saved one, if class and parameters are the same."""
    if type(model) is not type(saved):
        raise ValueError(f"{path} holds a {type(saved).__name__}, and the model is a {type(model).__name__}")
    given, found = (_parameters(m) for m in (model, saved))
    for name in given:
        if given[name] != found.get(name, given[name]):
            raise ValueError(
                f"{path} was made with {name}={found[name]!r}, and the model has {name}={given[name]!r}: "
                "another run needs another directory"
            )
    if hasattr(model, "n_jobs"):  # does not affect what is learned
        saved.n_jobs = model.n_jobs
    if hasattr(model, "_reset"):
        model._reset()
    vars(model).update(vars(saved))


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters that a run must share, in a form that can be compared."""
    if isinstance(model, Learner):
        learned = ("state", "n_features", "sparse")
        return {name: _tree(value, name) for name, value in model._saved_fields().items() if name not in learned}
    left_out = {"n_jobs"}
    if not isinstance(getattr(model, "random_state", None), int | np.integer | None):
        left_out.add("random_state")  # a generator: the seed drawn from it is in the file
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in left_out}
    return {
        name: {"is": type(value).__name__, **_parameters(value)} if hasattr(value, "get_params") else _tree(value, name)
        for name, value in parameters.items()
    }


def _tree(value: object, *place: str) -> Any:
    return Writer().tree(value, *place)
