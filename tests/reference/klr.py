"""Sparse kernel logistic regression (Zhang, Jin, Chen, Bu and He), Algorithms 1 to 3.

NC: every row. Margin: p of Equation (5). Auxiliary: p = l(z) / h(z), Equation (6), and the step is that of h:
ln(gamma + e^-z), ln(1 + gamma e^-z) or max(l(z), l(delta)). All project on the ball of radius R.
"""

from dataclasses import dataclass

import numpy as np

from reference.common import Reference, log_loss


def auxiliary_function(name, shape, cutoff, z):
    """h(z) and h'(z), as the paper writes them."""
    e = np.exp(-z)
    if name == "shift":
        return np.log(shape + e), -e / (shape + e)
    if name == "scale":
        return np.log(1 + shape * e), -shape * e / (1 + shape * e)
    value, slope, _ = log_loss(z, None)
    at_cutoff = np.log(1 + np.exp(-cutoff))
    return max(value, at_cutoff), slope if z <= cutoff else 0.0


@dataclass
class KLR(Reference):
    loss: str = "log_loss"
    sampling: str = "auxiliary"
    auxiliary: str = "shift"
    shape: float = 2.0
    cutoff: float = 1.0
    eta: float = 1.0

    def probability(self, row):
        if self.sampling == "none":
            return 1.0
        if self.sampling == "margin":
            return (2 - self.eta) / (2 - self.eta + self.eta / (1 + np.exp(-row.z)))
        return row.loss / auxiliary_function(self.auxiliary, self.shape, self.cutoff, row.z)[0]

    def coefficient(self, row, probability):
        if self.sampling != "auxiliary" or row.loss == 0:
            return -self.eta * row.weight * row.g
        slope = auxiliary_function(self.auxiliary, self.shape, self.cutoff, row.z)[1]
        return -self.eta * row.weight * slope * row.direction

    def thresholds(self):
        return [self.cutoff] if (self.sampling, self.auxiliary) == ("auxiliary", "cutoff") else []
