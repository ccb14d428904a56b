// The step of one row, in the direction that the covariance gives it: what all second-order updates share.
#pragma once

#include <utility>
#include <vector>

#include "first_order/loss.hpp"
#include "loop/scored.hpp"

namespace onkel {

// A single row may reduce the prior's variance by this factor at most, whatever its weight, which leaves enough digits
// for all later rows.
inline constexpr double max_certainty = 1e10;

// How many rows this one stands for, 1/p or 0; the slope is that of the loss without the row's weight. No row counts
// for more than a thousandth of what a memory holds: among few rows one that stands for many would unsettle the
// function.
double multiplicity(double easy_slope, double memory, const Scored& row, double draw);

// The b that minimises s |b|^2 / 2 + weight loss(m + s b), by a few steps (see Loss::inner_steps), each halved until it
// helps; f + s b is then the new score. Returns it, and the information there.
std::pair<std::vector<double>, double> solve(const Loss& loss, Scored& row, double s);

// How far a row was from its prediction, before its step. Of a regression twice the loss, which for the squared error
// is the squared residual; of classes the squared slope.
struct Excess {
  double square, curvature;
  // What it adds to a sum over rows whose mean is the noise: divided by the variance that it has beside the noise's.
  double with(double weight, double variance) const { return weight * square / (1 + weight * curvature * variance); }
};
Excess excess_of(const Scored& row, Task task);

}  // namespace onkel
