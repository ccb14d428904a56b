"""Models as ONNX: a plain graph of standard operators, and a converter for skl2onnx.

For accuracy in float32, rows are first shifted by the mean of the stored points, rounded to float32; all constants that
follow from it are computed in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.estimators.base import KernelEstimator
from onkel.estimators.targets import ClassifierBase
from onkel.models.export._onnx_columns import GraphColumns, input_type
from onkel.models.export._plain import KernelFunction, Plain, PlainRegion, largest_score, plain
from onkel.parts.kernels import Arrays, Base
from onkel.parts.metric import Metric, PiecewiseLinear
from onkel.utils.extras import needed
from onkel.utils.validation import check_choice

Floats = NDArray[np.float64]
OPSET = 17  # the operators used have the same meaning from 13 on
_ML_OPSET = 2  # of LabelEncoder, for categories
_IR_VERSION = 8
MOST_FOR_FLOAT32 = 80.0  # see _largest: 80 * 2^-24 is half of the allowed error of a score, 1e-5


def to_onnx(model: object, *, dtype: str = "float32") -> Any:
    """Return a fitted model as an ONNX model.

    Its input is ``X``. With a `StreamEncoder` there is one input of shape (n, 1) for each column of the table, by its
    name: numbers (NaN is missing), text (empty is missing), dates as int64 microseconds since 1970 (the smallest int64,
    numpy's NaT, is missing), bool (numbers with NaN where values were missing). A classifier has the outputs ``label``,
    ``scores`` (as `decision_function`) and, with the log loss, ``probabilities``; a regression has ``prediction``.

    Parameters
    ----------
    model : estimator, StreamPipeline or Learner
        Fitted; scaler and encoder become part of the graph. A callable kernel is refused.
    dtype : {"float32", "float64"}, default="float32"
        Type of the rows, the results and the arithmetic. Sums of large coefficients that cancel, which second-order
        learners may have, are always computed in float64, and so are kernels that vote, since a vote depends on the
        sign of a function, however small.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save`` writes it.

    Examples
    --------
    >>> import numpy as np, onkel, onnxruntime
    >>> model = onkel.SPAClassifier(gamma=1.0, shuffle=False).fit([[0.0], [1.0]], ["no", "yes"])
    >>> exported = onkel.export.to_onnx(model)
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> session.run(["label"], {"X": np.array([[0.9]], np.float32)})[0].tolist()
    ['yes']
    """
    check_choice("dtype", dtype, ("float32", "float64"))
    onnx = needed("onnx", "onnx", "to_onnx")
    plain_model = plain(model, takes_tables=True)
    graph = _Graph(dtype, prefix="/onkel/" if plain_model.columns else "")  # since columns may have any name
    graph.build(plain_model, "X")
    outputs = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in graph.outputs]
    body = onnx.helper.make_graph(
        [
            onnx.helper.make_node(op, inputs, [output], name=output, **attributes)
            for op, inputs, output, attributes in graph.nodes
        ],
        "onkel",
        [
            onnx.helper.make_tensor_value_info(name, kind, [None, width])
            for name, kind, width in graph.inputs(plain_model, "X")
        ],
        outputs,
        [onnx.helper.make_tensor(name, *_content(values)) for name, values in graph.constants.items()],
    )
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    if any(column.kind == "category" for column in plain_model.columns):
        opsets.append(onnx.helper.make_opsetid("ai.onnx.ml", _ML_OPSET))
    proto = onnx.helper.make_model(body, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="onkel")
    onnx.checker.check_model(proto)
    return proto


class _Graph:
    """Nodes and constants that are later put into a graph."""

    def __init__(self, dtype: str, prefix: str) -> None:
        self.dtype, self.prefix = np.dtype(dtype), prefix
        self.single = dtype == "float32"  # of rows and results
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.outputs: list[tuple[str, int, list[Any]]] = []

    # -- pieces

    def constant(self, name: str, values: object) -> str:
        """Store numbers in the graph's type; integers and labels are unchanged."""
        array = np.asarray(values)
        if array.dtype.kind == "f":
            if self.single and abs(array).max(initial=0) > np.finfo(np.float32).max:
                raise ValueError(f"the model's {name} do not fit float32: use dtype='float64'")
            array = array.astype(self.dtype)
        full = f"{self.prefix}{name}"
        assert full not in self.constants
        self.constants[full] = array
        return full

    def node(self, op: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return its output's name."""
        name = f"{self.prefix}{op.lower()}_{len(self.nodes)}" if output is None else output
        self.nodes.append((op, list(inputs), name, attributes))
        return name

    def shared(self, name: str, values: NDArray[Any]) -> str:
        """Store a constant that several nodes use, once."""
        self.constants[f"{self.prefix}{name}"] = values
        return f"{self.prefix}{name}"

    def axis(self, axis: int) -> str:
        """Return a constant that names an axis."""
        return self.shared(f"axis_{axis}", np.array([axis], np.int64))

    def cast(self, values: str, dtype: np.dtype[Any]) -> str:
        """Return values as numbers of a type."""
        return self.node("Cast", values, to=_type_of(dtype))

    # -- the model

    def inputs(self, model: Plain, rows: str) -> list[tuple[str, int, int]]:
        """Return the name, the type and the number of columns of each input."""
        if not model.columns:
            return [(rows, _type_of(self.dtype), model.n_features)]
        taken = {name for name, _, _ in self.outputs} | {name for _, _, name, _ in self.nodes} | {"", *self.constants}
        names = [column.name for column in model.columns]
        taken_name = next((name for name in names if name in taken), None)
        if taken_name is not None:
            raise ValueError(
                f"an input of ONNX cannot have the name of the column {taken_name!r}: rename it before learning"
            )
        types = [input_type(column, self.dtype) for column in model.columns]
        return [(name, _type_of(dtype), 1) for name, dtype in zip(names, types, strict=True)]

    def build(self, model: Plain, rows: str) -> None:
        """Add the whole model, with the outputs that `to_onnx` names."""
        real = _type_of(self.dtype)
        scores = self.scores(model, rows)
        if model.task == "regression":
            self.node("Squeeze", self.predicted(model, scores), self.axis(1), output="prediction")
            self.outputs = [("prediction", real, [None])]
            return
        assert model.classes is not None
        labels = _labels(model.classes)
        self.labels(model, scores, "label")
        shape = [None] if model.task == "binary" else [None, model.n_outputs]
        self.outputs = [("label", _type_of(labels.dtype), [None]), ("scores", real, shape)]
        if model.task == "binary":
            self.node("Squeeze", scores, self.axis(1), output="scores")
        else:
            self.node("Identity", scores, output="scores")
        if model.logistic:
            self.probabilities(model, scores, "probabilities")
            self.outputs.append(("probabilities", real, [None, len(labels)]))

    def predicted(self, model: Plain, scores: str) -> str:
        """Add what a regression predicts."""
        if not model.exponential:
            return scores
        return self.node("Exp", self.node("Min", scores, self.constant("largest", largest_score(self.dtype.name))))

    def labels(self, model: Plain, scores: str, output: str) -> None:
        """Add the classes of rows."""
        assert model.classes is not None
        classes = self.constant("classes", _labels(model.classes))
        if model.task == "binary":
            positive = self.node("Greater", scores, self.constant("zero", 0.0))
            index = self.node("Squeeze", self.node("Cast", positive, to=_type_of(np.dtype(np.int64))), self.axis(1))
        else:
            index = self.node("ArgMax", scores, axis=1, keepdims=0)
        self.node("Gather", classes, index, output=output)

    def probabilities(self, model: Plain, scores: str, output: str) -> None:
        """Add the classes' probabilities, for the log loss."""
        if model.task == "binary":
            self.node("Sigmoid", self.both_sides(scores), output=output)
        else:
            self.node("Softmax", scores, axis=1, output=output)

    def both_sides(self, scores: str, output: str | None = None) -> str:
        """Scores of two classes: -f and f."""
        return self.node("Concat", self.node("Neg", scores), scores, axis=1, output=output)

    def scores(self, model: Plain, rows: str) -> str:
        """Add the scores, one column per output; large coefficients and votes use float64 in any case."""
        real = self.dtype
        if real == np.float64 or (model.combination != "vote" and _largest(model) <= MOST_FOR_FLOAT32):
            return self.sums(model, rows)
        self.dtype = np.dtype(np.float64)
        scores = self.sums(model, rows if model.columns else self.cast(rows, self.dtype))
        self.dtype = real
        return self.cast(scores, real)

    def sums(self, model: Plain, rows: str) -> str:
        """Add the scores in the graph's type."""
        if model.columns:
            rows = GraphColumns(self, model.columns).rows()
        shift, factor, points = model.shift, model.factor, model.points
        n_points = len(points)
        if n_points == 0:  # an empty matrix cannot be a constant: use a point with coefficient 0
            points = np.zeros((1, model.n_features))
        centre = (shift + points.mean(axis=0) / factor).astype(self.dtype).astype(np.float64)
        moved = (centre - shift) * factor  # the scaled centre
        u = self.node("Sub", rows, self.constant("centre", centre))
        if model.is_scaled:
            u = self.node("Mul", u, self.constant("factor", factor))
        ranked = {curves: self.ranked(curves, i, u, points, moved) for i, curves in enumerate(model.curves)}
        formulas = _Nodes(self, model.least_exponent if model.combination == "vote" else None)
        if model.regions is not None:
            return self.regional(model, rows, ranked, formulas)
        bases = {metric: self.bases(metric, i, *ranked[metric.curves]) for i, metric in enumerate(model.metrics)}
        each = [
            self.function(bases[model.metric_of(function.kernel)], formulas, k, function, model.n_outputs, n_points)
            for k, function in enumerate(model.functions)
        ]
        if model.features is not None:
            features = model.features
            u, _, moved = ranked[model.curves[0]]
            phases = np.mod(features.phases + features.frequencies @ moved, 2 * math.pi)
            angles = self.node("MatMul", u, self.constant("frequencies", features.frequencies.T))
            waves = self.node("Cos", self.node("Add", angles, self.constant("phases", phases)))
            coefficients = features.coefficients.T * math.sqrt(2.0 / len(phases))
            each[0] = self.node(
                "Add", each[0], self.node("MatMul", waves, self.constant("feature_coefficients", coefficients))
            )
        if model.combination == "sum":
            return each[0]
        shares = [
            self.share(model, f, self.constant(f"weight_{k}", model.functions[k].weight)) for k, f in enumerate(each)
        ]
        return self.node("Sum", *shares)

    def regional(self, model: Plain, rows: str, ranked: dict[Any, tuple[str, Floats, Floats]], formulas: _Nodes) -> str:
        """Add the sum over the path: all experts run, and each row has its leaf's weights of them."""
        assert model.regions is not None
        if model.is_scaled:
            moved = self.node("Sub", rows, self.constant("shift", model.shift))
            rows = self.node("Mul", moved, self.constant("region_factor", model.factor))
        masks: list[str] = []
        self.masks(model.regions, rows, None, masks)
        weights = np.zeros((len(masks), len(model.functions)))
        for i, leaf in enumerate(model.regions.leaves):
            for weight, k in leaf.weights:
                weights[i, k] = weight
        held = self.cast(self.node("Concat", *masks, axis=1), self.dtype)
        of_rows = self.node("MatMul", held, self.constant("weights", weights))  # one column per expert
        shares = []
        for k, function in enumerate(model.functions):
            metric = model.metric_of(function.kernel)
            u, points, moved_centre = ranked[metric.curves]
            places = function.places if function.places is not None and len(function.places) else np.zeros(1, np.intp)
            bases = self.bases(metric, k, u, points[places], moved_centre)
            scores = self.function(bases, formulas, k, function, model.n_outputs, function.coefficients.shape[1])
            column = self.node("Gather", of_rows, self.shared(f"column_{k}", np.array([k], np.int64)), axis=1)
            shares.append(self.node("Mul", scores, column))
        return shares[0] if len(shares) == 1 else self.node("Sum", *shares)

    def masks(self, region: PlainRegion, rows: str, within: str | None, found: list[str]) -> None:
        """Add, for each leaf of a region, a column that says which rows it holds."""
        if region.condition is None or region.lower is None or region.upper is None:
            assert within is not None
            found.append(within)
            return
        number = len(self.nodes)
        features = self.shared(f"features_{number}", np.array(region.condition.features, np.int64))
        thresholds = self.constant(f"thresholds_{number}", np.array(region.condition.thresholds))
        beyond = self.node("Greater", self.node("Gather", rows, features, axis=1), thresholds)
        counted = self.node("ReduceSum", self.cast(beyond, self.dtype), self.axis(1), keepdims=1)
        upper = self.node("Greater", counted, self.shared("nothing", np.zeros((), self.dtype)))
        for side, holds in ((region.lower, self.node("Not", upper)), (region.upper, upper)):
            self.masks(side, rows, holds if within is None else self.node("And", within, holds), found)

    def ranked(
        self, curves: tuple[PiecewiseLinear, ...], number: int, u: str, points: Floats, moved: Floats
    ) -> tuple[str, Floats, Floats]:
        """Rows beyond the centre, points and the centre, their features with their ranks."""
        if not curves:
            return u, points, moved
        d, size = points.shape[1], max(len(curve.at) for curve in curves)
        knots, values = np.full((d, size), np.nan), np.zeros((d, size))  # no number reaches NaN
        slopes, starts = np.ones((d, size)), np.zeros((d, size))  # of a feature without ranks, which stays as it is
        centre = Metric(curves=curves).of(moved)
        for j, curve in enumerate(curves):
            n = len(curve.at)
            if n:
                knots[j, : n - 2] = np.array(curve.at[1:-1]) - moved[j]
                starts[j, :n] = np.array(curve.at) - moved[j]
                values[j, :n] = np.array(curve.values) - centre[j]
                slopes[j, : n - 1] = np.diff(curve.values) / np.diff(curve.at)
        inner = self.shared(f"inner_knots_{number}", knots.astype(self.dtype))
        reached = self.node("GreaterOrEqual", self.node("Unsqueeze", u, self.axis(2)), inner)
        index = self.node("Cast", reached, to=_type_of(np.dtype(np.int64)))
        index = self.node("ReduceSum", index, self.axis(2), keepdims=0)
        first = self.shared(f"first_knots_{number}", size * np.arange(d))
        index = self.node("Add", index, first)
        start, value, slope = (
            self.node("Gather", self.constant(f"{name}_{number}", table.ravel()), index)
            for name, table in (("knots", starts), ("knot_values", values), ("slopes", slopes))
        )
        rise = self.node("Mul", slope, self.node("Sub", u, start))
        return self.node("Add", value, rise), Metric(curves=curves).of(points), centre

    def bases(self, metric: Metric, number: int, u: str, points: Floats, moved: Floats) -> _Bases:
        """The base quantities of rows and points whose features are multiplied by the scales of a metric first."""
        if not metric.scales:
            return _Bases(self, u, points, moved, number)
        scales = np.array(metric.scales)
        scaled = self.node("Mul", u, self.constant(f"scales_{number}", scales))
        return _Bases(self, scaled, points * scales, moved * scales, number)

    def function(
        self, bases: _Bases, formulas: _Nodes, k: int, function: KernelFunction, n_outputs: int, n_points: int
    ) -> str:
        """One kernel's scores."""
        kernel_values = function.kernel.of({base: bases.quantity(base) for base in function.kernel.bases}, formulas)
        coefficients = function.coefficients.T if n_points else np.zeros((1, n_outputs))
        sums = self.node("MatMul", kernel_values, self.constant(f"coefficients_{k}", coefficients))
        return self.node("Add", sums, self.constant(f"constants_{k}", function.constants))

    def share(self, model: Plain, scores: str, weight: str) -> str:
        """A kernel's vote, or its part of the mean; a kernel whose scores are all 0 does not vote."""
        if model.combination == "mean":
            return self.node("Mul", scores, weight)
        if model.task == "binary":
            return self.node("Mul", self.node("Sign", scores), weight)
        real = _type_of(self.dtype)
        best = self.node("ArgMax", scores, axis=1, keepdims=1)
        vote = self.node("Equal", best, self.shared("outputs", np.arange(model.n_outputs)))
        size = self.node("ReduceSum", self.node("Abs", scores), self.axis(1), keepdims=1)
        speaks = self.node("Greater", size, self.shared("nothing", np.zeros((), self.dtype)))
        return self.node("Mul", self.node("Cast", self.node("And", vote, speaks), to=real), weight)


class _Nodes:
    """Formulas as nodes of a graph."""

    def __init__(self, graph: _Graph, least_exponent: float | None) -> None:
        self.graph, self.least_exponent = graph, least_exponent

    def number(self, value: float) -> str:
        return self.graph.constant(f"number_{len(self.graph.constants)}", float(value))

    def affine(self, factor: float, value: str, offset: float = 0.0) -> str:
        product = self.graph.node("Mul", value, self.number(factor))
        return self.graph.node("Add", product, self.number(offset)) if offset else product

    def exp(self, value: str) -> str:
        exponential = self.graph.node("Exp", value)
        if self.least_exponent is None:
            return exponential
        lost = self.graph.node("Less", value, self.number(self.least_exponent))
        return self.graph.node("Where", lost, self.number(0.0), exponential)

    def tanh(self, value: str) -> str:
        return self.graph.node("Tanh", value)

    def power(self, value: str, exponent: int) -> str:
        return self.graph.node("Pow", value, self.number(exponent))

    def times(self, value: str, other: str) -> str:
        return self.graph.node("Mul", value, other)

    def total(self, values: Sequence[str]) -> str:
        return values[0] if len(values) == 1 else self.graph.node("Sum", *values)


class _Bases:
    """The base quantities of rows and points, each computed once."""

    def __init__(self, graph: _Graph, u: str, points: Floats, moved: Floats, number: int) -> None:
        self.graph, self.u, self.points, self.moved = graph, u, points, moved
        self.suffix = f"_{number}" if number else ""
        self.names: dict[Base, str] = {}
        self.makers = {Base.SQUARED_DISTANCE: self._square, Base.MANHATTAN: self._manhattan, Base.DOT: self._dot}

    def quantity(self, base: Base) -> str:
        """Return the node of a base quantity, one column per point."""
        if base not in self.names:
            self.names[base] = self.makers[base]()
        return self.names[base]

    def _square(self) -> str:
        graph, near = self.graph, self.points - self.moved
        squares = graph.constant(f"point_squares{self.suffix}", (near**2).sum(axis=1))
        crossed = graph.node("MatMul", self.u, graph.constant(f"points_twice{self.suffix}", -2 * near.T))
        own = graph.node("ReduceSum", graph.node("Mul", self.u, self.u), graph.axis(1), keepdims=1)
        return graph.node("Relu", graph.node("Add", graph.node("Add", own, crossed), squares))

    def _manhattan(self) -> str:
        graph = self.graph
        rows = graph.node("Unsqueeze", self.u, graph.axis(1))
        near = graph.constant(f"points_near{self.suffix}", self.points - self.moved)
        apart = graph.node("Abs", graph.node("Sub", rows, near))
        return graph.node("ReduceSum", apart, graph.axis(2), keepdims=0)

    def _dot(self) -> str:
        graph = self.graph
        products = graph.node("MatMul", self.u, graph.constant(f"points{self.suffix}", self.points.T))
        return graph.node("Add", products, graph.constant(f"point_products{self.suffix}", self.points @ self.moved))


def _largest(model: Plain) -> float:
    """The largest length of an output's coefficients, each times its point's kernel with itself.

    The rounding error of a score is about that many units in the last place.
    """
    lengths = [0.0]
    for function in model.functions:
        squares = ((model.points if function.places is None else model.points[function.places]) ** 2).sum(axis=1)
        own = {Base.SQUARED_DISTANCE: 0 * squares, Base.MANHATTAN: 0 * squares, Base.DOT: squares}
        largest = np.abs(function.kernel.of(own, _AtMost()))
        lengths += np.sqrt(((function.coefficients * largest) ** 2).sum(axis=1)).tolist()
    return max(lengths)


class _AtMost(Arrays):
    """Upper bounds on the formulas, attained at the point itself; for tanh the bound is 1."""

    def tanh(self, value: NDArray[Any]) -> NDArray[Any]:
        return np.ones_like(value)


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels in the types of ONNX: integers (numeric labels are whole numbers), otherwise strings."""
    if classes.dtype.kind in "biuf":
        for label in classes.tolist():
            if not -(2**63) <= label < 2**63:
                raise ValueError(f"ONNX has signed 64-bit labels, and the model has the label {label}")
        return classes.astype(np.int64)
    return np.array([str(label) for label in classes], object)


def _type_of(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a type (TensorProto.DataType)."""
    return {"float32": 1, "int64": 7, "object": 8, "bool": 9, "float64": 11}[dtype.name]


def _content(values: NDArray[Any]) -> tuple[int, list[int], list[Any]]:
    flat = [str(v).encode() for v in values.ravel()] if values.dtype == object else values.ravel().tolist()
    return _type_of(values.dtype), list(values.shape), flat


# -- skl2onnx ----------------------------------------------------------------------------------------------------------


def register_with_skl2onnx() -> None:
    """Teach skl2onnx to convert onkel's estimators, alone or at the end of a scikit-learn pipeline.

    The second output of a classifier is its probabilities if it has the log loss, and otherwise its scores: one column
    per class, -f and f for two classes.

    Examples
    --------
    >>> import numpy as np, onkel, onnxruntime, skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.array([[0.0], [10.0], [20.0], [30.0]]), [0, 0, 1, 1]
    >>> model = make_pipeline(StandardScaler(), onkel.OGDClassifier(gamma=1.0, random_state=0)).fit(X, y)
    >>> onkel.export.register_with_skl2onnx()
    >>> exported = skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": False})
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> session.run(None, {"X": X.astype(np.float32)})[0].tolist()
    [0, 0, 1, 1]
    """
    skl2onnx = needed("skl2onnx", "onnx", "register_with_skl2onnx")
    shapes = needed("skl2onnx.common.shape_calculator", "onnx", "register_with_skl2onnx")
    import onkel._public as public

    for cls in vars(public).values():
        if isinstance(cls, type) and issubclass(cls, KernelEstimator):
            classifies = issubclass(cls, ClassifierBase)
            skl2onnx.update_registered_converter(
                cls,
                f"Onkel{cls.__name__}",
                shapes.calculate_linear_classifier_output_shapes
                if classifies
                else shapes.calculate_linear_regressor_output_shapes,
                _convert,
                options={
                    "zipmap": [True, False, "columns"],
                    "nocl": [True, False],
                    "output_class_labels": [False, True],
                }
                if classifies
                else None,
            )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """The converter that skl2onnx calls: it adds the graph to the container."""
    proto = needed("skl2onnx.proto", "onnx", "conversion").onnx_proto
    model = plain(operator.raw_operator)
    doubles = type(operator.inputs[0].type).__name__ == "DoubleTensorType"
    graph = _Graph("float64" if doubles else "float32", prefix=f"{scope.get_unique_variable_name('onkel')}_")
    rows = graph.node("Cast", operator.inputs[0].full_name, to=proto.TensorProto.DOUBLE if doubles else 1)
    scores = graph.scores(model, rows)
    outputs = [output.full_name for output in operator.outputs]
    if model.task == "regression":
        graph.node("Identity", graph.predicted(model, scores), output=outputs[0])
    else:
        graph.labels(model, scores, outputs[0])
        if model.logistic:
            graph.probabilities(model, scores, outputs[1])
        elif model.task == "binary":
            graph.both_sides(scores, outputs[1])
        else:
            graph.node("Identity", scores, output=outputs[1])
    for name, values in graph.constants.items():
        container.add_initializer(name, *_content(values))
    for op, inputs, output, attributes in graph.nodes:
        container.add_node(op, inputs, [output], name=scope.get_unique_operator_name(op), **attributes)
