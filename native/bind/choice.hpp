// What the rows decide about a kernel (see choice/relevances.hpp), for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace onkel {

void bind_choice(nanobind::module_& module);

}  // namespace onkel
