// The Forgetron's factor, apart from the rule so that it can be tested.
#pragma once

#include <cmath>

namespace onkel {

// The largest factor phi in (0, 1] with a phi^2 + b phi <= c, for b, c > 0. Where phi = 1 is too much the parabola
// crosses c once on the way there, at its smaller root; written so that a = 0 needs no case of its own.
inline double forgetron_factor(double a, double b, double c) {
  return a + b <= c ? 1.0 : 2 * c / (b + std::sqrt(b * b + 4 * a * c));
}

}  // namespace onkel
