// The kernels' formulas, on vectors of base quantities, and 2^r, on which they stand. Part of routines.cpp.
#pragma once

#include "isa/simd.hpp"

namespace onkel::isa {
namespace {

// ---- 2^r --------------------------------------------------------------------------------------------------------

// (2^r - 1) / r on [-1/2, 1/2], lowest power first: the relative minimax polynomial, each coefficient rounded to the
// type in turn and the rest fitted again. With c0 = 1 outside the table 2^0 is exactly 1, and 2^r - 1 keeps its
// relative accuracy near 0, which tanh needs.
template <class T>
struct Exp2;

template <>
struct Exp2<float> {
  // Relative error 1.3e-8 as fitted, 5.3e-9 (0.09 ulp) in 2^r.
  static constexpr float coefficients[] = {0x1.62e43p-1f,  0x1.ebfbdep-3f, 0x1.c6afa4p-5f,
                                           0x1.3b2c36p-7f, 0x1.5ef14p-10f, 0x1.429e6p-13f};
  static constexpr int mantissa_bits = 23;
  static constexpr int exponent_bias = 127;
  // Adding this rounds to an integer, and leaves that integer plus the exponent's bias in the lowest bits.
  static constexpr float rounder = 0x1.8p23f + 127.0f;
  static constexpr float largest = 0x1.fffffep127f;
};

template <>
struct Exp2<double> {
  // Relative error 3.3e-17 as fitted, 1.3e-17 (0.12 ulp) in 2^r.
  static constexpr double coefficients[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a1ecp-5,
                                            0x1.3b2ab6fba3e71p-7,  0x1.5d87fe7879d16p-10, 0x1.430913027e05fp-13,
                                            0x1.ffcbfcffdedf1p-17, 0x1.62bfe63903aacp-20, 0x1.b5241a55c53fap-24,
                                            0x1.e5e7b1f290656p-28, 0x1.eab59605c317fp-32};
  static constexpr int mantissa_bits = 52;
  static constexpr int exponent_bias = 1023;
  static constexpr double rounder = 0x1.8p52 + 1023.0;
  static constexpr double largest = 0x1.fffffffffffffp1023;
};

// N independent vectors go through each step together: their chains are long, and the out-of-order window of a
// processor is limited.
template <class T, std::size_t N>
ONKEL_INLINE void exp2_slope(const typename Simd<T>::Vector (&r)[N], typename Simd<T>::Vector (&slope)[N]) {
  constexpr int degree = sizeof(Exp2<T>::coefficients) / sizeof(T) - 1;
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) slope[i] = Simd<T>::broadcast(Exp2<T>::coefficients[degree]);
  ONKEL_UNROLL
  for (int power = degree - 1; power >= 0; --power) {
    const auto coefficient = Simd<T>::broadcast(Exp2<T>::coefficients[power]);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) slope[i] = multiply_add(slope[i], r[i], coefficient);
  }
}

// A factor in two parts, high + low, so that factor * q loses nothing when the fraction of a large exponent is taken.
template <class T>
struct Factor {
  T high;
  T low;
};

// factor * log2(e) to twice the precision of T.
template <class T>
Factor<T> times_log2e(double factor) {
  constexpr double log2e = 0x1.71547652b82fep0;
  constexpr double log2e_rest = 0x1.777d0ffda0d24p-56;
  const double high = factor * log2e;
  const double low = __builtin_fma(factor, log2e, -high) + factor * log2e_rest;
  const T rounded = static_cast<T>(high);
  return {rounded, static_cast<T>((high - static_cast<double>(rounded)) + low)};
}

// factor * q = n + r, n an integer and |r| <= 1/2: scale = 2^n, fraction = r.
template <class T, std::size_t N>
ONKEL_INLINE void split_exponent(Factor<T> factor, const typename Simd<T>::Vector (&q)[N],
                                 typename Simd<T>::Vector (&scale)[N], typename Simd<T>::Vector (&fraction)[N]) {
  typedef Simd<T> S;
  const auto high = S::broadcast(factor.high);
  const auto low = S::broadcast(factor.low);
  const auto rounder = S::broadcast(Exp2<T>::rounder);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) scale[i] = multiply_add(high, q[i], rounder);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) fraction[i] = multiply_add(high, q[i], rounder - scale[i]);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) fraction[i] = multiply_add(low, q[i], fraction[i]);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < N; ++i) scale[i] = S::from_bits(S::to_bits(scale[i]) << Exp2<T>::mantissa_bits);
}

