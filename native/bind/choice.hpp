// The binding of the search for relevances (see choice/relevances.hpp).
#pragma once

#include <nanobind/nanobind.h>

namespace onkel {

void bind_choice(nanobind::module_& module);

}  // namespace onkel
