"""Dual space gradient descent (Le, Nguyen, Nguyen and Phung 2016): small points become random Fourier features.

phi_i(x) = sqrt(2 / D) cos(w_i . x + b_i), w_i ~ N(0, 2 gamma I) by Box and Muller, b_i uniform on [0, 2 pi).
"""

from dataclasses import dataclass

import numpy as np

from onkel import _core
from reference.budget import Budgeted, Member, Pegasos


@dataclass
class DualSGD(Pegasos, Budgeted):
    lam: float = 0.01
    n_components: int = 200
    k: int = 20

    def __post_init__(self):
        super().__post_init__()
        width = self.f.shape[1]
        self.features = [Member(None, -1, np.zeros(width), np.zeros(width)) for _ in range(self.n_components)]
        self.waves = None
        self._show()

    def phi(self, x):
        def uniform(i, index):
            return _core.uniform(self.seed, 0, i, 2, index)

        if self.waves is None:
            u = np.array([[uniform(i, 2 * j) for j in range(len(x))] for i in range(self.n_components)])
            v = np.array([[uniform(i, 2 * j + 1) for j in range(len(x))] for i in range(self.n_components)])
            self.waves = np.sqrt(2 * self.gamma) * np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)
            self.phases = 2 * np.pi * np.array([uniform(-1 - i, 0) for i in range(self.n_components)])
        return np.sqrt(2 / self.n_components) * np.cos(self.waves @ x + self.phases)

    def columns(self, x):
        return np.concatenate([super().columns(x), self.phi(x)])

    def _update(self, x, label, weight):
        super()._update(x, label, weight)
        # the cosine of a large number has lost its digits
        self.close_call(0.02 / (np.abs(self.waves) @ np.abs(x)).max(initial=1e-300))

    def settle(self, newest):
        while self.too_many():
            for _ in range(min(self.k, len(self.alive()) - 1)):
                leaving = self.smallest([m for m in self.alive() if m is not newest])
                for feature, value in zip(self.features, self.phi(leaving.x), strict=True):
                    feature.a = feature.a + value * leaving.a
                self.leave(leaving)
