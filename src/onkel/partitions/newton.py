"""Second-order learning over partitions: agree, points, rounds (docs/scale.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.choice.division import MEMORY
from onkel.function import Coefficients, Expansion, Information, Term
from onkel.inside import fitted_learner
from onkel.learner import Learner
from onkel.partitions import descent
from onkel.partitions.agreement import Census, RowEncoding
from onkel.partitions.checkpoints import Checkpoint
from onkel.partitions.descent import Asked, Descent, DescentState
from onkel.partitions.engines import Engine
from onkel.partitions.points import SPARE, AllWanted, Proposals, Wanted, best_of_both, chosen, propose
from onkel.partitions.routes import ROOT, Routes
from onkel.partitions.sources import Partition
from onkel.partitions.spans import Question, Questions, Subspace, Sums, row_sums, square, sums_of_both
from onkel.partitions.weighing import Sample, weighed
from onkel.parts import (
    CallableKernel,
    GaussianPrior,
    GrowingDictionary,
    Hedge,
    Memory,
    SecondOrder,
    SquaredError,
    StreamMemory,
)

Floats = NDArray[np.float64]
Tell = Callable[[str, int, int], None]  # called with the phase, the partitions done, and the number of partitions

FIRST_SHARE = 0.5  # of the budget is for points of the function fitted to the sample
SAMPLE_ROUNDS = 200
ROWS_A_POINT_TO_START = 16  # of a region's rows in the sample, on which its rounds start
ROWS_A_POINT = 4  # of the common sample, so that a stream of them may use all points of experts of regions


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


def sample_rows_of_regions(budget: int) -> int:
    """Return the size of the common sample where rows may be divided among experts with so many points in all."""
    return ROWS_A_POINT * budget


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

    ``model`` is fitted to the common sample of the census. Each of its terms, a kernel of a sum or the expert of a
    region, has an optimum of its own, on all rows or on those of its region. The weights of a sum are those of the
    sample, where each row was predicted before it was learned from; those of experts are learned from rows of the
    sample as if each had been held out (:mod:`onkel.partitions.weighing`). Weights optimised on rows that the terms
    were fitted to would favour the term that overfits them.
    """
    sampled = fitted_learner(model, "learning over partitions")
    check_learner(sampled)
    X, y, weight = census.encoded_sample(encoding)
    sample = Sample(X, y, weight, Routes.through(sampled.regions), len(y))
    optima = _optima(terms_of(sampled), sample, census, encoding, workers, rounds, checkpoint, report)
    firsts = np.cumsum([0] + [len(each) for each in optima]).tolist()
    learned = [
        learner_of(each, first, _memory_of(each.region, memory), census.rows)
        for each, first in zip(optima, firsts, strict=False)
    ]
    if sampled.is_second_order_sum:
        assert isinstance(sampled.kernel, Hedge)
        like = sampled.blank(recipe=learned[0].recipe, kernel=replace(sampled.kernel, start=census.rows))
        return like.join(learned, sampled.kernel_weights, sampled.noise_variance)
    if len(sampled.experts) == 1:
        return learned[0]
    rows = {optimum.region: optimum.reached.rows_summed for optimum in optima}
    experts = sampled.with_experts(learned, rows=[rows[leaf.number] for leaf in sampled.regions if leaf.is_leaf])
    spans = {number: optimum.subspace for number, optimum in zip(experts.experts, optima, strict=True)}
    return weighed(experts.with_budget(sampled.budget), spans, sample)


def _memory_of(region: int, memory: Memory) -> Memory:
    """The memory of an expert: where the stream chooses that of the root, others have the one of new experts."""
    return MEMORY if region != ROOT and isinstance(memory, StreamMemory) else memory


@dataclass(frozen=True)
class SampledTerm:
    """What the common sample has learned of a kernel or of an expert, and the region whose rows it learns from."""

    learner: Learner
    region: int = ROOT


