#include "budget.hpp"

#include <algorithm>

#include "rules.hpp"

namespace onkel {

std::vector<double> Budget::coefficients(std::size_t slot) const {
  std::vector<double> coefficients(hold_.function.outputs());
  for (std::size_t o = 0; o < coefficients.size(); ++o) coefficients[o] = hold_.function.last_coefficient(slot, o);
  return coefficients;
}

const std::vector<double>& Budget::score(std::size_t slot) {
  scores_.resize(hold_.function.outputs());
  hold_.basis.tile_point(slot, block_);
  hold_.function.score(hold_.basis, block_, 0, scores_, {});
  return scores_;
}

std::size_t Budget::old_point(std::size_t rank, std::size_t newest) const {
  const Basis& basis = hold_.basis;
  std::size_t slot = basis.first_slot();
  if (basis.size() == basis.end_slot() - slot) return slot + rank + (slot + rank >= newest ? 1 : 0);
  for (;; ++slot)
    if (slot != newest && basis.alive(slot) && rank-- == 0) return slot;
}

void Budget::squares(std::vector<double>& squares) const {
  squares.resize(hold_.basis.end_slot() - hold_.basis.first_slot());
  hold_.function.squares(hold_.basis.first_slot(), squares);
}

void Budget::exclude(std::span<double> costs, std::size_t except) const {
  const std::size_t first = hold_.basis.first_slot();
  if (hold_.basis.size() < costs.size())  // holes or ghosts among them
    for (std::size_t j = 0; j < costs.size(); ++j)
      if (!hold_.basis.alive(first + j)) costs[j] = infinite;
  if (except != nobody) costs[except - first] = infinite;
}

std::size_t Budget::cheapest(std::span<double> costs, std::size_t except) const {
  exclude(costs, except);
  const double least = isa::routines<double>().least(costs.data(), costs.size());
  const auto found = std::find(costs.begin(), costs.end(), least);
  if (found == costs.end() || *found == infinite) return old_point(0, except);
  return hold_.basis.first_slot() + static_cast<std::size_t>(found - costs.begin());
}

std::size_t Budget::smallest(std::size_t except) {
  constexpr double equal = 1 + 1e-9;
  const std::size_t first = hold_.basis.first_slot();
  squares(norms_);
  const auto diagonal = hold_.basis.diagonal();
  for (std::size_t j = 0; j < norms_.size(); ++j) norms_[j] *= diagonal[j];
  std::size_t found = cheapest(norms_, except);
  const double most = equal * norms_[found - first];
  for (std::size_t j = 0; j < norms_.size(); ++j)
    if (norms_[j] <= most && hold_.basis.born(first + j) < hold_.basis.born(found)) found = first + j;
  return found;
}

void Budget::evict(std::size_t slot) {
  if (hold_.norm_squared != nullptr) {
    // |f - a k(s, .)|^2 = |f|^2 - 2 a . f(s) + |a|^2 k(s, s)
    const auto& f = score(slot);
    for (std::size_t o = 0; o < f.size(); ++o) {
      const double a = hold_.function.last_coefficient(slot, o);
      *hold_.norm_squared += a * (a * hold_.basis.diagonal(slot) - 2 * f[o]);
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
  if (spec.name == "ProjectOnNearest") return make_project_on_nearest(spec, hold);
  if (spec.name == "GrowAtRandom") return make_grow_at_random(spec, hold);
  if (spec.name == "GrowAtRandomOrProject") return make_grow_at_random(spec, hold);
  if (spec.name == "MoveIntoFeatures") return make_move_into_features(spec, hold);
  if (spec.name == "ProjectNewcomer") return make_project_newcomer(spec, hold);
  if (spec.name == "AggressiveProjection") return make_aggressive_projection(spec, hold);
  if (spec.name == "AggressiveProjection2008") return make_aggressive_projection(spec, hold);
  if (spec.name == "ProjectCheapest") return make_project_cheapest(spec, hold);
  if (spec.name == "ProjectSmallest") return make_project_smallest(spec, hold);
  if (spec.name == "KOMP") return make_komp(spec, hold);
  if (spec.name == "RandomPruning") return make_random_pruning(spec, hold);
  unknown_part("budget rule", spec);
}

std::size_t features_asked(const Spec& budget) {
  return budget.name == "MoveIntoFeatures" ? static_cast<std::size_t>(budget.at("n_components")) : 0;
}

}  // namespace onkel
