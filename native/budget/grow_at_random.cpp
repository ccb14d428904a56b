// GrowAtRandom: when the set outgrows its budget, another rule makes room with probability min(1, beta / t), otherwise
// the budget itself grows by one (NPBSGD). Until t = beta it does not grow, then ever faster.
#include <stdexcept>
#include <utility>

#include "rules.hpp"

namespace onkel {
namespace {

class GrowAtRandom final : public Budget {
 public:
  GrowAtRandom(const Spec& spec, const Hold& hold, std::unique_ptr<Budget> maintenance)
      : Budget(hold), beta_(spec.at("beta")), maintenance_(std::move(maintenance)) {}

  void settle(const Scored& row, std::size_t newest) override {
    for (std::uint32_t draw = 0; too_many(); ++draw) {
      if (hold_.draws.uniform(row.t, Purpose::budget, draw) < beta_ / static_cast<double>(row.t)) {
        // One point leaves, however many are too many.
        const std::size_t budget = std::exchange(hold_.size, hold_.basis.size() - 1);
        maintenance_->settle(row, newest);
        hold_.size = budget;
      } else {
        ++hold_.size;
      }
    }
  }

  void visit(Archive& archive) override {
    auto size = static_cast<std::int64_t>(hold_.size);
    archive.scalar("size", size);
    if (size < 1) throw std::invalid_argument("state has a budget of no points");
    hold_.size = static_cast<std::size_t>(size);
  }

 private:
  double beta_;
  std::unique_ptr<Budget> maintenance_;
};

}  // namespace

std::unique_ptr<Budget> make_grow_at_random(const Spec& spec, const Hold& hold) {
  return std::make_unique<GrowAtRandom>(
      spec, hold, spec.name == "GrowAtRandom" ? make_remove_smallest(spec, hold) : make_project_on_nearest(spec, hold));
}

}  // namespace onkel
