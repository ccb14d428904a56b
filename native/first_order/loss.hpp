// Loss: how wrong a score is and in which direction. A loss is a curve in one number z (its value, slope and curvature)
// and an arrangement that computes z from a row's scores and its label, and distributes the slope back over the scores:
//   two classes      z = y f
//   regression       z = f - y, or for a loss that is no function of the residual z = f
//   several classes z = f_y - the largest other score (Crammer and Singer)
//   log_loss of several classes (softmax)  z = f_y - log sum_{c != y} e^{f_c}, so that its curve is the binary one
#pragma once

#include <functional>

#include "loop/config.hpp"
#include "loop/scored.hpp"
#include "loop/spec.hpp"

namespace onkel {

struct CurvePoint {
  CurvePoint(double v, double s, double c) : CurvePoint(v, s, c, c) {}
  CurvePoint(double v, double s, double c, double h) : value(v), slope(s), curvature(c), chord(h) {}
  double value, slope, curvature;
  // The slope over the distance to where the loss is least. A parabola of this curvature that touches the curve here
  // and is least where the curve is lies above it in between, if the slope falls off towards the tails.
  double chord;
};

// What a curve is of, beside z.
struct Of {
  double parameter;  // the curve's own number
  double y;
  Units units;
};

// The curve of a loss that is written outside the core: the `maker` of its Spec, whose numbers, 0 or 1, are
// "regression" (whether z is the residual) and "logistic" (whether scores are log odds, arranged as those of log_loss).
using ForeignCurve = std::function<CurvePoint(double z)>;

struct LossEntry;

class Loss {
 public:
  Loss(const Spec& spec, Task task);

  // Computes z, direction, loss, g, curvature, chord and mistake from f, y and the units.
  void evaluate(Scored& row) const;
  // Throws if the loss is not for this target.
  void check_target(double y) const;
  // Whether the scores are log odds.
  bool logistic() const { return logistic_; }
  // The number of steps towards the minimum of the loss plus a parabola; for the squared error the first is there.
  int inner_steps() const;
  // The fraction of the rows that count as near to the score (see Residuals); 0 if the loss has no units.
  double narrow() const;
  // Whether targets are spread about the scores, so that their residuals have a deviation.
  bool measures_residuals() const;
  // How wrong a score of a regression is where targets have this range, and so predictions: mostly between 0 and 1.
  double error(double score, double y, double range) const;
  // What second-order learners make of an evaluated row, times its weight: how steeply the loss bends along the scores
  // at most, which bounds a step; and the information about a function whose outputs share one covariance.
  double steepest(const Scored& row) const;
  double information(const Scored& row) const;

 private:
  void arrange(Scored& row) const;
  double curvature(const Scored& row, std::size_t output) const;
  void check_task(const Spec& spec, bool regression) const;

  const LossEntry* entry_ = nullptr;
  double parameter_ = 0.0;
  ForeignCurve foreign_curve_;  // used in place of an entry where it is set
  Task task_;
  bool logistic_ = false;
};

}  // namespace onkel
