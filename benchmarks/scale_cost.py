"""What learning over partitions costs, as a formula with measured constants (docs/scale.md).

``scale_cost.py rates`` measures the constants on one core. ``scale_cost.py runs RESULTS.json`` fits generated rows on
clusters of one and of two worker processes, and prints the processor time of each beside the formula's.
``scale_cost.py table`` prints what the formula says of more rows and more workers than this machine has.

A pass over n rows takes each of W workers

    n / W (read + levels route + sum over the experts that ask  share * cost(points, features))

where the share of an expert is the part of the rows that lie in its region, levels are those of the tree, and for B
points and d features, in seconds,

    cost of a plain row     = feature d + B (kernel d + value)
    cost of an informed row = that of a plain row + square B^2
    cost of proposing       = proposal + 2 feature d + 1.5 B (kernel d + value) + novelty (B / 2)^2,

the last as if all rows were hard. The census is a pass of its own.

Beside that a task takes `task` seconds of the scheduler, and a sum of S bytes is sent up a tree of the partitions. The
client fits the sample, begins the rounds there and weighs the experts, whatever n is.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import onkel
from onkel import partitions
from onkel.partitions.agreement import RowEncoding, Survey, census
from onkel.partitions.engines import Engine
from onkel.partitions.points import Wanted
from onkel.partitions.routes import Routes, taken
from onkel.partitions.spans import Question, Subspace, Sums
from onkel.parts import RBF
from onkel.parts.metric import quantiles_of
from onkel.regions import Condition
from scale_bench import usage

FEATURES, CHUNK = 20, 16_384
SIZES = (266, 20), (800, 20), (266, 60), (800, 60)  # points and features at which the rates are measured


@dataclass(frozen=True)
class Generated(partitions.Partition):
    """Rows that a worker makes itself: two classes, a tenth of the labels wrong."""

    name: str
    n_rows: int

    def chunks(self) -> Iterator[partitions.Chunk]:
        rng = np.random.default_rng([7, int(self.name)])
        for begin in range(0, self.n_rows, CHUNK):
            X = rng.standard_normal((min(CHUNK, self.n_rows - begin), FEATURES), dtype=np.float32)
            score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.5
            yield partitions.Chunk(X, ((score > 0) ^ (rng.random(len(X)) < 0.1)).astype(np.int8))


def spent(work) -> float:
    """The processor time of some work, the median of five times."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


@dataclass(frozen=True)
class Rates:
    """The constants, in seconds of one core."""

    read: float  # a row, in a pass
    census: float  # a row, its reading included
    proposal: float  # a row, for choosing among all
    feature: float  # that a kernel maps to its rank
    kernel: float  # a point and a feature
    value: float  # a point
    square: float  # two points
    novelty: float  # two points
    route: float  # a row, for each level of the tree
    factor: float  # three points, for the factor of a span
    byte: float  # of a sum that is made, added and sent
    task: float = 0.005  # a task, of its worker
    bandwidth: float = 1e9  # bytes a second, of each machine

    def plain(self, points: float, features: int) -> float:
        return self.feature * features + points * (self.kernel * features + self.value)

    def informed(self, points: float, features: int) -> float:
        return self.plain(points, features) + self.square * points**2

    def proposing(self, points: float, features: int) -> float:
        scores = self.plain(points, features) + self.plain(points / 2, features)
        return self.proposal + scores + self.novelty * points**2 / 4


def rates() -> Rates:
    n, rng = 8192, np.random.default_rng(0)
    everything = {(B, d): rates_of(B, rng.normal(size=(n, d)).astype(np.float32)) for B, d in SIZES}
    point = {d: (everything[800, d][0] - everything[266, d][0]) / 534 for d in (20, 60)}
    kernel = max(0.0, (point[60] - point[20]) / 40)
    value = point[20] - 20 * kernel
    feature = float(np.mean([(everything[266, d][0] - 266 * point[d]) / d for d in point]))
    squares = [(informed - plain) / B**2 for (B, d), (plain, informed, _) in everything.items() if d == 20]
    known = Rates(0.0, 0.0, 0.0, feature, kernel, value, 0.0, 0.0, 0.0, 0.0, 0.0)
    large, small = (everything[B, 20][2] - known.proposing(B, 20) for B in (800, 266))
    novelty = max(0.0, (large - small) / (400**2 - 133**2))
    proposal = max(0.0, small - novelty * 133**2)
    part = Generated("0", 10 * CHUNK)
    encoding = RowEncoding(FEATURES, "float32", np.array([0, 1], np.int8), None)
    read = spent(lambda: [encoding.encode(chunk) for chunk in part.chunks()]) / part.n_rows
    survey = Survey(0, 16_384, regression=False)
    counting = spent(lambda: census(0, part, survey)) / part.n_rows
    divided = [(i, Condition((i,), (0.0,)), 2 * i + 1, 2 * i + 2) for i in range(15)]  # four levels
    routes, X = Routes(tuple(divided)), rng.normal(size=(CHUNK, FEATURES)).astype(np.float32)
    route = spent(lambda: [taken(X, places) for places in routes.of(X).values()]) / CHUNK / 4
    rows = rng.normal(size=(266, FEATURES)).astype(np.float32)
    learner = onkel.Learner(onkel.recipes.Newton(), gamma=0.05, fit_intercept=True, dtype="float32")
    factor = spent(lambda: Subspace(learner, rows + np.float32(rng.normal())).core) / 266**3
    sums = Sums(0.0, 0.0, 1, np.zeros((1, 801)), np.zeros(801 * 401))
    byte = spent(lambda: pickle.loads(pickle.dumps(sums + sums, protocol=5))) / sums.half.nbytes
    known = replace(known, read=read, census=counting, proposal=proposal, square=float(np.mean(squares)))
    return replace(known, novelty=novelty, route=route, factor=factor, byte=byte)


