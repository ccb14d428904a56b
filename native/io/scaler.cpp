// The scalers' recurrences, one value at a time, and the one pass over rows.
#include "io/scaler.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {
namespace {

struct Moments {
  double mean, squares;
};

// A feature's moments over n rows: those recorded so far, as far as they still count, combined with zeros (the formula
// of Chan, Golub and LeVeque for two samples).
Moments with_zeros(const StandardScaling& s, std::size_t feature, std::int64_t n) {
  const double mean = s.mean[feature], squares = s.squares[feature];
  if (s.seen[feature] == n) return {mean, squares};
  const std::int64_t zeros = n - s.seen[feature];
  const double kept = s.forget < 1 ? std::pow(s.forget, static_cast<double>(zeros)) : 1.0;
  const double share = kept * s.weight(s.seen[feature]) / s.weight(n);
  return {mean * share, kept * squares + mean * mean * share * s.weight(zeros)};
}

}  // namespace

double StandardScaling::weight(std::int64_t n) const {
  const auto count = static_cast<double>(n);
  return forget < 1 ? (1 - std::pow(forget, count)) / (1 - forget) : count;
}

void StandardScaling::learn(std::size_t feature, double x) {
  if (x == 0) return;
  auto [m, s] = rows > 1 ? with_zeros(*this, feature, rows - 1) : Moments{0, 0};
  const double deviation = x - m;
  m += deviation * share;
  mean[feature] = m;
  squares[feature] = forget * s + deviation * (x - m);
  seen[feature] = rows;
}

double StandardScaling::scaled(std::size_t feature, double x) const {
  const auto [m, s] = with_zeros(*this, feature, rows);
  const double deviation = scale ? std::sqrt(s * share) : 0;
  return (centre ? x - m : x) / (deviation > 0 ? deviation : 1);
}

void RangeScaling::learn(std::size_t feature, double x) {
  least[feature] = rows > 1 ? std::min(least[feature], x) : x;
  greatest[feature] = rows > 1 ? std::max(greatest[feature], x) : x;
}

double RangeScaling::scaled(std::size_t feature, double x) const {
  const double range = greatest[feature] - least[feature];
  return (x - least[feature]) / (range > 0 ? range : 1) * (to - from) + from;
}

template <class Scaling, class T>
void scale_rows(Scaling& scaling, const Rows& rows, bool learn, const bool* counts, T* out) {
  const T* values = static_cast<const T*>(rows.values);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const std::size_t begin = rows.offsets ? static_cast<std::size_t>(rows.offsets[row]) : row * rows.width;
    const std::size_t end = rows.offsets ? static_cast<std::size_t>(rows.offsets[row + 1]) : begin + rows.width;
    const auto feature = [&](std::size_t i) {
      return rows.indices ? static_cast<std::size_t>(rows.indices[i]) : i - begin;
    };
    if (learn && (!counts || counts[row])) {
      scaling.count();
      for (std::size_t i = begin; i < end; ++i) scaling.learn(feature(i), static_cast<double>(values[i]));
    }
    // Before the first row that counts there are no statistics to scale by.
    for (std::size_t i = begin; out && i < end; ++i)
      out[i] =
          scaling.rows == 0 ? values[i] : static_cast<T>(scaling.scaled(feature(i), static_cast<double>(values[i])));
  }
}

template void scale_rows(StandardScaling&, const Rows&, bool, const bool*, float*);
template void scale_rows(StandardScaling&, const Rows&, bool, const bool*, double*);
template void scale_rows(RangeScaling&, const Rows&, bool, const bool*, float*);
template void scale_rows(RangeScaling&, const Rows&, bool, const bool*, double*);

}  // namespace onkel
