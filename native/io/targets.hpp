// What the values of a category say about the target: for each its mean, shrunk towards the mean of all rows, in one
// pass. A row is encoded before its own target is seen (Micci-Barreca 2001, "A preprocessing scheme for
// high-cardinality categorical attributes"; ordered as in Prokhorenkova et al. 2018, "CatBoost"). The statistics are
// kept in the caller's arrays, and grow row by row, so that how rows are cut into calls changes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace onkel {

struct TargetEncoding {
  // Rows of the mean of all that are added to those of a value, of which the one that predicts best so far is taken;
  // the first is taken before there is any difference.
  static constexpr std::array<double, 5> priors{10, 1, 3, 30, 100};

  std::size_t n_levels, n_targets;
  std::int64_t* counts;  // of each level
  double* sums;          // of the targets of each level, a row each
  std::int64_t& rows;
  double* mean;     // of the targets of all rows, by Welford's recurrence
  double* squares;  // sums of squared deviations
  double* errors;   // of each of `priors`

  // The shrunk means of a level, less those of all rows, in standard deviations of the targets; 0 where `level` is
  // negative.
  void encode(std::int64_t level, double* out) const;
  void learn(std::int64_t level, const double* targets);

 private:
  double prior() const;
  double shrunk(std::size_t level, std::size_t target, double prior) const;
};

}  // namespace onkel
