// RemoveOldest: the set is a window on the stream (NORMA: Kivinen, Smola and Williamson 2004, truncation).
#include "rules.hpp"

namespace onkel {
namespace {

struct RemoveOldest final : Budget {
  using Budget::Budget;

  void settle(const Scored&, std::size_t) override {
    while (too_many()) evict(hold_.basis.oldest());
  }
};

}  // namespace

std::unique_ptr<Budget> make_remove_oldest(const Spec&, const Hold& hold) {
  return std::make_unique<RemoveOldest>(hold);
}

}  // namespace onkel
