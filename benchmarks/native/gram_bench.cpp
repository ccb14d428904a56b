// One point in, one point out of the inverse Gram matrix, and a whole step of the learners that keep one, as a ratio to
// the time that its multiply-adds take at the peak rate timed in the same process: M^2 for d = P k and M^2 for the
// rank-two sweep.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "experts/make.hpp"
#include "figures.hpp"
#include "linalg/gram.hpp"
#include "loop/learner.hpp"

namespace {

using figures::seconds_now;

// Points in ten dimensions, gaussian kernel: near enough to each other that the inverse is no diagonal.
struct Points {
  static constexpr std::size_t width = 10;
  std::mt19937_64 random{7};
  std::vector<std::vector<double>> rows;
  std::vector<double> draw() {
    std::normal_distribution<double> normal;
    std::vector<double> x(width);
    for (double& value : x) value = normal(random);
    return x;
  }
  std::vector<double> kernel_row(const std::vector<double>& x, const onkel::Gram& gram) const {
    std::vector<double> k(gram.size());
    for (std::size_t i = 0; i < k.size(); ++i) {
      double square = 0.0;
      for (std::size_t f = 0; f < width; ++f) square += std::pow(x[f] - rows[gram.slot(i)][f], 2);
      k[i] = std::exp(-0.1 * square);
    }
    return k;
  }
};

// A step of a learner with `size` points, of which one is added and one leaves (POLK), or none (Projectron): the best
// mean of 20 rows. Coin flips as labels: about every second row is a mistake.
double step_seconds(const onkel::Spec& admission, const onkel::Spec& step, const onkel::Spec& rule, std::size_t size) {
  onkel::Config config;
  const onkel::Spec loss{rule.name == "KOMP" ? "hinge" : "perceptron", {}, {}, {}};
  config.recipe = {"FirstOrder",
                   {{"ball", 0.0}, {"batch_size", 1.0}},
                   {{"loss", loss}, {"admission", admission}, {"step", step}, {"eviction", rule}},
                   {}};
  const onkel::Kernel gaussian{onkel::Base::squared_distance, onkel::Shape::exponential, 0.1, 0.0, 1};
  config.kernels.resize(1);
  config.kernels[0].terms = {{1.0, {gaussian}}};
  config.width = Points::width;
  config.budget = size;
  onkel::Learner learner(config, onkel::make);
  Points points;
  const auto learn = [&](std::size_t n) {
    std::vector<double> rows, labels;
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = points.draw();
      rows.insert(rows.end(), x.begin(), x.end());
      labels.push_back(static_cast<double>(points.random() % 2));
    }
    const double start = seconds_now();
    learner.learn({{rows.data(), n, Points::width}, labels.data()}, nullptr, {}, [] { return true; });
    return (seconds_now() - start) / static_cast<double>(n);
  };
  while (learner.size() < size) learn(20);
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) best = std::min(best, learn(20));
  return best;
}

}  // namespace

int main() {
  const std::string peer = "its multiply-adds at the peak";
  for (const std::size_t size : {300, 1000, 2000}) {
    Points points;
    onkel::Gram gram;
    for (std::size_t i = 0; i < size; ++i) {
      points.rows.push_back(points.draw());
      gram.project(points.kernel_row(points.rows[i], gram), 1.0);
      if (gram.independent()) gram.append(i);
    }
    gram.apply_pending();
    double best = 1e9;
    for (std::size_t step = 0; step < 100; ++step) {
      const std::size_t slot = points.rows.size();
      points.rows.push_back(points.draw());
      const auto k = points.kernel_row(points.rows.back(), gram);
      const double start = seconds_now();
      gram.project(k, 1.0);
      gram.append(slot);
      if (!gram.remove(step % gram.size(), gram.column(step % gram.size()))) std::puts("the inverse broke");
      gram.apply_pending();
      best = std::min(best, seconds_now() - start);
    }
    const double m = static_cast<double>(gram.size());
    figures::state({"gram", "a point in and one out of the inverse Gram matrix, M = " + std::to_string(gram.size()),
                    best / (figures::fma_seconds<double>() * 2 * m * m), "x", peer});
  }
  const double limit = figures::fma_seconds<double>() * 2e6;
  const double polk = step_seconds({"OnGradient", {}, {}, {}}, {"GradientStep", {{"eta", 0.5}, {"lam", 1e-4}}, {}, {}},
                                   {"KOMP", {{"eps", 1e-9}, {"decay", 0.0}}, {}, {}}, 1000);
  const double projectron =
      step_seconds({"OnMistake", {}, {}, {}}, {"GradientStep", {{"eta", 1.0}, {"lam", 0.0}}, {}, {}},
                   {"ProjectNewcomer", {{"eta", 1e-9}}, {}, {}}, 1000);
  figures::state({"gram", "a row of POLK, M = 1000: time", polk / limit, "x", peer, 2.0, true});
  figures::state({"gram", "a row of Projectron, M = 1000, half of them mistakes", projectron * 1e6, "µs", ""});
}
