// Times the kernel tiles of native/isa against the processor's multiply-add peak and a plain scalar loop.
//
// One core, one process, best of repeated short runs; the clock wanders, so the ratios are the result. ONKEL_ISA
// chooses the instruction set. Compile this file without any -m flag: the plain loop is what a user's compiler makes of
// the textbook formula.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "figures.hpp"

namespace {

using onkel::Kernel;
namespace isa = onkel::isa;

constexpr std::size_t n_rows = 48;
constexpr std::size_t n_points = 2000;
constexpr std::size_t out_stride = n_points + isa::score_lanes;  // off the powers of two
constexpr std::size_t peak_lanes = 192 * 1000;
constexpr int n_repeats = 60;
constexpr double short_run_seconds = 4e-4;

using figures::seconds_now;

// Keeps a result alive without storing it anywhere that matters.
volatile double sink = 0;

// The best time of one call of each, in seconds. They take turns in short runs, so that a change of the clock meets
// all.
std::vector<double> best_seconds(const std::vector<std::function<void()>>& contestants) {
  std::vector<std::size_t> calls(contestants.size(), 1);
  std::vector<double> best(contestants.size(), 1e300);
  for (int repeat = 0; repeat < n_repeats;) {
    bool long_enough = true;
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      const double start = seconds_now();
      for (std::size_t i = 0; i < calls[c]; ++i) contestants[c]();
      const double elapsed = seconds_now() - start;
      best[c] = std::min(best[c], elapsed / static_cast<double>(calls[c]));
      if (elapsed < short_run_seconds) {
        calls[c] *= 2;
        long_enough = false;
      }
    }
    if (long_enough) ++repeat;
  }
  return best;
}

template <class T>
struct Data {
  std::size_t n_features;
  std::vector<T> rows;
  std::vector<T> points;  // row-major, for the plain loop
  std::vector<T> tiles;
  std::vector<T> out;

  explicit Data(std::size_t d) : n_features(d), rows(n_rows * d), points(n_points * d), tiles(n_points * d) {
    std::mt19937 random(1);
    std::uniform_real_distribution<T> uniform(0, 1);
    for (T& x : rows) x = uniform(random);
    for (T& x : points) x = uniform(random);
    constexpr std::size_t lanes = isa::lanes<T>;
    for (std::size_t p = 0; p < n_points; ++p) {
      for (std::size_t k = 0; k < d; ++k) tiles[(p / lanes * d + k) * lanes + p % lanes] = points[p * d + k];
    }
    out.resize(n_rows * out_stride);
  }
};

// What one writes first: two loops, the exponential of the standard library.
template <class T>
[[gnu::noinline]] void plain_row(const T* row, const T* points, std::size_t n_features, T gamma, T* out) {
  for (std::size_t p = 0; p < n_points; ++p) {
    T sum = 0;
    for (std::size_t k = 0; k < n_features; ++k) {
      const T difference = row[k] - points[p * n_features + k];
      sum += difference * difference;
    }
    out[p] = std::exp(-gamma * sum);
  }
}

constexpr std::size_t widths[] = {8, 18, 54, 123, 300};
struct Goals {
  std::optional<double> of_peak, over_plain;
};
template <class T>
Goals goals_of(std::size_t d) {
  constexpr bool is_float = sizeof(T) == 4;
  switch (d) {
    case 8:
      return {{}, is_float ? 10 : 5};
    case 18:
      return {is_float ? 45 : 35, is_float ? 13 : 7};
    case 54:
      return {is_float ? 65 : 57, is_float ? 21 : 10};
    case 123:
      return {is_float ? 75 : 70, is_float ? 23 : 13};
    default:
      return {is_float ? 80 : 72, {}};
  }
}

template <class T>
void bench_kernel(std::size_t d) {
  Data<T> data(d);
  const Kernel kernel = {onkel::Base::squared_distance, onkel::Shape::exponential, 1.0 / static_cast<double>(d), 0, 1};
  const auto tile = [&](const T* rows, std::size_t count) {
    isa::routines<T>().tile(kernel, rows, count, d, data.tiles.data(), n_points / isa::lanes<T>, d, data.out.data(),
                            out_stride);
  };
  std::size_t turn = 0;
  const auto next_row = [&] { return data.rows.data() + turn++ % n_rows * d; };
  const std::vector<double> seconds = best_seconds(
      {[] { sink = isa::routines<T>().fma_peak(peak_lanes); }, [&] { tile(data.rows.data(), n_rows); },
       [&] { tile(next_row(), 1); },
       [&] { plain_row(next_row(), data.points.data(), d, static_cast<T>(kernel.gamma), data.out.data()); }});
  const double at_peak = seconds[0] / static_cast<double>(peak_lanes) * static_cast<double>(d);
  const double block = seconds[1] / (n_rows * n_points), row = seconds[2] / n_points, plain = seconds[3] / n_points;
  const std::string type = sizeof(T) == 4 ? "float32" : "float64", shape = std::to_string(d) + " features, " + type;
  const Goals goals = goals_of<T>(d);
  figures::state(
      {"tile", "kernel values, 48 rows, " + shape, 100 * at_peak / block, "%", "the multiply-add peak", goals.of_peak});
  figures::state(
      {"tile", "kernel values, 48 rows, " + shape, plain / block, "x", "a plain -O3 loop", goals.over_plain});
  figures::state({"tile", "kernel values, one row, " + shape, 100 * at_peak / row, "%", "the multiply-add peak"});
}

}  // namespace

int main() {
  for (const std::size_t d : widths) bench_kernel<float>(d);
  for (const std::size_t d : widths) bench_kernel<double>(d);
}
