// FixedShare: weights of experts by the likelihood of their predictions, of which each expert keeps a minimal share,
// since the best expert may change (Herbster and Warmuth 1998).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linalg/archive.hpp"

namespace onkel {

// The new value of a weight when `share` of the total weight, which is 1, is divided evenly.
inline double with_share(double weight, double share, std::size_t experts) {
  return (1 - share) * weight + share / static_cast<double>(experts);
}

class FixedShare {
 public:
  FixedShare(std::size_t experts, double share);

  const std::vector<double>& weights() const { return weights_; }
  std::size_t winner() const;  // the expert with the largest weight, the first of equal ones
  void begin();                // all weights are equal
  void begin_with_first();     // the first expert has all weight
  // After a row: w <- w likelihood^r, normalised; then the fraction r `share` of it is divided evenly, with r = weight
  // / heaviest, which is returned. A loss that counts `weight` times is mixable at rates up to the inverse of the
  // heaviest row's weight; beyond that, rare rows of great weight would outweigh the many rows between them.
  double update_weights(std::span<const double> log_likelihoods, double weight);
  // Records the weights after row t in a bounded history: those at multiples of a stride that doubles when there are
  // too many.
  void remember(std::int64_t t);
  const std::vector<std::int64_t>& rows() const { return rows_; }
  const std::vector<double>& history() const { return history_; }  // [row][expert]

  void visit(Archive& archive);

 private:
  double share_;
  double heaviest_ = 0.0;  // the largest weight of a row so far
  std::vector<double> weights_;
  std::int64_t stride_ = 1;
  std::vector<std::int64_t> rows_;
  std::vector<double> history_;
};

}  // namespace onkel
