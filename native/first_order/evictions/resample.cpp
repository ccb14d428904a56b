// ResampleUniformly, ResampleByWeight: BOGD and BOGD++ (Zhao, Wang, Wu, Jin and Hoi 2012, Algorithm 1). An old point is
// drawn and removed; the others grow by 1 / (1 - p_j), so that f is unchanged in expectation, and no weight exceeds the
// cap (the paper's gamma eta), Equation (10). The factor 1 - lambda eta of that equation is the step's shrink.
#include "first_order/evictions/resample.hpp"

#include <algorithm>

#include "first_order/evictions/rules.hpp"

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

// Consecutive weights, and those of them that are below a limit.
struct Group {
  std::span<const double> weights;
  Below below;
};

Below total(std::span<const Group> groups) {
  Below total;
  for (const auto& [weights, below] : groups) {
    total.count += below.count;
    total.sum += below.sum;
    total.largest = std::max(total.largest, below.largest);
  }
  return total;
}

// The level of weights whose groups know all finite ones; afterwards they know those below the level.
double level_of(std::span<Group> groups) {
  double level = std::numeric_limits<double>::infinity();
  Below now = total(groups);
  while (now.count > 1) {
    level = now.sum / (now.count - 1);
    if (now.largest < level) break;
    const double before = now.count;
    for (Group& group : groups) group.below = below(level, group.weights);
    now = total(groups);
    if (now.count == before) break;
  }
  return level;
}

}  // namespace

double water_level(std::span<const double> weights) {
  Group all{weights, below(std::numeric_limits<double>::infinity(), weights)};
  return level_of({&all, 1});
}

namespace {

class Resample final : public CopiedEviction<Resample> {
 public:
  Resample(const Spec& spec, const EvictionContext& context, bool by_weight)
      : CopiedEviction(context), cap_(spec.at("cap")), by_weight_(by_weight) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      const double u = context_.draws.uniform(row.t, Purpose::eviction, draw);
      evict(by_weight_ ? resample_by_weight(u, newest) : resample_uniformly(u, newest));
    }
  }

 private:
  static constexpr std::size_t group_size = 128, part_size = 16;

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
    weigh(newest);
    const double level = level_of(groups_);
    const std::size_t leaves = pick(u, level);
    repair(newest, 1.0, level);
    return leaves;
  }

  // The weights of the old points, in groups: those of the slots before the newest, and those after it.
  void weigh(std::size_t newest) {
    weights_.resize(context_.basis.end_slot() - context_.basis.first_slot());
    groups_.clear();
    const std::size_t at = newest - context_.basis.first_slot();
    weigh_slots(0, at);
    weigh_slots(at + 1, weights_.size());
    exclude(weights_, newest);
    if (is_full()) return;
    for (Group& group : groups_) group.below = below(infinite, group.weights);
  }

  void weigh_slots(std::size_t begin, std::size_t end) {
    for (std::size_t n; begin < end; begin += n) {
      n = std::min(group_size, end - begin);
      const auto weights = std::span(weights_).subspan(begin, n);
      const auto [sum, largest] =
          context_.function.lengths(context_.basis.first_slot() + begin, context_.basis.lengths().from(begin), weights);
      groups_.push_back({weights, {static_cast<double>(n), sum, largest}});
    }
  }

  // The shares level - w of the points below the level add up to the level. Where the level is 0, the points without
  // weight are drawn.
  std::size_t pick(double u, double level) const {
    const std::size_t first = context_.basis.first_slot();
    if (level == 0) {
      const auto zeros = static_cast<double>(std::count(weights_.begin(), weights_.end(), 0.0));
      auto rank = static_cast<std::size_t>(u * zeros);
      std::size_t j = 0;
      while (weights_[j] != 0 || rank-- > 0) ++j;
      return first + j;
    }
    // Skips whole groups but the last, then parts, as long as the drawn point lies beyond them.
    double left = u * level;
    const auto is_beyond = [&](const Below& skipped) {
      const double share = skipped.count * level - skipped.sum;
      if (!(left >= share)) return false;
      left -= share;
      return true;
    };
    std::size_t group = 0;
    while (group + 1 < groups_.size() && is_beyond(groups_[group].below)) ++group;
    auto j = static_cast<std::size_t>(groups_[group].weights.data() - weights_.data());
    const auto part = [&] { return std::span(weights_).subspan(j, part_size); };
    while (j + part_size < weights_.size() && is_beyond(below(level, part()))) j += part_size;
    for (; j < weights_.size(); ++j)
      if (weights_[j] < level && (left -= level - weights_[j]) < 0) return first + j;
    // Reached by rounding, or with a single old point, whose level is infinite.
    while (!(weights_[--j] < level)) {
    }
    return first + j;
  }

  // Every weight but the newest grows by the factor, and at least to the level; a weight of 0 stays 0. None exceeds the
  // cap.
  void repair(std::size_t newest, double factor, double level) {
    const std::size_t first = context_.basis.first_slot(), at = newest - first, n = context_.basis.end_slot() - first;
    const isa::Units units = context_.basis.inverse_lengths();
    context_.function.stretch(first, at, factor, level, units, cap_);
    context_.function.stretch(newest, 1, 1.0, 0.0, units.from(at), cap_);
    context_.function.stretch(newest + 1, n - at - 1, factor, level, units.from(at + 1), cap_);
  }

  double cap_;
  bool by_weight_;
  // Scratch: the weights for every slot, NaN for points that cannot be removed, and their groups.
  std::vector<double> weights_;
  std::vector<Group> groups_;
};

}  // namespace

std::unique_ptr<Eviction> make_resample_uniformly(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<Resample>(spec, context, false);
}
std::unique_ptr<Eviction> make_resample_by_weight(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<Resample>(spec, context, true);
}

}  // namespace onkel
