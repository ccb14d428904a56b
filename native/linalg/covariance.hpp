// Covariance: the covariance matrix A of the coefficients of a function's columns.
//
// Every change is of rank one, A -= sign c c'. Changes are collected in an open block, and 32 of them at a time are
// folded into the matrix: a matrix-matrix product in place of one pass over memory for each. So
//   A k = A_0 k - sum_j sign_j c_j (c_j . k),
// where A_0 k may be computed for many k at once. Each entry of A_0 k is one chain of multiply-adds in ascending
// columns, so its bits do not depend on their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/buffer.hpp"
#include "linalg/matrix.hpp"
#include "linalg/team.hpp"
#include "linalg/triangle.hpp"

namespace onkel {

// Whether a variance is more than the rounding of the terms that it is the sum of.
inline bool is_above_rounding(double variance, double size_of_terms) { return variance > 1e-14 * size_of_terms; }

class Covariance {
 public:
  static constexpr std::size_t max_open = 32;

  std::size_t columns() const { return columns_; }
  void reach(std::size_t columns);  // adds columns of zeros; a multiple of 16
  std::size_t open() const { return signs_.size(); }
  std::int64_t folds() const { return folds_; }        // A_0 is unchanged as long as this number is
  bool is_full() const { return open() == max_open; }  // no more changes may wait

  // A_0 k for n rows of columns() values; the results take as many. Where as many changes wait as may, they are folded
  // in first. The members of a team share the columns of A_0, each of them the same ones at every call.
  void multiply(const double* k, std::size_t n, double* products, Team* team) {
    fold_and_multiply(is_full(), k, n, products, team);
  }
  // Turns A_0 k into A k.
  void finish(const double* k, double* product) const;
  // A -= sign c c'; folds first when 32 changes are pending.
  void change(std::span<const double> c, double sign);
  // The magnitude of the terms that k . A k is the sum of: a sum that is not far above their rounding is not known to
  // be positive.
  double size_of_terms(std::span<const double> k);
  // The same of column j alone.
  double size_of_variance(std::size_t j) const { return largest_[j]; }
  // A k.
  Buffer<double> product(const Buffer<double>& k) const;
  // The changes that wait are folded in.
  void apply_pending() {
    if (open() > 0) fold_and_multiply(true, nullptr, 0, nullptr, nullptr);
  }
  // The variance of column j; no change may be pending.
  double variance(std::size_t j) const { return at(j, j); }
  // Whether A_jj, and every variance given that coefficient j is known, is above its rounding; `column` is A_:j.
  bool can_remove(std::size_t j, std::span<const double> column) const;
  // A -= A_:j A_j: / A_jj, by which column j becomes zero, and the columns after it move up by one; no change waits.
  void remove(std::size_t j, std::span<const double> column);
  // A is this among the first columns and zero elsewhere; no change waits.
  void assign(const Triangle& half);
  // A restricted to these columns, with the pending changes.
  Matrix among(std::span<const std::size_t> columns) const;

  // Only the columns of `members` are not zero.
  void visit(Archive& archive, std::span<const std::size_t> members);

 private:
  static constexpr std::size_t lanes = isa::lanes<double>;
  double& at(std::size_t i, std::size_t j) { return tile(j / lanes)[i * lanes + j % lanes]; }
  double at(std::size_t i, std::size_t j) const { return tile(j / lanes)[i * lanes + j % lanes]; }
  double* tile(std::size_t t) { return tiles_.data() + t * room_ * lanes; }
  const double* tile(std::size_t t) const { return tiles_.data() + t * room_ * lanes; }
  void fold_and_multiply(bool folds, const double* k, std::size_t n, double* products, Team* team);
  void pack();
  void fold(std::size_t t);
  void mirror(std::size_t t);
  void multiply_tiles(std::size_t first, std::size_t count, const double* k, std::size_t n, double* products) const;

  std::size_t columns_ = 0, room_ = 0;  // the columns, and for how many there is room
  Buffer<double> tiles_;                // A_0, the columns as tiles (see isa.hpp): tiles_[column / 8][row][column % 8]
  Buffer<double> open_;                 // [change][column]
  std::vector<double> signs_;
  Buffer<double> largest_;  // a bound on the diagonal since A was assigned: rounding is relative to it
  std::int64_t folds_ = 0;
  Buffer<double> packed_, squares_;  // scratch; the changes that are folded, [column][change], each times -sign
};

}  // namespace onkel
