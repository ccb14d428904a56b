// Triangle: a lower triangular matrix, or the lower half of a symmetric one, with operations in blocks of 8 by 8.
//
// Columns come in tiles of 8 (see isa.hpp), each from the rows of its own block on the diagonal downwards. All work is
// done by one routine, whose terms are added one by one in a fixed order: bits depend on the matrices alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "linalg/buffer.hpp"
#include "linalg/matrix.hpp"

namespace onkel {

class Triangle {
 public:
  static constexpr std::size_t lanes = isa::lanes<double>;

  Triangle() = default;
  explicit Triangle(std::size_t n) { reach(n); }  // zeros
  explicit Triangle(const Matrix& whole);         // its lower half
  static Triangle identity(std::size_t n);
  // The lower half, with the diagonal, row by row.
  static Triangle from_half(std::size_t n, std::span<const double> half);
  std::vector<double> half() const;
  Matrix whole() const;  // the symmetric matrix of which this is the lower half
  Triangle leading(std::size_t n) const;

  std::size_t size() const { return size_; }
  std::size_t rows() const { return rows_; }  // rounded up to whole blocks, filled with zeros
  void reach(std::size_t n);                  // adds rows and columns of zeros
  // j <= i, or i and j in one block on the diagonal.
  double at(std::size_t i, std::size_t j) const { return tile(j / lanes)[(i - j / lanes * lanes) * lanes + j % lanes]; }
  double& at(std::size_t i, std::size_t j) { return tile(j / lanes)[(i - j / lanes * lanes) * lanes + j % lanes]; }
  // The rows of a tile, 8 values each, from row 8 * tile on.
  const double* tile(std::size_t tile) const { return values_.data() + offset(tile); }
  double* tile(std::size_t tile) { return values_.data() + offset(tile); }
  // The matrix += x y for its lower half: x is [row][m], y is [m][y_stride].
  void add_products(const double* x, const double* y, std::size_t y_stride, std::size_t m);
  void scale(double factor);

 private:
  std::size_t offset(std::size_t tile) const { return lanes * tile * rows_ - lanes * lanes * (tile * (tile - 1) / 2); }

  std::size_t size_ = 0, rows_ = 0;
  Buffer<double> values_;
};

// V' V, of a lower triangular V.
Triangle gram(const Triangle& v);

// A lower triangular matrix L prepared for solving: the part below the diagonal blocks with the opposite sign, and the
// inverse of each diagonal block.
class Solver {
 public:
  explicit Solver(Triangle lower);
  // The Cholesky factor of a symmetric matrix whose eigenvalues are known to be at least `least`. Where that is below
  // the rounding error of the largest entry, the diagonal is raised to that error, so that a factor always exists.
  static Solver of_symmetric(Triangle matrix, double least);
  // The same, of which nothing is factored yet: a block of columns by each call, which returns whether there was one.
  static Solver begun(Triangle matrix, double least);
  bool factor_block();
  // Whether the matrix has this factor, its diagonal raised or not: every pivot was positive beyond rounding.
  bool is_exact() const { return exact_; }
  // x <- L^-1 x, of a lower triangular x.
  void solve(Triangle& x) const;
  // The same for columns that come in tiles of 8, [row][8], each with rows() rows. An entry is one chain of
  // multiply-adds in the order of L's columns, whatever the number of tiles.
  void solve(double* tiles, std::size_t n_tiles) const;
  std::size_t rows() const { return below_.rows(); }  // rounded up to whole blocks
  // x <- L^-1 x, and x <- L^-T x, of a vector with zeros up to whole blocks.
  void solve(std::span<double> x) const;
  void solve_transposed(std::span<double> x) const;

 private:
  Solver() = default;
  void invert_block(std::size_t block);
  void solve_block(std::size_t block, double* rows) const;

  Triangle below_;
  Buffer<double> inverses_;  // [block][8][8]
  bool exact_ = true;
  double floor_ = 0.0;          // of a pivot
  std::size_t n_factored_ = 0;  // blocks
};

}  // namespace onkel