def terms_of(sampled: Learner) -> list[SampledTerm]:
    """Return the terms of a learner: the kernels of a sum, or its experts."""
    if sampled.is_second_order_sum:
        parts = sampled.split()
        budgets = [part.budget or 1 for part in parts]
        for part, budget in zip(parts, budgets, strict=True):
            # In a stream terms share points, and the budget counts those once; here each has its own.
            part.settings = replace(part.settings, budget=max(1, budget * (sampled.budget or 1) // sum(budgets)))
        return [SampledTerm(part) for part in parts]
    region_of = {expert: region.number for region in sampled.regions for expert in region.experts}
    return [SampledTerm(sampled.expert(number), region_of[number]) for number in sampled.experts]


@dataclass(frozen=True)
class Optimum:
    """The result of the rounds over all rows of a region, for a function of one kernel."""

    subspace: Subspace
    reached: DescentState
    region: int = ROOT

    def __len__(self) -> int:
        return int(self.subspace.points.shape[0])

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the columns of the span, one row per output."""
        return self.subspace.coefficients(self.reached.w)


def _optima(
    terms: Sequence[SampledTerm],
    sample: Sample,
    census: Census,
    encoding: RowEncoding,
    workers: Workers,
    rounds: Rounds,
    checkpoint: Checkpoint,
    report: Report,
) -> list[Optimum]:
    """The best function of each term on the points that all partitions share, each phase in one pass for all terms."""
    checkpoints = [checkpoint.of_term(number) for number in range(len(terms))]
    kept = {number: each for number, file in enumerate(checkpoints) if (each := file.load()) is not None}
    new = {number: term for number, term in enumerate(terms) if number not in kept}
    for number, points in shared_points(new, census, encoding, sample.routes, workers).items():
        subspace = Subspace(terms[number].learner.blank(), points)
        region = terms[number].region
        kept[number] = points, start_of(subspace, region, sample.of(region), census, rounds, report)
        checkpoints[number].save(*kept[number])
    subspaces = [Subspace(term.learner.blank(), kept[number][0]) for number, term in enumerate(terms)]
    report.n_points += sum(int(subspace.points.shape[0]) for subspace in subspaces)

    def total(asked: Mapping[int, Asked]) -> dict[int, Sums]:
        questions = {}
        for number, (w, informed) in asked.items():
            function = w if informed else subspaces[number].coefficients(w)
            questions[number] = Question(subspaces[number], function, informed, terms[number].region)
        phase = "information" if any(informed for _, informed in asked.values()) else "slopes"
        question = Questions(questions, encoding, sample.routes)
        summed: dict[int, Sums] = workers.total(phase, row_sums, question, sums_of_both)
        return {number: in_coordinates(sums, subspaces[number], asked[number][1]) for number, sums in summed.items()}

    def after(number: int, now: DescentState) -> None:
        report.rounds.append({"objective": now.value, "information": now.fresh, "term": number})
        checkpoints[number].save(subspaces[number].points, now)

    descents = [_descent(subspace, rounds.tolerance) for subspace in subspaces]
    reached = descent.run(descents, [kept[number][1] for number in range(len(terms))], total, rounds.limit, after)
    report.converged = all(now.done for now in reached)
    found = zip(subspaces, reached, terms, strict=True)
    return [Optimum(subspace, now, term.region) for subspace, now, term in found]


def shared_points(
    terms: Mapping[int, SampledTerm], census: Census, encoding: RowEncoding, routes: Routes, workers: Workers
) -> dict[int, Any]:
    """Return the points of the dictionary that all partitions share, for each of these terms."""
    if not terms:
        return {}
    wanted, others, budgets = {}, {}, {}
    for number, (sampled, region) in ((number, (term.learner, term.region)) for number, term in terms.items()):
        assert isinstance(sampled.recipe, SecondOrder)
        assert isinstance(sampled.recipe.dictionary, GrowingDictionary)
        assert sampled.budget is not None
        budgets[number] = min(sampled.budget, census.rows)
        term = sampled.expansion(informed=True).in_order_of_joining.only
        whole = Subspace(sampled.blank(), term.points)
        columns = [term.last.constants[:, None] / _core.constant_value] if sampled.fit_intercept else []
        function = np.ascontiguousarray(np.hstack([*columns, term.last.points]))
        n_first = min(len(term), round(FIRST_SHARE * budgets[number]))
        first, others[number] = Subspace(whole.learner, term.points[:n_first]), term.points[n_first:]
        limit = SPARE * (budgets[number] - n_first)
        wanted[number] = Wanted(region, whole, function, first, limit, sampled.recipe.dictionary.easy_slope)
    seed = next(iter(terms.values())).learner.seed
    proposals: dict[int, Proposals] = workers.total(
        "points", propose, AllWanted(wanted, seed, encoding, routes), best_of_both
    )
    return {
        number: chosen(wanted[number].first, proposals[number], others[number], budgets[number]) for number in terms
    }


def start_of(
    subspace: Subspace, region: int, sample: Sample, census: Census, rounds: Rounds, report: Report
) -> DescentState:
    """Return the start of the rounds over all rows: the optimum of rows of the sample, with its information scaled up
    by how many of the sample's rows these are, and by how many rows there are for each of those."""
    n_outputs = subspace.learner.n_classes if subspace.learner.task == "multiclass" else 1
    w = np.zeros((n_outputs, subspace.size))
    begin = DescentState(w, np.empty(0))
    if isinstance(subspace.learner.recipe.loss, SquaredError) or not len(sample.y):
        return begin
    budget = subspace.learner.budget or 0
    some = sample.first(sample_rows_for(budget) if region == ROOT else ROWS_A_POINT_TO_START * budget)

    def total(asked: Mapping[int, Asked]) -> dict[int, Sums]:
        ((at, informed),) = asked.values()
        function = at if informed else subspace.coefficients(at)
        sums = Question(subspace, function, informed).of_rows(some.X, some.y, some.weight)
        return {0: in_coordinates(sums, subspace, informed)}

    (reached,) = descent.run([_descent(subspace, rounds.tolerance)], [begin], total, SAMPLE_ROUNDS)
    report.sample_rounds += reached.rounds
    of_all = len(sample.y) / len(some.y) * census.rows / sample.n_rows
    return DescentState(reached.w, reached.half * of_all)


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
    matrix = square(reached.half, subspace.size)
    known = Information(births, matrix, _lam(learner), max(0.0, noise), reached.rows_summed)
    fitted = learner.blank(recipe=replace(learner.recipe, memory=memory))
    fitted.set_expansion(Expansion((term,), rows, information=known))
    return fitted


def _descent(subspace: Subspace, tolerance: float) -> Descent:
    quadratic = isinstance(subspace.learner.recipe.loss, SquaredError)
    return Descent(_lam(subspace.learner), tolerance, quadratic)


def _lam(learner: Learner) -> float:
    assert isinstance(learner.recipe, SecondOrder)
    assert isinstance(learner.recipe.prior, GaussianPrior)
    return learner.recipe.prior.lam
