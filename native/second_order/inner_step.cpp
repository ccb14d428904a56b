#include "second_order/inner_step.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {
namespace {

constexpr double largest_part = 0.001;  // of a memory that one row may stand for
constexpr int max_halvings = 20;
constexpr double rounding = 1e-9;  // near its minimum the objective is flat up to rounding errors

}  // namespace

double multiplicity(double easy_slope, double memory, const Scored& row, double draw) {
  const double slope = largest(row.g), most = std::max(1.0, memory * largest_part);
  if (slope >= easy_slope) return 1.0;
  return draw * easy_slope < slope && easy_slope <= most * slope ? easy_slope / slope : 0.0;
}

std::pair<std::vector<double>, double> solve(const Loss& loss, Scored& row, double s) {
  const int inner_steps = loss.inner_steps();
  const std::vector<double> m = row.f;
  std::vector<double> b(m.size(), 0.0), next(m.size());
  double value = row.weight * row.loss;
  for (int step = 0; step < inner_steps; ++step) {
    const double v = loss.steepest(row);
    for (std::size_t o = 0; o < b.size(); ++o) next[o] = (v * s * b[o] - row.weight * row.g[o]) / (1 + v * s);
    for (int halvings = 0;; ++halvings) {
      double length = 0.0;
      for (std::size_t o = 0; o < b.size(); ++o) {
        row.f[o] = m[o] + s * next[o];
        length += next[o] * next[o];
      }
      loss.evaluate(row);
      const double reached = s * length / 2 + row.weight * row.loss;
      if (reached <= value * (1 + rounding) || halvings == max_halvings || inner_steps == 1) {
        value = reached;
        break;
      }
      for (std::size_t o = 0; o < b.size(); ++o) next[o] = (b[o] + next[o]) / 2;
    }
    b = next;
  }
  return {std::move(b), loss.information(row)};
}

Excess excess_of(const Scored& row, Task task) {
  if (task == Task::regression) return {2 * row.loss, row.curvature};
  return {largest(row.g) * largest(row.g), 1.0};
}

}  // namespace onkel
