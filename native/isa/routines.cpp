// The routines of isa.hpp, compiled once per instruction set with -DONKEL_ISA_LEVEL=baseline|v3|v4|neon. The headers
// beside it have them by subject.
//
// The object exports one symbol, onkel::isa::level_<ONKEL_ISA_LEVEL>; everything else has internal linkage and nothing
// of the standard library is instantiated, so no weak symbol can carry new instructions into a program that chose the
// baseline. Compile with -O3 -ffp-contract=off: every fused multiply-add is written explicitly.

#include "isa/dots.hpp"
#include "isa/evictions.hpp"
#include "isa/products.hpp"
#include "isa/tiles.hpp"

#define ONKEL_JOIN_EXPANDED(a, b) a##b
#define ONKEL_JOIN(a, b) ONKEL_JOIN_EXPANDED(a, b)
#define ONKEL_LEVEL_OBJECT ONKEL_JOIN(level_, ONKEL_ISA_LEVEL)

namespace onkel::isa {

extern const Level ONKEL_LEVEL_OBJECT;

namespace {

// 12 independent chains: enough to hide a latency of 4 to 6 cycles with two units, and no more than the registers hold.
// They tend to 1 but do not start there: clang recognises a constant chain and removes it.
template <class T>
double fma_peak(std::size_t n) {
  typedef Simd<T> S;
  constexpr std::size_t n_chains = 12;
  typename S::Vector sums[n_chains];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < n_chains; ++i) sums[i] = S::broadcast(static_cast<T>(i + 2));
  const auto factor = S::broadcast(T(0.75));
  const auto term = S::broadcast(T(0.25));
  for (std::size_t done = 0; done < n; done += n_chains * S::size) {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < n_chains; ++i) sums[i] = multiply_add(sums[i], factor, term);
  }
  auto total = sums[0];
  ONKEL_UNROLL
  for (std::size_t i = 1; i < n_chains; ++i) total += sums[i];
  return static_cast<double>(total[0]);
}

#if defined(__AVX512F__)
constexpr const char* level_name = "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__)
constexpr const char* level_name = "x86-64-v3";
#elif defined(__aarch64__)
constexpr const char* level_name = "neon";
#else
constexpr const char* level_name = "baseline";
#endif

}  // namespace

const Level ONKEL_LEVEL_OBJECT = {
    level_name,
    {tile<float>,       shape<float>,  dot<float>,     dot_pair<float>, axpy<float>,     distances<float>,
     pick<float>,       multiply_rows, update_rows,    add_products,    multiply_tiles,  transpose,
     weigh_differences, least,         add_squares,    weigh,           cheapest<float>, compare<float>,
     stretch,           below,         fma_peak<float>},
    {tile<double>,      shape<double>,
     dot<double>,       dot_pair<double>,
     axpy<double>,      distances<double>,
     pick<double>,      multiply_rows,
     update_rows,       add_products,
     multiply_tiles,    transpose,
     weigh_differences, least,
     add_squares,       weigh,
     cheapest<double>,  compare<double>,
     stretch,           below,
     fma_peak<double>},
};

}  // namespace onkel::isa
