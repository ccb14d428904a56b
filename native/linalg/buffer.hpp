// Buffer: a vector whose memory is aligned to cache lines, as the tile routines require.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "isa/isa.hpp"

namespace onkel {

template <class T>
struct CacheAligned {
  using value_type = T;
  CacheAligned() = default;
  template <class U>
  CacheAligned(const CacheAligned<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{isa::tile_bytes}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{isa::tile_bytes}); }
  friend bool operator==(const CacheAligned&, const CacheAligned&) { return true; }
};
template <class T>
using Buffer = std::vector<T, CacheAligned<T>>;

// The least multiple of `lanes` that is not below n.
constexpr std::size_t round_up(std::size_t n, std::size_t lanes) { return (n + lanes - 1) / lanes * lanes; }

}  // namespace onkel
