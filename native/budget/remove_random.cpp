// RemoveRandom: a uniformly random old point leaves (the randomized budget perceptron, Cavallanti, Cesa-Bianchi and
// Gentile 2007).
#include "rules.hpp"

namespace onkel {
namespace {

struct RemoveRandom final : Budget {
  using Budget::Budget;

  void settle(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      const auto old = static_cast<double>(hold_.basis.size() - 1);
      const double u = hold_.draws.uniform(row.t, Purpose::budget, draw);
      evict(old_point(static_cast<std::size_t>(u * old), newest));
    }
  }
};

}  // namespace

std::unique_ptr<Budget> make_remove_random(const Spec&, const Hold& hold) {
  return std::make_unique<RemoveRandom>(hold);
}

}  // namespace onkel
