// ResampleUniformly, ResampleByWeight: BOGD and BOGD++ (Zhao, Wang, Wu, Jin and Hoi 2012, Algorithm 1). An old point is
// drawn and leaves; the others grow by 1 / (1 - p_j), so that f is the same in the mean, and no weight exceeds the cap
// (the paper's gamma eta), Equation (10). The factor 1 - lambda eta of that equation is the step's shrink.
#include "resample.hpp"

#include <algorithm>
#include <cmath>

#include "rules.hpp"

namespace onkel {

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
    double sum = 0.0;
    for (const double w : weights) sum += w < tau ? w : 0.0;
    tau = sum / static_cast<double>(free - 1);
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
      find_old(newest);
      const std::size_t drawn = pick(hold_.draws.uniform(row.t, Purpose::budget, draw));
      repair();
      evict(old_[drawn]);
    }
  }

 private:
  void find_old(std::size_t newest) {
    old_.clear();
    for (std::size_t slot = hold_.basis.first_slot(); slot < hold_.basis.end_slot(); ++slot)
      if (slot != newest && hold_.basis.alive(slot)) old_.push_back(slot);
    const auto& square = squares();
    lengths_.resize(square.size());
    std::transform(square.begin(), square.end(), lengths_.begin(), [](double s) { return std::sqrt(s); });
    stay_.assign(old_.size(), 1.0 - 1.0 / static_cast<double>(old_.size()));
    if (!by_weight_) return;
    weights_.resize(old_.size());
    for (std::size_t i = 0; i < old_.size(); ++i)
      weights_[i] = lengths_[old_[i] - hold_.basis.first_slot()] * std::sqrt(hold_.basis.diagonal(old_[i]));
    stay_probabilities(weights_, stay_);
  }

  std::size_t pick(double u) const {
    double sum = 0.0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < stay_.size(); ++i) {
      if (stay_[i] == 1) continue;
      last = i;
      sum += 1 - stay_[i];
      if (u < sum) break;
    }
    return last;
  }

  void repair() {
    factors_.assign(lengths_.size(), 1.0);
    for (std::size_t i = 0; i < old_.size(); ++i)
      if (stay_[i] > 0) factors_[old_[i] - hold_.basis.first_slot()] = 1 / stay_[i];
    for (std::size_t j = 0; j < factors_.size(); ++j)
      if (lengths_[j] * factors_[j] > cap_) factors_[j] = cap_ / lengths_[j];
    hold_.function.multiply(hold_.basis.first_slot(), factors_);
  }

  double cap_;
  bool by_weight_;
  // Scratch: the old points' slots, the probability that each stays and its weight; of every slot |a| and its factor.
  std::vector<std::size_t> old_;
  std::vector<double> stay_, weights_, lengths_, factors_;
};

}  // namespace

std::unique_ptr<Budget> make_resample(const Spec& spec, const Hold& hold, bool by_weight) {
  return std::make_unique<Resample>(spec, hold, by_weight);
}

}  // namespace onkel
