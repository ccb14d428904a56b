#include "first_order/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace onkel {
namespace {

constexpr std::size_t kept = 255;
constexpr double deviations = 1.4826;  // the standard deviation of a normal variable, in medians of its absolute value

// The smallest of the values that so many of them do not exceed.
double quantile(std::vector<double>& values, double fraction) {
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

// Where so many residuals are 0 that a quantile is, their mean stands in for it. If all are 0, so is the row's own, and
// units that divide by nothing stay finite.
Units Residuals::units(double residual) const {
  if (!are_kept()) return {};
  std::vector<double> values(latest_);
  values.push_back(std::abs(residual));
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  const double least = mean > 0 ? mean : std::numeric_limits<double>::min();
  const double middle = quantile(values, 0.5), narrow = quantile(values, narrow_);
  return {deviations * (middle > 0 ? middle : least), narrow > 0 ? narrow : least};
}

void Residuals::add(double residual) {
  if (!are_kept()) return;
  if (latest_.size() < kept)
    latest_.push_back(std::abs(residual));
  else
    latest_[static_cast<std::size_t>(next_)] = std::abs(residual);
  next_ = (next_ + 1) % static_cast<std::int64_t>(kept);
}

void Residuals::visit(Archive& archive) {
  if (!are_kept()) return;
  archive.array("latest", latest_);
  archive.scalar("next", next_);
  archive.require(
      latest_.size() <= kept && std::all_of(latest_.begin(), latest_.end(), [](double r) { return r >= 0; }), "latest",
      "must hold at most 255 absolute residuals");
  const auto n = static_cast<std::int64_t>(latest_.size());
  archive.require(n < static_cast<std::int64_t>(kept) ? next_ == n : next_ >= 0 && next_ < n, "next",
                  "must be where the next residual goes");
}

}  // namespace onkel
