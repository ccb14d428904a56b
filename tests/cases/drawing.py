"""Draws a case from an integer: the learner and its parameters, the rows, the cuts and what happens in between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cases.program import Case, Piece
from table import TABLE

PIECES = [1, 2, 3, 5, 10, 30]
KERNELS = [
    '"rbf"',
    '"linear"',
    '"poly"',
    '"sigmoid"',
    '"laplacian"',
    "RBF(0.7) + 0.1 * Linear()",
    "RBF(0.7) * Laplacian(0.1)",
    "RBF(0.7, (2.0,), ((-1.0, 0.0, 0.5, 2.0),))",
]
COMBINATIONS = ["uniform", "deterministic", "stochastic", "spa", "sum"]
# Losses of a regression beside those of a learner's examples.
LOSSES_OF = {"Newton": ["huber", "quantile", "poisson"], "OGD": ["quantile", "poisson"], "FSGD": ["poisson"]}
LABELS: dict[str, list[Any]] = {
    "integers": [0, 1, 2, 3, 4],
    "signs": [-1, 1, 2, -2, 5],
    "big integers": [2**60 + number for number in range(5)],
    "text": ["pear", "fig", "a b", "ä", "0"],
    "bytes": [b"pear", b"fig", b"a b", b"\xff", b"0"],
    "floats": [1.0, -2.0, 1e9, 3.0, 0.0],
    "fractions": [0.5, -1.25, 1e9, 3.0, 1e-3],
    "booleans": [False, True],
}


def case_of(seed: int) -> Case:
    """The case of this number."""
    draw = random.Random(seed)
    if seed % 9 == 4:
        return _growing(draw, seed)
    task = draw.choice(["binary", "multiclass", "regression"])
    rows = draw.choice([draw.randint(20, 130)] * 6 + [draw.randint(257, 420)] * 3 + [draw.randint(1025, 1300)])
    is_table = draw.random() < 0.2
    calls_back = not is_table and draw.random() < 0.08
    data = _table(draw, rows, task) if is_table else _matrix(draw, rows, task)
    several = not calls_back and draw.random() < 0.1
    learner = _several_kernels(draw, task) if several else _learner(draw, task, "callback" if calls_back else None)
    if "'poisson'" in learner:
        data += "y = np.floor(np.exp(np.clip(score, -5, 5)))\n"
    model = _wrapped(draw, learner, task, is_table, alone=calls_back)
    change, at = "", 0
    if draw.random() < 0.3 and not calls_back:
        at = draw.randrange(1, rows)
        change = _change(draw, "Newton" in learner, at)
        at = 0 if "partitions" in change else at
    pieces = _pieces(draw, rows, calls_back)
    if draw.random() < 0.15:  # account is kept of what intervals and sets cover
        model = model.replace("**also", "coverage=(0.9, 0.5), **also")
    if is_table and "merge" in change:  # which may start anew with its own rows: t_ is not where to go on then
        pieces = tuple(replace(piece, interruption="") for piece in pieces)
    return Case(
        seed=seed,
        data=data + (_CALLBACK if calls_back else ""),
        model=model,
        rows=rows,
        pieces=pieces,
        n_jobs=draw.choice([None, None, 2, 3]),
        change=change,
        change_at=at,
        exports=draw.random() < 0.25 and not calls_back,
        is_saved=not calls_back,
        carried=draw.choice([0.0, 1e5, 1e6]),
    )


def _growing(draw: random.Random, seed: int) -> Case:
    """A case whose learner grows regions: dense rows, a table among them, and kernels and relevances that the stream
    chooses."""
    task, rows = draw.choice(["binary", "multiclass", "regression"]), draw.randint(150, 500)
    is_table = draw.random() < 0.15
    data = _table(draw, rows, task) if is_table else _matrix(draw, rows, task).replace("X = csr_array(X)\n", "")
    chosen = {"budget": str(draw.choice([42, 48, 80])), "random_state": str(draw.randrange(100))}
    given = {"lam": ["0.1", "1.0"], "forget": ["1.0", "0.99"], "kernel": ['"rbf"']}
    given |= {"ranks": ["None"], "fit_intercept": ["True", "False"], "average": ["True"]}
    if task == "regression":
        given["loss"] = ['"huber"', '"poisson"', '"quantile"']
    else:
        given["class_weight"] = ['"balanced"']
    chosen |= {name: draw.choice(values) for name, values in given.items() if draw.random() < 0.25}
    if "poisson" in chosen.get("loss", ""):
        data += "y = np.floor(np.exp(np.clip(score, -5, 5)))\n"
    listed = ", ".join(f"{name}={value}" for name, value in chosen.items())
    learner = f"onkel.Newton{'Regressor' if task == 'regression' else 'Classifier'}({listed}, **also)"
    model = _wrapped(draw, learner, task, is_table, alone=draw.random() < 0.5)
    change, at = "", 0
    if draw.random() < 0.5:
        at = draw.randrange(rows // 3, rows)
        change = _change(draw, True, at, few=[20, 60])
        at = 0 if "partitions" in change else at
    pieces = _pieces(draw, rows, False)
    if is_table and "merge" in change:
        pieces = tuple(replace(piece, interruption="") for piece in pieces)
    return Case(
        seed=seed,
        data=data,
        model=model,
        rows=rows,
        pieces=pieces,
        n_jobs=draw.choice([None, 2, 3]),
        change=change,
        change_at=at,
        exports=draw.random() < 0.4,
        grows=True,
        carried=draw.choice([0.0, 3e5, 1e6, 3e6]),
    )


# -- rows --------------------------------------------------------------------------------------------------------------


def _matrix(draw: random.Random, rows: int, task: str) -> str:
    """Dense or sparse rows: with zeros, rows that are met again and columns that never change."""
    d, density, scale = draw.randint(1, 7), draw.choice([1.0, 1.0, 0.5, 0.1]), draw.choice([1, 1, 1, 0.01, 30])
    lines = [
        f"rng = np.random.default_rng({draw.randrange(10**6)})",
        f"X = {scale} * rng.normal(size=({rows}, {d}))",
        f"score = np.sin(2 / {scale} * X[:, 0]) + X[:, {d - 1}] * X[:, 0] / {scale**2}",
    ]
    if density < 1:
        lines.append(f"X[rng.random(X.shape) > {density}] = 0")
    if draw.random() < 0.2:
        lines.append("X[len(X) // 2 :: 7] = X[3]")
    if draw.random() < 0.1:
        lines.append(f"X[:, {draw.randrange(d)}] = 3.0")
    if draw.random() < 0.2:
        lines.append("X = X.round(1)")
    lines.append(f'X = X.astype("{draw.choice(["float64", "float64", "float32", "int64"])}")')
    if draw.random() < 0.3:
        lines.append("X = csr_array(X)")
    return "\n".join([*lines, *_targets(draw, rows, task)]) + "\n"


def _table(draw: random.Random, rows: int, task: str) -> str:
    """A table with gaps, whose categories change on the way."""
    lines = [
        f"rng = np.random.default_rng({draw.randrange(10**6)})",
        f"n = {rows}",
        "score = rng.normal(size=n)",
        "late = np.arange(n) // 40",
        "X = {",
        '    "number": np.where(rng.random(n) < 0.1, np.nan, score + 0.3 * rng.normal(size=n)),',
        '    "town": [f"town {i}" for i in rng.integers(0, 4, size=n) + late],',
    ]
    columns = [
        '    "count": rng.poisson(3, size=n),',
        '    "flag": score > 0.5,',
        '    "gaps": [None if i % 3 == 0 else "x" if i % 2 else "y" for i in rng.integers(0, 9, size=n)],',
        '    "when": [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=int(h)) for h in 30 * np.arange(n)],',
        '    "few": np.where(np.arange(n) < n // 2, 0.0, score),',
        '    "text or number": [str(i) if i % 5 else "none" for i in rng.integers(0, 20, size=n)],',
    ]
    lines += [*draw.sample(columns, draw.randint(0, 4)), "}"]
    if draw.random() < 0.5:
        lines.append("X = pd.DataFrame(X)")
    return "\n".join([*lines, *_targets(draw, rows, task)]) + "\n"


def _targets(draw: random.Random, rows: int, task: str) -> list[str]:
    """The labels or targets of `score`, what calls are told of them, and weights."""
    lines, told = [], "{}"
    if task == "regression":
        lines.append(f"y = {draw.choice([1, 1, 1000, 0.001])} * score + {draw.choice([0, 0, 100])}")
    else:
        n_classes = 2 if task == "binary" else draw.randint(3, 5)
        kind = draw.choice([kind for kind, names in LABELS.items() if len(names) >= n_classes])
        if kind == "fractions" and draw.random() < 0.8:  # which are refused
            kind = "floats"
        names = LABELS[kind][:n_classes]
        lines.append(f"y = np.digitize(score, np.quantile(score, np.arange(1, {n_classes}) / {n_classes}))")
        if task == "multiclass" and draw.random() < 0.5:  # classes that appear late
            lines.append(f"y[: {rows // 2}] %= 2")
        lines.append(f"y = np.array({names!r})[y]")
        if draw.random() < 0.1:
            lines.append("y = y.tolist()")
        if task == "binary" or draw.random() < 0.5:
            told = f'{{"classes": {names!r}}}'
        if draw.random() < 0.15:
            told = "{}"
    weight = "None"
    if draw.random() < 0.35:
        shares = draw.choice(["0.1, 0.2, 0.6, 0.1", "0.7, 0.1, 0.1, 0.1"])
        weight = f"rng.choice([0.0, 0.5, 1.0, 3.0], len(y), p=[{shares}])"
    return [*lines, f"w = {weight}", f"told = {told}"]


# -- learners ----------------------------------------------------------------------------------------------------------


def _learner(draw: random.Random, task: str, kernel: str | None) -> str:
    """An estimator's expression."""
    suitable = [named for named in TABLE if task in named.tasks]
    (newton,) = (named for named in suitable if named.name == "Newton")
    named = newton if draw.random() < 0.4 else draw.choice(suitable)
    parameters = dict(draw.choice(named.examples(task)))
    chosen = {name: repr(value) for name, value in parameters.items()}
    chosen |= {
        "budget": str(draw.choice([3, 10, 25])) if named.evicts or draw.random() < 0.3 else "None",
        "random_state": str(draw.randrange(100)),
        "gamma": draw.choice(['"stream"', "0.5", "0.5", "3.0"]),
    }
    if draw.random() < 0.3:
        chosen["average"] = draw.choice(["True", "False"])
    if draw.random() < 0.3:
        chosen["fit_intercept"] = draw.choice(["True", "False"])
    if draw.random() < 0.25:
        chosen["kernel"] = draw.choice(KERNELS)
    if task != "regression" and draw.random() < 0.15:
        chosen["class_weight"] = '"balanced"'
    if task == "regression" and named.name in LOSSES_OF and draw.random() < 0.4:
        loss = draw.choice(LOSSES_OF[named.name])
        chosen["loss"] = repr(loss)
        if loss == "quantile":
            chosen["quantile"] = draw.choice(["0.1", "0.5", "0.9"])
        else:
            chosen.pop("quantile", None)
    if named is newton:
        _choices_of_newton(draw, chosen)
    if kernel is not None:
        chosen |= {"kernel": kernel, "gamma": "0.5"}
        chosen = {name: value for name, value in chosen.items() if name not in ("relevances", "ranks")}
    cls = (named.regressor if task == "regression" else named.classifier).__name__
    listed = ", ".join(f"{name}={value}" for name, value in chosen.items())
    return f"onkel.{cls}({listed}, **also)"


