// Loss: how wrong a score is and in which direction. A loss is a curve in one number z (its value, slope and curvature)
// and an arrangement that computes z from a row's scores and its label, and distributes the slope back over the scores:
//   two classes      z = y f
//   regression       z = f - y
//   several classes z = f_y - the largest other score (Crammer and Singer)
//   log_loss of several classes (softmax)  z = f_y - log sum_{c != y} e^{f_c}, so that its curve is the binary one
#pragma once

#include <functional>

#include "loop/config.hpp"
#include "loop/scored.hpp"
#include "loop/spec.hpp"

namespace onkel {

struct CurvePoint {
  double value, slope, curvature;
};

// The curve of a loss that is written outside the core: the `maker` of its Spec, whose numbers, 0 or 1, are
// "regression" (whether z is the residual) and "logistic" (whether scores are log odds, arranged as those of log_loss).
using ForeignCurve = std::function<CurvePoint(double z)>;

class Loss {
 public:
  Loss(const Spec& spec, Task task);

  // Computes z, direction, loss, g, curvature and mistake from f and y.
  void evaluate(Scored& row) const;
  // Whether the scores are log odds.
  bool logistic() const { return logistic_; }
  // What second-order learners make of an evaluated row, times its weight: how steeply the loss bends along the scores
  // at most, which bounds a step; and the information about a function whose outputs share one covariance.
  double steepest(const Scored& row) const;
  double information(const Scored& row) const;

 private:
  void arrange(Scored& row) const;
  double curvature(const Scored& row, std::size_t output) const;
  void check_task(const Spec& spec, bool of_residual) const;

  CurvePoint (*curve_)(double z, double parameter) = nullptr;
  double parameter_ = 0.0;
  ForeignCurve foreign_curve_;  // used in place of `curve_` where it is set
  Task task_;
  bool logistic_ = false;
};

}  // namespace onkel
