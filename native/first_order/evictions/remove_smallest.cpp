// RemoveSmallest: removes the point of least norm |a|^2 kernel(s, s), which may be the newcomer (BSGD with removal:
// Wang, Crammer and Vucetic 2012).
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct RemoveSmallest final : CopiedEviction<RemoveSmallest> {
  explicit RemoveSmallest(const EvictionContext& context) : CopiedEviction(context) { context_.basis.keep_diagonal(); }

  void restore_budget(const Scored&, std::size_t) override {
    while (too_many()) evict(smallest());
  }
};

}  // namespace

std::unique_ptr<Eviction> make_remove_smallest(const Spec&, const EvictionContext& context) {
  return std::make_unique<RemoveSmallest>(context);
}

}  // namespace onkel
