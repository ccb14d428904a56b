// The binding of the search for relevances (see search/relevances.hpp).
#pragma once

#include <nanobind/nanobind.h>

namespace onkel {

void bind_search(nanobind::module_& module);

}  // namespace onkel
