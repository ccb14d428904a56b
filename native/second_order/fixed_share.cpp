#include "second_order/fixed_share.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {
namespace {

constexpr std::size_t max_remembered = 256;

}  // namespace

FixedShare::FixedShare(std::size_t experts, double share) : share_(share), weights_(experts) { begin(); }

std::size_t FixedShare::winner() const {
  return static_cast<std::size_t>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
}

void FixedShare::begin() { std::fill(weights_.begin(), weights_.end(), 1.0 / static_cast<double>(weights_.size())); }

void FixedShare::begin_with_first() {
  std::fill(weights_.begin(), weights_.end(), 0.0);
  weights_[0] = 1.0;
}

double FixedShare::update_weights(std::span<const double> log_likelihoods, double weight) {
  heaviest_ = std::max(heaviest_, weight);
  if (heaviest_ == 0) return 0.0;
  const double rate = weight / heaviest_;
  const double largest = *std::max_element(log_likelihoods.begin(), log_likelihoods.end());
  double sum = 0.0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] *= std::exp(rate * (log_likelihoods[i] - largest));
    sum += weights_[i];
  }
  if (sum > 0)
    for (double& each : weights_) each = with_share(each / sum, rate * share_, weights_.size());
  else
    begin();  // every expert with any weight gave the row a likelihood of 0
  return rate;
}

void FixedShare::remember(std::int64_t t) {
  if (t % stride_ != 0) return;
  const std::size_t m = weights_.size();
  rows_.push_back(t);
  history_.insert(history_.end(), weights_.begin(), weights_.end());
  if (rows_.size() < max_remembered) return;
  stride_ *= 2;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    if (rows_[k] % stride_ != 0) continue;
    rows_[kept] = rows_[k];
    std::copy_n(history_.data() + k * m, m, history_.data() + kept * m);
    ++kept;
  }
  rows_.resize(kept);
  history_.resize(kept * m);
}

void FixedShare::visit(Archive& archive) {
  const std::size_t experts = weights_.size();
  archive.array("weights", weights_);
  archive.require(weights_.size() == experts, "weights", "must hold one weight for each memory");
  archive.require(std::all_of(weights_.begin(), weights_.end(), [](double w) { return w >= 0 && w <= 1; }), "weights",
                  "must be between 0 and 1");
  archive.scalar("heaviest", heaviest_);
  archive.require(heaviest_ >= 0, "heaviest", "must not be negative");
  archive.scalar("stride", stride_);
  archive.require(stride_ >= 1 && stride_ <= std::int64_t{1} << 52, "stride", "must be between 1 and 2^52");
  archive.array("rows", rows_);
  archive.matrix("history", history_, experts);
  archive.require(rows_.size() < max_remembered && history_.size() == rows_.size() * experts &&
                      std::is_sorted(rows_.begin(), rows_.end()),
                  "history", "must hold weights for fewer than 256 ascending rows");
}

}  // namespace onkel
