// ProjectOnNewcomer: BPA-S (Wang and Vucetic 2010). The newcomer keeps its passive-aggressive step; the old point r
// whose projection on the newcomer t costs least, |a_r|^2 (k_rr - k_rt^2 / k_tt), is replaced by it: a_t += a_r k_rt /
// k_tt.
#include "learn/eviction/rules.hpp"

namespace onkel {
namespace {

struct ProjectOnNewcomer final : Eviction {
  explicit ProjectOnNewcomer(const EvictionContext& context) : Eviction(context) { context_.basis.keep_diagonal(); }

  Newcomer absorb(Scored& row) override {
    if (context_.basis.size() >= context_.budget) {
      values_.resize(context_.basis.columns() + 1);  // and the newcomer's own slot, which nobody reads
      context_.basis.values(*row.block, row.row, values_);
    }
    return Newcomer::inserted;
  }

  void restore_budget(const Scored&, std::size_t newest) override {
    if (!too_many()) return;
    const double self = context_.basis.diagonal(newest), inverse_self = self > no_length ? 1 / self : 0.0;
    squares(costs_);
    price(context_.basis.diagonal().data(), values_.data() + context_.basis.first_slot(), inverse_self, costs_);
    const std::size_t leaves = cheapest(costs_, newest);
    for (std::size_t o = 0; o < context_.function.outputs(); ++o)
      context_.function.add(newest, o,
                            context_.function.last_coefficient(leaves, o) * (values_[leaves] * inverse_self));
    evict(leaves);
  }

  // |a|^2 becomes the cost.
  static void price(const double* diagonal, const double* value, double inverse_self, std::span<double> costs) {
    for (std::size_t r = 0; r < costs.size(); ++r) costs[r] *= diagonal[r] - value[r] * value[r] * inverse_self;
  }

  std::vector<double> values_;  // the newcomer's kernel row
  std::vector<double> costs_;
};

}  // namespace

std::unique_ptr<Eviction> make_project_on_newcomer(const Spec&, const EvictionContext& context) {
  return std::make_unique<ProjectOnNewcomer>(context);
}

}  // namespace onkel
