// Scores and columns: dot products, and the passes over the values of one row. Part of routines.cpp.
#pragma once

#include <bit>

#include "isa/simd.hpp"

namespace onkel::isa {
namespace {

// Lane i adds lane i + 8, then i + 4, i + 2 and i + 1 of the remaining lanes.
ONKEL_INLINE double add_lanes(Simd<double>::Vector (&sums)[score_lanes / Simd<double>::size]) {
  typedef Simd<double> S;
  ONKEL_UNROLL
  for (std::size_t width = score_lanes / S::size / 2; width > 0; width /= 2) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < width; ++v) sums[v] += sums[v + width];
  }
  double lane[S::size];
  S::store(lane, sums[0]);
  ONKEL_UNROLL
  for (std::size_t width = S::size / 2; width > 0; width /= 2) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

// Lane j mod 16 adds its terms in ascending j; then add_lanes.
template <class T, std::size_t n_sets>
ONKEL_INLINE void dot_sets(const T* values, const double* const* weights, std::size_t n, double* out) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector sums[n_sets][n_vectors];
  ONKEL_UNROLL
  for (std::size_t s = 0; s < n_sets; ++s) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) sums[s][v] = S::Vector{};
  }
  for (std::size_t j = 0; j < n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t first = j + v * S::size;
      const S::Vector value = load_as_double(values + first);
      ONKEL_UNROLL
      for (std::size_t s = 0; s < n_sets; ++s)
        sums[s][v] = multiply_add(value, S::load(weights[s] + first), sums[s][v]);
    }
  }
  ONKEL_UNROLL
  for (std::size_t s = 0; s < n_sets; ++s) out[s] = add_lanes(sums[s]);
}

template <class T>
double dot(const T* values, const double* weights, std::size_t n) {
  double sum;
  dot_sets<T, 1>(values, &weights, n, &sum);
  return sum;
}

template <class T>
void dot_pair(const T* values, const double* first, const double* second, std::size_t n, double sums[2]) {
  const double* const weights[] = {first, second};
  dot_sets<T, 2>(values, weights, n, sums);
}

// Not fused: the sparse points add the same products one at a time.
template <class T>
void axpy(T x, const T* column, T* sums, std::size_t n) {
  typedef Simd<T> S;
  const auto factor = S::broadcast(x);
  for (std::size_t j = 0; j < n; j += S::size) S::store(sums + j, S::load(sums + j) + factor * S::load(column + j));
}

template <class T>
bool distances(T norm, const T* norms, T share, T* sums, std::size_t n) {
  typedef Simd<T> S;
  const auto norm_here = S::broadcast(norm), factor = S::broadcast(share), least = S::broadcast(T(0.0625));
  typename S::Bits enough = ~typename S::Bits{};
  for (std::size_t j = 0; j < n; j += S::size) {
    const auto sum = norm_here + S::load(norms + j);
    const auto left = sum - factor * S::load(sums + j);
    S::store(sums + j, left);
    enough &= reinterpret_cast<typename S::Bits>(left >= least * sum);
  }
  typename S::Word all = ~typename S::Word{0};
  ONKEL_UNROLL
  for (std::size_t i = 0; i < S::size; ++i) all &= enough[i];
  return all == 0;
}

// Two places are loaded at once: this is bound by loads, and gather instructions are slower.
template <class T>
void pick(const T* values, const std::int32_t* places, T* __restrict out, std::size_t n) {
  static_assert(std::endian::native == std::endian::little);
  for (std::size_t j = 0; j < n; j += 4) {
    std::uint64_t low, high;
    __builtin_memcpy(&low, places + j, sizeof low);
    __builtin_memcpy(&high, places + j + 2, sizeof high);
    out[j] = values[low & 0xffffffff];
    out[j + 1] = values[low >> 32];
    out[j + 2] = values[high & 0xffffffff];
    out[j + 3] = values[high >> 32];
  }
}

}  // namespace
}  // namespace onkel::isa
