#include "budget.hpp"

#include <cmath>

#include "rules.hpp"

namespace onkel {

std::vector<double> Budget::coefficients(std::size_t slot) const {
  std::vector<double> coefficients(hold_.function.outputs());
  for (std::size_t o = 0; o < coefficients.size(); ++o) coefficients[o] = hold_.function.last_coefficient(slot, o);
  return coefficients;
}

double Budget::weight(std::size_t slot) const {
  double square = 0.0;
  for (const double a : coefficients(slot)) square += a * a;
  return std::sqrt(square);
}

void Budget::evict(std::size_t slot) {
  if (hold_.norm_squared != nullptr) {
    // |f - a k(s, .)|^2 = |f|^2 - 2 a . f(s) + |a|^2 k(s, s)
    std::vector<double> values(hold_.basis.columns());
    Block scratch;
    hold_.basis.row_of(slot, scratch, values);
    for (std::size_t o = 0; o < hold_.function.outputs(); ++o) {
      const double a = hold_.function.last_coefficient(slot, o);
      double f = 0.0;
      for (std::size_t j = 0; j < values.size(); ++j) f += hold_.function.last_coefficient(j, o) * values[j];
      *hold_.norm_squared += a * (a * values[slot] - 2 * f);
    }
  }
  hold_.function.drop(slot);
  hold_.basis.erase(slot);
}

std::unique_ptr<Budget> make_budget(const Spec& spec, const Hold& hold) {
  if (spec.name == "Stop") return make_stop(spec, hold);
  if (spec.name == "ProjectNewcomer") return make_project_newcomer(spec, hold);
  if (spec.name == "AggressiveProjection") return make_aggressive_projection(spec, hold);
  if (spec.name == "AggressiveProjection2008") return make_aggressive_projection(spec, hold);
  if (spec.name == "ProjectCheapest") return make_project_cheapest(spec, hold);
  if (spec.name == "ProjectSmallest") return make_project_smallest(spec, hold);
  if (spec.name == "KOMP") return make_komp(spec, hold);
  if (spec.name == "RandomPruning") return make_random_pruning(spec, hold);
  unknown_part("budget rule", spec);
}

}  // namespace onkel
