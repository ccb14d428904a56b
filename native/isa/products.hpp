// Products with matrices, symmetric ones above all. Part of routines.cpp.
#pragma once

#include "isa/dots.hpp"
#include "isa/tiles.hpp"

namespace onkel::isa {
namespace {

// Two rows at a time halve the loads of the vectors that they share, which are the bottleneck. Lanes as in dot.
void multiply_rows(const double* rows, const double* weights, const double* x, double* dots, double* target,
                   std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_vectors = score_lanes / S::size;
  S::Vector first_sums[n_vectors], second_sums[n_vectors];
  ONKEL_UNROLL
  for (std::size_t v = 0; v < n_vectors; ++v) first_sums[v] = second_sums[v] = S::Vector{};
  const auto first_factor = S::broadcast(x[0]), second_factor = S::broadcast(x[1]);
  for (std::size_t j = 0; j < n; j += score_lanes) {
    ONKEL_UNROLL
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const std::size_t at = j + v * S::size;
      const auto first = S::load(rows + at), second = S::load(rows + n + at), weight = S::load(weights + at);
      first_sums[v] = multiply_add(first, weight, first_sums[v]);
      second_sums[v] = multiply_add(second, weight, second_sums[v]);
      const auto sum = multiply_add(first_factor, first, S::load(target + at));
      S::store(target + at, multiply_add(second_factor, second, sum));
    }
  }
  dots[0] = add_lanes(first_sums);
  dots[1] = add_lanes(second_sums);
}

// 4 rows by 2 vectors stay in registers while the m terms are added.
void update_rows(const double* x, const double* u, std::size_t u_stride, std::size_t m, double* rows, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_rows = 4, n_vectors = 2;
  for (std::size_t j = 0; j < n; j += n_vectors * S::size) {
    S::Vector sums[n_rows][n_vectors];
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) sums[r][v] = S::load(rows + r * n + j + v * S::size);
    }
    for (std::size_t t = 0; t < m; ++t) {
      S::Vector term[n_vectors];
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) term[v] = S::load(u + t * u_stride + j + v * S::size);
      ONKEL_UNROLL
      for (std::size_t r = 0; r < n_rows; ++r) {
        const auto factor = S::broadcast(x[t * n_rows + r]);
        ONKEL_UNROLL
        for (std::size_t v = 0; v < n_vectors; ++v) sums[r][v] = multiply_add(factor, term[v], sums[r][v]);
      }
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < n_vectors; ++v) S::store(rows + r * n + j + v * S::size, sums[r][v]);
    }
  }
}

// Rows of a tile that stay in registers while the m terms pass: 8 sums under way on every level with wide vectors.
void add_products(const double* x, const double* y, std::size_t y_stride, std::size_t m, std::size_t x_stride,
                  double* tile, std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_rows = vectors_per_tile == 1 ? 8 : 4;
  for (std::size_t i = 0; i < n; i += n_rows, x += n_rows * x_stride, tile += n_rows * lanes<double>) {
    S::Vector sums[n_rows][vectors_per_tile];
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) sums[r][v] = S::load(tile + r * lanes<double> + v * S::size);
    }
    for (std::size_t j = 0; j < m; ++j) {
      S::Vector term[vectors_per_tile];
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) term[v] = S::load(y + j * y_stride + v * S::size);
      ONKEL_UNROLL
      for (std::size_t r = 0; r < n_rows; ++r) {
        const auto factor = S::broadcast(x[r * x_stride + j]);
        ONKEL_UNROLL
        for (std::size_t v = 0; v < vectors_per_tile; ++v) sums[r][v] = multiply_add(factor, term[v], sums[r][v]);
      }
    }
    ONKEL_UNROLL
    for (std::size_t r = 0; r < n_rows; ++r) {
      ONKEL_UNROLL
      for (std::size_t v = 0; v < vectors_per_tile; ++v) S::store(tile + r * lanes<double> + v * S::size, sums[r][v]);
    }
  }
}

// R rows against T tiles, of which `depth` rows are taken: the sums go on from where they were, or begin.
template <std::size_t R, std::size_t T>
ONKEL_INLINE void multiply_block(const double* x, std::size_t x_stride, const double* tiles, std::size_t tile_stride,
                                 std::size_t depth, bool begins, double* out, std::size_t out_stride) {
  typedef Simd<double> S;
  constexpr std::size_t V = T * vectors_per_tile;
  S::Vector sums[R * V];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i)
    sums[i] = begins ? S::Vector{} : S::load(out + i / V * out_stride + i % V * S::size);
  for (std::size_t j = 0; j < depth; ++j) {
    S::Vector s[V];
    ONKEL_UNROLL
    for (std::size_t v = 0; v < V; ++v)
      s[v] = S::load(tiles + v / vectors_per_tile * tile_stride + j * lanes<double> + v % vectors_per_tile * S::size);
    ONKEL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
      const auto factor = S::broadcast(x[r * x_stride + j]);
      ONKEL_UNROLL
      for (std::size_t v = 0; v < V; ++v) sums[r * V + v] = multiply_add(factor, s[v], sums[r * V + v]);
    }
  }
  ONKEL_UNROLL
  for (std::size_t i = 0; i < R * V; ++i) S::store(out + i / V * out_stride + i % V * S::size, sums[i]);
}

// So many rows of the tiles stay in the first-level cache while the rows of x pass by.
constexpr std::size_t multiply_depth = 128;

