"""The randomized budget perceptron (Cavallanti, Cesa-Bianchi and Gentile 2007): a random old point makes room."""

from dataclasses import dataclass

from reference.budget import Budgeted, OnMistake


@dataclass
class RBP(OnMistake, Budgeted):
    loss: str = "perceptron"

    def settle(self, newest):
        index = 0
        while self.too_many():
            old = [m for m in self.alive() if m is not newest]
            self.leave(old[int(self.draw(index) * len(old))])
            index += 1
