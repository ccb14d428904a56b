#include "linalg/information.hpp"

#include <algorithm>
#include <limits>

namespace onkel {

Information Information::from_half(std::size_t n, std::span<const double> half) {
  Information result(n);
  const double* next = half.data();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) result.matrix_.at(i, j) = *next++;
  return result;
}

std::optional<Information> Information::from_covariance(const Matrix& covariance, const Triangle& lower, double lam) {
  const std::size_t n = lower.size();
  Matrix columns(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) columns.at(j, i) = lower.at(i, j);
  const Matrix coordinates = multiply_transposed(multiply_transposed(columns, covariance), columns);
  Triangle half(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) half.at(i, j) = coordinates.at(i, j);
  Triangle inverse = Triangle::identity(n);
  const Solver root = Solver::of_symmetric(std::move(half), std::numeric_limits<double>::min());
  if (!root.is_exact()) return std::nullopt;
  root.solve(inverse);
  Information result;
  result.matrix_ = gram(inverse);
  for (std::size_t i = 0; i < n; ++i) result.matrix_.at(i, i) -= lam;
  for (std::size_t i = n; i < result.matrix_.rows(); ++i) result.matrix_.at(i, i) = 0.0;
  return result;
}

void Information::reach(std::size_t n) {
  if (n > matrix_.rows()) add_waiting();
  matrix_.reach(n);
}

void Information::add_row(std::span<const double> z, double v) {
  if (weights_.size() == max_waiting) add_waiting();
  waiting_.resize(max_waiting * matrix_.rows(), 0.0);
  std::copy(z.begin(), z.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(weights_.size() * matrix_.rows()));
  weights_.push_back(v);
}

void Information::add_waiting() const {
  const std::size_t n = matrix_.rows(), m = weights_.size();
  if (m == 0) return;
  Buffer<double> weighted(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) weighted[i * m + j] = weights_[j] * waiting_[j * n + i];
  matrix_.add_products(weighted.data(), waiting_.data(), n, m);
  waiting_.clear();
  weights_.clear();
}

void Information::add(const Information& other, double weight) {
  add_waiting();
  other.add_waiting();
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) matrix_.at(i, j) += weight * other.matrix_.at(i, j);
}

void Information::add_evenly(double value) {
  add_waiting();
  for (std::size_t i = 0; i < size(); ++i) matrix_.at(i, i) += value;
}

void Information::scale(double factor) {
  add_waiting();
  matrix_.scale(factor);
}

std::vector<double> Information::half() const {
  add_waiting();
  std::vector<double> values;
  values.reserve(size() * (size() + 1) / 2);
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) values.push_back(matrix_.at(i, j));
  return values;
}

Triangle Information::precision(double lam) const {
  add_waiting();
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

std::vector<double> Information::times(const std::vector<double>& w) const { return multiply(dense(), w); }

Information Information::transformed(const Matrix& m) const {
  const Matrix whole = multiply_transposed(multiply_transposed(m, dense()), m);
  Information result(m.rows());
  for (std::size_t i = 0; i < m.rows(); ++i)
    for (std::size_t j = 0; j <= i; ++j) result.matrix_.at(i, j) = whole.at(i, j);
  return result;
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
  Matrix half_turned = dense(), turned(size(), size());  // G H, and G (G H)'
  turn(half_turned);
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t j = 0; j < size(); ++j) turned.at(i, j) = half_turned.at(j, i);
  turn(turned);
  Information result(size() - 1);
  for (std::size_t i = 0; i + 1 < size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) result.matrix_.at(i, j) = turned.at(i, j);
  return result;
}

Information Information::leading(std::size_t n) const {
  add_waiting();
  Information result(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) result.matrix_.at(i, j) = matrix_.at(i, j);
  return result;
}

Matrix Information::dense() const {
  add_waiting();
  constexpr std::size_t lanes = Triangle::lanes;
  Matrix result(size(), size());
  for (std::size_t begin = 0; begin < size(); begin += lanes) {
    const double* tile = matrix_.tile(begin / lanes);
    for (std::size_t i = begin; i < size(); ++i)
      for (std::size_t j = begin; j <= std::min(i, begin + lanes - 1); ++j)
        result.at(i, j) = result.at(j, i) = tile[(i - begin) * lanes + j - begin];
  }
  return result;
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
