// Fourier: random features of the gaussian kernel (Rahimi and Recht 2007), sqrt(2 / D) cos(w_i . x + b_i) with w_i ~
// N(0, 2 gamma I) and b_i uniform on [0, 2 pi): the expectation of their inner products is exp(-gamma |x - x'|^2).
//
// The numbers are a pure function of the seed: they are computed again, never saved. A basis that tabulates the
// frequencies does so when the first row comes: there are D for each feature, and loading a file must not take more
// memory than the file's own contents justify.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/draws.hpp"

namespace onkel {

class Fourier {
 public:
  Fourier() = default;  // no features
  Fourier(std::size_t count, double gamma, const Draws& draws);

  std::size_t count() const { return phases_.size(); }         // D
  double frequency(std::size_t i, std::size_t feature) const;  // the entry of w_i
  double phase(std::size_t i) const { return phases_[i]; }     // b_i
  // From w_i . x to the features, in place; the values past `count` become 0.
  template <class T>
  void finish(T* values, std::size_t n) const;

 private:
  double gamma_ = 1.0;
  Draws draws_;
  std::vector<double> phases_;  // b
};

}  // namespace onkel
