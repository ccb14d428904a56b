// Scored: one row on its way through the parts. Each part fills in its own lines and reads those above them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "basis/basis.hpp"

namespace onkel {

struct Scored {
  // The row, filled in by the loop.
  const Basis* basis;
  Block* block;
  std::size_t row;        // in the block
  std::int64_t position;  // in the stream, from 0
  std::int64_t t;         // 1 for the first row that this learner sees
  std::int64_t step;      // t, or the number of the mini-batch
  double y;               // +-1, the target, or the index of the class
  double weight;
  std::span<double> f;  // scores of the last function, before learning
  double gate = 1.0;    // the fraction of the rows that a hedge over kernels lets this learner see

  // Loss, a curve in one number z (the margin, or the residual) with dz/df = direction
  std::span<double> direction;
  std::span<double> g;  // dl/df = slope of the curve * direction
  double z = 0.0;
  double loss = 0.0;
  double curvature = 0.0;  // d2l/dz2
  bool mistake = false;

  // Admission (which may put another curve's slope into g)
  double p = 0.0;

  // Step
  std::span<double> coefficient;

  double self() const { return basis->self(*block, row); }
  void set_slope(double slope) {
    for (std::size_t o = 0; o < g.size(); ++o) g[o] = slope * direction[o];
  }
};

}  // namespace onkel
