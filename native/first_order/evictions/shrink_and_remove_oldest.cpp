// ShrinkAndRemoveOldest: the self-tuned Forgetron (Dekel, Shalev-Shwartz and Singer 2008). At a full budget every
// coefficient shrinks by the largest factor for which the damage so far, Q, stays below 15/32 of the mistakes so far,
// M; then the oldest point, by now that of least weight, is removed.
#include "first_order/evictions/shrink_and_remove_oldest.hpp"

#include <algorithm>

#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct ShrinkAndRemoveOldest final : CopiedEviction<ShrinkAndRemoveOldest> {
  explicit ShrinkAndRemoveOldest(const EvictionContext& context) : CopiedEviction(context) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored&, std::size_t) override {
    ++mistakes_;
    while (too_many()) {
      const std::size_t oldest = context_.basis.oldest();
      shrink_before(oldest);
      evict(oldest);
    }
  }

  // The damage Psi(phi) = (sigma phi)^2 |u|^2 k(r, r) + 2 sigma phi (1 - phi mu), with r of coefficients sigma u, the
  // largest entry of u being 1, and mu = u . f(r) after the newcomer has joined.
  void shrink_before(std::size_t oldest) {
    const auto& f = score(oldest);
    double sigma = 0.0, square = 0.0, along = 0.0;
    for (std::size_t o = 0; o < context_.function.outputs(); ++o) {
      const double a = context_.function.last_coefficient(oldest, o);
      sigma = std::max(sigma, std::abs(a));
      square += a * a;
      along += a * f[o];
    }
    const double a = square * context_.basis.diagonal(oldest) - 2 * along, b = 2 * sigma;
    const double left =
        std::max(0.0, 15.0 / 32.0 * static_cast<double>(mistakes_) - damage_);  // negative only by rounding
    const double phi = forgetron_factor(a, b, left);
    damage_ += (a * phi + b) * phi;
    scale(phi);
  }

  void visit(Archive& archive) override {
    archive.scalar("mistakes", mistakes_);
    archive.require(mistakes_ >= 0, "mistakes", "must not be negative");
    archive.scalar("damage", damage_);
  }

  std::int64_t mistakes_ = 0;  // M
  double damage_ = 0.0;        // Q
};

}  // namespace

std::unique_ptr<Eviction> make_shrink_and_remove_oldest(const Spec&, const EvictionContext& context) {
  return std::make_unique<ShrinkAndRemoveOldest>(context);
}

}  // namespace onkel
