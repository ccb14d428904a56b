// The best place of a merged point, apart from the rule so that it can be tested.
#pragma once

#include <algorithm>
#include <cmath>

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

// The h that maximises |a_z|^2. As B >= A it lies in [0, 1/2]. With r = sqrt(A / B), c = C / sqrt(A B) and
// y = r e^(-L (1 - 2h)), d|a_z|^2/dh = 0 reads h = (y^2 + c y) / (y^2 + 2 c y + 1), so that v = ln y solves
// v = ln r + L sinh v / (cosh v + c). Left side less right is concave for v <= 0 and has one root there, which Newton
// from v = ln r - L reaches without a step too far; only the second maximum, of the lighter point, lies beyond.
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

// Pairs with a kernel value below this lose more than `loss`. Equal coefficients of one direction are the cheapest to
// merge: at h = 1/2 they lose 2 A (1 - sqrt(k))^2 for k >= e^-2, and no less than at e^-2 for a smaller k.
inline double merge_threshold(double loss, double A) {
  const double root = 1 - std::sqrt(loss / (2 * A));
  return root > 0x1.78b56362cef38p-2 ? root * root : 0.0;  // e^-1
}

}  // namespace onkel
