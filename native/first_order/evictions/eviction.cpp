#include "first_order/evictions/eviction.hpp"

#include <algorithm>

#include "first_order/evictions/rules.hpp"

namespace onkel {

std::vector<double> Eviction::coefficients(std::size_t slot) const {
  std::vector<double> coefficients(context_.function.outputs());
  for (std::size_t o = 0; o < coefficients.size(); ++o) coefficients[o] = context_.function.last_coefficient(slot, o);
  return coefficients;
}

const std::vector<double>& Eviction::score(std::size_t slot) {
  scores_.resize(context_.function.outputs());
  context_.basis.tile_point(slot, block_);
  context_.function.score(context_.basis, block_, 0, scores_, {});
  return scores_;
}

std::size_t Eviction::old_point(std::size_t rank, std::size_t newest) const {
  const Basis& basis = context_.basis;
  std::size_t slot = basis.first_slot();
  if (is_full()) return slot + rank + (slot + rank >= newest ? 1 : 0);
  for (;; ++slot)
    if (slot != newest && basis.alive(slot) && rank-- == 0) return slot;
}

void Eviction::squares(std::vector<double>& squares) const {
  squares.resize(context_.basis.end_slot() - context_.basis.first_slot());
  context_.function.squares(context_.basis.first_slot(), squares);
}

void Eviction::exclude(std::span<double> costs, std::size_t except) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const std::size_t first = context_.basis.first_slot();
  for (std::size_t j = 0; j < costs.size() && !is_full(); ++j)
    if (!context_.basis.alive(first + j)) costs[j] = none;
  if (except != no_slot) costs[except - first] = none;
}

std::size_t Eviction::cheapest(std::span<double> costs, std::size_t except) const {
  exclude(costs, except);
  const std::size_t found = isa::routines<double>().least(costs.data(), costs.size());
  return found == costs.size() ? old_point(0, except) : context_.basis.first_slot() + found;
}

std::size_t Eviction::smallest(std::size_t except) {
  constexpr double equal = 1 + 1e-9;
  const std::size_t first = context_.basis.first_slot();
  squares(norms_);
  const auto diagonal = context_.basis.diagonal();
  for (std::size_t j = 0; j < norms_.size(); ++j) norms_[j] *= diagonal[j];
  std::size_t found = cheapest(norms_, except);
  const double limit = equal * norms_[found - first];
  for (std::size_t j = 0; j < norms_.size(); ++j)
    if (norms_[j] <= limit && context_.basis.born(first + j) < context_.basis.born(found)) found = first + j;
  return found;
}

void Eviction::evict(std::size_t slot) {
  if (context_.norm_squared != nullptr) {
    // |f - a k(s, .)|^2 = |f|^2 - 2 a . f(s) + |a|^2 k(s, s)
    const auto& f = score(slot);
    for (std::size_t o = 0; o < f.size(); ++o) {
      const double a = context_.function.last_coefficient(slot, o);
      *context_.norm_squared += a * (a * context_.basis.diagonal(slot) - 2 * f[o]);
    }
  }
  context_.function.drop(slot);
  context_.basis.erase(slot, !context_.function.is_zero(slot));
}

void Eviction::scale(double factor) {
  context_.function.scale(factor);
  if (context_.norm_squared != nullptr) *context_.norm_squared *= factor * factor;
}

std::unique_ptr<Eviction> make_eviction(const Spec& spec, const EvictionContext& context) {
  if (spec.maker.has_value()) return std::any_cast<EvictionMaker>(spec.maker)(context);
  for (const Rule& rule : rules)
    if (spec.name == rule.name) return rule.make(spec, context);
  unknown_part("eviction", spec);
}

std::size_t features_asked(const Spec& spec) {
  if (spec.name == "MoveIntoFeatures" && !spec.maker.has_value())
    return static_cast<std::size_t>(spec.at("n_components"));
  std::size_t asked = 0;
  for (const auto& [key, part] : spec.parts) asked = std::max(asked, features_asked(part));
  return asked;
}

}  // namespace onkel
