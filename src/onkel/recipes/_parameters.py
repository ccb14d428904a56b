"""Parameters that several recipes share, and the paper that several come from."""

from __future__ import annotations

from typing import Annotated

from onkel.parameters import Note

ONLINE_LEARNING_WITH_KERNELS = "Kivinen, Smola and Williamson 2004", "Online Learning with Kernels"
StepSize = Annotated[float, Note("Step size η.", part="GradientStep")]
Shrinking = Annotated[
    float, Note("Regularisation λ: every step first shrinks the function by 1 - ηλ.", part="GradientStep")
]
Regularisation = Annotated[
    float, Note("Regularisation λ: steps of 1/(λt), and a shrink by 1 - 1/t.", part="PegasosStep")
]
Aggressiveness = Annotated[
    float, Note("Aggressiveness: the longest step (PA-I), or its softness (PA-II).", part="PassiveAggressiveStep")
]
AnyLoss = Annotated[str, Note("The loss: how wrong a score is (:mod:`onkel.parts.losses`).", kind="{losses}")]
Epsilon = Annotated[
    float,
    Note(
        'Half the width of the tube of loss "epsilon_insensitive", or the residual from which "huber" is linear.',
        part="EpsilonInsensitive",
        regression=True,
    ),
]
Radius = Annotated[float | None, Note("Radius of the ball that holds the function.", limits={"above": 0})]
