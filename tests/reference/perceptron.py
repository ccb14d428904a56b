"""The kernel perceptron (Rosenblatt 1958; Freund and Schapire 1999): on a mistake, f <- f + y k(x, .)."""

from dataclasses import dataclass

from reference.common import Reference


@dataclass
class Perceptron(Reference):
    loss: str = "perceptron"

    def probability(self, row):
        return 1.0 if row.z <= 0 else 0.0

    def coefficient(self, row, probability):
        return -row.weight * row.g
