// Buffer: a vector whose memory is aligned to cache lines, as the tile routines require.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "isa/isa.hpp"

namespace onkel {

// Memory that begins with a cache line. What a thread has released last is kept for it: rows need vectors of the same
// few lengths one after the other, and to find room for them would take longer than many of them take to fill.
void* take_lines(std::size_t bytes);
void release_lines(void* memory, std::size_t bytes);

template <class T>
struct CacheAligned {
  using value_type = T;
  CacheAligned() = default;
  template <class U>
  CacheAligned(const CacheAligned<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(take_lines(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { release_lines(p, n * sizeof(T)); }
  friend bool operator==(const CacheAligned&, const CacheAligned&) { return true; }
};
template <class T>
using Buffer = std::vector<T, CacheAligned<T>>;

// The least multiple of `lanes` that is not below n.
constexpr std::size_t round_up(std::size_t n, std::size_t lanes) { return (n + lanes - 1) / lanes * lanes; }

}  // namespace onkel
