"""State as named arrays: a learner's own, and the fingerprint of anything that has some."""

from __future__ import annotations

import hashlib
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.parts import Kernel, Recipe
from onkel.settings import Settings
from onkel.utils.validation import check_flag, check_number

Array = NDArray[Any]


class Digest:
    """A hash of named arrays: equal exactly when every bit of them is."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def show(self, name: str, dtype: str, shape: tuple[int, ...], values: Array) -> None:
        """Take in an array, given by its bytes."""
        self._hash.update(f"{name} {dtype} {shape};".encode())
        self._hash.update(values.data)

    def take(self, arrays: dict[str, Array]) -> None:
        """Take in arrays by their names."""
        for name, values in sorted(arrays.items()):
            self.show(name, values.dtype.str, values.shape, np.ascontiguousarray(values))

    def hex(self) -> str:
        """Return the hash of all that was taken in."""
        return self._hash.hexdigest()


class Stateful:
    """Something that has a state."""

    def show_state(self, digest: Digest) -> None:
        """Show everything learned so far."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Return a hash of the state: equal exactly when every bit of it is."""
        digest = Digest()
        self.show_state(digest)
        return digest.hex()


class LearnerState(Settings, Stateful):
    """A learner's settings with what it has learned: taken out, put back, copied, saved and pickled."""

    def blank(self, **changes: Any) -> Self:
        """Return a learner with the same settings (but for ``changes``) that has learned nothing."""
        learner = object.__new__(type(self))
        vars(learner).update({**vars(self), "_core": None, **changes})
        return learner

    def clone(self) -> Self:
        """Return a copy of this moment: another thread may be learning, and the copy stands still."""
        return self.blank(_core=None if self._core is None else self._core.clone())

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def show_state(self, digest: Digest) -> None:
        """Show everything learned so far."""
        if self._core is not None:
            self._core.show(digest.show)

    def state(self) -> dict[str, Array]:
        """Return everything learned so far as named arrays (empty before the first row)."""
        return {} if self._core is None else self._core.save()

    def load_state(self, state: dict[str, Array], n_features: int, sparse: bool) -> None:
        """Go on from the state of a learner like this one."""
        core = self.started(n_features, sparse, n_outputs=1)  # as many as the state holds come with it
        core.load(state)
        if self.task == "multiclass" and core.n_outputs < self.n_classes:
            raise ValueError(f"the state has {core.n_outputs} outputs, fewer than the {self.n_classes} classes")

    def _saved_fields(self) -> dict[str, Any]:
        # how many threads is the machine's business, not the model's
        settings = {name: getattr(self, name) for name in (*self.NAMES, "n_features", "sparse")}
        return settings | {"state": self.state()}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        state, n_features, sparse = fields.pop("state"), fields.pop("n_features"), fields.pop("sparse")
        for name, kind in (("recipe", Recipe), ("kernel", Kernel)):
            if not isinstance(fields[name], kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {fields[name]!r}")
        learner = cls(**fields)
        check_flag("sparse", sparse)
        if n_features is not None:
            check_number("n_features", n_features, at_least=1, below=2**31, integer=True)
        if not isinstance(state, dict) or not all(isinstance(values, np.ndarray) for values in state.values()):
            raise ValueError("state must hold arrays")
        if bool(state) != (n_features is not None):
            raise ValueError("a learner has arrays of state if, and only if, its number of features is known")
        if state:
            learner.load_state(state, n_features, sparse)
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_core": None, "state": self.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        state = saved.pop("state")
        vars(self).update(saved)
        if state:
            assert self.n_features is not None
            self.load_state(state, self.n_features, self.sparse)
