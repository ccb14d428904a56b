#pragma once

#include <nanobind/nanobind.h>

namespace onkel {

// Span, RowSums, Precision, slope_keys and choose_points of the Python module.
void bind_spans(nanobind::module_& m);

}  // namespace onkel
