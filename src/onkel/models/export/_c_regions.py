"""Regions in a C header: nested comparisons, so that only the experts of a row's path run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onkel.models.export._plain import KernelFunction, PlainRegion

if TYPE_CHECKING:
    from onkel.models.export.c import _Header


def regional_scores(header: _Header) -> list[str]:
    """Return the functions of the experts, and the one that computes the scores."""
    model = header.model
    assert model.regions is not None
    lines = [line for k, function in enumerate(model.functions) for line in _expert(header, k, function)]
    return [
        *lines,
        *header.head(),
        f"  {header.work} z_[{model.n_features}], f[{model.n_outputs}];",
        "  int j, o;",
        *header.seen(apart=True),
        f"  for (o = 0; o < {model.n_outputs}; ++o) scores[o] = 0;",
        *_region(header, model.regions, "  "),
        "}",
    ]


def _expert(header: _Header, k: int, function: KernelFunction) -> list[str]:
    """The function of one expert, of its own points."""
    model = header.model
    metric = model.metric_of(function.kernel)
    row = header.row(model.curves.index(metric.curves))
    lines = [f"static inline void {header.p}_expert_{k}(const {header.work} *{row}, {header.work} *f) {{"]
    n = 0 if function.places is None else len(function.places)
    if n > 0:
        names = {
            base: found
            for base, found in header.bases(model.metrics.index(metric), metric).items()
            if base in function.kernel.bases
        }
        lines.append("  int i, j, n, o;")
        lines += _constants(header, function)
        lines.append(f"  for (n = 0; n < {n}; ++n) {{")
        lines.append(f"    {header.work} {', '.join(f'{name} = 0' for name, _ in names.values())}, k;")
        lines.append(f"    i = {header.p}_places_{k}[n];")
        lines.append(f"    for (j = 0; j < {model.n_features}; ++j) {{")
        lines += [f"      {name} += {share};" for name, share in names.values()]
        lines.append("    }")
        lines.append(f"    k = {header.value(function, {base: name for base, (name, _) in names.items()})};")
        lines.append(f"    for (o = 0; o < {model.n_outputs}; ++o) f[o] += {header.p}_coefficients_{k}[n][o] * k;")
        return [*lines, "  }", "}", ""]
    return [*lines, *_constants(header, function), f"  (void){row};", "}", ""]


def _constants(header: _Header, function: KernelFunction) -> list[str]:
    return [f"  f[{o}] = {header.number(constant)};" for o, constant in enumerate(function.constants)]


def _region(header: _Header, region: PlainRegion, indent: str) -> list[str]:
    """The scores of rows of a region."""
    model, inner = header.model, indent + "  "
    if region.condition is not None and region.lower is not None and region.upper is not None:
        pairs = zip(region.condition.features, region.condition.thresholds, strict=True)
        holds = " && ".join(f"z_[{j}] <= {header.number(threshold)}" for j, threshold in pairs)
        lower, upper = (_region(header, side, inner) for side in (region.lower, region.upper))
        return [f"{indent}if ({holds}) {{", *lower, f"{indent}}} else {{", *upper, f"{indent}}}"]
    lines = []
    for weight, k in region.weights:
        row = header.row(model.curves.index(model.metric_of(model.functions[k].kernel).curves))
        lines.append(f"{indent}{header.p}_expert_{k}({row}, f);")
        lines.append(f"{indent}for (o = 0; o < {model.n_outputs}; ++o) scores[o] += {header.number(weight)} * f[o];")
    return lines
