#include "linalg/information.hpp"

#include <algorithm>
#include <limits>

namespace onkel {

std::optional<Information> Information::from_covariance(const Matrix& covariance, const Triangle& lower, double lam) {
  const std::size_t n = lower.size();
  Matrix columns(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) columns.at(j, i) = lower.at(i, j);
  Triangle half(multiply_transposed(multiply_transposed(columns, covariance), columns));
  Triangle inverse = Triangle::identity(n);
  const Solver root = Solver::of_symmetric(std::move(half), std::numeric_limits<double>::min());
  if (!root.is_exact()) return std::nullopt;
  root.solve(inverse);
  Information result(gram(inverse));
  for (std::size_t i = 0; i < n; ++i) result.matrix_.at(i, i) -= lam;
  for (std::size_t i = n; i < result.matrix_.rows(); ++i) result.matrix_.at(i, i) = 0.0;
  return result;
}

void Information::add_rows(const double* z, std::span<const double> v) {
  const std::size_t n = matrix_.rows(), m = v.size();
  Buffer<double> weighted(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) weighted[i * m + j] = v[j] * z[j * n + i];
  matrix_.add_products(weighted.data(), z, n, m);
}

void Information::add(const Information& other, double weight) {
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) matrix_.at(i, j) += weight * other.matrix_.at(i, j);
}

void Information::add_evenly(double value) {
  for (std::size_t i = 0; i < size(); ++i) matrix_.at(i, i) += value;
}

Triangle Information::precision(double lam) const {
  Triangle sum = matrix_;
  for (std::size_t i = 0; i < size(); ++i) sum.at(i, i) += lam;
  return sum;
}

// With lam I + H = R R', V = R^-1 L^-1: A = V' V.
Triangle Information::covariance(const Triangle& inverse, double lam) const {
  Triangle v = inverse;
  root(lam).solve(v);
  return gram(v);
}

std::vector<double> Information::mean(const std::vector<double>& linear, double lam) const {
  return Precision(*this, lam).solve(linear);
}

Precision::Precision(const Information& information, double lam) : inverse_(Triangle::identity(information.size())) {
  information.root(lam).solve(inverse_);
}

std::vector<double> Precision::solve(std::span<const double> linear) const {
  std::vector<double> half(size(), 0.0), w(size(), 0.0);
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) half[i] += inverse_.at(i, j) * linear[j];
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) w[j] += inverse_.at(i, j) * half[i];
  return w;
}

Information Information::transformed(const Matrix& m) const {
  return Information(Triangle(multiply_transposed(multiply_transposed(m, matrix_.whole()), m)));
}

Information Information::without_last(const std::vector<Cholesky::Rotation>& rotations, std::size_t first) const {
  const auto turn = [&](Matrix& rows) {
    for (const auto& [i, c, s] : rotations) {
      double *upper = rows.row(first + i), *lower = rows.row(first + i + 1);
      for (std::size_t j = 0; j < size(); ++j) {
        const double x = upper[j], y = lower[j];
        upper[j] = c * x + s * y;
        lower[j] = c * y - s * x;
      }
    }
  };
  Matrix half_turned = matrix_.whole(), turned(size(), size());  // G H, and G (G H)'
  turn(half_turned);
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j < size(); ++j) turned.at(i, j) = half_turned.at(j, i);
  turn(turned);
  return Information(Triangle(turned).leading(size() - 1));
}

void Information::visit(Archive& archive, std::size_t n) {
  std::vector<double> values;
  if (!archive.loading()) values = half();
  archive.array("matrix", values);
  if (!archive.loading()) return;
  archive.require(values.size() == n * (n + 1) / 2, "matrix", "must hold the half of a matrix of the coordinates");
  *this = from_half(n, values);
}

}  // namespace onkel
