// ProjectOnNewcomer: BPA-S (Wang and Vucetic 2010). The newcomer keeps its passive-aggressive step; the old point r
// whose projection on the newcomer t costs least, |a_r|^2 (k_rr - k_rt^2 / k_tt), is replaced by it: a_t += a_r k_rt /
// k_tt.
#include "rules.hpp"

namespace onkel {
namespace {

struct ProjectOnNewcomer final : Budget {
  explicit ProjectOnNewcomer(const Hold& hold) : Budget(hold) { hold_.basis.keep_diagonal(); }

  Newcomer absorb(Scored& row) override {
    if (hold_.basis.size() >= hold_.size) {
      values_.resize(hold_.basis.columns() + 1);  // and the newcomer's own slot, which nobody reads
      hold_.basis.values(*row.block, row.row, values_);
    }
    return Newcomer::inserted;
  }

  void settle(const Scored&, std::size_t newest) override {
    if (!too_many()) return;
    const double self = hold_.basis.diagonal(newest), inverse_self = self > no_length ? 1 / self : 0.0;
    squares(costs_);
    price(hold_.basis.diagonal().data(), values_.data() + hold_.basis.first_slot(), inverse_self, costs_);
    const std::size_t leaves = cheapest(costs_, newest);
    for (std::size_t o = 0; o < hold_.function.outputs(); ++o)
      hold_.function.add(newest, o, hold_.function.last_coefficient(leaves, o) * (values_[leaves] * inverse_self));
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

std::unique_ptr<Budget> make_project_on_newcomer(const Spec&, const Hold& hold) {
  return std::make_unique<ProjectOnNewcomer>(hold);
}

}  // namespace onkel
