// Times the kernel tiles of native/isa against the processor's multiply-add peak and a plain scalar loop.
//
// One core, one process, best of repeated short runs; the clock wanders, so the ratios are the result. ONKEL_ISA
// chooses the instruction set. Compile this file without any -m flag: the plain loop is what a user's compiler makes of
// the textbook formula.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include "isa/isa.hpp"

namespace {

using onkel::Kernel;
namespace isa = onkel::isa;

constexpr std::size_t n_rows = 48;
constexpr std::size_t n_points = 2000;
constexpr std::size_t out_stride = n_points + isa::score_lanes;  // off the powers of two
constexpr std::size_t peak_lanes = 192 * 1000;
constexpr int n_repeats = 60;
constexpr double short_run_seconds = 4e-4;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
  const double lane = seconds[0] / static_cast<double>(peak_lanes);
  const double block = seconds[1] / (n_rows * n_points);
  const double row = seconds[2] / n_points;
  const double plain = seconds[3] / n_points;
  const double pair_at_peak = lane * static_cast<double>(d);
  std::printf("%4zu %10.1f | %8.3f %7.0f%% %8.1f | %8.3f %7.0f%% %8.1f | %9.4f\n", d, 1e-9 / lane, 1e-9 / block,
              100 * pair_at_peak / block, plain / block, 1e-9 / row, 100 * pair_at_peak / row, plain / row,
              1e-9 / plain);
}

template <class T>
void bench_parts() {
  std::vector<T> source(n_points);
  for (std::size_t i = 0; i < n_points; ++i) source[i] = static_cast<T>(i) * T(0.01);
  std::vector<T> values(n_points);
  const std::vector<double> weights(n_points, 0.25);
  const auto shape = [&](onkel::Shape formula) {
    std::copy(source.begin(), source.end(), values.begin());
    isa::routines<T>().shape({onkel::Base::squared_distance, formula, 0.5, 0.1, 3}, values.data(), n_points);
  };
  const std::vector<double> seconds =
      best_seconds({[&] { shape(onkel::Shape::exponential); }, [&] { shape(onkel::Shape::polynomial); },
                    [&] { shape(onkel::Shape::sigmoid); },
                    [&] { sink = isa::routines<T>().dot(source.data(), weights.data(), n_points); }});
  std::printf("ns a value: exponential %.2f, polynomial (degree 3) %.2f, sigmoid %.2f, dot with weights %.3f\n",
              seconds[0] * 1e9 / n_points, seconds[1] * 1e9 / n_points, seconds[2] * 1e9 / n_points,
              seconds[3] * 1e9 / n_points);
}

template <class T>
void bench(const char* type) {
  std::printf("\n%s, level %s, gaussian, %zu points\n", type, isa::level().name, n_points);
  std::printf("%4s %10s | %-26s | %-26s | %-9s\n", "", "FMA peak", "block of 48 rows", "one row", "plain");
  std::printf("%4s %10s | %8s %8s %8s | %8s %8s %8s | %9s\n", "d", "G lanes/s", "Gpairs/s", "% peak", "x plain",
              "Gpairs/s", "% peak", "x plain", "Gpairs/s");
  for (const std::size_t d : std::initializer_list<std::size_t>{8, 18, 54, 123, 300}) bench_kernel<T>(d);
  bench_parts<T>();
}

}  // namespace

int main() {
  bench<float>("float32");
  bench<double>("float64");
}
