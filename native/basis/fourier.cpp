#include "basis/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace onkel {
namespace {

// Rounds x to the nearest integer: the sum with 1.5 * 2^52 has no bits left for a fraction.
double nearest(double x) {
  constexpr double shift = 0x1.8p52;
  return (x + shift) - shift;
}

// Without a branch or a call, so that the compiler can vectorise it: x is reduced to [-pi/2, pi/2] by a multiple n of
// pi (pi in two parts, the first of which is short enough for an exact product), where the series ends at r^22.
double cosine(double x) {
  constexpr double pi_high = 0x1.921fb544p+1, pi_low = 0x1.0b4611a626331p-33;
  const double n = nearest(x * std::numbers::inv_pi);
  const double r = (x - n * pi_high) - n * pi_low, s = r * r;
  double sum = -1.0 / (22.0 * 21.0);
  for (int k = 20; k >= 2; k -= 2) sum = (sum * s + 1.0) * (-1.0 / (k * (k - 1)));
  const double odd = n - 2.0 * nearest(0.5 * n);  // 0, or 1 or -1
  return (1.0 - 2.0 * odd * odd) * (1.0 + s * sum);
}

// The product n * pi_high above is exact up to this angle.
constexpr double largest_angle = 0x1p21;

}  // namespace

Fourier::Fourier(std::size_t count, double gamma, const Draws& draws) : gamma_(gamma), draws_(draws), phases_(count) {
  // Negative steps: no frequency is drawn there.
  std::int64_t step = 0;
  for (double& phase : phases_) phase = 2 * std::numbers::pi * draws.uniform(--step, Purpose::feature);
}

double Fourier::frequency(std::size_t i, std::size_t feature) const {
  // The Box-Muller transform: two uniform numbers give one normal number.
  const auto step = static_cast<std::int64_t>(i);
  const auto index = static_cast<std::uint32_t>(feature) * 2;
  const double u = draws_.uniform(step, Purpose::feature, index), v = draws_.uniform(step, Purpose::feature, index + 1);
  return std::sqrt(2 * gamma_) * std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * std::numbers::pi * v);
}

template <class T>
void Fourier::finish(T* values, std::size_t n) const {
  const double length = std::sqrt(2.0 / static_cast<double>(count()));
  double largest = 0.0;
  for (std::size_t i = 0; i < count(); ++i) largest = std::max(largest, std::abs(static_cast<double>(values[i])));
  const auto write = [&](auto cosine_of) {
    for (std::size_t i = 0; i < count(); ++i)
      values[i] = static_cast<T>(length * cosine_of(static_cast<double>(values[i]) + phases_[i]));
  };
  if (largest < largest_angle)
    write([](double x) { return cosine(x); });
  else
    write([](double x) { return std::abs(x) < largest_angle ? cosine(x) : std::cos(x); });
  for (std::size_t i = count(); i < n; ++i) values[i] = T{0};
}
template void Fourier::finish<float>(float*, std::size_t) const;
template void Fourier::finish<double>(double*, std::size_t) const;

}  // namespace onkel
