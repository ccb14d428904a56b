"""The second-order learner: Newton steps on a budget (``docs/newton.md``)."""

from __future__ import annotations

from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
from onkel.parts import FadingMemory, GaussianPrior, GrowingDictionary, SecondOrder, StreamMemory, loss_named
from onkel.recipes._parameters import AnyLoss


@named(
    regressor={"loss": "squared_error"},
    lam="stream",
    gamma="stream",
    kernel="stream",
    relevances="stream",
    budget=800,
    fit_intercept=True,
)
def Newton(
    lam: Annotated[
        float,
        Note(
            "The prior's λ: it expects functions of norm about 1/√λ.",
            "With the squared error it is the variance of the noise over that of the function.",
            part="GaussianPrior",
            stream="it, as the width,",
        ),
    ] = 0.01,
    loss: AnyLoss = "log_loss",
    spread: Annotated[
        float,
        Note(
            "With the `budget` B there are at most √(tB/spread) support vectors after t rows.",
            "So it is full after spread B rows. Rare classes need a larger spread.",
            part="GrowingDictionary",
        ),
    ] = 8.0,
    forget: Annotated[
        float | str,
        Note(
            "The factor ρ by which the weight of what was learned falls with every row; 1 forgets nothing.",
            'With "stream" memories of 10, 100 and 1000 rows and of all rows learn side by side, and the function is '
            "their mean, weighted by how well each has predicted; `fit` with `shuffle` uses only the last.",
            kind='"stream" or float',
            part="FadingMemory",
        ),
    ] = "stream",
) -> SecondOrder:
    """Second-order steps on a budget (``docs/newton.md``): rows whose slope is above 0.1 move all coefficients.

    With the squared error every row does: recursive least squares, exact on the span of the support vectors.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Newton().prior
    GaussianPrior(lam=0.01)
    """
    loss_part = loss_named(loss)
    dictionary = GrowingDictionary(spread=spread, min_slope=0.0 if loss_part.regression else 0.1)
    memory = StreamMemory() if isinstance(forget, str) else FadingMemory(forget=forget)
    return SecondOrder(loss_part, GaussianPrior(lam=lam), dictionary, memory)
