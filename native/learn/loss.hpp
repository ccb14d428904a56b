// Loss: how wrong a score is and in which direction. A loss is a curve in one number z (its value, slope and curvature)
// and an arrangement that makes z of a row's scores and its label, and spreads the slope back over the scores:
//   two classes      z = y f
//   regression       z = f - y
//   several classes  z = f_y - the strongest other score (Crammer and Singer)
//   log_loss of several classes (softmax)  z = f_y - log sum_{c != y} e^{f_c}, so that its curve is the binary one
#pragma once

#include "learn/scored.hpp"
#include "learn/spec.hpp"

namespace onkel {

// What the learner is asked for.
enum class Task { binary, multiclass, regression };

struct CurvePoint {
  double value, slope, curvature;
};

class Loss {
 public:
  Loss(const Spec& spec, Task task);

  // From f and y: z, direction, loss, g, curvature, mistake.
  void evaluate(Scored& row) const;

 private:
  void arrange(Scored& row) const;

  CurvePoint (*curve_)(double z, double parameter);
  double parameter_ = 0.0;
  Task task_;
  bool softmax_ = false;
};

}  // namespace onkel
