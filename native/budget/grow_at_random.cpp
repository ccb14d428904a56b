// GrowAtRandom: when the set outgrows its budget, maintenance (the smallest point leaves) with probability
// min(1, beta / t), otherwise the budget itself grows by one (NPBSGD). Until t = beta it does not grow, then ever
// faster.
#include <stdexcept>

#include "rules.hpp"

namespace onkel {
namespace {

struct GrowAtRandom final : Budget {
  GrowAtRandom(const Spec& spec, const Hold& hold) : Budget(hold), beta(spec.at("beta")) {
    hold_.basis.keep_diagonal();
  }

  void settle(const Scored& row, std::size_t) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      if (hold_.draws.uniform(row.t, Purpose::budget, draw) < beta / static_cast<double>(row.t))
        evict(smallest());
      else
        ++hold_.size;
    }
  }

  void visit(Archive& archive) override {
    auto size = static_cast<std::int64_t>(hold_.size);
    archive.scalar("size", size);
    if (size < 1) throw std::invalid_argument("state has a budget of no points");
    hold_.size = static_cast<std::size_t>(size);
  }

  double beta;
};

}  // namespace

std::unique_ptr<Budget> make_grow_at_random(const Spec& spec, const Hold& hold) {
  return std::make_unique<GrowAtRandom>(spec, hold);
}

}  // namespace onkel
