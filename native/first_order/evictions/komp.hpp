// KOMP: destructive kernel orthogonal matching pursuit with pre-fitting (POLK, Algorithm 1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "first_order/evictions/span.hpp"
#include "loop/spec.hpp"

namespace onkel {

// How far POLK may move the function at a step: eps_t = eps / (1 + decay t)^2. With eps = K eta^2 and decay = eta
// lambda it is K eta_t^2 for eta_t = eta / (1 + eta lambda t), the budget of its Theorem 2.
class PruningRadius {
 public:
  explicit PruningRadius(const Spec& spec) : eps_(spec.at("eps")), decay_(spec.at("decay")) {}
  double squared(std::int64_t step) const {
    const double slower = 1 + decay_ * static_cast<double>(step), now = eps_ / (slower * slower);
    return now * now;
  }

 private:
  double eps_, decay_;
};

// Removes points, the cheapest first, each replaced by its projection on the others, while f stays within the squared
// distance `max_squared_distance` of the original, and then further ones until no more than `max_points` remain. The
// subspaces are nested, so squared costs add up; `moved` is the squared distance spent before. Returns the sum.
double komp(Span& points, double moved, double max_squared_distance, std::size_t max_points);

}  // namespace onkel
