// Cholesky: the Cholesky factor L of a kernel matrix K = L L' that grows by one point at a time.
//
// A newcomer with kernel row k has the coordinates l = L^-1 k in the orthonormal basis of the points' span, and its
// component outside the span has the squared length kappa - |l|^2 (the Schur complement). Appending it means writing
// one more row.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/buffer.hpp"

namespace onkel {

class Cholesky {
 public:
  std::size_t size() const { return size_; }
  // x <- L^-1 x, and x <- L^-T x (x has room for a multiple of 16 values, zeros beyond size()).
  void solve(std::span<double> x) const;
  // The same where the first `solved` values are known already, and as long as |x|^2 is not found to be above `most`;
  // whether it got through.
  bool solve_within(std::span<double> x, double most, std::size_t solved = 0) const;
  // The same for n vectors at once, `stride` values apart: each row of L is read once.
  void solve_each(double* x, std::size_t n, std::size_t stride) const;
  void solve_transposed(std::span<double> x) const;
  // One more row, (l, diagonal); l beyond size() is not read.
  void append(std::span<const double> l, double diagonal);
  // The plane rotation of coordinates i and i + 1 that an orthogonal change of basis is made of: (x, y) becomes
  // (c x + s y, c y - s x).
  struct Rotation {
    std::size_t i;
    double c, s;
  };
  // Removes point j. The new coordinates of a row are the old ones after these rotations, without the last.
  std::vector<Rotation> remove(std::size_t j);
  Cholesky leading(std::size_t n) const;  // that of the first n points
  double at(std::size_t i, std::size_t j) const { return i == j ? diagonal_[i] : row(i)[j]; }  // j <= i
  const double* row(std::size_t i) const { return rows_.data() + offset(i); }  // the i values before its diagonal
  // The number of values that a vector of length n needs to have room for in these routines.
  static std::size_t room_for(std::size_t n) { return round_up(n, isa::score_lanes); }

  void visit(Archive& archive);

 private:
  // Row i has the i values before the diagonal and zeros up to a multiple of 16.
  static std::size_t offset(std::size_t i);
  // x <- L^-1 x for the rows [from, end) of one block of 16 that begins at `first`: what the columns before it take, of
  // two rows, and then the block's own triangle.
  void take_known(std::span<double> x, std::size_t first, std::size_t i, std::size_t end) const;
  void solve_block(std::span<double> x, std::size_t first, std::size_t from, std::size_t end) const;

  std::size_t size_ = 0;
  Buffer<double> rows_;
  std::vector<double> diagonal_;
};

}  // namespace onkel
