// How a benchmark of the core states a figure: one JSON object a line, as benchmarks/figures.py reads it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "isa/isa.hpp"

namespace figures {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The time of one multiply-add at the processor's peak, the best of a few short runs.
template <class T>
double fma_seconds() {
  constexpr std::size_t timed = 192 * 20000;
  double best = 1e300;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = seconds_now();
    volatile double sink = onkel::isa::routines<T>().fma_peak(timed);
    (void)sink;
    best = std::min(best, seconds_now() - start);
  }
  return best / static_cast<double>(timed);
}

struct Figure {
  std::string bench, name;
  double value;
  std::string unit, peer;  // the peer that the value is a ratio to
  std::optional<double> goal = {};
  bool at_most = false;
};

inline void state(const Figure& figure) {
  const std::string goal = figure.goal ? std::to_string(*figure.goal) : "null";
  std::printf(
      "{\"bench\": \"%s\", \"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"peer\": \"%s\", \"goal\": %s, "
      "\"at_most\": %s, \"level\": \"%s\", \"peak\": %.1f}\n",
      figure.bench.c_str(), figure.name.c_str(), figure.value, figure.unit.c_str(), figure.peer.c_str(), goal.c_str(),
      figure.at_most ? "true" : "false", onkel::isa::level().name, 1e-9 / fma_seconds<float>());
  std::fflush(stdout);
}

}  // namespace figures
