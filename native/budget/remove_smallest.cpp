// RemoveSmallest: the point of least norm |a|^2 kernel(s, s) leaves, be it the newcomer (BSGD with removal: Wang,
// Crammer and Vucetic 2012).
#include "rules.hpp"

namespace onkel {
namespace {

struct RemoveSmallest final : Budget {
  explicit RemoveSmallest(const Hold& hold) : Budget(hold) { hold_.basis.keep_diagonal(); }

  void settle(const Scored&, std::size_t) override {
    while (too_many()) evict(smallest());
  }
};

}  // namespace

std::unique_ptr<Budget> make_remove_smallest(const Spec&, const Hold& hold) {
  return std::make_unique<RemoveSmallest>(hold);
}

}  // namespace onkel
