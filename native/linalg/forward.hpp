// Forward: forward substitution, L^-1 X for many columns X at once with L lower triangular, at the speed of matrix
// products.
//
// Columns come in tiles of 8, [row][8], as the one routine of triangle.hpp takes them. A panel of 64 rows is solved for
// all tiles, then its contribution is subtracted from all rows below, while the panel's part of L stays in the cache.
// An entry is one chain of multiply-adds in the order of L's columns, whatever the number of tiles: bits depend on L
// and the column alone.
#pragma once

#include <cstddef>

#include "linalg/matrix.hpp"
#include "linalg/triangle.hpp"

namespace onkel {

class Forward {
 public:
  explicit Forward(const Triangle& lower);

  std::size_t rows() const { return minus_.rows(); }  // rounded up to whole blocks: the number of rows of a tile
  void solve(double* tiles, std::size_t n_tiles) const;

 private:
  static constexpr std::size_t panel = 64;

  Matrix minus_;             // -L, row by row
  Buffer<double> inverses_;  // of the blocks on the diagonal, [block][8][8]
};

}  // namespace onkel
