"""Second-order learning over partitions: agree, points, rounds (docs/scale.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.function import Coefficients, Expansion, Information, Term
from onkel.inside import fitted_learner
from onkel.learner import Learner
from onkel.partitions.agreement import Census, RowEncoding
from onkel.partitions.checkpoints import Checkpoint
from onkel.partitions.descent import Descent, DescentState
from onkel.partitions.engines import Engine
from onkel.partitions.points import SPARE, Proposals, Wanted, chosen, propose
from onkel.partitions.sources import Partition
from onkel.partitions.spans import Question, Subspace, Sums, row_sums, square
from onkel.parts import CallableKernel, GaussianPrior, GrowingDictionary, Hedge, Memory, SecondOrder, SquaredError

Floats = NDArray[np.float64]
Tell = Callable[[str, int, int], None]  # called with the phase, the partitions done, and the number of partitions

FIRST_SHARE = 0.5  # of the budget is for points of the function fitted to the sample
SAMPLE_ROUNDS = 200


@dataclass(frozen=True)
class Rounds:
    """The stopping rule of the rounds.

    Parameters
    ----------
    limit : int
        The largest number of passes over all rows.
    tolerance : float
        The rounds end when the predicted decrease of the objective, relative to its value, is less than this.
    """

    limit: int = 100
    tolerance: float = 1e-4


@dataclass
class Report:
    """How a model was fitted."""

    rows: int
    partitions: int
    n_points: int = 0
    sample_rounds: int = 0
    rounds: list[dict[str, Any]] = field(default_factory=list)  # the objective after each, and whether it was informed
    converged: bool = False
    merges: list[float] = field(default_factory=list)  # for averaged functions: how far each merge moved the function


@dataclass(frozen=True)
class Workers:
    """The partitions and the engine that works on them."""

    engine: Engine
    partitions: Sequence[Partition]
    tell: Tell

    def total(self, phase: str, work: Any, shared: Any, add: Any) -> Any:
        """Return the sum over all partitions of the results of ``work``."""
        n, done = len(self.partitions), 0

        def count(number: int) -> None:
            nonlocal done
            done += 1
            self.tell(phase, done, n)

        self.tell(phase, 0, n)
        return self.engine.total(work, self.partitions, shared, add, count)


def sample_rows_for(budget: int) -> int:
    """Return the size of the common sample: enough rows to fill a dictionary and to choose a width."""
    return max(16_384, 16 * budget)


def check_learner(learner: Learner) -> None:
    """Refuse a learner that cannot be fitted in rounds."""
    if isinstance(learner.kernel, CallableKernel) or (isinstance(learner.kernel, Hedge) and not learner.kernel.adds_up):
        raise ValueError(
            f"learning over partitions needs a kernel of onkel or a sum of such kernels, got {learner.kernel!r}"
        )
    if learner.budget is None:
        raise ValueError("learning over partitions needs a budget: the points that all partitions share")


def learn(
    model: object,
    memory: Memory,
    census: Census,
    encoding: RowEncoding,
    workers: Workers,
    rounds: Rounds,
    checkpoint: Checkpoint,
    report: Report,
) -> Learner:
    """Return the learner of all rows, with this memory for later rows.

    ``model`` is fitted to the common sample of the census. Each term of a sum has an optimum of its own. Their weights
    are those of the sample, where each row was predicted before it was learned from: weights optimised on rows that the
    terms were fitted to would favour the term that overfits them.
    """
    sampled = fitted_learner(model, "learning over partitions")
    check_learner(sampled)
    if len(sampled.regions) > 1:  # of the sample: partitions learn the experts of all rows alone
        sampled = sampled.merged_back(0)
    is_sum = sampled.is_second_order_sum
    parts = sampled.split() if is_sum else [sampled.expert(number) for number in sampled.experts]
    budgets = [part.budget or 1 for part in parts]
    for part, budget in zip(parts, budgets, strict=True):
        # In a stream terms share points, and the budget counts those once; here each has its own.
        part.settings = replace(part.settings, budget=max(1, budget * (sampled.budget or 1) // sum(budgets)))
    optima = [
        optimum(part, number, census, encoding, workers, rounds, checkpoint.of_term(number), report)
        for number, part in enumerate(parts)
    ]
    firsts = np.cumsum([0] + [len(each) for each in optima])
    terms = [learner_of(each, first, memory, census.rows) for each, first in zip(optima, firsts.tolist(), strict=False)]
    if not is_sum:
        weights = sampled.kernel_weights
        if len(terms) == 1:
            return terms[0]
        return Learner.of_experts(terms, weights, t=census.rows).with_budget(sampled.budget)
    assert isinstance(sampled.kernel, Hedge)
    like = sampled.blank(recipe=terms[0].recipe, kernel=replace(sampled.kernel, start=census.rows))
    return like.join(terms, sampled.kernel_weights, sampled.noise_variance)


@dataclass(frozen=True)
class Optimum:
    """The result of the rounds over all rows, for a function of one kernel."""

    subspace: Subspace
    reached: DescentState

    def __len__(self) -> int:
        return int(self.subspace.points.shape[0])

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the columns of the span, one row per output."""
        return self.subspace.coefficients(self.reached.w)


