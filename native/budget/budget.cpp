#include "budget.hpp"

#include "rules.hpp"

namespace onkel {

std::vector<double> Budget::coefficients(std::size_t slot) const {
  std::vector<double> coefficients(hold_.function.outputs());
  for (std::size_t o = 0; o < coefficients.size(); ++o) coefficients[o] = hold_.function.last_coefficient(slot, o);
  return coefficients;
}

double Budget::score(std::span<const double> values, std::size_t output) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < values.size(); ++j) sum += hold_.function.last_coefficient(j, output) * values[j];
  return sum;
}

const std::vector<double>& Budget::squares() {
  squares_.resize(hold_.basis.end_slot() - hold_.basis.first_slot());
  hold_.function.squares(hold_.basis.first_slot(), squares_);
  return squares_;
}

std::size_t Budget::smallest(std::size_t except) {
  constexpr double equal = 1 + 1e-9;
  const auto& square = squares();
  const auto norm = [&](std::size_t slot) {
    return square[slot - hold_.basis.first_slot()] * hold_.basis.diagonal(slot);
  };
  const double most = equal * norm(cheapest(norm, except));
  const auto age = [&](std::size_t slot) {
    return norm(slot) <= most ? static_cast<double>(hold_.basis.born(slot)) : std::numeric_limits<double>::infinity();
  };
  return cheapest(age, except);
}

void Budget::evict(std::size_t slot) {
  if (hold_.norm_squared != nullptr) {
    // |f - a k(s, .)|^2 = |f|^2 - 2 a . f(s) + |a|^2 k(s, s)
    std::vector<double> values(hold_.basis.columns());
    Block scratch;
    hold_.basis.row_of(slot, scratch, values);
    for (std::size_t o = 0; o < hold_.function.outputs(); ++o) {
      const double a = hold_.function.last_coefficient(slot, o);
      *hold_.norm_squared += a * (a * values[slot] - 2 * score(values, o));
    }
  }
  hold_.function.drop(slot);
  hold_.basis.erase(slot, !hold_.function.silent(slot));
}

void Budget::scale(double factor) {
  hold_.function.scale(factor);
  if (hold_.norm_squared != nullptr) *hold_.norm_squared *= factor * factor;
}

std::unique_ptr<Budget> make_budget(const Spec& spec, const Hold& hold) {
  if (spec.name == "Stop") return make_stop(spec, hold);
  if (spec.name == "RemoveRandom") return make_remove_random(spec, hold);
  if (spec.name == "RemoveOldest") return make_remove_oldest(spec, hold);
  if (spec.name == "RemoveSmallest") return make_remove_smallest(spec, hold);
  if (spec.name == "Forget") return make_forget(spec, hold);
  if (spec.name == "ProjectOnNewcomer") return make_project_on_newcomer(spec, hold);
  if (spec.name == "ProjectOnNeighbour") return make_project_on_neighbour(spec, hold);
  if (spec.name == "ResampleUniformly") return make_resample(spec, hold, false);
  if (spec.name == "ResampleByWeight") return make_resample(spec, hold, true);
  if (spec.name == "Merge") return make_merge(spec, hold);
  if (spec.name == "GrowAtRandom") return make_grow_at_random(spec, hold);
  if (spec.name == "MoveIntoFeatures") return make_move_into_features(spec, hold);
  unknown_part("budget rule", spec);
}

std::size_t features_asked(const Spec& budget) {
  return budget.name == "MoveIntoFeatures" ? static_cast<std::size_t>(budget.at("n_components")) : 0;
}

}  // namespace onkel
