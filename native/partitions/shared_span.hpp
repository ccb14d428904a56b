// SharedSpan: the span of points that all partitions of the rows share, and sums over rows in it (docs/scale.md).
//
// A function is given by its coordinates w in an orthonormal basis of the span, z(x) = L^-1 k(D, x) with K = L L', the
// constant first, or by its coefficients a = L^-T w. Over rows, at such a function, RowSums adds up the loss, its slope
// (in the same terms as the function was given), and the information sum v z z'. The slope in coefficients costs one
// kernel row per row; coordinates cost a triangular solve and a symmetric update per row in addition, both carried out
// for blocks of rows.
//
// Every sum is one chain in the order of the rows: how they are cut into calls changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "basis/basis.hpp"
#include "first_order/loss.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/triangle.hpp"

namespace onkel {

class SharedSpan {
 public:
  // Every point must lie outside the span of those before it.
  SharedSpan(std::unique_ptr<Basis> basis, const Rows& points);

  // The rows of one call in tiles of 8, [tile][coordinate][lane], with zeros beyond the last.
  static constexpr std::size_t block_rows = 128;
  using Tiles = Buffer<double>;

  std::size_t size() const { return n_fixed() + n_points_; }  // coordinates
  std::size_t rounded() const { return round_up(size(), Triangle::lanes); }
  std::size_t n_fixed() const { return basis_->has_constant() ? 1 : 0; }
  // Kernel values of at most block_rows rows, and the coordinates that they become.
  void kernel_tiles(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Tiles& tiles) const;
  void coordinates(Tiles& tiles, std::size_t count) const;
  // The squared distance of each row from the span: kernel(x, x) - |z|^2, with z without the constant.
  std::vector<double> novelty(const Rows& rows) const;
  // The scores [row][output] of functions that are given by their coefficients, [output][coordinate].
  std::vector<double> scores(const Rows& rows, std::span<const double> function) const;
  // x <- L^-1 x and x <- L^-T x, of size() values.
  void solve(std::span<double> x) const;
  void solve_transposed(std::span<double> x) const;

 private:
  std::unique_ptr<Basis> basis_;
  std::size_t n_points_;
  Cholesky factor_;  // of the points
  std::optional<Solver> solver_;
};

// [output][coordinate], both rounded up to tiles with zeros.
Buffer<double> in_tiles(std::span<const double> function, std::size_t size);

// Sums over rows at one function of a span.
class RowSums {
 public:
  struct Setup {
    Loss loss;
    Task task;
    std::size_t outputs;
    bool informed;  // whether the function is given by coordinates and the information is summed too
  };
  // `function`: [output][coordinate].
  RowSums(const SharedSpan& span, const Setup& setup, std::span<const double> function);

  // y: class indices or targets; rows of weight 0 count for nothing.
  void add(const Rows& rows, const double* y, const double* weight);

  double loss() const { return loss_; }
  double squares() const { return squares_; }  // the weighted sum of the squared largest slope of each row
  std::int64_t rows() const { return rows_; }
  std::vector<double> slopes() const;                                      // [output][coordinate]
  std::vector<double> information() const { return information_.half(); }  // the lower half, row by row

 private:
  void evaluate(std::size_t row, double y, double weight);
  void add_block(std::size_t count);

  const SharedSpan& span_;
  Setup setup_;
  std::size_t padded_outputs_;
  Buffer<double> function_;  // [output][coordinate], both rounded up
  double loss_ = 0.0, squares_ = 0.0;
  std::int64_t rows_ = 0;
  Buffer<double> slopes_;  // [tile of 8 coordinates][output][8]
  Triangle information_;

  // Scratch of a block of rows.
  Block block_;
  SharedSpan::Tiles tiles_;
  Buffer<double> scores_, row_slopes_, across_,
      weighted_;  // [tile][output][8], [output][row], [tile][row][8], [i][row]
  std::vector<double> curvatures_;
  Scored row_;
};

// The key of each row for weighted sampling, log(u) / (weight |g|^2), with |g| the largest slope at its scores
// ([row][output]); minus infinity where |g| is at most `easy_slope`.
std::vector<double> slope_keys(const RowSums::Setup& setup, const double* scores, std::span<const double> y,
                               const double* weight, const double* u, double easy_slope);

// Chooses points among candidates, one after the other, always the one with the largest key log(u) / (q sqrt(novelty)),
// where novelty is the squared distance from the span of those chosen before; none whose novelty is below the tolerance
// of a dictionary. The first `n_first` candidates come first, in order. `keys` are log(u) / q, negative. Returns the
// indices of the chosen candidates.
std::vector<std::int64_t> choose_points(Basis& basis, const Rows& candidates, std::span<const double> keys,
                                        std::size_t n_first, std::size_t budget);

}  // namespace onkel