// ---- The kernels' formulas --------------------------------------------------------------------------------------

// ONKEL_CALL: called rather than inlined into every block. These formulas are long, so the call is a small part of
// their cost.

template <class T, Shape shape>
class Formula;

template <class T>
class Formula<T, Shape::identity> {
 public:
  typedef typename Simd<T>::Vector Vector;
  explicit Formula(const Kernel&) {}
  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&)[N]) const {}
};

// exp(-gamma q) = 2^n 2^r. Results below the smallest normal number (to 1 part in 10^5) are 0; beyond the largest, inf.
template <class T>
class Formula<T, Shape::exponential> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : factor_(times_log2e<T>(-kernel.gamma)),
        zero_above_(bound(kernel.gamma, (Exp2<T>::exponent_bias - 1) * (1 - 1e-7))),
        inf_below_(-bound(kernel.gamma, Exp2<T>::exponent_bias + 1)) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    Vector bounded[N], scale[N], fraction[N], slope[N];
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) bounded[i] = S::at_least(q[i], S::broadcast(inf_below_));
    split_exponent<T, N>(factor_, bounded, scale, fraction);
    exp2_slope<T, N>(fraction, slope);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) {
      const Vector power = multiply_add(slope[i], fraction[i], S::broadcast(T{1}));
      q[i] = S::zero_where_above(power * scale[i], q[i], S::broadcast(zero_above_));
    }
  }

 private:
  // The q whose exponent is `exponent` in base 2; finite, so that an infinite q lies beyond it.
  static T bound(double gamma, double exponent) {
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    const double q = exponent * ln2 / gamma;
    return q < static_cast<double>(Exp2<T>::largest) ? static_cast<T>(q) : Exp2<T>::largest;
  }

  Factor<T> factor_;
  T zero_above_;
  T inf_below_;
};

// (gamma q + coef0)^degree by binary powering.
template <class T>
class Formula<T, Shape::polynomial> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : gamma_(static_cast<T>(kernel.gamma)),
        coef0_(static_cast<T>(kernel.coef0)),
        degree_(kernel.degree > 0 ? static_cast<unsigned>(kernel.degree) : 0u) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) q[i] = power_of(q[i]);
  }

 private:
  ONKEL_CALL Vector power_of(Vector q) const {
    Vector square = multiply_add(S::broadcast(gamma_), q, S::broadcast(coef0_));
    Vector power = S::broadcast(T{1});
    for (unsigned rest = degree_; rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) power *= square;
      square *= square;
    }
    return power;
  }

  T gamma_;
  T coef0_;
  unsigned degree_;
};

// tanh(y) = sign(y) * -e / (2 + e), e = exp(-2|y|) - 1 = 2^n (2^r - 1) + (2^n - 1), accurate where e is near 0 too.
template <class T>
class Formula<T, Shape::sigmoid> {
 public:
  typedef Simd<T> S;
  typedef typename S::Vector Vector;

  explicit Formula(const Kernel& kernel)
      : gamma_(static_cast<T>(kernel.gamma)), coef0_(static_cast<T>(kernel.coef0)), factor_(times_log2e<T>(-2.0)) {}

  template <std::size_t N>
  ONKEL_INLINE void apply(Vector (&q)[N]) const {
    ONKEL_UNROLL
    for (std::size_t i = 0; i < N; ++i) q[i] = tanh_of(q[i]);
  }

 private:
  ONKEL_CALL Vector tanh_of(Vector q) const {
    const Vector y = multiply_add(S::broadcast(gamma_), q, S::broadcast(coef0_));
    // exp(-40) is lost in 1 - exp(-40) for both types, so from 20 on the result is exactly 1.
    const Vector magnitude[1] = {S::at_most(S::absolute(y), S::broadcast(T{20}))};
    Vector scale[1], fraction[1], slope[1];
    split_exponent<T, 1>(factor_, magnitude, scale, fraction);
    exp2_slope<T, 1>(fraction, slope);
    const Vector e = multiply_add(scale[0], slope[0] * fraction[0], scale[0] - S::broadcast(T{1}));
    const Vector tanh = -e / (e + S::broadcast(T{2}));
    return S::from_bits(S::to_bits(S::absolute(tanh)) | (S::to_bits(y) & S::sign_bit));
  }

  T gamma_;
  T coef0_;
  Factor<T> factor_;
};

}  // namespace
}  // namespace onkel::isa
