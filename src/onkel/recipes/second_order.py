"""The second-order learner: Newton steps on a budget (``docs/newton.md``)."""

from __future__ import annotations

from onkel.parts import FadingMemory, GaussianPrior, GrowingDictionary, SecondOrder, StreamMemory, loss_named
from onkel.recipes import parameters
from onkel.recipes.checked import checked


@checked
def Newton(
    lam: parameters.PriorStrength = 0.01,
    loss: parameters.LossChoice = "log_loss",
    spread: parameters.Spread = 8.0,
    forget: parameters.Forget = "stream",
    quantile: parameters.QuantileLevel = 0.5,
) -> SecondOrder:
    """Second-order steps on a budget (``docs/newton.md``): rows whose slope is above 0.1 move all coefficients.

    With the squared error every row does: recursive least squares, exact on the span of the support vectors.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Newton().prior
    GaussianPrior(lam=0.01)
    """
    loss_part = loss_named(loss, quantile=quantile)
    dictionary = GrowingDictionary(spread=spread, easy_slope=0.0 if loss_part.regression else 0.1)
    memory = StreamMemory() if isinstance(forget, str) else FadingMemory(forget=forget)
    return SecondOrder(loss_part, GaussianPrior(lam=lam), dictionary, memory)
