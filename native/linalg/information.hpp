// Information: the information matrix of the rows about a function, H = sum_i v_i z_i z_i', in orthonormal coordinates
// z of its span.
//
// With the prior lam I, the precision of the function's coordinates w is lam I + H. Information is additive: a row adds
// v z z', two learners on the same points add their matrices, forgetting scales the matrix, and a direction without
// information is a row and a column of zeros. In terms of the coefficients a = L^-T w of the points, K = L L', the
// precision has the condition number of K, and all of this would lose its digits.
//
// Each entry is one chain of multiply-adds in the order of the rows: how many are added at once changes no bit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/matrix.hpp"
#include "linalg/triangle.hpp"

namespace onkel {

class Information {
 public:
  Information() = default;
  explicit Information(std::size_t n) : matrix_(n) {}
  // From the lower half, with the diagonal, row by row.
  static Information from_half(std::size_t n, std::span<const double> half) {
    return Information(Triangle::from_half(n, half));
  }
  // Of coefficients with the covariance A: P = L' A L is that of the coordinates, H = P^-1 - lam I. As accurate as A
  // is; none where A is so inaccurate that P has no inverse.
  static std::optional<Information> from_covariance(const Matrix& covariance, const Triangle& lower, double lam);

  std::size_t size() const { return matrix_.size(); }
  void reach(std::size_t n) { matrix_.reach(n); }  // adds coordinates without information
  // H += v z z' for each of these rows, [row][coordinate] with zeros up to whole blocks.
  void add_rows(const double* z, std::span<const double> v);
  // H += weight * that of the other, which has as many coordinates.
  void add(const Information& other, double weight);
  void add_evenly(double value);  // H += value I
  void scale(double factor) { matrix_.scale(factor); }
  std::vector<double> half() const { return matrix_.half(); }
  // The lower half of the covariance of the coefficients, A = L^-T (lam I + H)^-1 L^-1, from the inverse of L.
  Triangle covariance(const Triangle& inverse, double lam) const;
  // The Cholesky factor of lam I + H.
  Solver root(double lam) const { return Solver::of_symmetric(precision(lam), lam); }
  // The coordinates w for which (lam I + H) w = linear.
  std::vector<double> mean(const std::vector<double>& linear, double lam) const;
  // H w.
  std::vector<double> times(const std::vector<double>& w) const { return multiply(matrix_.whole(), w); }
  // The same in rotated coordinates, without the last of them; `first` is the index of the coordinate that rotation 0
  // starts with.
  Information without_last(const std::vector<Cholesky::Rotation>& rotations, std::size_t first) const;
  Information leading(std::size_t n) const { return Information(matrix_.leading(n)); }  // of the first n coordinates
  // M H M': the same in coordinates z' = M z.
  Information transformed(const Matrix& m) const;

  // `n` is the number of coordinates.
  void visit(Archive& archive, std::size_t n);

 private:
  explicit Information(Triangle matrix) : matrix_(std::move(matrix)) {}
  Triangle precision(double lam) const;

  Triangle matrix_;
};

// lam I + H, factored for solving.
class Precision {
 public:
  Precision(const Information& information, double lam);
  std::size_t size() const { return inverse_.size(); }
  // The w for which (lam I + H) w = linear.
  std::vector<double> solve(std::span<const double> linear) const;

 private:
  Triangle inverse_;  // of the Cholesky factor
};

}  // namespace onkel
