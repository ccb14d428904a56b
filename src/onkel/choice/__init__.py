"""What the rows decide about a learner: the kernel's width and the prior's λ, as an object around the learner."""

from onkel.choice.choosing import ChoosingLearner
from onkel.choice.width import gamma_from_percentile

__all__ = ["ChoosingLearner", "gamma_from_percentile"]
