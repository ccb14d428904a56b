"""Choosing the kernel, its width and the λ of a learner: a choice observes rows, and hands back a learner."""

from onkel.choice.choosing import StreamChoice
from onkel.choice.holder import LearnerHolder, answer_at_once
from onkel.choice.width import gamma_from_percentile

__all__ = ["LearnerHolder", "StreamChoice", "answer_at_once", "gamma_from_percentile"]
