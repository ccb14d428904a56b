// Stop: the null rule. No point is removed, and a full set admits no newcomer.
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct Stop final : CopiedEviction<Stop> {
  using CopiedEviction::CopiedEviction;
  bool evicts() const override { return false; }
  Newcomer absorb(Scored&) override {
    return context_.basis.size() < context_.budget ? Newcomer::inserted : Newcomer::refused;
  }
};

}  // namespace

std::unique_ptr<Eviction> make_stop(const Spec&, const EvictionContext& context) {
  return std::make_unique<Stop>(context);
}

}  // namespace onkel