template <std::size_t R, std::size_t T>
void multiply_sweep(const double* x, std::size_t n_rows, std::size_t x_stride, const double* tiles, std::size_t n_tiles,
                    std::size_t tile_stride, std::size_t m, double* out, std::size_t out_stride) {
  std::size_t tile = 0;
  for (; tile + T <= n_tiles; tile += T)
    for (std::size_t j = 0; j < m; j += multiply_depth) {
      const std::size_t depth = m - j < multiply_depth ? m - j : multiply_depth;
      const double* const part = tiles + tile * tile_stride + j * lanes<double>;
      const auto rows = [&]<std::size_t N>(std::size_t from, std::size_t end) {
        for (; from + N <= end; from += N)
          multiply_block<N, T>(x + from * x_stride + j, x_stride, part, tile_stride, depth, j == 0,
                               out + from * out_stride + tile * lanes<double>, out_stride);
        return from;
      };
      // Two rows alone would wait for each other's sums: twice four take the place of six and two.
      const bool in_fours = R == 6 && n_rows % 6 == 2 && n_rows >= 8;
      std::size_t row = rows.template operator()<R>(0, in_fours ? n_rows - 8 : n_rows);
      if constexpr (R > 4) row = rows.template operator()<4>(row, n_rows);
      if constexpr (R > 2) row = rows.template operator()<2>(row, n_rows);
      rows.template operator()<1>(row, n_rows);
    }
  if constexpr (T > 1)
    multiply_sweep<R, 1>(x, n_rows, x_stride, tiles + tile * tile_stride, n_tiles - tile, tile_stride, m,
                         out + tile * lanes<double>, out_stride);
}

#if defined(__AVX512F__)
inline constexpr std::size_t multiply_rows_at_once = 8, multiply_tiles_at_once = 3;
#elif defined(__aarch64__) || defined(__AVX2__)
inline constexpr std::size_t multiply_rows_at_once = 6, multiply_tiles_at_once = 1;
#else
inline constexpr std::size_t multiply_rows_at_once = 2, multiply_tiles_at_once = 1;
#endif

void multiply_tiles(const double* x, std::size_t n_rows, std::size_t x_stride, const double* tiles, std::size_t n_tiles,
                    std::size_t tile_stride, std::size_t m, double* out, std::size_t out_stride) {
  multiply_sweep<multiply_rows_at_once, multiply_tiles_at_once>(x, n_rows, x_stride, tiles, n_tiles, tile_stride, m,
                                                                out, out_stride);
}

void transpose(const double* __restrict block, double* __restrict out) {
#if defined(__AVX512F__)
  // Pairs of rows by pairs of columns, then fours, then eights.
  __m512d a[8], b[8];
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; ++i) a[i] = _mm512_loadu_pd(block + 8 * i);
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 2) {
    b[i] = _mm512_unpacklo_pd(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_pd(a[i], a[i + 1]);
  }
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 4) {
    ONKEL_UNROLL
    for (std::size_t k = 0; k < 2; ++k) {
      a[i + k] = _mm512_shuffle_f64x2(b[i + k], b[i + k + 2], 0x88);
      a[i + k + 2] = _mm512_shuffle_f64x2(b[i + k], b[i + k + 2], 0xdd);
    }
  }
  ONKEL_UNROLL
  for (std::size_t k = 0; k < 4; ++k) {
    _mm512_storeu_pd(out + 8 * k, _mm512_shuffle_f64x2(a[k], a[k + 4], 0x88));
    _mm512_storeu_pd(out + 8 * (k + 4), _mm512_shuffle_f64x2(a[k], a[k + 4], 0xdd));
  }
#elif defined(__AVX2__)
  // Four blocks of four rows: pairs of rows by pairs of columns, then fours.
  ONKEL_UNROLL
  for (std::size_t i = 0; i < 8; i += 4) {
    ONKEL_UNROLL
    for (std::size_t l = 0; l < 8; l += 4) {
      __m256d a[4], b[4];
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 4; ++k) a[k] = _mm256_loadu_pd(block + (i + k) * 8 + l);
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 4; k += 2) {
        b[k] = _mm256_unpacklo_pd(a[k], a[k + 1]);
        b[k + 1] = _mm256_unpackhi_pd(a[k], a[k + 1]);
      }
      ONKEL_UNROLL
      for (std::size_t k = 0; k < 2; ++k) {
        _mm256_storeu_pd(out + (l + k) * 8 + i, _mm256_permute2f128_pd(b[k], b[k + 2], 0x20));
        _mm256_storeu_pd(out + (l + k + 2) * 8 + i, _mm256_permute2f128_pd(b[k], b[k + 2], 0x31));
      }
    }
  }
#else
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t l = 0; l < 8; ++l) out[l * 8 + i] = block[i * 8 + l];
#endif
}

// One vector of features at a time, in four chains of every fourth row.
void weigh_differences(const double* weights, std::size_t m, const double* x, const double* rows, double* sums,
                       std::size_t n) {
  typedef Simd<double> S;
  constexpr std::size_t n_chains = 4;
  for (std::size_t j = 0; j < n; j += S::size) {
    S::Vector chains[n_chains];
    ONKEL_UNROLL
    for (std::size_t c = 0; c < n_chains; ++c) chains[c] = S::Vector{};
    const auto here = S::load(x + j);
    for (std::size_t k = 0; k < m; k += n_chains) {
      ONKEL_UNROLL
      for (std::size_t c = 0; c < n_chains; ++c) {
        const auto distance = add_feature<double, Base::manhattan>(S::Vector{}, here, S::load(rows + (k + c) * n + j));
        chains[c] = multiply_add(S::broadcast(weights[k + c]), distance, chains[c]);
      }
    }
    S::store(sums + j, S::load(sums + j) + ((chains[0] + chains[1]) + (chains[2] + chains[3])));
  }
}

}  // namespace
}  // namespace onkel::isa
