// Merge: BSGD with merging (Wang, Crammer and Vucetic 2012), gaussian kernel. The smallest point m and the partner n of
// the same sign (a_m . a_n > 0) with the smallest loss become one point between them. Without such a partner m is
// removed.
#include "first_order/evictions/merge.hpp"

#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

class Merge final : public CopiedEviction<Merge> {
 public:
  explicit Merge(const EvictionContext& context) : CopiedEviction(context) { context_.basis.keep_diagonal(); }

  void restore_budget(const Scored& row, std::size_t) override {
    while (too_many()) {
      const std::size_t m = smallest();
      find_partner(m);
      if (partner_ != no_slot) join(m, row);
      evict(m);
    }
  }

 private:
  void find_partner(std::size_t m) {
    const std::size_t first = context_.basis.first_slot();
    context_.basis.tile_point(m, scratch_);
    find_products(m);
    squares(squares_);
    partner_ = no_slot;
    // a_m . a_n > 0, and not by rounding alone.
    constexpr double least_cosine = 1e-9;
    values_.resize(products_.size());
    context_.basis.compare(scratch_, products_, squares_, least_cosine * least_cosine * squares_[m - first], values_);
    // The nearest point is a good partner; its loss is the bound that rules out most others.
    costs_.resize(values_.size());
    for (std::size_t j = 0; j < costs_.size(); ++j) costs_[j] = -values_[j];
    const std::size_t nearest = cheapest(costs_, m);
    if (!(costs_[nearest - first] < 0)) return;
    consider(nearest, m);
    for (std::size_t j = 0; j < costs_.size(); ++j)
      if (costs_[j] <= -threshold_ && costs_[j] < 0 && first + j != nearest) consider(first + j, m);
  }

  void consider(std::size_t n, std::size_t m) {
    const std::size_t first = context_.basis.first_slot();
    const double A = squares_[m - first], L = -std::log(std::min(1.0, values_[n - first]));
    const Merged merged = best_merge(L, A, squares_[n - first], products_[n - first]);
    if (partner_ != no_slot && (merged.loss > merged_.loss || (merged.loss == merged_.loss && n > partner_))) return;
    partner_ = n;
    merged_ = merged;
    threshold_ = nearer_than(merged.loss / A);
  }

  // Pairs with a kernel value below this lose more than `share` of the lighter point's |a|^2.
  static double nearer_than(double share) {
    static const MergeBound bound;
    return bound.least_value(share);
  }

  // a_m . a_n for every n
  void find_products(std::size_t m) {
    const std::size_t first = context_.basis.first_slot();
    products_.assign(context_.basis.end_slot() - first, 0.0);
    for (std::size_t o = 0; o < context_.function.outputs(); ++o) {
      const double a = context_.function.last_coefficient(m, o);
      for (std::size_t j = 0; j < products_.size(); ++j)
        products_[j] += a * context_.function.last_coefficient(first + j, o);
    }
  }

  // The partner becomes the merged point; where the average still needs the partner, the merged point gets a slot of
  // its own.
  void join(std::size_t m, const Scored& row) {
    std::vector<double> sum = coefficients(partner_);
    for (std::size_t o = 0; o < sum.size(); ++o)
      sum[o] = merged_.from_m * context_.function.last_coefficient(m, o) + merged_.from_n * sum[o];
    const std::size_t slot = context_.basis.blend(partner_, m, 1 - merged_.h, *row.block, row.row);
    context_.function.reach(context_.basis.columns());
    if (slot != partner_) evict(partner_);
    for (std::size_t o = 0; o < sum.size(); ++o)
      context_.function.add(slot, o, sum[o] - context_.function.last_coefficient(slot, o));
  }

  std::size_t partner_ = no_slot;  // the best so far
  Merged merged_{};
  double threshold_ = 0.0;      // points with a smaller kernel value cannot be better
  std::vector<double> values_;  // the kernel value with each possible partner, 0 with the others
  std::vector<double> products_, squares_, costs_;
  Block scratch_;
};

}  // namespace

std::unique_ptr<Eviction> make_merge(const Spec&, const EvictionContext& context) {
  return std::make_unique<Merge>(context);
}

}  // namespace onkel
