// ProjectOnNewcomer: BPA-S (Wang and Vucetic 2010). The newcomer keeps its passive-aggressive step; the old point r
// whose projection on the newcomer t costs least, |a_r|^2 (k_rr - k_rt^2 / k_tt), is replaced by it: a_t += a_r k_rt /
// k_tt.
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct ProjectOnNewcomer final : CopiedEviction<ProjectOnNewcomer> {
  explicit ProjectOnNewcomer(const EvictionContext& context) : CopiedEviction(context) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored& row, std::size_t newest) override {
    if (!too_many()) return;
    const double self = context_.basis.diagonal(newest), inverse_self = self > no_length ? 1 / self : 0.0;
    const Basis& basis = context_.basis;
    squares_.clear();
    if (context_.function.outputs() > 1 || !is_full()) {
      squares(squares_);
      exclude(squares_, newest);
    }
    const auto cheapest = [&](std::size_t first, std::size_t end) {
      return context_.function.cheapest(basis, *row.block, row.row, first, end, inverse_self, squares_);
    };
    // All points but the row itself, for which its table has no value.
    const Priced before = cheapest(basis.first_slot(), newest), after = cheapest(newest + 1, basis.end_slot());
    const Priced& found = after.cost < before.cost ? after : before;
    const std::size_t leaves = found.cost < infinite ? found.slot : old_point(0, newest);  // all have overflowed
    const double share = basis.value(*row.block, row.row, leaves) * inverse_self;
    for (std::size_t o = 0; o < context_.function.outputs(); ++o)
      context_.function.add(newest, o, context_.function.last_coefficient(leaves, o) * share);
    evict(leaves);
  }

  std::vector<double> squares_;  // scratch
};

}  // namespace

std::unique_ptr<Eviction> make_project_on_newcomer(const Spec&, const EvictionContext& context) {
  return std::make_unique<ProjectOnNewcomer>(context);
}

}  // namespace onkel
