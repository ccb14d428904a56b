// RemoveOldest: the set is a window on the stream (NORMA: Kivinen, Smola and Williamson 2004, truncation).
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct RemoveOldest final : CopiedEviction<RemoveOldest> {
  using CopiedEviction::CopiedEviction;

  void restore_budget(const Scored&, std::size_t) override {
    while (too_many()) evict(context_.basis.oldest());
  }
};

}  // namespace

std::unique_ptr<Eviction> make_remove_oldest(const Spec&, const EvictionContext& context) {
  return std::make_unique<RemoveOldest>(context);
}

}  // namespace onkel
