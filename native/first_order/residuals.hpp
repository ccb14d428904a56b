// Residuals: how far targets have lain from scores of late, for losses that are measured in these units.
//
// Of the latest rows the absolute residuals are kept, and their quantiles are the scale and the width. Half of the rows
// may be outliers before they move the median, and after a change it has followed within as many rows as are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/archive.hpp"
#include "loop/scored.hpp"

namespace onkel {

class Residuals {
 public:
  // `narrow`: the fraction of the rows that lie within the width; 0 for a loss that has no units, of which nothing is
  // kept.
  explicit Residuals(double narrow) : narrow_(narrow) {}
  bool are_kept() const { return narrow_ > 0; }

  // The units of a row with this residual, which is taken to be one of the latest.
  Units units(double residual) const;
  void add(double residual);

  void visit(Archive& archive);

 private:
  double narrow_;
  std::vector<double> latest_;  // absolute, in the order of a ring
  std::int64_t next_ = 0;       // where the next one goes
};

}  // namespace onkel
