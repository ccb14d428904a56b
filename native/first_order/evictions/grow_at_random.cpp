// GrowAtRandom: when the set outgrows its budget, another rule makes room with probability min(1, beta / t), otherwise
// the budget itself grows by one (NPBSGD). Until t = beta it does not grow, then ever faster.
#include <stdexcept>
#include <utility>

#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

class GrowAtRandom final : public Eviction {
 public:
  GrowAtRandom(const Spec& spec, const EvictionContext& context)
      : Eviction(context), beta_(spec.at("beta")), maintenance_(make_eviction(spec.part("eviction"), context)) {}
  GrowAtRandom(const GrowAtRandom& other, const EvictionContext& context)
      : Eviction(context), beta_(other.beta_), maintenance_(other.maintenance_->clone(context)) {}
  std::unique_ptr<Eviction> clone(const EvictionContext& context) const override {
    return std::make_unique<GrowAtRandom>(*this, context);
  }

  Newcomer absorb(Scored& row) override { return maintenance_->absorb(row); }

  // The other rule is told of every newcomer, whether or not a point must be removed: it may keep state about all
  // points.
  void restore_budget(const Scored& row, std::size_t newest) override {
    bool was_told = false;
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      if (context_.draws.uniform(row.t, Purpose::eviction, draw) < beta_ / static_cast<double>(row.t)) {
        // Only one point is removed, however many there are above the budget.
        const std::size_t budget = std::exchange(context_.budget, context_.basis.size() - 1);
        maintenance_->restore_budget(row, newest);
        context_.budget = budget;
        was_told = true;
      } else {
        ++context_.budget;
      }
    }
    if (!was_told) maintenance_->restore_budget(row, newest);
  }

  void idle(const Scored& row) override { maintenance_->idle(row); }
  bool evicts() const override { return maintenance_->evicts(); }

  void visit(Archive& archive) override {
    auto size = static_cast<std::int64_t>(context_.budget);
    archive.scalar("size", size);
    if (size < 1) throw std::invalid_argument("state has a budget of 0 points");
    context_.budget = static_cast<std::size_t>(size);
    archive.part("eviction", *maintenance_);
  }

 private:
  double beta_;
  std::unique_ptr<Eviction> maintenance_;
};

}  // namespace

std::unique_ptr<Eviction> make_grow_at_random(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<GrowAtRandom>(spec, context);
}

}  // namespace onkel
