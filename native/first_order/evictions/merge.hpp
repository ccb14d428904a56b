// The best position of a merged point, separate from the rule so that it can be tested.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace onkel {

// Two points of a gaussian kernel with kernel value e^-L between them and coefficients a_m, a_n (A = |a_m|^2,
// B = |a_n|^2 >= A, C = a_m . a_n > 0) become one at z = h s_m + (1 - h) s_n with a_z = a_m e^(-L (1-h)^2) + a_n e^(-L
// h^2).
struct Merged {
  double h;
  double from_m, from_n;  // the factors of a_m and a_n in a_z
  double loss;            // |a_m k_m + a_n k_n - a_z k_z|^2 = A + B + 2 e^-L C - |a_z|^2
};

inline Merged merge_at(double h, double L, double A, double B, double C) {
  const double m = std::exp(-L * (1 - h) * (1 - h)), n = std::exp(-L * h * h);
  return {h, m, n, A * (1 - m * m) + B * (1 - n * n) + 2 * C * (std::exp(-L) - m * n)};
}

// The h that maximises |a_z|^2. As B >= A it lies in [0, 1/2]. With r = sqrt(A / B), c = C / sqrt(A B) and y = r e^(-L
// (1 - 2h)), d|a_z|^2/dh = 0 reads h = (y^2 + c y) / (y^2 + 2 c y + 1), so that v = ln y solves v = ln r + L sinh v /
// (cosh v + c). The left side minus the right is concave for v <= 0 and has one root there, which Newton's method from
// v = ln r - L reaches without overshooting; only the second maximum, near the lighter point, lies beyond.
inline Merged best_merge(double L, double A, double B, double C) {
  const double log_r = 0.5 * std::log(A / B), c = C / std::sqrt(A * B);
  double v = log_r - L, y = 0.0, width = 1.0;
  for (int step = 0; step < 50; ++step) {
    y = std::exp(v);
    width = y * (y + 2 * c) + 1;
    const double gap = v - log_r - L * (y * y - 1) / width;
    const double slope = 1 - L * 2 * y * (c * y * y + 2 * y + c) / (width * width);
    if (!(slope > 0)) break;
    const double change = -gap / slope;
    v = std::min(0.0, v + change);
    if (!(change > 1e-12)) break;
  }
  y = std::exp(v);
  return merge_at(y * (y + c) / (y * (y + 2 * c) + 1), L, A, B, C);
}

// Which pairs need not be considered. Equal coefficients of one direction are the cheapest to merge, and the cost grows
// with the distance, so their loss at e^-L is a lower bound for every pair at that distance or beyond. It is tabulated
// in L; between two entries the bound is valid, though not tight.
class MergeBound {
 public:
  MergeBound() {
    for (std::size_t i = 0; i < steps; ++i) losses_[i] = best_merge(L(i), 1.0, 1.0, 1.0).loss;
  }
  // Pairs whose kernel value is below this lose more than `share` times |a|^2 of the lighter one.
  double least_value(double share) const {
    const auto beyond = std::upper_bound(losses_.begin(), losses_.end(), share * (1 + 1e-9));
    return beyond == losses_.end() ? 0.0 : std::exp(-L(static_cast<std::size_t>(beyond - losses_.begin())));
  }

 private:
  static constexpr std::size_t steps = 1024;
  static double L(std::size_t i) { return static_cast<double>(i) / 64; }
  std::array<double, steps> losses_;
};

}  // namespace onkel
