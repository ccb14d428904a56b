// Merge: BSGD with merging (Wang, Crammer and Vucetic 2012), gaussian kernel. The smallest point m and the partner n of
// the same sign (a_m . a_n > 0) that loses least become one point between them. Without such a partner m is removed.
#include "merge.hpp"

#include "rules.hpp"

namespace onkel {
namespace {

class Merge final : public Budget {
 public:
  explicit Merge(const Hold& hold) : Budget(hold) { hold_.basis.keep_diagonal(); }

  void settle(const Scored& row, std::size_t) override {
    while (too_many()) {
      const std::size_t m = smallest();
      find_partner(m);
      if (partner_ != nobody) join(m, row);
      evict(m);
    }
  }

 private:
  void find_partner(std::size_t m) {
    const std::size_t first = hold_.basis.first_slot();
    values_.resize(hold_.basis.columns());
    hold_.basis.row_of(m, scratch_, values_);
    products(m);
    const auto& square = squares();
    partner_ = nobody;
    // The nearest point is a good partner; it sets the mark that the bound holds most others against.
    const std::size_t nearest =
        cheapest([&](std::size_t n) { return products_[n - first] > 0 ? -values_[n] : 1.0; }, m);
    if (nearest == nobody || !(products_[nearest - first] > 0)) return;
    consider(nearest, m, square);
    for (std::size_t n = first; n < hold_.basis.end_slot(); ++n)
      if (n != m && n != nearest && products_[n - first] > 0 && hold_.basis.alive(n)) consider(n, m, square);
  }

  void consider(std::size_t n, std::size_t m, const std::vector<double>& square) {
    const std::size_t first = hold_.basis.first_slot();
    const double A = square[m - first], B = square[n - first];
    const double L = -std::log(std::min(1.0, values_[n]));
    if (!(L < std::numeric_limits<double>::infinity())) return;
    if (partner_ != nobody && A * least_merge_loss(L) > merged_.loss) return;
    const Merged merged = best_merge(L, A, B, products_[n - first]);
    if (partner_ != nobody && (merged.loss > merged_.loss || (merged.loss == merged_.loss && n > partner_))) return;
    partner_ = n;
    merged_ = merged;
  }

  // a_m . a_n for every n
  void products(std::size_t m) {
    const std::size_t first = hold_.basis.first_slot();
    products_.assign(hold_.basis.end_slot() - first, 0.0);
    for (std::size_t o = 0; o < hold_.function.outputs(); ++o) {
      const double a = hold_.function.last_coefficient(m, o);
      for (std::size_t j = 0; j < products_.size(); ++j)
        products_[j] += a * hold_.function.last_coefficient(first + j, o);
    }
  }

  // The partner becomes the merged point; where the average must remember it, the merged point has its own slot.
  void join(std::size_t m, const Scored& row) {
    std::vector<double> sum = coefficients(partner_);
    for (std::size_t o = 0; o < sum.size(); ++o)
      sum[o] = merged_.from_m * hold_.function.last_coefficient(m, o) + merged_.from_n * sum[o];
    const std::size_t slot = hold_.basis.blend(partner_, m, 1 - merged_.h, *row.block, row.row);
    hold_.function.reach(hold_.basis.columns());
    if (slot != partner_) evict(partner_);
    for (std::size_t o = 0; o < sum.size(); ++o)
      hold_.function.add(slot, o, sum[o] - hold_.function.last_coefficient(slot, o));
  }

  std::size_t partner_ = nobody;  // the best so far
  Merged merged_{};
  std::vector<double> values_, products_;
  Block scratch_;
};

}  // namespace

std::unique_ptr<Budget> make_merge(const Spec&, const Hold& hold) { return std::make_unique<Merge>(hold); }

}  // namespace onkel
