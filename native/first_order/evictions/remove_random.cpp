// RemoveRandom: removes an old point chosen uniformly at random (the randomized budget perceptron, Cavallanti,
// Cesa-Bianchi and Gentile 2007).
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct RemoveRandom final : CopiedEviction<RemoveRandom> {
  using CopiedEviction::CopiedEviction;

  void restore_budget(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      const auto old = static_cast<double>(context_.basis.size() - 1);
      const double u = context_.draws.uniform(row.t, Purpose::eviction, draw);
      evict(old_point(static_cast<std::size_t>(u * old), newest));
    }
  }
};

}  // namespace

std::unique_ptr<Eviction> make_remove_random(const Spec&, const EvictionContext& context) {
  return std::make_unique<RemoveRandom>(context);
}

}  // namespace onkel
