"""Models as one C99 header: constants and a few functions, no allocation, nothing but <math.h>."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.models.export._c_columns import HeaderColumns
from onkel.models.export._c_regions import regional_scores
from onkel.models.export._plain import KernelFunction, Plain, largest_score, plain
from onkel.parts.kernels import Base
from onkel.parts.metric import Metric, PiecewiseLinear
from onkel.utils.validation import check_choice, check_number

FLOAT_MAX = 3.4028234e38

# The base quantities of two rows: the name, and what a feature adds to it.
_BASES = {
    Base.SQUARED_DISTANCE: ("square", "({z}[j] - {p}[i][j]) * ({z}[j] - {p}[i][j])"),
    Base.MANHATTAN: ("manhattan", "fabs{s}({z}[j] - {p}[i][j])"),
    Base.DOT: ("dot", "{z}[j] * {p}[i][j]"),
}


def to_c(model: object, *, name: str = "model", dtype: str | None = None, batch: int | None = None) -> str:
    """Return a fitted model as a C99 header.

    It defines ``<name>_scores(x, scores)`` and, for a classifier, ``<name>_predict(x)``, the index of the class, and
    ``<name>_classes``; for a regression ``<name>_predict(x)`` is the prediction. Where there are probabilities,
    ``<name>_probabilities(x, p)`` writes one per class. Nothing is allocated: the stack holds one scaled row and the
    scores. Numbers are written as short as possible, exact to the bit.

    With a `StreamEncoder`, ``<name>_row`` is a struct with the columns of the table, and ``<name>_encode(row, x)``
    computes from it the numbers that all other functions take; ``<name>_code_<column>(text)`` is the code of a
    category.

    Parameters
    ----------
    model : estimator, StreamPipeline, PlattClassifier or Learner
        Fitted; Platt's sigmoids, the scaler and the encoder become part of the header. A callable kernel is refused.
    name : str, default="model"
        Prefix of the names in the header.
    dtype : {"float64", "float32"}, default=None
        Type of the rows, the scores and the arithmetic, double or float. None means the type of the rows that the model
        learned from. Kernels that vote are always computed in double, since a vote depends on the sign of a function,
        however small.
    batch : int, default=None
        Also define ``<name>_scores_batch(x, scores)`` for this number of consecutive rows.

    Returns
    -------
    str

    Examples
    --------
    >>> import onkel
    >>> model = onkel.SPAClassifier(gamma=1.0, shuffle=False).fit([[0.0], [1.0]], ["no", "yes"])
    >>> print(*(line for line in onkel.export.to_c(model).splitlines() if line.startswith("static inline")), sep="\\n")
    static inline void model_scores(const double *x, double *scores) {
    static inline int model_predict(const double *x) {
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be letters, digits and underscores, a letter first, got {name!r}")
    plain_model = plain(model, takes_sigmoids=True, takes_tables=True)
    dtype = plain_model.dtype if dtype is None else dtype
    check_choice("dtype", dtype, ("float64", "float32"))
    if batch is not None:
        check_number("batch", batch, at_least=1, at_most=2**20, integer=True)
    return _Header(plain_model, name, dtype, batch).text()


class _Header:
    def __init__(self, model: Plain, prefix: str, dtype: str, batch: int | None) -> None:
        self.model, self.p, self.batch = model, prefix, batch
        self.real = "double" if dtype == "float64" else "float"  # rows and scores
        self.work, self.s = ("float", "f") if dtype == "float32" and model.combination != "vote" else ("double", "")
        self.points = len(model.points)
        self.rest = (self.rounded(model.shift) - model.shift) * model.factor  # what the shifts lose by rounding
        self.columns = HeaderColumns(self, model.columns)

    def text(self) -> str:
        model, p = self.model, self.p
        guard = f"{p.upper()}_H"
        lines = [
            "/* A model of onkel: one header, C99, no allocation. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            *self.columns.includes(),
            "#include <math.h>",
            "",
            f"#define {p.upper()}_N_FEATURES {model.n_features}",
            f"#define {p.upper()}_N_SCORES {model.n_outputs}",
            "",
        ]
        if model.classes is not None:
            lines.append(self.classes(model.classes))
        if model.is_scaled:
            lines += [self.array("shift", model.shift), self.array("factor", model.factor)]
            if self.rest.any():
                lines.append(self.array("rest", self.rest))
        if self.points:
            for r, curves in enumerate(model.curves):
                lines.append(self.array(f"points{r or ''}", Metric(curves=curves).of(model.points)))
            for k, function in enumerate(model.functions):
                if function.coefficients.size:
                    lines.append(self.array(f"coefficients_{k}", function.coefficients.T))
                if function.places is not None:
                    lines.append(self.places(k, function.places))
            for g, metric in enumerate(model.metrics):
                if metric.scales:
                    lines.append(self.array(f"scales_{g}", np.array(metric.scales)))
        if model.features is not None:
            features = model.features
            scaled = features.coefficients.T * math.sqrt(2.0 / len(features.phases))
            named = {"frequencies": features.frequencies, "phases": features.phases, "feature_coefficients": scaled}
            lines += [self.array(name, values) for name, values in named.items()]
        lines.append("")
        lines += self.columns.lines() if model.columns else []
        for r, curves in enumerate(model.curves):
            lines += [*self.ranks(r, curves), ""] if curves else []
        lines += regional_scores(self) if model.regions is not None else self.scores()
        lines += ["", *self.predict()]
        if model.sigmoids is not None or (model.logistic and model.task != "regression"):
            lines += ["", *self.probabilities()]
        if self.batch is not None:
            lines += ["", *self.scores_of_batch(self.batch)]
        lines += ["", "#endif", ""]
        return "\n".join(lines)

    # -- constants

    def rounded(self, values: object) -> NDArray[np.float64]:
        """Return values as they are read back from constants."""
        return np.asarray(values, np.float32 if self.s else np.float64).astype(np.float64)

    def number(self, value: float) -> str:
        rounded = float(value) if not self.s or abs(value) > FLOAT_MAX else float(np.float32(value))
        if self.s and abs(rounded) > FLOAT_MAX:
            raise ValueError(f"the model holds {value!r}, which does not fit float32: use dtype='float64'")
        return _shortest(np.float32(rounded) if self.s else np.float64(rounded)) + self.s

    def array(self, name: str, values: NDArray[np.float64]) -> str:
        shape = "".join(f"[{n}]" for n in values.shape)
        return f"static const {self.work} {self.p}_{name}{shape} = {self.braced(values)};"

    def braced(self, values: NDArray[np.float64]) -> str:
        if values.ndim == 1:
            return "{" + ", ".join(self.number(value) for value in values) + "}"
        return "{\n" + ",\n".join(f"  {self.braced(row)}" for row in values) + "}"

    def places(self, k: int, places: NDArray[np.intp]) -> str:
        texts = ", ".join(map(str, places.tolist())) or "0"
        return f"static const int {self.p}_places_{k}[{max(1, len(places))}] = {{{texts}}};"

    def classes(self, classes: NDArray[Any]) -> str:
        if classes.dtype.kind in "biu":
            kind, texts = _integers([int(label) for label in classes])
        elif classes.dtype.kind == "f":
            kind, texts = "double", [repr(float(label)) for label in classes]
        else:
            kind, texts = "char *const", [quoted(str(label)) for label in classes]
        return f"static const {kind} {self.p}_classes[{len(texts)}] = {{{', '.join(texts)}}};"

    # -- code

    def scores(self) -> list[str]:
        """The function that computes the scores."""
        model, outputs = self.model, self.model.n_outputs
        several = model.combination != "sum"
        lines = self.head()
        for k, function in enumerate(model.functions):
            start = ", ".join(self.number(constant) for constant in function.constants)
            lines.append(f"  {self.work} f{k}[{outputs}] = {{{start}}};")
        lines += ["  int i, j, o;", *self.seen()]
        if self.points:
            lines += self.expansion()
        if model.features is not None:
            lines += self.random_features(len(model.features.phases))
        if not several:
            lines.append(f"  for (o = 0; o < {outputs}; ++o) scores[o] = f0[o];")
        else:
            lines.append(f"  for (o = 0; o < {outputs}; ++o) scores[o] = 0;")
            for k, function in enumerate(model.functions):
                lines += self.vote(k, function)
        if not self.points and model.features is None:
            lines.append("  (void)z;")
            lines.append("  (void)i;")
        return [*lines, "}"]

    def head(self) -> list[str]:
        """The first lines of the function that computes the scores."""
        n, rows = self.model.n_features, range(len(self.model.curves))
        what = "The logarithm of the prediction for" if self.model.exponential else "The prediction for"
        return [
            f"/* {what if self.model.task == 'regression' else 'Decision values of'} a row. */",
            f"static inline void {self.p}_scores(const {self.real} *x, {self.real} *scores) {{",
            f"  {self.work} {', '.join(f'{self.row(r)}[{n}]' for r in rows)};",
        ]

    def seen(self, apart: bool = False) -> list[str]:
        """The row, scaled, and as kernels see it; where the two are kept apart, the former is `z_`."""
        model, p, n = self.model, self.p, self.model.n_features
        scaled = f"(x[j] - {p}_shift[j]) * {p}_factor[j]" if model.is_scaled else "x[j]"
        scaled += f" + {p}_rest[j]" if self.rest.any() else ""
        row = "z_" if apart else "z"
        lines = [f"  for (j = 0; j < {n}; ++j) {row}[j] = {scaled};"]
        for r, curves in reversed(list(enumerate(model.curves))):
            if curves:
                lines.append(f"  for (j = 0; j < {n}; ++j) {self.row(r)}[j] = {p}_ranked{r or ''}(j, {row}[j]);")
            elif apart:
                lines.append(f"  for (j = 0; j < {n}; ++j) {self.row(r)}[j] = {row}[j];")
        return lines

    def expansion(self) -> list[str]:
        model = self.model
        groups = {metric: self.bases(g, metric) for g, metric in enumerate(model.metrics)}
        every = {name: share for group in groups.values() for name, share in group.values()}
        lines = [f"  for (i = 0; i < {self.points}; ++i) {{"]
        lines.append(f"    {self.work} {', '.join(f'{name} = 0' for name in every)}, k;")
        lines.append(f"    for (j = 0; j < {model.n_features}; ++j) {{")
        lines += [f"      {name} += {share};" for name, share in every.items()]
        lines.append("    }")
        for k, function in enumerate(model.functions):
            names = {base: name for base, (name, _) in groups[model.metric_of(function.kernel)].items()}
            lines.append(f"    k = {self.value(function, names)};")
            lines.append(f"    for (o = 0; o < {model.n_outputs}; ++o) f{k}[o] += {self.p}_coefficients_{k}[i][o] * k;")
        return [*lines, "  }"]

    def value(self, function: KernelFunction, names: dict[Base, str]) -> str:
        """A kernel value, from the names of its base quantities."""
        value: str = function.kernel.of(names, _Expressions(self))
        return value

    def row(self, r: int) -> str:
        """What a row is called as kernels see it that rank its features in one way."""
        return f"z{r or ''}"

    def ranks(self, r: int, curves: tuple[PiecewiseLinear, ...]) -> list[str]:
        """The function that puts a feature and its rank together, and its knots."""
        p, suffix = self.p, r or ""
        first = np.cumsum([0, *(len(curve.at) for curve in curves)]).tolist()
        knots = [knot for curve in curves for knot in curve.at]
        values = [value for curve in curves for value in curve.values]
        slopes = [
            slope
            for curve in curves
            if curve.at
            for slope in [*(np.diff(curve.values) / np.diff(curve.at)).tolist(), 0.0]
        ]
        return [
            f"static const int {p}_first_knots{suffix}[{len(first)}] = {{{', '.join(map(str, first))}}};",
            self.array(f"knots{suffix}", np.array(knots)),
            self.array(f"knot_values{suffix}", np.array(values)),
            self.array(f"slopes{suffix}", np.array(slopes)),
            "/* A feature with its rank. */",
            f"static inline {self.work} {p}_ranked{suffix}(int j, {self.work} z) {{",
            f"  int first = {p}_first_knots{suffix}[j], last = {p}_first_knots{suffix}[j + 1] - 1, middle;",
            "  if (last < first) return z;",
            "  while (last - first > 1) {",
            "    middle = (first + last) / 2;",
            f"    if (z < {p}_knots{suffix}[middle])",
            "      last = middle;",
            "    else",
            "      first = middle;",
            "  }",
            f"  return {p}_knot_values{suffix}[first] + {p}_slopes{suffix}[first] * (z - {p}_knots{suffix}[first]);",
            "}",
        ]

    def bases(self, group: int, metric: Metric) -> dict[Base, tuple[str, str]]:
        """The base quantities of the kernels with this metric: what each is called, and what a feature adds to it."""
        functions = [function for function in self.model.functions if self.model.metric_of(function.kernel) == metric]
        r = self.model.curves.index(metric.curves)
        found = {}
        for base, (name, share) in _BASES.items():
            if not any(base in function.kernel.bases for function in functions):
                continue
            share = share.format(p=f"{self.p}_points{r or ''}", z=self.row(r), s=self.s)
            if metric.scales:
                factor = f"{self.p}_scales_{group}[j]"
                share = " * ".join([factor] * base.power + [share])
            found[base] = (f"{name}{group or ''}", share)
        return found

    def random_features(self, count: int) -> list[str]:
        p, n = self.p, self.model.n_features
        return [
            f"  for (i = 0; i < {count}; ++i) {{",
            f"    {self.work} angle = {p}_phases[i];",
            f"    for (j = 0; j < {n}; ++j) angle += {p}_frequencies[i][j] * {self.row(0)}[j];",
            f"    angle = cos{self.s}(angle);",
            f"    for (o = 0; o < {self.model.n_outputs}; ++o) f0[o] += {p}_feature_coefficients[i][o] * angle;",
            "  }",
        ]

    def vote(self, k: int, function: KernelFunction) -> list[str]:
        """Add a kernel's vote, or its part of the mean; a kernel whose scores are all 0 does not vote."""
        weight, outputs = self.number(function.weight), self.model.n_outputs
        if self.model.combination == "mean":
            return [f"  for (o = 0; o < {outputs}; ++o) scores[o] += {weight} * f{k}[o];"]
        if self.model.task == "binary":
            return [f"  scores[0] += f{k}[0] > 0 ? {weight} : f{k}[0] < 0 ? -{weight} : 0;"]
        return [
            "  {",
            "    int best = 0, speaks = 0;",
            f"    for (o = 0; o < {outputs}; ++o) {{",
            f"      if (f{k}[o] > f{k}[best]) best = o;",
            f"      if (f{k}[o] != 0) speaks = 1;",
            "    }",
            f"    if (speaks) scores[best] += {weight};",
            "  }",
        ]

    def predict(self) -> list[str]:
        """The function that computes a prediction from the scores."""
        p, real, outputs = self.p, self.real, self.model.n_outputs
        open_ = [f"  {real} scores[{outputs}];", f"  {p}_scores(x, scores);"]
        if self.model.task == "regression":
            top = f"{largest_score('float32' if self.s else 'float64'):.1f}{self.s}"
            value = f"exp{self.s}(scores[0] < {top} ? scores[0] : {top})" if self.model.exponential else "scores[0]"
            return [f"static inline {real} {p}_predict(const {real} *x) {{", *open_, f"  return {value};", "}"]
        head = [
            f"/* The class of a row: its index in {p}_classes. */",
            f"static inline int {p}_predict(const {real} *x) {{",
        ]
        if self.model.sigmoids is not None:
            return [*head, *self.calibrated_class(), "}"]
        if self.model.task == "binary":
            return [*head, *open_, "  return scores[0] > 0;", "}"]
        return [
            *head,
            "  int o, best = 0;",
            *open_,
            f"  for (o = 1; o < {outputs}; ++o)",
            "    if (scores[o] > scores[best]) best = o;",
            "  return best;",
            "}",
        ]

    def calibrated(self) -> list[str]:
        """Lines that turn scores into log odds: Platt's sigmoids, each of the margin of a class over the best other."""
        p, outputs, sigmoids = self.p, self.model.n_outputs, self.model.sigmoids
        lines = [f"  {self.real} scores[{outputs}];", f"  {self.work} z[{outputs}];"]
        if sigmoids is None:
            return [*lines, f"  {p}_scores(x, scores);", f"  for (o = 0; o < {outputs}; ++o) z[o] = scores[o];"]
        slopes, offsets = (self.braced(column) for column in sigmoids.T)
        lines.append(f"  static const {self.work} a[{outputs}] = {slopes}, b[{outputs}] = {offsets};")
        if outputs == 1:
            return [*lines, f"  {p}_scores(x, scores);", "  for (o = 0; o < 1; ++o) z[o] = a[o] * scores[o] + b[o];"]
        return [
            *lines,
            "  int first = 0, second = -1;",
            f"  {p}_scores(x, scores);",
            f"  for (o = 1; o < {outputs}; ++o)",
            "    if (scores[o] > scores[first]) first = o;",
            f"  for (o = 0; o < {outputs}; ++o)",
            "    if (o != first && (second < 0 || scores[o] > scores[second])) second = o;",
            f"  for (o = 0; o < {outputs}; ++o)",
            "    z[o] = a[o] * (scores[o] - scores[o == first ? second : first]) + b[o];",
        ]

    def calibrated_class(self) -> list[str]:
        outputs = self.model.n_outputs
        best = "  return z[0] > 0;" if outputs == 1 else "  return best;"
        search = [f"  for (o = 1; o < {outputs}; ++o)", "    if (z[o] > z[best]) best = o;"] if outputs > 1 else []
        return ["  int o" + (", best = 0;" if outputs > 1 else ";"), *self.calibrated(), *search, best]

    def probabilities(self) -> list[str]:
        """The function that computes probabilities from the scores."""
        p, real, outputs, s = self.p, self.real, self.model.n_outputs, self.s
        head = [
            "/* The probability of each class of a row. */",
            f"static inline void {p}_probabilities(const {real} *x, {real} *probabilities) {{",
            "  int o;",
        ]
        if outputs == 1:
            one = _shortest(np.float64(1.0)) + s
            sides = [
                f"  probabilities[{side}] = {one} / ({one} + exp{s}({sign}z[0]));" for side, sign in ((0, ""), (1, "-"))
            ]
            return [*head, *self.calibrated(), *sides, "}"]
        logistic = [
            f"  for (o = 0; o < {outputs}; ++o)",
            f"    z[o] = z[o] < 0 ? z[o] - log1p{s}(exp{s}(z[o])) : -log1p{s}(exp{s}(-z[o]));",
        ]
        return [
            *head,
            f"  {self.work} top, total = 0;",
            *self.calibrated(),
            *(logistic if self.model.sigmoids is not None else []),
            "  top = z[0];",
            f"  for (o = 1; o < {outputs}; ++o)",
            "    if (z[o] > top) top = z[o];",
            f"  for (o = 0; o < {outputs}; ++o) total += z[o] = exp{s}(z[o] - top);",
            f"  for (o = 0; o < {outputs}; ++o) probabilities[o] = z[o] / total;",
            "}",
        ]

    def scores_of_batch(self, rows: int) -> list[str]:
        """The function that computes the scores of a fixed number of rows."""
        p, real = self.p, self.real
        return [
            f"#define {p.upper()}_BATCH {rows}",
            f"/* Scores of {rows} rows, one behind the other. */",
            f"static inline void {p}_scores_batch(const {real} *x, {real} *scores) {{",
            "  int row;",
            f"  for (row = 0; row < {rows}; ++row)",
            f"    {p}_scores(x + row * {self.model.n_features}, scores + row * {self.model.n_outputs});",
            "}",
        ]


def _shortest(value: np.floating[Any]) -> str:
    """The shortest text that a C compiler reads back to the bit, as a number of the value's type.

    >>> _shortest(np.float32(0.1)), _shortest(np.float64(-1.0)), _shortest(np.float64(2.5e-7))
    ('.1', '-1.', '2.5e-7')
    """
    digits, e, exponent = str(value).partition("e")
    if digits.endswith(".0"):
        digits = digits[:-1]
    if digits.lstrip("-").startswith("0.") and len(digits.lstrip("-")) > 2:
        digits = digits.replace("0.", ".", 1)
    if not e:
        return digits if "." in digits else digits + "."
    return f"{digits.rstrip('.')}e{int(exponent)}"


class _Expressions:
    """Formulas as expressions of C: each is a call, a product, a name, or in parentheses."""

    def __init__(self, header: _Header) -> None:
        self.number, self.s = header.number, header.s
        self.least = header.model.least_exponent if header.model.combination == "vote" else None

    def affine(self, factor: float, value: str, offset: float = 0.0) -> str:
        product = f"{self.number(factor)} * {value}"
        return f"({product} + {self.number(offset)})" if offset else product

    def exp(self, value: str) -> str:
        exponential = f"exp{self.s}({value})"
        return exponential if self.least is None else f"({value} < {self.number(self.least)} ? 0 : {exponential})"

    def tanh(self, value: str) -> str:
        return f"tanh{self.s}({value})"

    def power(self, value: str, exponent: int) -> str:
        return f"pow{self.s}({value}, {self.number(exponent)})"

    def times(self, value: str, other: str) -> str:
        return f"{value} * {other}"

    def total(self, values: Sequence[str]) -> str:
        return " + ".join(values)


def _integers(labels: list[int]) -> tuple[str, list[str]]:
    """The narrowest C type that holds the labels on every machine, and the labels as its constants."""
    least = -(2**63)
    if all(abs(label) < 2**31 for label in labels):
        return "long", [str(label) for label in labels]
    if min(labels) >= 0:
        return "unsigned long long", [f"{label}ULL" for label in labels]
    return "long long", [f"{label}LL" if label > least else f"({least + 1}LL - 1)" for label in labels]


def quoted(text: str) -> str:
    """Return a C string literal, with octal escapes of three digits for everything that is not plain."""
    plain = (c if 32 <= ord(c) < 127 and c not in '"\\?' else None for c in text)
    pieces = (c if c is not None else "".join(f"\\{b:03o}" for b in text[i].encode()) for i, c in enumerate(plain))
    return f'"{"".join(pieces)}"'