def optimum(
    sampled: Learner,
    number: int,
    census: Census,
    encoding: RowEncoding,
    workers: Workers,
    rounds: Rounds,
    checkpoint: Checkpoint,
    report: Report,
) -> Optimum:
    """Return the best function of one kernel, that of the term with this number, on the points that all share."""
    kept = checkpoint.load()
    if kept is None:
        subspace = Subspace(sampled.blank(), shared_points(sampled, census, encoding, workers))
        start = start_of(subspace, census, encoding, rounds, report)
        checkpoint.save(subspace.points, start)
    else:
        points, start = kept
        subspace = Subspace(sampled.blank(), points)
    report.n_points += int(subspace.points.shape[0])

    def total(w: Floats, informed: bool) -> Sums:
        function = w if informed else subspace.coefficients(w)
        question = Question(subspace, function, informed, encoding)
        phase = "information" if informed else "slopes"
        summed: Sums = workers.total(phase, row_sums, question, Sums.__add__)
        return in_coordinates(summed, subspace, informed)

    def after(now: DescentState) -> None:
        report.rounds.append({"objective": now.value, "information": now.fresh, "term": number})
        checkpoint.save(subspace.points, now)

    reached = _descent(subspace, total, rounds.tolerance).run(start, rounds.limit, after)
    report.converged = reached.done and (number == 0 or report.converged)
    return Optimum(subspace, reached)


def shared_points(sampled: Learner, census: Census, encoding: RowEncoding, workers: Workers) -> Any:
    """Return the points of the shared dictionary."""
    assert isinstance(sampled.recipe, SecondOrder)
    assert isinstance(sampled.recipe.dictionary, GrowingDictionary)
    assert sampled.budget is not None
    budget = min(sampled.budget, census.rows)
    term = sampled.expansion(informed=True).in_order_of_joining.only
    whole = Subspace(sampled.blank(), term.points)
    columns = [term.last.constants[:, None] / _core.constant_value] if sampled.fit_intercept else []
    function = np.ascontiguousarray(np.hstack([*columns, term.last.points]))
    n_first = min(len(term), round(FIRST_SHARE * budget))
    first = Subspace(whole.learner, term.points[:n_first])
    limit = SPARE * (budget - n_first)
    wanted = Wanted(whole, function, first, encoding, limit, sampled.recipe.dictionary.easy_slope)
    proposals: Proposals = workers.total("points", propose, wanted, Proposals.with_others)
    return chosen(first, proposals, term.points[n_first:], budget)


def start_of(subspace: Subspace, census: Census, encoding: RowEncoding, rounds: Rounds, report: Report) -> DescentState:
    """Return the start of the rounds over all rows: the optimum of the sample, with its information scaled up."""
    n_outputs = subspace.learner.n_classes if subspace.learner.task == "multiclass" else 1
    w = np.zeros((n_outputs, subspace.size))
    begin = DescentState(w, np.empty(0))
    if isinstance(subspace.learner.recipe.loss, SquaredError):
        return begin
    X, y, weight = census.encoded_sample(encoding)

    def total(at: Floats, informed: bool) -> Sums:
        function = at if informed else subspace.coefficients(at)
        return in_coordinates(Question(subspace, function, informed).of_rows(X, y, weight), subspace, informed)

    reached = _descent(subspace, total, rounds.tolerance).run(begin, SAMPLE_ROUNDS)
    report.sample_rounds += reached.rounds
    return DescentState(reached.w, reached.half * (census.rows / len(y)))


def in_coordinates(sums: Sums, subspace: Subspace, informed: bool) -> Sums:
    """Return sums whose slopes are in coordinates, however they were computed."""
    return sums if informed else replace(sums, slopes=subspace.gradient(sums.slopes))


def learner_of(optimum: Optimum, first: int, memory: Memory, rows: int) -> Learner:
    """Return an ordinary learner with this function and the information of the rows about it.

    Its points are numbered as the rows from ``first`` on.
    """
    subspace, reached = optimum.subspace, optimum.reached
    learner = subspace.learner
    assert isinstance(learner.recipe, SecondOrder)
    coefficients = optimum.coefficients
    constants = np.zeros(len(coefficients))
    if learner.fit_intercept:
        constants, coefficients = coefficients[:, 0] * _core.constant_value, coefficients[:, 1:]
    function = Coefficients(np.ascontiguousarray(coefficients), constants, np.zeros((len(constants), 0)))
    births = first + np.arange(len(optimum), dtype=np.int64)
    relevances = learner.kernel.relevances_of(int(subspace.points.shape[1]))
    ghosts = np.zeros(len(births), bool)
    term = Term(learner.kernel, relevances, subspace.points, births, ghosts, function, function)
    # In recursive least squares the squared residuals, each over its own variance, sum to twice the minimal objective.
    noise = 2 * reached.value if isinstance(learner.recipe.loss, SquaredError) else reached.squares
    known = Information(births, square(reached.half, subspace.size), _lam(learner), max(0.0, noise), rows)
    fitted = learner.blank(recipe=replace(learner.recipe, memory=memory))
    fitted.set_expansion(Expansion((term,), rows, information=known))
    return fitted


def _descent(subspace: Subspace, total: Callable[[Floats, bool], Sums], tolerance: float) -> Descent:
    quadratic = isinstance(subspace.learner.recipe.loss, SquaredError)
    return Descent(total, _lam(subspace.learner), tolerance, quadratic)


def _lam(learner: Learner) -> float:
    assert isinstance(learner.recipe, SecondOrder)
    assert isinstance(learner.recipe.prior, GaussianPrior)
    return learner.recipe.prior.lam
