// RecentScores: the latest scores of a stream, of which any quantile is known at once.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/archive.hpp"

namespace onkel {

class RecentScores {
 public:
  explicit RecentScores(std::size_t most) : most_(most) {}

  std::size_t size() const { return latest_.size(); }
  // The oldest of `most` scores leaves for the new one.
  void add(double score);
  // The smallest score that at least this share of the scores and of one more, which is larger than all, do not exceed:
  // of so many exchangeable scores the next one is at most this with at least that probability, as long as it is not
  // infinite. There must be a score.
  double quantile(double share) const;
  double largest() const { return sorted_.back(); }
  // The scores in the order of time.
  std::vector<double> in_order() const;
  void set(std::vector<double> in_order);
  void visit(Archive& archive);

 private:
  std::size_t most_;
  std::size_t oldest_ = 0;  // where the next score is written, once there are as many as there may be
  std::vector<double> latest_, sorted_;
};

}  // namespace onkel
