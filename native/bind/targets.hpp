// The binding of the encoding of categories by their targets (see io/targets.hpp).
#pragma once

#include <nanobind/nanobind.h>

namespace onkel {

void bind_targets(nanobind::module_& module);

}  // namespace onkel
