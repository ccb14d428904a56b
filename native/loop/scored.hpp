// Scored: one row on its way through the parts. Each part fills in its own lines and reads those above them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "basis/basis.hpp"

namespace onkel {

// One row as the loop hands it over.
struct Example {
  Block& block;
  std::size_t row;
  std::int64_t position;  // in the stream, from 0
  std::int64_t t;         // from 1
  double y, weight;
  double gate = 1.0;     // see Scored
  bool in_order = true;  // whether this row comes after the last one in time
  // Those of all rows of the block, for updates that prepare several rows at once: y as above, and the weights (null:
  // all 1).
  const double* block_y = nullptr;
  const double* block_weight = nullptr;
  Team* team = nullptr;  // threads that share the work on one row's matrices
};

// The largest absolute value.
inline double largest(std::span<const double> values) {
  double found = 0.0;
  for (const double value : values) found = std::max(found, std::abs(value));
  return found;
}

// What a loss may be measured in: how far targets usually lie from scores, and within which distance those are that
// count as near. 0 where nobody keeps them: then it is measured in the units of the targets.
struct Units {
  double scale = 0.0, width = 0.0;
};

struct Scored {
  explicit Scored(std::size_t outputs = 0) { widen(outputs); }
  void widen(std::size_t outputs) {
    for (auto* numbers : {&f, &direction, &g, &coefficient}) numbers->resize(outputs);
  }
  // Begins with this row: the first lines; what the parts fill in is left from the row before.
  void begin(const Example& example, const Basis& columns) {
    basis = &columns;
    block = &example.block;
    row = example.row;
    position = example.position;
    t = step = example.t;
    y = example.y;
    weight = example.weight;
    gate = example.gate;
  }

  // The row, filled in by the loop.
  const Basis* basis = nullptr;
  Block* block = nullptr;
  std::size_t row = 0;        // in the block
  std::int64_t position = 0;  // in the stream, from 0
  std::int64_t t = 1;         // 1 for the first row that this learner sees
  std::int64_t step = 1;      // t, or the number of the mini-batch
  double y = 0.0;             // +-1, the target, or the index of the class
  double weight = 1.0;
  double gate = 1.0;      // the fraction of the rows that a hedge over kernels lets this learner see
  std::vector<double> f;  // scores of the last function, before learning

  // Loss, a curve in one number z (the margin, the residual or the score) with dz/df = direction
  Units units;  // which whoever has it evaluated sets
  std::vector<double> direction;
  std::vector<double> g;  // dl/df = slope of the curve * direction
  double z = 0.0;
  double loss = 0.0;
  double curvature = 0.0;  // d2l/dz2
  double chord = 0.0;      // the slope over the distance to where the loss is least: bounds a step
  bool mistake = false;

  // Admission (which may put another curve's slope into g)
  double p = 0.0;

  // Step
  std::vector<double> coefficient;

  double self() const { return basis->self(*block, row); }
  void set_slope(double slope) {
    for (std::size_t o = 0; o < g.size(); ++o) g[o] = slope * direction[o];
  }
};

}  // namespace onkel
