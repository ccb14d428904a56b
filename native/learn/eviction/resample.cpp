// ResampleUniformly, ResampleByWeight: BOGD and BOGD++ (Zhao, Wang, Wu, Jin and Hoi 2012, Algorithm 1). An old point is
// drawn and removed; the others grow by 1 / (1 - p_j), so that f is unchanged in expectation, and no weight exceeds the
// cap (the paper's gamma eta), Equation (10). The factor 1 - lambda eta of that equation is the step's shrink.
#include "learn/eviction/resample.hpp"

#include <algorithm>

#include "learn/eviction/rules.hpp"

namespace onkel {
namespace {

struct Below {
  double count = 0.0, sum = 0.0, largest = 0.0;
};
Below below(double limit, std::span<const double> weights) {
  Below found;
  isa::routines<double>().below(limit, weights.data(), weights.size(), &found.count, &found.sum, &found.largest);
  return found;
}

}  // namespace

double water_level(std::span<const double> weights) {
  double level = std::numeric_limits<double>::infinity();
  Below now = below(level, weights);
  while (now.count > 1) {
    level = now.sum / (now.count - 1);
    if (now.largest < level) break;
    const double before = now.count;
    now = below(level, weights);
    if (now.count == before) break;
  }
  return level;
}

namespace {

class Resample final : public Eviction {
 public:
  Resample(const Spec& spec, const EvictionContext& context, bool by_weight)
      : Eviction(context), cap_(spec.at("cap")), by_weight_(by_weight) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      const double u = context_.draws.uniform(row.t, Purpose::eviction, draw);
      evict(by_weight_ ? resample_by_weight(u, newest) : resample_uniformly(u, newest));
    }
  }

 private:
  // p = 1 / (number of old points)
  std::size_t resample_uniformly(double u, std::size_t newest) {
    const auto old = static_cast<double>(context_.basis.size() - 1);
    const std::size_t leaves = old_point(static_cast<std::size_t>(u * old), newest);
    const double factor = old > 1 ? old / (old - 1) : 1.0;
    repair(newest, factor, 0.0);
    return leaves;
  }

  // With w = |a| sqrt(k(s, s)) and p = max(0, 1 - w / level), w / (1 - p) equals the level for all points below it.
  std::size_t resample_by_weight(double u, std::size_t newest) {
    weights_.resize(context_.basis.lengths().size());
    context_.function.lengths(context_.basis.first_slot(), context_.basis.lengths(), weights_);
    exclude(weights_, newest);
    const double level = water_level(weights_);
    const std::size_t leaves = pick(u, level);
    repair(newest, 1.0, level);
    return leaves;
  }

  // The shares level - w of the points below the level add up to the level. Where the level is 0, the points without
  // weight are drawn.
  std::size_t pick(double u, double level) const {
    const std::size_t first = context_.basis.first_slot(), n = weights_.size();
    if (level == 0) {
      const auto zeros = static_cast<double>(std::count(weights_.begin(), weights_.end(), 0.0));
      auto rank = static_cast<std::size_t>(u * zeros);
      std::size_t j = 0;
      while (weights_[j] != 0 || rank-- > 0) ++j;
      return first + j;
    }
    // Skips whole groups as long as the drawn point lies beyond them.
    constexpr std::size_t group = 128;
    double left = u * level;
    std::size_t begin = 0;
    for (; begin + group < n; begin += group) {
      const Below now = below(level, std::span(weights_).subspan(begin, group));
      const double share = now.count * level - now.sum;
      if (!(left >= share)) break;
      left -= share;
    }
    for (std::size_t j = begin; j < n; ++j)
      if (weights_[j] < level && (left -= level - weights_[j]) < 0) return first + j;
    // Reached by rounding, or with a single old point, whose level is infinite.
    std::size_t last = n - 1;
    while (!(weights_[last] < level)) --last;
    return first + last;
  }

  // Every weight but the newest grows by the factor, and at least to the level; a weight of 0 stays 0. None exceeds the
  // cap.
  void repair(std::size_t newest, double factor, double level) {
    const std::size_t first = context_.basis.first_slot(), at = newest - first;
    const auto units = context_.basis.inverse_lengths();
    context_.function.stretch(first, factor, level, units.first(at), cap_);
    context_.function.stretch(newest, 1.0, 0.0, units.subspan(at, 1), cap_);
    context_.function.stretch(newest + 1, factor, level, units.subspan(at + 1), cap_);
  }

  double cap_;
  bool by_weight_;
  std::vector<double> weights_;  // scratch: for every slot, infinite for points that cannot be removed
};

}  // namespace

std::unique_ptr<Eviction> make_resample_uniformly(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<Resample>(spec, context, false);
}
std::unique_ptr<Eviction> make_resample_by_weight(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<Resample>(spec, context, true);
}

}  // namespace onkel
