// Stop: the null rule. Nobody leaves; a full set admits nobody.
#include "rules.hpp"

namespace onkel {
namespace {

struct Stop final : Budget {
  using Budget::Budget;
  bool evicts() const override { return false; }
  Newcomer absorb(Scored&) override { return hold_.basis.size() < hold_.size ? Newcomer::inserted : Newcomer::refused; }
};

}  // namespace

std::unique_ptr<Budget> make_stop(const Spec&, const Hold& hold) { return std::make_unique<Stop>(hold); }

}  // namespace onkel
