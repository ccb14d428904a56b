// Elimination: which columns of a function are needed least, given the covariance of its coefficients.
//
// Let the coefficients a have the covariance A. Removing column j means conditioning on a_j = 0, which costs a_j^2 /
// A_jj in the metric of the precision A^-1 (that of the rows) and is compensated by the others:
//   a -= A_:j a_j / A_jj,   A -= A_:j A_j: / A_jj.
// The costs of columns that are removed one after the other add up to the squared distance from the original
// coefficients. All outputs share A.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/matrix.hpp"

namespace onkel {

class Elimination {
 public:
  // `sizes`: those of the variances' terms (see Covariance), if rounding is to be watched; `coefficients`:
  // [output][column]; `rows`: the columns in orthonormal coordinates, column i in the first i + 1 of them. The first
  // `n_fixed` columns stay.
  Elimination(Matrix covariance, std::vector<double> sizes, Matrix coefficients, const Matrix& rows,
              std::size_t n_fixed);

  std::size_t left() const { return remaining_; }  // columns that may still be removed
  // Finds the column to remove next; the squared distances are those after its removal.
  void project();
  double data_distance() const { return next_data_; }
  double rkhs_distance() const { return next_rkhs_; }
  // Whether its variance, and every other once it has left, is.
  bool is_above_rounding() const;
  // The column that was found leaves.
  void remove();

  std::vector<std::size_t> staying() const;
  const Matrix& covariance() const { return covariance_; }      // zero where a column was removed
  const Matrix& coefficients() const { return coefficients_; }  // likewise

 private:
  std::size_t cheapest(double& cost) const;

  Matrix covariance_;
  std::vector<double> sizes_;
  Matrix coefficients_;
  const Matrix* rows_;
  Matrix moves_;  // how the function of each output has moved, in the coordinates of the rows
  std::size_t n_fixed_, remaining_;
  std::vector<bool> removed_;
  double data_ = 0.0, rkhs_ = 0.0, next_data_ = 0.0, next_rkhs_ = 0.0;
  std::size_t leaver_ = 0;
  double variance_ = 0.0;
  Buffer<double> step_, move_;  // A_:j / A_jj, and the function with these coefficients, in those coordinates
};

}  // namespace onkel
