#include "first_order/loss.hpp"

#include <algorithm>
#include <cmath>

#include "first_order/logistic.hpp"

namespace onkel {
namespace {

constexpr double large_score = 1e3;  // far beyond any margin

// Curves of the margin (classes), slope <= 0 ...
CurvePoint perceptron(double z, double) { return {std::max(0.0, -z), z <= 0 ? -1.0 : 0.0, 0.0}; }
CurvePoint hinge(double z, double) { return {std::max(0.0, 1 - z), z < 1 ? -1.0 : 0.0, 0.0}; }
CurvePoint squared_hinge(double z, double) {
  const double shortfall = std::max(0.0, 1 - z);
  return {shortfall * shortfall, -2 * shortfall, z < 1 ? 2.0 : 0.0};
}
CurvePoint log_loss(double z, double) {
  const double q = logistic(-z);
  return {softplus(-z), -q, q * (1 - q)};
}
// The value is capped at e^700, so that it is finite.
CurvePoint exponential(double z, double) {
  const double e = std::exp(std::min(-z, 700.0));
  return {e, -e, e};
}
// ... and of the residual (regression).
CurvePoint squared_error(double z, double) { return {0.5 * z * z, z, 1.0}; }
CurvePoint epsilon_insensitive(double z, double epsilon) {
  const double excess = std::abs(z) - epsilon;
  return excess > 0 ? CurvePoint{excess, std::copysign(1.0, z), 0.0} : CurvePoint{0.0, 0.0, 0.0};
}
CurvePoint huber(double z, double epsilon) {
  if (std::abs(z) <= epsilon) return {0.5 * z * z, z, 1.0};
  return {epsilon * (std::abs(z) - 0.5 * epsilon), std::copysign(epsilon, z), 0.0};
}

struct Entry {
  const char* name;
  CurvePoint (*curve)(double, double);
  bool of_residual;
  const char* parameter;  // the curve's own number, if it has one
};

constexpr Entry table[] = {
    {"perceptron", perceptron, false, nullptr},
    {"hinge", hinge, false, nullptr},
    {"squared_hinge", squared_hinge, false, nullptr},
    {"log_loss", log_loss, false, nullptr},
    {"exponential", exponential, false, nullptr},
    {"squared_error", squared_error, true, nullptr},
    {"epsilon_insensitive", epsilon_insensitive, true, "epsilon"},
    {"huber", huber, true, "epsilon"},
};

// A loss this small is due to rounding, and the row is not learned from.
constexpr double negligible = 1e-12;

std::size_t strongest_other(std::span<const double> f, std::size_t label) {
  std::size_t rival = label == 0 ? 1 : 0;
  for (std::size_t c = 0; c < f.size(); ++c)
    if (c != label && f[c] > f[rival]) rival = c;
  return rival;
}

}  // namespace

Loss::Loss(const Spec& spec, Task task) : task_(task) {
  if (spec.maker.has_value()) {
    check_task(spec, spec.at("regression") != 0);
    foreign_curve_ = std::any_cast<ForeignCurve>(spec.maker);
    logistic_ = spec.at("logistic") != 0;
    return;
  }
  for (const Entry& entry : table) {
    if (spec.name != entry.name) continue;
    check_task(spec, entry.of_residual);
    curve_ = entry.curve;
    if (entry.parameter != nullptr) parameter_ = spec.at(entry.parameter);
    logistic_ = entry.curve == log_loss;
    return;
  }
  unknown_part("loss", spec);
}

void Loss::check_task(const Spec& spec, bool of_residual) const {
  if (of_residual != (task_ == Task::regression))
    throw std::invalid_argument("loss '" + spec.name + "' is for " + (of_residual ? "regression" : "classes"));
}

void Loss::evaluate(Scored& row) const {
  row.z = row.loss = row.curvature = 0.0;
  row.mistake = false;
  std::fill(row.direction.begin(), row.direction.end(), 0.0);
  row.set_slope(0.0);
  if (task_ == Task::multiclass && row.f.size() < 2) return;  // no other class is known yet
  arrange(row);
  const CurvePoint point = curve_ != nullptr ? curve_(row.z, parameter_) : foreign_curve_(row.z);
  row.curvature = point.curvature;
  // At a margin of exactly 0 the perceptron makes a mistake whose loss is 0.
  if (point.value < negligible && !row.mistake) return;
  row.loss = point.value;
  row.set_slope(point.slope);
}

// z and dz/df.
void Loss::arrange(Scored& row) const {
  if (task_ == Task::binary) {
    row.z = row.y * row.f[0];
    row.direction[0] = row.y;
    row.mistake = row.z <= 0;
    return;
  }
  if (task_ == Task::regression) {
    row.z = row.f[0] - row.y;
    row.direction[0] = 1.0;
    return;
  }
  const auto label = static_cast<std::size_t>(row.y);
  const std::size_t rival = strongest_other(row.f, label);
  row.mistake = row.f[label] <= row.f[rival];
  row.z = row.f[label] - row.f[rival];
  row.direction[label] = 1.0;
  row.direction[rival] = -1.0;
  if (!logistic_) return;
  double others = 0.0;
  for (std::size_t c = 0; c < row.f.size(); ++c)
    if (c != label) others += row.direction[c] = -std::exp(row.f[c] - row.f[rival]);
  for (std::size_t c = 0; c < row.f.size(); ++c)
    if (c != label) row.direction[c] /= -others;
  row.z -= std::log(-others);
}

// The diagonal of the loss's second derivative H in the scores. Log losses: p_c (1 - p_c), where |g_c| is p_c, or 1 -
// p_c for the row's own class. Others: the curve's own, along its direction.
double Loss::curvature(const Scored& row, std::size_t output) const {
  const double g = std::abs(row.g[output]), d = row.direction[output];
  return row.weight * (logistic_ ? g * (1 - g) : row.curvature * d * d);
}

// For a step, whose scores must not overshoot. Log losses: the largest. Others: along the direction d the second
// derivative is c d d', whose one eigenvalue that is not 0 is c |d|^2. With less, a row between two classes would be
// carried as far beyond its margin as it was short of it, and rows of contrary classes would throw each other ever
// further.
double Loss::steepest(const Scored& row) const {
  double v = 0.0;
  for (std::size_t o = 0; o < row.g.size(); ++o) {
    const double own = curvature(row, o);
    v = logistic_ ? std::max(v, own) : v + own;
  }
  return v;
}

// The mean over the C - 1 directions in which C scores can differ, tr H / (C - 1). That holds on to the scores of all
// classes, whatever they are, where the row is about two of them. So it counts for less where scores are large: else
// rows that contradict each other would hold on to what they drive each other to.
double Loss::information(const Scored& row) const {
  double v = 0.0;
  for (std::size_t o = 0; o < row.g.size(); ++o) v += curvature(row, o);
  if (row.g.size() <= 2) return v;
  const double excess = std::max(1.0, largest(row.f) / large_score);
  return v / (static_cast<double>(row.g.size() - 1) * excess * excess);
}

}  // namespace onkel
