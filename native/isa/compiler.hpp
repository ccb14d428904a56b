// What the C++ standard does not provide, under one set of names for GCC, clang and clang-cl. Nothing else in native/
// names a compiler, apart from the builtins that all three have.
#pragma once

#if defined(__x86_64__)  // clang-cl defines it too
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(__GNUC__) && !defined(__clang__)
#error "onkel is compiled by GCC, clang or clang-cl: its tiles are written in their vector extensions."
#endif

#define ONKEL_INLINE __attribute__((always_inline)) inline
#define ONKEL_CALL __attribute__((noinline))
#define ONKEL_VECTOR(bytes) __attribute__((vector_size(bytes)))

// For loops over registers: unrolled early, so that their arrays never live in memory.
#if defined(__clang__)
#define ONKEL_UNROLL _Pragma("unroll")
#else
#define ONKEL_UNROLL _Pragma("GCC unroll 16")
#endif
