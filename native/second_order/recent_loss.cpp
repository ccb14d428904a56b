#include "second_order/recent_loss.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace onkel {

RecentLoss::RecentLoss(std::vector<double> memories)
    : memories_(std::move(memories)), means_(memories_.size(), 0.0), squares_(memories_.size(), 0.0) {}

void RecentLoss::add(double loss, double part) {
  rows_ += part;
  if (rows_ == 0) return;
  for (std::size_t e = 0; e < memories_.size(); ++e) {
    const double rate = part * std::max(1 / rows_, 1 / memories_[e]);
    means_[e] += rate * (loss - means_[e]);
    squares_[e] += rate * (loss * loss - squares_[e]);
  }
}

// Of losses with the variance v, the mean that moves by 1 / M with every row has the variance v / (2 M - 1).
bool RecentLoss::may_have_risen(std::size_t memory) const {
  if (rows_ < 10 * memories_[memory]) return true;
  const double before = means_[memory - 1];
  const double variance = std::max(0.0, squares_[memory - 1] - before * before);
  return means_[memory] > before + std::sqrt(variance / (2 * memories_[memory] - 1)) / 2;
}

void RecentLoss::visit(Archive& archive) {
  archive.scalar("rows", rows_);
  archive.require(rows_ >= 0, "rows", "must not be negative");
  for (auto& [name, values] : {std::pair{"means", &means_}, std::pair{"squares", &squares_}}) {
    archive.array(name, *values);
    archive.require(values->size() == memories_.size() &&
                        std::all_of(values->begin(), values->end(), [](double x) { return x >= 0 && x <= 1; }),
                    name, "must hold a number between 0 and 1 for each memory");
  }
}

}  // namespace onkel
