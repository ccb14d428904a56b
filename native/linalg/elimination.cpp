#include "linalg/elimination.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "linalg/covariance.hpp"

namespace onkel {
namespace {

constexpr double least_variance = std::numeric_limits<double>::min();

// The values of row i of a lower triangle, with their padding.
constexpr std::size_t up_to(std::size_t i) { return (i / isa::score_lanes + 1) * isa::score_lanes; }

}  // namespace

Elimination::Elimination(Matrix covariance, std::vector<double> sizes, Matrix coefficients, const Matrix& rows,
                         std::size_t n_fixed)
    : covariance_(std::move(covariance)),
      sizes_(std::move(sizes)),
      coefficients_(std::move(coefficients)),
      rows_(&rows),
      moves_(coefficients_.rows(), coefficients_.columns()),
      n_fixed_(n_fixed),
      remaining_(coefficients_.columns() - n_fixed),
      removed_(coefficients_.columns(), false),
      step_(rows.stride(), 0.0),
      move_(rows.stride(), 0.0) {}

std::size_t Elimination::cheapest(double& cost) const {
  std::size_t found = removed_.size();
  for (std::size_t j = n_fixed_; j < removed_.size(); ++j) {
    if (removed_[j]) continue;
    double square = 0.0;
    for (std::size_t o = 0; o < coefficients_.rows(); ++o) square += coefficients_.at(o, j) * coefficients_.at(o, j);
    const double here = square / std::max(covariance_.at(j, j), least_variance);
    if (found < removed_.size() && !(here < cost)) continue;
    found = j;
    cost = here;
  }
  return found;
}

// With the displacement e so far, |e - a_j step|^2 = |e|^2 + a_j (a_j |step|^2 - 2 step . e), in the coordinates of the
// rows.
void Elimination::project() {
  const auto dot = isa::routines<double>().dot;
  const auto axpy = isa::routines<double>().axpy;
  double cost = 0.0;
  leaver_ = cheapest(cost);
  variance_ = std::max(covariance_.at(leaver_, leaver_), least_variance);
  for (std::size_t i = 0; i < removed_.size(); ++i) step_[i] = covariance_.at(leaver_, i) / variance_;
  step_[leaver_] = 1.0;
  std::fill(move_.begin(), move_.end(), 0.0);
  for (std::size_t i = 0; i < removed_.size(); ++i)
    if (step_[i] != 0) axpy(step_[i], rows_->row(i), move_.data(), up_to(i));
  const double length = dot(move_.data(), move_.data(), move_.size());
  next_data_ = data_ + cost;
  next_rkhs_ = rkhs_;
  for (std::size_t o = 0; o < coefficients_.rows(); ++o) {
    const double a = coefficients_.at(o, leaver_);
    next_rkhs_ += a * (a * length - 2 * dot(move_.data(), moves_.row(o), move_.size()));
  }
  next_rkhs_ = std::max(0.0, next_rkhs_);
}

bool Elimination::is_above_rounding() const {
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (removed_[i]) continue;
    const double step = i == leaver_ ? 0.0 : step_[i];
    if (!onkel::is_above_rounding(covariance_.at(i, i) - step * step * variance_,
                                  sizes_[i] + step * step * sizes_[leaver_]))
      return false;
  }
  return true;
}

void Elimination::remove() {
  const auto axpy = isa::routines<double>().axpy;
  for (std::size_t o = 0; o < coefficients_.rows(); ++o) {
    const double a = coefficients_.at(o, leaver_);
    axpy(-a, step_.data(), coefficients_.row(o), step_.size());
    axpy(-a, move_.data(), moves_.row(o), move_.size());
    coefficients_.at(o, leaver_) = 0.0;
  }
  for (std::size_t i = 0; i < removed_.size(); ++i)
    if (step_[i] != 0) axpy(-step_[i] * variance_, step_.data(), covariance_.row(i), step_.size());
  for (std::size_t i = 0; i < removed_.size(); ++i) covariance_.at(i, leaver_) = covariance_.at(leaver_, i) = 0.0;
  removed_[leaver_] = true;
  --remaining_;
  data_ = next_data_;
  rkhs_ = next_rkhs_;
}

std::vector<std::size_t> Elimination::staying() const {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < removed_.size(); ++i)
    if (!removed_[i]) columns.push_back(i);
  return columns;
}

}  // namespace onkel
