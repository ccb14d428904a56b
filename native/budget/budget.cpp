#include "budget.hpp"

#include "rules.hpp"

namespace onkel {

std::unique_ptr<Budget> make_budget(const Spec& spec, const Hold& hold) {
  if (spec.name == "Stop") return make_stop(spec, hold);
  unknown_part("budget rule", spec);
}

}  // namespace onkel
