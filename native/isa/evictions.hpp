// The passes of evictions over all points. Part of routines.cpp.
#pragma once

#include "isa/dots.hpp"

namespace onkel::isa {
namespace {

double least_value(const double* values, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector lanes[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) lanes[v] = S::broadcast(__builtin_inf());
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) lanes[v] = S::at_most(lanes[v], S::load(values + j + v * S::size));
  }
  double found = __builtin_inf();
  for (; j < n; ++j) found = values[j] < found ? values[j] : found;
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) found = lanes[v][i] < found ? lanes[v][i] : found;
  }
  return found;
}

// Finds the smallest value first, then skips groups until one contains it.
std::size_t least(const double* values, std::size_t n) {
  constexpr std::size_t group = 64;
  const double found = least_value(values, n);
  if (found == __builtin_inf()) return n;
  std::size_t j = 0;
  for (; j + group <= n; j += group) {
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < group; ++i) hits |= values[j + i] == found ? 1 : 0;
    if (hits != 0) break;
  }
  while (values[j] != found) ++j;
  return j;
}

// Loops that the compiler vectorises for the level by itself.
void add_squares(double unit, const double* __restrict weights, double* __restrict squares, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) squares[j] += unit * (weights[j] * weights[j]);
}

template <class T>
void compare(const T* __restrict values, const double* __restrict products, const double* __restrict squares,
             double least, double* __restrict similarities, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    const double alike = products[j] * products[j] > least * squares[j] ? static_cast<double>(values[j]) : 0.0;
    similarities[j] = products[j] > 0 ? alike : 0.0;
  }
}

// Not left to the compiler: it masks what need not be masked.
void stretch(double factor, double level, Units units, double cap, double* weights, std::size_t n) {
  typedef Simd<double> S;
  const auto growth = S::broadcast(factor), lowest = S::broadcast(level), highest = S::broadcast(cap);
  std::size_t j = 0;
  for (; j + S::size <= n; j += S::size) {
    const auto weight = S::load(weights + j);
    const auto wanted = growth * S::absolute(weight), least = lowest * S::load(units.values + j * units.step);
    const auto length = S::at_most(S::at_least(wanted, least), highest);
    const auto is_not_zero = reinterpret_cast<S::Bits>(weight != S::Vector{});
    S::store(weights + j, S::from_bits((S::to_bits(length) & is_not_zero) | (S::to_bits(weight) & S::sign_bit)));
  }
  for (; j < n; ++j) {
    const double wanted = factor * __builtin_fabs(weights[j]), least = level * units[j];
    const double raised = wanted < least ? least : wanted;
    if (weights[j] != 0) weights[j] = __builtin_copysign(raised > cap ? cap : raised, weights[j]);
  }
}

double largest_lane(const Simd<double>::Vector (&lanes)[score_lanes / Simd<double>::size]) {
  typedef Simd<double> S;
  auto largest = lanes[0];
  ONKEL_UNROLL
  for (std::size_t v = 1; v < score_lanes / S::size; ++v) largest = S::at_least(largest, lanes[v]);
  double found = 0.0;
  ONKEL_UNROLL
  for (std::size_t i = 0; i < S::size; ++i) found = largest[i] > found ? largest[i] : found;
  return found;
}

void weigh(double scale, const double* __restrict weights, Units units, double* __restrict lengths, std::size_t n,
           double* sum, double* largest) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector sums[n_vectors], maxima[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) sums[v] = maxima[v] = S::Vector{};
  const auto factor = S::broadcast(scale);
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto length = factor * S::absolute(S::load(weights + at)) * S::load(units.values + at * units.step);
      S::store(lengths + at, length);
      sums[v] += length;
      maxima[v] = S::at_least(maxima[v], length);
    }
  }
  *sum = add_lanes(sums);
  *largest = largest_lane(maxima);
  for (; j < n; ++j) {
    lengths[j] = scale * __builtin_fabs(weights[j]) * units[j];
    *sum += lengths[j];
    *largest = lengths[j] > *largest ? lengths[j] : *largest;
  }
}

// The least cost of each lane and its index, as a number: the index stays exact up to 2^53.
template <class T, bool squared>
ONKEL_INLINE std::size_t cheapest_of(const T* values, Units diagonal, double inverse, const double* weights,
                                     std::size_t n, double* cost) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector least[n_vectors], places[n_vectors], place[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    least[v] = S::broadcast(__builtin_inf());
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) place[v][i] = static_cast<double>(v * S::size + i);
    places[v] = place[v];
  }
  const auto factor = S::broadcast(inverse), step = S::broadcast(static_cast<double>(score_lanes));
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto value = load_as_double(values + at), weight = S::load(weights + at);
      const auto here = (squared ? weight : weight * weight) *
                        (S::load(diagonal.values + at * diagonal.step) - value * value * factor);
      places[v] = here < least[v] ? place[v] : places[v];
      least[v] = S::at_most(least[v], here);
      place[v] += step;
    }
  }
  double found = __builtin_inf(), where = static_cast<double>(n);
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < S::size; ++i) {
      if (least[v][i] < found || (least[v][i] == found && places[v][i] < where && found < __builtin_inf()))
        where = places[v][i];
      found = least[v][i] < found ? least[v][i] : found;
    }
  }
  for (; j < n; ++j) {
    const double value = static_cast<double>(values[j]);
    const double here = (squared ? weights[j] : weights[j] * weights[j]) * (diagonal[j] - value * value * inverse);
    if (here < found) where = static_cast<double>(j);
    found = here < found ? here : found;
  }
  *cost = found;
  return static_cast<std::size_t>(where);
}

template <class T>
std::size_t cheapest(const T* values, Units diagonal, double inverse, const double* weights, bool squared,
                     std::size_t n, double* cost) {
  return squared ? cheapest_of<T, true>(values, diagonal, inverse, weights, n, cost)
                 : cheapest_of<T, false>(values, diagonal, inverse, weights, n, cost);
}

void below(double limit, const double* values, std::size_t n, double* count, double* sum, double* largest) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector counts[n_vectors], sums[n_vectors], maxima[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) counts[v] = sums[v] = maxima[v] = S::Vector{};
  const auto one = S::broadcast(1.0), bound = S::broadcast(limit);
  std::size_t j = 0;
  for (; j + score_lanes <= n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const auto value = S::load(values + j + v * S::size);
      const auto is_below = reinterpret_cast<S::Bits>(value < bound);
      const auto counted = S::from_bits(S::to_bits(value) & is_below);
      counts[v] += S::from_bits(S::to_bits(one) & is_below);
      sums[v] += counted;
      maxima[v] = S::at_least(maxima[v], counted);
    }
  }
  *count = add_lanes(counts);
  *sum = add_lanes(sums);
  *largest = largest_lane(maxima);
  for (; j < n; ++j) {
    if (!(values[j] < limit)) continue;
    *count += 1.0;
    *sum += values[j];
    *largest = values[j] > *largest ? values[j] : *largest;
  }
}

}  // namespace
}  // namespace onkel::isa
