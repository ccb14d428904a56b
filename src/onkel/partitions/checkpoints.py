"""Checkpoints: the state of a run after each round, in a folder, so that a run that was killed can be resumed."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from onkel.partitions.descent import DescentState
from onkel.utils.files import write_atomically


@dataclass(frozen=True)
class Checkpoint:
    """A file of a run's folder.

    Parameters
    ----------
    folder : path, default=None
        None writes no checkpoint.
    run : str
        Identifies the run: the model's parameters and the partitions. The checkpoint of another run is refused.
    term : int, default=0
        The number of the term, in a sum over kernels.
    """

    folder: str | os.PathLike[str] | None = None
    run: str = ""
    term: int = 0

    def of_term(self, number: int) -> Checkpoint:
        """Return the checkpoint of another term of a sum."""
        return replace(self, term=number)

    @property
    def path(self) -> Path | None:
        """Path of the file; None where there is no folder."""
        name = f"rounds-{self.term}.npz" if self.term else "rounds.npz"
        return None if self.folder is None else Path(self.folder) / name

    def save(self, points: object, now: DescentState) -> None:
        """Replace the checkpoint by the present state."""
        if self.path is None:
            return
        facts = {
            name: getattr(now, name) for name in ("value", "fresh", "scale", "squares", "rows_summed", "rounds", "done")
        }
        arrays = {"w": now.w, "half": now.half, **_rows(points)}
        if now.slope is not None:
            arrays["slope"] = now.slope
        for i, (step, change) in enumerate(now.pairs):
            arrays |= {f"step{i}": step, f"change{i}": change}
        written = io.BytesIO()
        text = json.dumps({"run": self.run, "pairs": len(now.pairs), **facts})
        np.savez(written, facts=np.frombuffer(text.encode(), np.uint8), **arrays)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, [written.getvalue()])

    def load(self) -> tuple[Any, DescentState] | None:
        """Return the points and the progress of the checkpoint, or None if there is none."""
        if self.path is None or not self.path.exists():
            return None
        with np.load(self.path, allow_pickle=False) as file:
            arrays = dict(file)
        facts = json.loads(arrays["facts"].tobytes())
        if facts.pop("run") != self.run:
            raise ValueError(f"{self.path} is the checkpoint of another run: other parameters, or other partitions")
        pairs = tuple((arrays[f"step{i}"], arrays[f"change{i}"]) for i in range(facts.pop("pairs")))
        now = DescentState(arrays["w"], arrays["half"], slope=arrays.get("slope"), pairs=pairs, **facts)
        return _points(arrays), now


def _rows(points: Any) -> dict[str, Any]:
    if not issparse(points):
        return {"points": points}
    return {"values": points.data, "features": points.indices, "offsets": points.indptr, "shape": points.shape}


def _points(arrays: dict[str, Any]) -> Any:
    if "points" in arrays:
        return arrays["points"]
    return csr_array((arrays["values"], arrays["features"], arrays["offsets"]), shape=tuple(arrays["shape"]))
