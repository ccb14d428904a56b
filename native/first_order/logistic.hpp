// The logistic function and ln(1 + e^x), safe at both ends.
#pragma once

#include <algorithm>
#include <cmath>

namespace onkel {

// 1 / (1 + e^-x)
inline double logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// ln(1 + e^x)
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace onkel
