// RecentLoss: whether a function has done worse of late, for each of several memories.
//
// For a memory of M rows there is the mean of the losses over about so many rows, the mean over the next longer memory
// that it is compared with, and the standard deviation that the former has where nothing changes.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/archive.hpp"

namespace onkel {

class RecentLoss {
 public:
  explicit RecentLoss(std::vector<double> memories);  // in rows, the longest first, which is all of them

  // A row with this loss, between 0 and 1, that counts for so much of a row.
  void add(double loss, double part);
  // Whether the loss over this memory is more than half a standard deviation above that over the next longer one, or
  // there have not been ten times as many rows, which it takes to compare the two.
  bool may_have_risen(std::size_t memory) const;

  void visit(Archive& archive);

 private:
  std::vector<double> memories_;
  double rows_ = 0.0;
  std::vector<double> means_, squares_;  // of the losses, and of their squares
};

}  // namespace onkel
