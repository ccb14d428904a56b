"""Choosing the kernel's width, the relevances and the prior's λ from the rows: an object around a learner."""

from onkel.choice.choosing import ChoosingLearner
from onkel.choice.width import gamma_from_percentile

__all__ = ["ChoosingLearner", "gamma_from_percentile"]
