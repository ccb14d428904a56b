// MoveIntoFeatures: DualSGD (Le, Nguyen, Nguyen and Phung 2016). f(x) = sum a_i k(s_i, x) + W . phi(x) with random
// Fourier features phi; when the set is full, the k old points of least norm leave the sum and a_i phi(s_i) joins W,
// which consists of the coefficients of the basis's fixed columns.
#include <algorithm>

#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

class MoveIntoFeatures final : public CopiedEviction<MoveIntoFeatures> {
 public:
  MoveIntoFeatures(const Spec& spec, const EvictionContext& context)
      : CopiedEviction(context), at_once_(static_cast<std::size_t>(spec.at("k"))) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored&, std::size_t newest) override {
    while (too_many()) {
      const std::size_t leaving = std::min(at_once_, context_.basis.size() - 1);
      for (std::size_t i = 0; i < leaving; ++i) move(smallest(newest));
    }
  }

 private:
  void move(std::size_t slot) {
    values_.resize(context_.basis.columns());
    context_.basis.row_of(slot, scratch_, values_);
    const std::size_t first = context_.basis.first_feature();
    for (std::size_t o = 0; o < context_.function.outputs(); ++o) {
      const double a = context_.function.last_coefficient(slot, o);
      for (std::size_t j = first; j < first + context_.basis.n_features() && a != 0; ++j)
        context_.function.add(j, o, a * values_[j]);
    }
    evict(slot);
  }

  std::size_t at_once_;  // k
  std::vector<double> values_;
  Block scratch_;
};

}  // namespace

std::unique_ptr<Eviction> make_move_into_features(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<MoveIntoFeatures>(spec, context);
}

}  // namespace onkel
