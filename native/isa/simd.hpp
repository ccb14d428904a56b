// A thin layer over the compilers' vector extensions: as wide as the instruction set this file is compiled for.
//
// Arithmetic, comparisons and bit operations are the compiler's own operators on vectors; only the fused multiply-add
// and the conversion of float to double (which gcc 12 splits into scalars) need intrinsics. Everything has internal
// linkage, so that code compiled for a newer instruction set cannot be picked by the linker for an older one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/compiler.hpp"
#include "isa/isa.hpp"

namespace onkel::isa {
namespace {

// gcc splits vectors wider than the registers into scalars, so the width follows the instruction set exactly.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif
inline constexpr std::size_t vectors_per_tile = tile_bytes / vector_bytes;

typedef float F32 ONKEL_VECTOR(vector_bytes);
typedef double F64 ONKEL_VECTOR(vector_bytes);
typedef std::uint32_t U32 ONKEL_VECTOR(vector_bytes);
typedef std::uint64_t U64 ONKEL_VECTOR(vector_bytes);

// a * b + c, rounded once where the instruction set has it, twice on the x86 baseline.
#if defined(__AVX512F__)
ONKEL_INLINE F32 multiply_add(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
ONKEL_INLINE F64 multiply_add(F64 a, F64 b, F64 c) { return _mm512_fmadd_pd(a, b, c); }
ONKEL_INLINE F64 load_as_double(const float* p) { return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p)); }
#elif defined(__AVX2__) && defined(__FMA__)
ONKEL_INLINE F32 multiply_add(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
ONKEL_INLINE F64 multiply_add(F64 a, F64 b, F64 c) { return _mm256_fmadd_pd(a, b, c); }
ONKEL_INLINE F64 load_as_double(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
#elif defined(__aarch64__)
ONKEL_INLINE F32 multiply_add(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
ONKEL_INLINE F64 multiply_add(F64 a, F64 b, F64 c) { return vfmaq_f64(c, a, b); }
ONKEL_INLINE F64 load_as_double(const float* p) { return vcvt_f64_f32(vld1_f32(p)); }
#else
ONKEL_INLINE F32 multiply_add(F32 a, F32 b, F32 c) { return a * b + c; }
ONKEL_INLINE F64 multiply_add(F64 a, F64 b, F64 c) { return a * b + c; }
#if defined(__SSE2__)
ONKEL_INLINE F64 load_as_double(const float* p) { return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadu_si64(p))); }
#else
ONKEL_INLINE F64 load_as_double(const float* p) { return F64{p[0], p[1]}; }
#endif
#endif

ONKEL_INLINE F64 load_as_double(const double* p) {
  F64 v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
struct Types;
template <>
struct Types<float> {
  typedef F32 Vector;
  typedef U32 Bits;
  typedef std::uint32_t Word;
};
template <>
struct Types<double> {
  typedef F64 Vector;
  typedef U64 Bits;
  typedef std::uint64_t Word;
};

// Vectors of T under one set of names. Vectors are never template arguments: gcc would drop their attributes.
template <class T>
struct Simd {
  typedef typename Types<T>::Vector Vector;
  typedef typename Types<T>::Bits Bits;
  typedef typename Types<T>::Word Word;
  static constexpr std::size_t size = vector_bytes / sizeof(T);
  static constexpr Word sign_bit = Word{1} << (8 * sizeof(T) - 1);

  static ONKEL_INLINE Vector load(const T* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static ONKEL_INLINE void store(T* p, Vector v) { __builtin_memcpy(p, &v, sizeof v); }
  // x - 0 preserves every x, including the negative zero.
  static ONKEL_INLINE Vector broadcast(T x) { return x - Vector{}; }
  static ONKEL_INLINE Bits to_bits(Vector v) { return reinterpret_cast<Bits>(v); }
  static ONKEL_INLINE Vector from_bits(Bits b) { return reinterpret_cast<Vector>(b); }
  static ONKEL_INLINE Vector absolute(Vector v) { return from_bits(to_bits(v) & ~sign_bit); }
  // A NaN in v is preserved: comparisons with it are false.
  static ONKEL_INLINE Vector at_most(Vector v, Vector bound) { return v > bound ? bound : v; }
  static ONKEL_INLINE Vector at_least(Vector v, Vector bound) { return v < bound ? bound : v; }
  static ONKEL_INLINE Vector zero_where_above(Vector v, Vector compared, Vector bound) {
    return from_bits(to_bits(v) & ~reinterpret_cast<Bits>(compared > bound));
  }
};

}  // namespace
}  // namespace onkel::isa