def _several_kernels(draw: random.Random, task: str) -> str:
    """The expression of an estimator of several kernels."""
    named = draw.choice([named for named in TABLE if task in named.tasks])
    chosen = ", ".join(f"{name}={value!r}" for name, value in draw.choice(named.examples(task)).items())
    kind = "Regressor" if task == "regression" else "Classifier"
    kernels = draw.sample(["RBF(0.5)", "RBF(3.0)", "Laplacian(0.3)", "Linear()", "RBF(0.7) + 0.1 * Linear()"], 2)
    budget = draw.choice([6, 20]) if named.evicts else draw.choice([None, 20])
    return (
        f"onkel.MultiKernel{kind}(onkel.recipes.{named.recipe.__name__}({chosen}), kernels=[{', '.join(kernels)}], "
        f"combination={draw.choice(COMBINATIONS)!r}, gamma=0.5, "
        f"budget={budget}, random_state={draw.randrange(100)}, **also)"
    )


def _choices_of_newton(draw: random.Random, chosen: dict[str, str]) -> None:
    """What the stream chooses, by default or by a parameter, and what is given."""
    given = {"lam": ["0.1", "1.0"], "forget": ["1.0", "0.99"], "gamma": ["0.5"]}
    given |= {"relevances": ["None"], "ranks": ["None"]}
    chosen["budget"] = str(draw.choice([5, 15, 40]))
    for name, values in given.items():
        chosen.pop(name, None)
        if draw.random() < 0.5:
            chosen[name] = draw.choice(values)


