// The enumerations whose values have a name outside the core.
#pragma once

#include <string>

#include "loop/config.hpp"
#include "loop/spec.hpp"

namespace onkel {

// Each throws std::invalid_argument for a name that it does not know.
Task task_named(const std::string& name);
Kernel kernel_named(const Spec& spec);
Combination combination_named(const std::string& name);

}  // namespace onkel
