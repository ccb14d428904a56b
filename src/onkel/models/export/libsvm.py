"""Models as LIBSVM text, which the official `svm-predict` loads.

LIBSVM decides between each pair of classes i < j with a function over the points listed under i and under j. Here that
function is f_i - f_j, over all points: each is listed under every class but the last, so that a model of C > 2 classes
has C - 1 times as many points there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.inside import inside
from onkel.models.export._plain import Plain, plain
from onkel.parts import LIBSVM_KERNELS, PlainKernel


def to_libsvm(model: object, *, scaled: bool = False) -> str:
    """Return a fitted model as LIBSVM text.

    Its predictions are those of the model, ties aside. With C > 2 classes it contains each point C - 1 times: LIBSVM
    has functions between two classes only.

    Parameters
    ----------
    model : estimator or Learner
        Fitted. What LIBSVM cannot express is refused: other kernels than linear, polynomial, gaussian and sigmoid, sums
        and products of kernels, several kernels, relevances, ranks, random features, scalers, and labels that are not
        integers.

    scaled : bool, default=False
        Whether the rows will be scaled by `svm-scale` with the file of `to_libsvm_range`: only then may the model have
        a scaler.

    Returns
    -------
    str

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDClassifier(gamma=1.0, shuffle=False).fit([[0.0, 2.0], [1.0, 0.0]], [3, 7])
    >>> print(onkel.export.to_libsvm(model), end="")
    svm_type c_svc
    kernel_type rbf
    gamma 1
    nr_class 2
    total_sv 2
    rho 0
    label 7 3
    nr_sv 2 0
    SV
    -0.5 2:2
    0.5 1:1
    """
    plain_model = plain(model)
    if plain_model.exponential:
        raise ValueError("LIBSVM predicts scores, and those of loss='poisson' are logarithms of the predictions")
    weight, kernel, kernel_type = _kernel(plain_model, scaled)
    function = plain_model.functions[0]
    coefficients = weight * function.coefficients
    lines = [f"svm_type {'epsilon_svr' if plain_model.task == 'regression' else 'c_svc'}"]
    lines += [f"kernel_type {kernel_type}", *_numbers(kernel)]
    n = len(plain_model.points)
    if plain_model.task == "multiclass":
        labels, copies = _labels(plain_model), len(_labels(plain_model)) - 1
        rho = [function.constants[j] - function.constants[i] for i, j in _pairs(len(labels))]
        sizes = [n] * copies + [0]
        rows = [row for i in range(copies) for row in _block(coefficients, i)]
    else:
        labels = (
            [] if plain_model.task == "regression" else _labels(plain_model)[::-1]
        )  # a positive score predicts the first
        copies, rho, sizes = 1, [0.0 - function.constants[0]], [n, 0] if labels else []
        rows = list(coefficients.T)
    lines += [f"nr_class {max(2, len(labels))}", f"total_sv {n * copies}", f"rho {_joined(rho)}"]
    if labels:
        lines += [f"label {' '.join(map(str, labels))}", f"nr_sv {' '.join(map(str, sizes))}"]
    lines.append("SV")
    points = [_point(point) for point in plain_model.points] * copies
    lines += [" ".join([_joined(row), *point]) for row, point in zip(rows, points, strict=True)]
    return "\n".join(lines) + "\n"


def to_libsvm_range(model: object) -> str:
    """Return a pipeline's scaler as a file of ranges, which LIBSVM's ``svm-scale -r`` reads.

    Parameters
    ----------
    model : StreamPipeline
        Fitted, with a scaler, or with an encoder of numbers without gaps.

    Returns
    -------
    str

    Examples
    --------
    >>> import onkel
    >>> model = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(gamma=1.0))
    >>> print(onkel.export.to_libsvm_range(model.fit([[0.0], [4.0]], [0, 1])), end="")
    x
    -1 1
    1 0 4
    """
    plain_model = plain(model)
    if not inside(model).transformers:
        raise ValueError("the model has no scaler: its rows need no file of ranges")
    # What lies at shift - 1/factor and shift + 1/factor goes to -1 and 1.
    lines = [
        f"{i + 1} {shift - 1 / factor:.17g} {shift + 1 / factor:.17g}"
        for i, (shift, factor) in enumerate(zip(plain_model.shift, plain_model.factor, strict=True))
    ]
    return "\n".join(["x", "-1 1", *lines]) + "\n"


def _kernel(model: Plain, scaled: bool) -> tuple[float, PlainKernel, str]:
    """The kernel's weight, the kernel and LIBSVM's name for it; what LIBSVM cannot express is refused."""
    if model.combination == "regions":
        raise ValueError("LIBSVM knows no regions, and the model has several; export it as onnx, c or json")
    if model.combination != "sum":
        raise ValueError("LIBSVM knows one kernel, and the model has several; export it as onnx, c or json")
    if model.features is not None:
        raise ValueError("LIBSVM knows no random features, and the model has some; export it as onnx, c or json")
    if model.is_scaled and not scaled:
        raise ValueError(
            "LIBSVM knows no scaler, and the model has one: write it with to_libsvm_range and give scaled=True, or "
            "export the model as onnx, c or json"
        )
    terms = model.functions[0].kernel.terms
    if len(terms) > 1:
        raise ValueError("LIBSVM knows no sums of kernels, and the kernel is one; export it as onnx, c or json")
    weight, factors = terms[0]
    if len(factors) > 1:
        raise ValueError("LIBSVM knows no products of kernels, and the kernel is one; export it as onnx, c or json")
    metric = factors[0].metric
    if not metric.is_plain:
        raise ValueError(
            f"LIBSVM knows no {'relevances' if metric.scales else 'ranks'} of features, and the kernel has some; "
            "export it as onnx, c or json, or learn with kernel='rbf', relevances=None and ranks=None"
        )
    if factors[0].elsewhere is None:
        known = ", ".join(LIBSVM_KERNELS)
        raise ValueError(f"LIBSVM knows the kernels {known}, and the kernel is {factors[0].name}")
    return weight, factors[0], factors[0].elsewhere.libsvm


def _numbers(kernel: PlainKernel) -> list[str]:
    return [f"{name} {value:.17g}" for name, value in sorted(kernel.spec[1].items(), reverse=True)]


def _labels(model: Plain) -> list[int]:
    classes = np.asarray(model.classes)
    if len(classes) < 2:
        raise ValueError(f"LIBSVM needs two classes or more, and the model knows {len(classes)}")
    labels = classes.tolist()
    if classes.dtype.kind not in "biuf" or not all(int(label) == label and abs(label) < 2**31 for label in labels):
        raise ValueError(f"LIBSVM's labels are whole numbers of 32 bits, and the classes are {labels!r}")
    return [int(label) for label in labels]


def _pairs(n_classes: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))


def _block(coefficients: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Coefficients of the points listed under class i, one per decision with a class j: f_i - f_j for j > i, else 0."""
    others = [j for j in range(len(coefficients)) if j != i]
    return np.array([coefficients[i] - coefficients[j] if j > i else 0 * coefficients[i] for j in others]).T


def _point(point: NDArray[np.float64]) -> list[str]:
    return [f"{feature + 1}:{point[feature]:.17g}" for feature in np.flatnonzero(point)]


def _joined(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in values)
