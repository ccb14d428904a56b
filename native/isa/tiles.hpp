// Kernel tiles: rows against points, block by block; and the formula alone. Part of routines.cpp.
#pragma once

#include "isa/formulas.hpp"

namespace onkel::isa {
namespace {

template <class T>
struct TileCall {
  const T* rows;
  std::size_t n_rows;
  std::size_t row_stride;
  const T* tiles;
  std::size_t n_tiles;
  std::size_t n_features;
  T* out;
  std::size_t out_stride;
};

// One more feature of one pair: the only step of a pair's chain, whatever the shape of the block it is computed in.
template <class T, Base base>
ONKEL_INLINE typename Simd<T>::Vector add_feature(typename Simd<T>::Vector sum, typename Simd<T>::Vector x,
                                                  typename Simd<T>::Vector s) {
  if constexpr (base == Base::squared_distance) {
    const auto difference = x - s;
    return multiply_add(difference, difference, sum);
  } else if constexpr (base == Base::dot) {
    return multiply_add(x, s, sum);
  } else {
    return sum + Simd<T>::absolute(x - s);
  }
}

// How many of n sums go through the formula together, which leaves the formula enough registers.
constexpr std::size_t formula_group(std::size_t n) { return n % 4 == 0 ? 4 : n; }

// The micro-kernel: R rows against V vectors of points, which begin at `points` and run over as many tiles as needed.
template <class T, Base base, Shape shape, std::size_t R, std::size_t V>
ONKEL_INLINE void block(const TileCall<T>& call, const Formula<T, shape>& formula, const T* rows, const T* points,
                        T* out) {
  typedef Simd<T> S;
  const std::size_t tile_size = call.n_features * lanes<T>;
  typename S::Vector sums[R * V];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i) sums[i] = typename S::Vector{};
  for (std::size_t feature = 0; feature < call.n_features; ++feature) {
    typename S::Vector s[V];
    ONKEL_UNROLL
    for (std::size_t v = 0; v < V; ++v) {
      s[v] = S::load(points + feature * lanes<T> + v / vectors_per_tile * tile_size + v % vectors_per_tile * S::size);
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      const auto x = S::broadcast(rows[r * call.row_stride + feature]);
      ONKEL_UNROLL
      for (std::size_t v = 0; v < V; ++v) sums[r * V + v] = add_feature<T, base>(sums[r * V + v], x, s[v]);
    }
  }
  constexpr std::size_t group_size = formula_group(R * V);
  ONKEL_UNROLL
  for (std::size_t first = 0; first < R * V; first += group_size) {
    typename S::Vector group[group_size];
    ONKEL_UNROLL
    for (std::size_t i = 0; i < group_size; ++i) group[i] = sums[first + i];
    formula.apply(group);
    ONKEL_UNROLL
    for (std::size_t i = 0; i < group_size; ++i) {
      S::store(out + (first + i) / V * call.out_stride + (first + i) % V * S::size, group[i]);
    }
  }
}

// Rows [first_row, last_row), R at a time, against the vectors of points from first_vector on, V at a time, with fewer
// at the end. The tiles are the outer loop: those of one step stay in the first-level cache while the rows pass by.
// call and formula come by value: as far as the compiler knows, the stores could change what a reference refers to.
template <class T, Base base, Shape shape, std::size_t R, std::size_t V>
void sweep(const TileCall<T> call, const Formula<T, shape> formula, std::size_t first_row, std::size_t last_row,
           std::size_t first_vector) {
  const std::size_t n_vectors = call.n_tiles * vectors_per_tile;
  std::size_t vector = first_vector;
  for (; vector + V <= n_vectors; vector += V) {
    const T* points =
        call.tiles + vector / vectors_per_tile * call.n_features * lanes<T> + vector % vectors_per_tile * Simd<T>::size;
    for (std::size_t row = first_row; row < last_row; row += R) {
      block<T, base, shape, R, V>(call, formula, call.rows + row * call.row_stride, points,
                                  call.out + row * call.out_stride + vector * Simd<T>::size);
    }
  }
  if constexpr (V > vectors_per_tile) {
    sweep<T, base, shape, R, V / 2>(call, formula, first_row, last_row, vector);
  }
}

// The sums held in registers: 6 rows x 2 vectors fill 16 registers (with 2 points, a row and a difference), 6 x 4 the
// 32 of NEON and 4 x 6 the 32 of AVX-512, where a row's broadcast costs more than a point's load: of 6 x 2, 8 x 3, 12 x
// 2, 24 x 1, 6 x 4 and 3 x 8 none was faster in both types. Fewer rows take more vectors, so that there are 8
// independent sums here too.
#if defined(__AVX512F__)
inline constexpr std::size_t block_rows = 4, block_vectors = 6;
#elif defined(__aarch64__)
inline constexpr std::size_t block_rows = 6, block_vectors = 4;
#else
inline constexpr std::size_t block_rows = 6, block_vectors = 2;
#endif

template <class T, Base base, Shape shape>
void tile_of(const Kernel& kernel, const TileCall<T>& call) {
  const Formula<T, shape> formula(kernel);
  const std::size_t in_blocks = call.n_rows / block_rows * block_rows;
  const std::size_t in_fours = in_blocks + ((call.n_rows - in_blocks) & 4);
  const std::size_t in_twos = in_fours + ((call.n_rows - in_fours) & 2);
  if (in_blocks > 0) sweep<T, base, shape, block_rows, block_vectors>(call, formula, 0, in_blocks, 0);
  if (in_fours > in_blocks) sweep<T, base, shape, 4, block_vectors>(call, formula, in_blocks, in_fours, 0);
  if (in_twos > in_fours) sweep<T, base, shape, 2, 4>(call, formula, in_fours, in_twos, 0);
  if (call.n_rows > in_twos) sweep<T, base, shape, 1, 8>(call, formula, in_twos, call.n_rows, 0);
}

template <class T, Base base>
void tile_on(const Kernel& kernel, const TileCall<T>& call) {
  switch (kernel.shape) {
    case Shape::identity:
      return tile_of<T, base, Shape::identity>(kernel, call);
    case Shape::exponential:
      return tile_of<T, base, Shape::exponential>(kernel, call);
    case Shape::polynomial:
      return tile_of<T, base, Shape::polynomial>(kernel, call);
    case Shape::sigmoid:
      return tile_of<T, base, Shape::sigmoid>(kernel, call);
  }
}

template <class T>
void tile(const Kernel& kernel, const T* rows, std::size_t n_rows, std::size_t row_stride, const T* tiles,
          std::size_t n_tiles, std::size_t n_features, T* out, std::size_t out_stride) {
  const TileCall<T> call = {rows, n_rows, row_stride, tiles, n_tiles, n_features, out, out_stride};
  switch (kernel.base) {
    case Base::squared_distance:
      return tile_on<T, Base::squared_distance>(kernel, call);
    case Base::dot:
      return tile_on<T, Base::dot>(kernel, call);
    case Base::manhattan:
      return tile_on<T, Base::manhattan>(kernel, call);
  }
}

template <class T, Shape shape>
void apply(const Kernel& kernel, T* values, std::size_t n) {
  const Formula<T, shape> formula(kernel);
  typename Simd<T>::Vector group[vectors_per_tile];
  for (std::size_t i = 0; i < n; i += lanes<T>) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < vectors_per_tile; ++v) group[v] = Simd<T>::load(values + i + v * Simd<T>::size);
    formula.apply(group);
    ONKEL_UNROLL
    for (std::size_t v = 0; v < vectors_per_tile; ++v) Simd<T>::store(values + i + v * Simd<T>::size, group[v]);
  }
}

template <class T>
void shape(const Kernel& kernel, T* values, std::size_t n) {
  switch (kernel.shape) {
    case Shape::identity:
      return;
    case Shape::exponential:
      return apply<T, Shape::exponential>(kernel, values, n);
    case Shape::polynomial:
      return apply<T, Shape::polynomial>(kernel, values, n);
    case Shape::sigmoid:
      return apply<T, Shape::sigmoid>(kernel, values, n);
  }
}

}  // namespace
}  // namespace onkel::isa