def rates_of(points: int, X: np.ndarray) -> tuple[float, float, float]:
    """What a plain row, an informed one, and one that may be proposed cost, by a kernel with relevances and ranks."""
    n, features = X.shape
    y, u = (X[:, 0] > 0).astype(np.float64), np.random.default_rng(1).random(n)
    kernel = RBF(1 / features, (1.0,) * features, ranks=quantiles_of(X[:1000]))
    learner = onkel.Learner(onkel.recipes.Newton(), kernel=kernel, fit_intercept=True, dtype="float32")
    space, function = Subspace(learner, X[:points]), np.zeros((1, points + 1))
    wanted = Wanted(0, space, function, Subspace(learner, X[: points // 2]), points, 0.1)
    plain, informed = (
        spent(lambda question=question: question.of_rows(X, y, None))
        for question in (Question(space, function, informed) for informed in (False, True))
    )
    return plain / n, informed / n, spent(lambda: wanted.among(X, y, np.ones(n), u)) / n


@dataclass(frozen=True)
class Shape:
    """The experts of a model: how many points each has, and which part of the rows it learns from."""

    points: list[int]
    shares: list[float]
    features: int = FEATURES

    @classmethod
    def of(cls, model) -> Shape:
        learner = model.__onkel_inside__().learner
        share = {e: region.rows / model.t_ for region in learner.regions for e in region.experts}
        if learner.is_second_order_sum:
            return cls([len(term.expansion().only) for term in learner.split()], [1.0] * len(learner.kernels))
        terms = {e: len(learner.expert(e).expansion().only) for e in learner.experts}
        return cls(list(terms.values()), [share[e] for e in terms])


@dataclass(frozen=True)
class Cost:
    """What a fit costs: processor time of each worker, and bytes that it receives and sends in all passes."""

    rates: Rates
    shape: Shape

    def worker(
        self, n_rows: float, n_workers: int, n_partitions: int, rounds: list[tuple[int, bool]], n_passes: int
    ) -> float:
        """With these rounds, each of an expert; the census and the points are two more passes."""
        levels = max(0.0, sum(self.shape.shares) - 1)  # that a row goes down
        each = (self.rates.read + levels * self.rates.route) * (n_passes + 1) + self.rates.census
        for points, share in zip(self.shape.points, self.shape.shares, strict=True):
            each += share * self.rates.proposing(points, self.shape.features)
        for expert, informed in rounds:
            row = self.rates.informed if informed else self.rates.plain
            each += self.shape.shares[expert] * row(self.shape.points[expert], self.shape.features)
        tasks = 3 * n_partitions * (n_passes + 2) * self.rates.task  # work, mark and sum
        half = [4 * B**2 for B in self.shape.points]
        moved = n_partitions * sum(half[expert] for expert, informed in rounds if informed) * self.rates.byte
        spans = 2.125 * sum(B**3 for B in self.shape.points) * self.rates.factor  # B, B / 2 and B points
        return (each * n_rows + tasks + moved) / n_workers + spans

    def sent(self, n_informed: int, n_plain: int, n_partitions: int, n_workers: int) -> float:
        """Seconds for which sums and questions are under way."""
        informed = sum(4 * B**2 for B in self.shape.points)
        plain = sum(8 * B for B in self.shape.points)
        question = sum(B * (4 * self.shape.features + 8) for B in self.shape.points)
        depth = math.ceil(math.log2(max(2, n_partitions)))
        moved = n_informed * depth * informed + (n_plain + 1) * depth * plain
        moved += (n_informed + n_plain + 1) * question * n_workers  # the client's machine sends it to each
        return moved / self.rates.bandwidth


@dataclass
class Timed:
    """An engine that adds up the processor time of the work: what a worker does beside it, such as to tell that it is
    alive, is counted by the clock and not by the rows."""

    engine: Engine
    seconds: float = 0.0

    def total(self, work, parts, shared, add, tell):
        value, seconds = self.engine.total(partial(timed, work), parts, shared, partial(added, add), tell)
        self.seconds += seconds
        return value


def timed(work, number, partition, shared):
    start = time.thread_time()
    return work(number, partition, shared), time.thread_time() - start


def added(add, left, right):
    start = time.thread_time()
    return add(left[0], right[0]), left[1] + right[1] + time.thread_time() - start


def used_by(client) -> dict[str, float]:
    """The processor time of each worker."""
    return {name: used[1] for name, used in client.run(usage).items()}


def runs(path: Path, cases: list[str]) -> None:
    import dask
    import distributed

    from onkel.dask import cluster_of
    from onkel.dask.local import LocalProcesses

    dask.config.set({"distributed.worker.profile.enabled": False})
    measured = rates()
    print(measured, flush=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    for case in cases:
        kind, n_rows, n_workers = case.split(",")
        n, workers = round(float(n_rows)), int(n_workers)
        settings = {} if kind == "regions" else {"budget": int(kind), "regions": None}
        n_partitions = max(8, n // 312_500)
        parts = [Generated(str(i), n // n_partitions) for i in range(n_partitions)]
        with LocalProcesses(workers) as cluster, distributed.Client(cluster) as client:
            engine = cluster_of(client)
            few = [Generated(str(i), 500) for i in range(8)]
            small = onkel.NewtonClassifier(budget=20, gamma=0.1, lam=0.1)
            partitions.fit(small, few, engine=engine)  # so that everything is imported
            before = used_by(client)
            for _ in range(3):
                report = partitions.fit(small, few, engine=engine).report
            spent_on_few = sum(used_by(client).values()) - sum(before.values())
            task = spent_on_few / (3 * 3 * len(few) * (len(report.rounds) + 2))
            before = used_by(client)
            passes: list[str] = []

            def tell(phase, done, of, passes=passes):
                passes += [phase] * (done == 0)

            own = time.process_time()
            model = onkel.NewtonClassifier(random_state=0, **settings)
            fitted = partitions.fit(model, parts, engine=(clock := Timed(engine)), tell=tell)
            own = time.process_time() - own
            seconds = [after - before[name] for name, after in used_by(client).items()]
            most = max(each[0] for each in client.run(usage).values())
        shape = Shape.of(fitted.model)
        rounds = [(each["term"], each["information"]) for each in fitted.report.rounds]
        cost = Cost(replace(measured, task=task), shape)
        formula = cost.worker(n, workers, n_partitions, rounds, len(passes) - 2)
        results[case] = {
            "worker": seconds, "work": clock.seconds / workers, "formula": formula, "client": own,
            "megabytes": most, "task": task,
            "shape": [shape.points, shape.shares], "rounds": rounds,
            "passes": len(passes), "informed": passes.count("information"), "points": sum(shape.points),
            "experts": len(shape.points), "path": sum(B * s for B, s in zip(shape.points, shape.shares, strict=True)),
            "squares": sum(B**2 * s for B, s in zip(shape.points, shape.shares, strict=True)),
        }  # fmt: skip
        path.write_text(json.dumps(results, indent=1))
        shown = {k: np.round(v, 4).tolist() for k, v in results[case].items() if k not in ("shape", "rounds")}
        print(case, shown, flush=True)


def table(measured: Rates, client: float) -> None:
    """The default model: an expert of all rows, and five levels of 266 points below it."""
    levels = 5
    points = [800] + [266] * (2 ** (levels + 1) - 2)
    shares = [1.0] + [0.5**level for level in range(1, levels + 1) for _ in range(2**level)]
    cost = Cost(measured, Shape(points, shares))
    n_plain, n_informed = 6, 3
    rounds = [(e, i < n_informed) for e in range(len(points)) for i in range(n_plain + n_informed)]
    print("| rows | " + " | ".join(f"{w} worker{'s' * (w > 1)}" for w in (1, 4, 16, 64)) + " |")
    print("|---|---|---|---|---|")
    for n in (1e7, 1e8, 1e9):
        cells = []
        for workers in (1, 4, 16, 64):
            n_partitions = max(workers, round(n / 1e6))
            busy = cost.worker(n, workers, n_partitions, rounds, n_plain + n_informed)
            sent = cost.sent(n_informed, n_plain, n_partitions, workers)
            total = busy + sent + client
            cells.append(f"{total / 3600:.2f} h, {busy / total:.0%}")
        print(f"| 10^{round(math.log10(n))} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rates")
    two = commands.add_parser("runs")
    two.add_argument("path", type=Path)
    two.add_argument(
        "--cases",
        nargs="*",
        default=[f"{kind},{n},{w}" for kind in ("250", "regions") for n in ("1e5", "1e6") for w in (1, 2)],
    )
    three = commands.add_parser("table")
    three.add_argument("--client", type=float, default=30.0, help="seconds that the client takes, whatever the rows")
    options = parser.parse_args()
    if options.command == "runs":
        runs(options.path, options.cases)
    elif options.command == "table":
        table(rates(), options.client)
    else:
        print(rates())
