// Matrix: dense, in C order, its rows padded with zeros to the lanes of a dot product.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/buffer.hpp"

namespace onkel {

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        stride_((columns + isa::score_lanes - 1) / isa::score_lanes * isa::score_lanes),
        values_(rows * stride_, 0.0) {}

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t stride() const { return stride_; }  // of a row: at least the number of columns
  double* row(std::size_t i) { return values_.data() + i * stride_; }
  const double* row(std::size_t i) const { return values_.data() + i * stride_; }
  double& at(std::size_t i, std::size_t j) { return row(i)[j]; }
  double at(std::size_t i, std::size_t j) const { return row(i)[j]; }

 private:
  std::size_t rows_, columns_, stride_;
  Buffer<double> values_;
};

// a b'
inline Matrix multiply_transposed(const Matrix& a, const Matrix& b) {
  Matrix product(a.rows(), b.rows());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < b.rows(); ++j)
      product.at(i, j) = isa::routines<double>().dot(a.row(i), b.row(j), a.stride());
  return product;
}

// a x
inline std::vector<double> multiply(const Matrix& a, const std::vector<double>& x) {
  Buffer<double> padded(a.stride(), 0.0);
  std::copy(x.begin(), x.end(), padded.begin());
  std::vector<double> product(a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i)
    product[i] = isa::routines<double>().dot(a.row(i), padded.data(), a.stride());
  return product;
}

}  // namespace onkel
