// KOMP: destructive kernel orthogonal matching pursuit with pre-fitting (POLK, Algorithm 2).
#pragma once

#include <cstddef>

#include "learn/eviction/span.hpp"

namespace onkel {

// Points leave, the cheapest first, each replaced by its projection on the rest, while f stays within the squared
// distance `max_squared_distance` of where it was, and on until no more than `max_points` are left. The subspaces are
// nested, so squared costs add up; `moved` is what was spent before. Returns the sum.
double komp(Span& points, double moved, double max_squared_distance, std::size_t max_points);

}  // namespace onkel
