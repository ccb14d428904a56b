// The encoding of categories by their targets, one row at a time.
#include "io/targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onkel {
namespace {

// Targets near the largest double overflow their squares; what is kept stays a number that a file can hold.
void add(double& sum, double value) {
  constexpr double most = std::numeric_limits<double>::max();
  const double changed = sum + value;
  if (!std::isnan(changed)) sum = std::clamp(changed, -most, most);
}

}  // namespace

double TargetEncoding::prior() const {
  return priors[static_cast<std::size_t>(std::min_element(errors, errors + priors.size()) - errors)];
}

double TargetEncoding::shrunk(std::size_t level, std::size_t target, double prior) const {
  const auto n = static_cast<double>(counts[level]);
  return (sums[level * n_targets + target] - n * mean[target]) / (n + prior);
}

void TargetEncoding::encode(std::int64_t level, double* out) const {
  std::fill_n(out, n_targets, 0.0);
  if (level < 0 || rows == 0) return;
  double variance = 0;
  for (std::size_t target = 0; target < n_targets; ++target) variance += squares[target];
  variance /= static_cast<double>(rows);
  if (!(variance > 0)) return;
  const double unit = std::sqrt(variance), weight = prior();
  for (std::size_t target = 0; target < n_targets; ++target) {
    const double value = shrunk(static_cast<std::size_t>(level), target, weight) / unit;
    out[target] = std::isfinite(value) ? value : 0.0;
  }
}

void TargetEncoding::learn(std::int64_t level, const double* targets) {
  if (level >= 0) {
    const auto place = static_cast<std::size_t>(level);
    if (counts[place] > 0) {  // a level without a row is predicted alike by all priors
      for (std::size_t i = 0; i < priors.size(); ++i)
        for (std::size_t target = 0; target < n_targets; ++target) {
          const double error = targets[target] - mean[target] - shrunk(place, target, priors[i]);
          add(errors[i], error * error);
        }
    }
    ++counts[place];
    for (std::size_t target = 0; target < n_targets; ++target) add(sums[place * n_targets + target], targets[target]);
  }
  ++rows;
  for (std::size_t target = 0; target < n_targets; ++target) {
    const double deviation = targets[target] - mean[target];
    add(mean[target], deviation / static_cast<double>(rows));
    add(squares[target], deviation * (targets[target] - mean[target]));
  }
}

}  // namespace onkel
