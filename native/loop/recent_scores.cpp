#include "loop/recent_scores.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {

void RecentScores::add(double score) {
  if (latest_.size() < most_) {
    latest_.push_back(score);
  } else {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), latest_[oldest_]));
    latest_[oldest_] = score;
    oldest_ = (oldest_ + 1) % most_;
  }
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), score), score);
}

double RecentScores::quantile(double share) const {
  const double wanted = std::ceil(share * static_cast<double>(size() + 1) * (1 - 1e-12));
  return sorted_[static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(size()))) - 1];
}

std::vector<double> RecentScores::in_order() const {
  std::vector<double> scores(latest_.begin() + static_cast<std::ptrdiff_t>(oldest_), latest_.end());
  scores.insert(scores.end(), latest_.begin(), latest_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  return scores;
}

void RecentScores::set(std::vector<double> in_order) {
  if (in_order.size() > most_) in_order.erase(in_order.begin(), in_order.end() - static_cast<std::ptrdiff_t>(most_));
  latest_ = std::move(in_order);
  oldest_ = 0;
  sorted_ = latest_;
  std::sort(sorted_.begin(), sorted_.end());
}

void RecentScores::visit(Archive& archive) {
  std::vector<double> scores = in_order();
  archive.array("recent", scores);
  if (!archive.loading()) return;
  archive.require(scores.size() <= most_ && std::all_of(scores.begin(), scores.end(), [](double s) { return s >= 0; }),
                  "recent", "must hold no more scores than are kept, and none below 0");
  set(std::move(scores));
}

}  // namespace onkel
