// The makers of the rules, one a file.
#pragma once

#include "budget.hpp"

namespace onkel {

std::unique_ptr<Budget> make_stop(const Spec&, const Hold&);

}  // namespace onkel
