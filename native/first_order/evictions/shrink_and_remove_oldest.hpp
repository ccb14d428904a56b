// The Forgetron's factor, separate from the rule so that it can be tested.
#pragma once

#include <cmath>

namespace onkel {

// The largest factor phi in (0, 1] with a phi^2 + b phi <= c, for b, c > 0. Where phi = 1 is too large, the parabola
// crosses c once in between, at its smaller root; the formula is written so that a = 0 needs no case of its own.
inline double forgetron_factor(double a, double b, double c) {
  return a + b <= c ? 1.0 : 2 * c / (b + std::sqrt(b * b + 4 * a * c));
}

}  // namespace onkel
