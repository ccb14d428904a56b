// Scaling of features in one pass: the statistics grow row by row, in one order of operations, so that how rows are cut
// into calls changes nothing. The statistics are kept in the caller's arrays.
#pragma once

#include <cstdint>

#include "linalg/rows.hpp"

namespace onkel {

// Mean and variance by Welford's recurrence (1962), in which a row counts `forget` times as much as the one after it: n
// rows have the weight w(n) = 1 + forget + ... + forget^(n-1). Zeros are deferred: those since a feature's last
// non-zero value are added together with the next one, so that a sparse row costs its own features only, and dense rows
// give the same bits.
struct StandardScaling {
  std::int64_t& rows;
  std::int64_t* seen;  // the number of rows that a feature's statistics include
  double* mean;
  double* squares;  // sum of squared deviations
  bool centre, scale;
  double forget = 1.0;
  double share = rows > 0 ? 1.0 / weight(rows) : 0.0;  // the share of the last row

  double weight(std::int64_t n) const;  // w(n)
  void count() { share = 1.0 / weight(++rows); }
  void learn(std::size_t feature, double x);
  double scaled(std::size_t feature, double x) const;
};

// Smallest and largest value, mapped to `from` and `to`.
struct RangeScaling {
  std::int64_t& rows;
  double* least;
  double* greatest;
  double from, to;

  void count() { ++rows; }
  void learn(std::size_t feature, double x);
  double scaled(std::size_t feature, double x) const;
};

// For each row in turn: learn from it, if `learn` and where it counts (`counts` null: all do), then scale it into
// `out`, if that is not null. A row is thus scaled by the rows up to itself.
template <class Scaling, class T>
void scale_rows(Scaling& scaling, const Rows& rows, bool learn, const bool* counts, T* out);

}  // namespace onkel
