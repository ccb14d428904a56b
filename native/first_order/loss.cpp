#include "first_order/loss.hpp"

#include <algorithm>
#include <cmath>

#include "first_order/logistic.hpp"

namespace onkel {
namespace {

constexpr double large_score = 1e3;      // far beyond any margin
constexpr double largest_score = 200.0;  // whose exponential is no mean of any target

// Curves of the margin (classes), slope <= 0 ...
CurvePoint perceptron(double z, const Of&) { return {std::max(0.0, -z), z <= 0 ? -1.0 : 0.0, 0.0}; }
CurvePoint hinge(double z, const Of&) { return {std::max(0.0, 1 - z), z < 1 ? -1.0 : 0.0, 0.0}; }
CurvePoint squared_hinge(double z, const Of&) {
  const double shortfall = std::max(0.0, 1 - z);
  return {shortfall * shortfall, -2 * shortfall, z < 1 ? 2.0 : 0.0};
}
CurvePoint log_loss(double z, const Of&) {
  const double q = logistic(-z);
  return {softplus(-z), -q, q * (1 - q)};
}
// The value is capped at e^700, so that it is finite.
CurvePoint exponential(double z, const Of&) {
  const double e = std::exp(std::min(-z, 700.0));
  return {e, -e, e};
}
// ... of the residual (regression) ...
CurvePoint squared_error(double z, const Of&) { return {0.5 * z * z, z, 1.0}; }
CurvePoint epsilon_insensitive(double z, const Of& of) {
  const double excess = std::abs(z) - of.parameter;
  return excess > 0 ? CurvePoint{excess, std::copysign(1.0, z), 0.0} : CurvePoint{0.0, 0.0, 0.0};
}
CurvePoint huber(double z, const Of& of) {
  const double size = std::abs(z), straight = of.parameter * (of.units.scale > 0 ? of.units.scale : 1.0);
  if (size <= straight) return {0.5 * z * z, z, 1.0};
  return {straight * (size - 0.5 * straight), std::copysign(straight, z), 0.0, straight / size};
}
// The pinball loss: (1 - q) z above the target and -q z below it. With units it is smoothed: |z| becomes a parabola
// within the width h, and it is multiplied by the scale, so that its curvature, like that of the squared error, does
// not depend on the units of the targets. Its minimum is at (2 q - 1) h.
CurvePoint quantile(double z, const Of& of) {
  const double q = of.parameter, h = of.units.width, times = of.units.scale;
  if (!(times > 0)) return z > 0 ? CurvePoint{(1 - q) * z, 1 - q, 0.0} : CurvePoint{-q * z, z < 0 ? -q : 0.0, 0.0};
  const double size = std::abs(z), least = (2 * q - 1) * h;
  // Less the value at the minimum, h q (1 - q).
  if (size <= h) return {times * (z - least) * (z - least) / (4 * h), times * (z - least) / (2 * h), times / (2 * h)};
  const double slope = z > 0 ? 1 - q : -q;
  return {times * (slope * z - h * q * (1 - q)), times * slope, 0.0, times * slope / (z - least)};
}
// ... and of the score: e^f is the mean, and the value half of Poisson's deviance.
CurvePoint poisson(double z, const Of& of) {
  const double f = std::min(z, largest_score), y = of.y, e = std::exp(f);
  if (y == 0) return {e, e, e};
  const double u = f - std::log(y);
  const double grown = std::abs(u) < 1 ? y * std::expm1(u) : e - y;
  return {std::max(0.0, grown - y * u), grown, e, u == 0 ? y : grown / u};
}

enum class Argument { margin, residual, score };

// A loss this small is due to rounding, and the row is not learned from.
constexpr double negligible = 1e-12;

std::size_t strongest_other(std::span<const double> f, std::size_t label) {
  std::size_t rival = label == 0 ? 1 : 0;
  for (std::size_t c = 0; c < f.size(); ++c)
    if (c != label && f[c] > f[rival]) rival = c;
  return rival;
}

}  // namespace

struct LossEntry {
  const char* name;
  CurvePoint (*curve)(double, const Of&);
  Argument argument;
  const char* parameter;  // the curve's own number, if it has one
};

namespace {

constexpr LossEntry table[] = {
    {"perceptron", perceptron, Argument::margin, nullptr},
    {"hinge", hinge, Argument::margin, nullptr},
    {"squared_hinge", squared_hinge, Argument::margin, nullptr},
    {"log_loss", log_loss, Argument::margin, nullptr},
    {"exponential", exponential, Argument::margin, nullptr},
    {"squared_error", squared_error, Argument::residual, nullptr},
    {"epsilon_insensitive", epsilon_insensitive, Argument::residual, "epsilon"},
    {"huber", huber, Argument::residual, "epsilon"},
    {"quantile", quantile, Argument::residual, "quantile"},
    {"poisson", poisson, Argument::score, nullptr},
};

}  // namespace

Loss::Loss(const Spec& spec, Task task) : task_(task) {
  if (spec.maker.has_value()) {
    check_task(spec, spec.at("regression") != 0);
    foreign_curve_ = std::any_cast<ForeignCurve>(spec.maker);
    logistic_ = spec.at("logistic") != 0;
    return;
  }
  for (const LossEntry& entry : table) {
    if (spec.name != entry.name) continue;
    check_task(spec, entry.argument != Argument::margin);
    entry_ = &entry;
    if (entry.parameter != nullptr) parameter_ = spec.at(entry.parameter);
    logistic_ = entry.curve == log_loss;
    return;
  }
  unknown_part("loss", spec);
}

void Loss::check_task(const Spec& spec, bool regression) const {
  if (regression != (task_ == Task::regression))
    throw std::invalid_argument("loss '" + spec.name + "' is for " + (regression ? "regression" : "classes"));
}

void Loss::check_target(double y) const {
  if (entry_ != nullptr && entry_->curve == poisson && !(y >= 0))
    throw std::invalid_argument("loss 'poisson' is for targets of at least 0, got " + std::to_string(y));
}

int Loss::inner_steps() const {
  if (task_ != Task::regression) return 3;
  return entry_ == nullptr || entry_->curve == squared_error ? 1 : 10;  // chords are cheap
}

// Of the extreme quantiles few rows are near, whose density the curvature is.
double Loss::narrow() const {
  if (entry_ == nullptr) return 0.0;
  return entry_->curve == huber ? 0.5 : entry_->curve == quantile ? std::min(parameter_, 1 - parameter_) : 0.0;
}

bool Loss::measures_residuals() const {
  if (task_ != Task::regression || entry_ == nullptr) return task_ == Task::regression;
  return entry_->argument == Argument::residual && entry_->curve != quantile;
}

// The square of the gap, but of a quantile the loss.
double Loss::error(double score, double y, double range) const {
  if (entry_ != nullptr && entry_->curve == quantile) return quantile(score - y, {parameter_, y, {}}).value / range;
  const bool has_link = entry_ != nullptr && entry_->argument == Argument::score;
  const double gap = ((has_link ? std::exp(std::min(score, largest_score)) : score) - y) / range;
  return gap * gap;
}

void Loss::evaluate(Scored& row) const {
  row.z = row.loss = row.curvature = row.chord = 0.0;
  row.mistake = false;
  std::fill(row.direction.begin(), row.direction.end(), 0.0);
  row.set_slope(0.0);
  if (task_ == Task::multiclass && row.f.size() < 2) return;  // no other class is known yet
  arrange(row);
  const CurvePoint point =
      entry_ != nullptr ? entry_->curve(row.z, {parameter_, row.y, row.units}) : foreign_curve_(row.z);
  row.curvature = point.curvature;
  row.chord = point.chord;
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
    row.z = entry_ != nullptr && entry_->argument == Argument::score ? row.f[0] : row.f[0] - row.y;
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
// Losses of a regression have one score, for which the chord is enough.
double Loss::steepest(const Scored& row) const {
  if (task_ == Task::regression) return row.weight * row.chord;
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
