// ResampleUniformly, ResampleByWeight: BOGD and BOGD++ (Zhao, Wang, Wu, Jin and Hoi 2012, Algorithm 1). An old point is
// drawn and leaves; the others grow by 1 / (1 - p_j), so that f is the same in the mean, and no weight exceeds the cap
// (the paper's gamma eta), Equation (10). The factor 1 - lambda eta of that equation is the step's shrink.
#include "resample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "rules.hpp"

namespace onkel {
namespace {

// Eight sums side by side: one alone would wait for itself at every step.
double sum_below(double limit, std::span<const double> values) {
  std::array<double, 8> sums{};
  std::size_t j = 0;
  for (; j + sums.size() <= values.size(); j += sums.size())
    for (std::size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] += values[j + lane] < limit ? values[j + lane] : 0.0;
  for (; j < values.size(); ++j) sums[0] += values[j] < limit ? values[j] : 0.0;
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void stay_probabilities(std::span<const double> weights, std::span<double> stay) {
  const auto zeros = std::count(weights.begin(), weights.end(), 0.0);
  if (zeros > 0) {
    const double share = 1.0 - 1.0 / static_cast<double>(zeros);
    std::transform(weights.begin(), weights.end(), stay.begin(), [&](double w) { return w == 0 ? share : 1.0; });
    return;
  }
  // tau = sum of the free / (free - 1); fixing a weight above it lowers it, and two are always left: w_1 + w_2 tops
  // both.
  double tau = std::numeric_limits<double>::infinity();
  for (std::size_t free = weights.size() + 1, now = weights.size(); now < free && now > 1;) {
    free = now;
    tau = sum_below(tau, weights) / static_cast<double>(free - 1);
    now = static_cast<std::size_t>(std::count_if(weights.begin(), weights.end(), [&](double w) { return w < tau; }));
  }
  std::transform(weights.begin(), weights.end(), stay.begin(), [&](double w) { return std::min(1.0, w / tau); });
}

namespace {

class Resample final : public Budget {
 public:
  Resample(const Spec& spec, const Hold& hold, bool by_weight)
      : Budget(hold), cap_(spec.at("cap")), by_weight_(by_weight) {
    hold_.basis.keep_diagonal();
  }

  void settle(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      find_probabilities(newest);
      const std::size_t leaves = pick(hold_.draws.uniform(row.t, Purpose::budget, draw));
      repair(newest);
      evict(leaves);
    }
  }

 private:
  // The old points, and with what probability each of them stays.
  void find_probabilities(std::size_t newest) {
    const std::size_t first = hold_.basis.first_slot();
    squares(lengths_);
    old_.clear();
    for (std::size_t j = 0; j < lengths_.size(); ++j)
      if (first + j != newest && hold_.basis.alive(first + j)) old_.push_back(j);
    stay_.resize(old_.size());
    if (by_weight_) {
      const auto diagonal = hold_.basis.diagonal();
      weights_.resize(old_.size());
      for (std::size_t i = 0; i < old_.size(); ++i) weights_[i] = lengths_[old_[i]] * diagonal[old_[i]];
      for (double& weight : weights_) weight = std::sqrt(weight);
      stay_probabilities(weights_, stay_);
    } else {
      std::fill(stay_.begin(), stay_.end(), 1.0 - 1.0 / static_cast<double>(old_.size()));
    }
    for (double& length : lengths_) length = std::sqrt(length);
  }

  std::size_t pick(double u) const {
    std::size_t last = 0;
    double sum = 0.0;
    for (std::size_t i = 0; i < stay_.size() && u >= sum; ++i) {
      if (stay_[i] == 1) continue;
      last = i;
      sum += 1 - stay_[i];
    }
    return hold_.basis.first_slot() + old_[last];
  }

  void repair(std::size_t newest) {
    factors_.resize(lengths_.size());
    if (by_weight_)
      for (std::size_t i = 0; i < old_.size(); ++i) factors_[old_[i]] = 1 / stay_[i];
    else
      std::fill(factors_.begin(), factors_.end(), 1 / stay_[0]);
    factors_[newest - hold_.basis.first_slot()] = 1.0;
    // Where a point has no weight the factor may be anything finite.
    constexpr double tiny = std::numeric_limits<double>::min();
    for (std::size_t j = 0; j < factors_.size(); ++j)
      factors_[j] = std::min(factors_[j], cap_ / std::max(lengths_[j], tiny));
    hold_.function.multiply(hold_.basis.first_slot(), factors_);
  }

  double cap_;
  bool by_weight_;
  // Scratch: the old points (counted from the first slot), the probability that each stays, and its weight; of every
  // slot |a| and its factor.
  std::vector<std::size_t> old_;
  std::vector<double> stay_, weights_, lengths_, factors_;
};

}  // namespace

std::unique_ptr<Budget> make_resample(const Spec& spec, const Hold& hold, bool by_weight) {
  return std::make_unique<Resample>(spec, hold, by_weight);
}

}  // namespace onkel