def _wrapped(draw: random.Random, learner: str, task: str, is_table: bool, alone: bool) -> str:
    """The estimator alone, behind transformers, or calibrated."""
    if is_table:
        few = draw.choice(["", ", max_categories=2"])  # then categories are encoded by their targets, too
        model = f"onkel.make_stream_pipeline({learner}{few})"
    elif alone or draw.random() < 0.7:
        model = learner
    else:
        scaler = draw.choice(
            [
                "onkel.StreamStandardScaler()",
                "onkel.StreamMinMaxScaler()",
                "onkel.StreamStandardScaler(with_mean=False)",
            ]
        )
        model = f"onkel.StreamPipeline({scaler}, {learner})"
    if task != "regression" and not alone and draw.random() < 0.08:
        model = f"onkel.PlattClassifier({model})"
    return model


# -- what happens ------------------------------------------------------------------------------------------------------

_CALLBACK = """
def callback(x, points):
    return np.exp(-0.5 * ((x - points) ** 2).sum(axis=1))
"""


def _pieces(draw: random.Random, rows: int, calls_back: bool) -> tuple[Piece, ...]:
    """The calls: few or many, some of them interrupted, with files, pickles and copies in between."""
    calls = draw.choice(PIECES)
    ends = [*sorted({draw.randrange(1, rows) for _ in range(calls - 1)}), rows]
    moves = ["copy.deepcopy(model)"]
    if not calls_back:
        moves += ["saved(model)", "pickle.loads(pickle.dumps(model))"]
    pieces = []
    for end in ends:
        interruption, move = "", ""
        if draw.random() < 1 / calls and draw.random() < 0.5:
            call = int(10 ** draw.uniform(0, 3.5))
            interruption = draw.choice([f"interrupted_at({call})", f"interrupted_at_check({1 + call % 20})"])
            if calls_back:
                interruption = f"interrupted_at({call}, RuntimeError, callback)"
        if draw.random() < 1 / calls:
            move = draw.choice(moves)
        pieces.append(Piece(end, interruption, move))
    return tuple(pieces)


def _change(draw: random.Random, is_newton: bool, row: int, few: Sequence[int] = (2, 5)) -> str:
    """What is done with a model that goes on learning afterwards."""
    if is_newton and draw.random() < 0.3:
        sources = f"[(part(X, i, i + {row}), part(y, i, i + {row})) for i in (0, {row // 2})]"
        return f"onkel.partitions.fit(new(), {sources}).model"
    return draw.choice(
        [
            f"onkel.compress(model, n_support={draw.choice(few)}).model",
            "onkel.merge([model, model]).model",
            "onkel.merge([model, new().partial_fit(part(X, 0, 30), part(y, 0, 30), **told)]).model",
        ]
    )
