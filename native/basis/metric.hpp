// Metric: what a kernel makes of a row's features before it computes anything from them.
//
// A feature is first mapped by a piecewise linear function, its number beside its rank among other rows, where it has
// one; then it is multiplied by its scale. Points are kept as they came: rows and points are mapped once, on entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace onkel {

// A piecewise linear function, which goes on beyond the first and the last knot as it does between those and their
// neighbours. No knots are the identity.
class PiecewiseLinear {
 public:
  PiecewiseLinear() = default;
  PiecewiseLinear(std::vector<double> at, std::vector<double> values) : at_(std::move(at)), values_(std::move(values)) {
    if (at_.size() != values_.size() || at_.size() == 1)
      throw std::invalid_argument("a piecewise linear function needs a value for each of two or more knots, or none");
    for (std::size_t k = 0; k + 1 < at_.size(); ++k) {
      slopes_.push_back((values_[k + 1] - values_[k]) / (at_[k + 1] - at_[k]));
      if (!(at_[k] < at_[k + 1] && std::isfinite(slopes_.back())))
        throw std::invalid_argument("the knots of a piecewise linear function must ascend, with finite slopes");
    }
    // Features that are not stored are 0, and stay so.
    if ((*this)(0.0) != 0) throw std::invalid_argument("a piecewise linear function of a feature must map 0 to 0");
  }
  double operator()(double x) const {
    if (at_.empty()) return x;
    // The number of inner knots up to x, without a branch: where a row lies is not to be guessed, and most of the time
    // of a search would be that of wrong guesses.
    std::size_t k = 0;
    for (std::size_t left = at_.size() - 2; left > 0;) {
      const std::size_t half = (left + 1) / 2;
      k += at_[k + half] <= x ? half : 0;
      left -= half;
    }
    return values_[k] + slopes_[k] * (x - at_[k]);
  }
  friend bool operator==(const PiecewiseLinear&, const PiecewiseLinear&) = default;

 private:
  std::vector<double> at_, values_, slopes_;
};

struct Metric {
  // r_j^(1/p), where r are the kernel's relevances and a feature's contribution to the base quantity grows with its
  // p-th power. Features beyond the last have the factor 1.
  std::vector<double> scales;
  std::vector<PiecewiseLinear> ranks;  // features beyond the last are not mapped

  double scale(std::size_t feature) const { return feature < scales.size() ? scales[feature] : 1.0; }
  double operator()(std::size_t feature, double value) const {
    return (feature < ranks.size() ? ranks[feature](value) : value) * scale(feature);
  }
  friend bool operator==(const Metric&, const Metric&) = default;
};

}  // namespace onkel
