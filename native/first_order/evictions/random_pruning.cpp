// POLK, Remark 6: points are removed uniformly at random, with the others unchanged, until the next removal would move
// the function further than eps_t from the result of its step.
#include "first_order/evictions/komp.hpp"
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

struct RandomPruning final : CopiedEviction<RandomPruning> {
  RandomPruning(const Spec& spec, const EvictionContext& context) : CopiedEviction(context), radius(spec) {}
  void restore_budget(const Scored& row, std::size_t) override { prune(row.t, radius.squared(row.step)); }
  void idle(const Scored& row) override { prune(row.t, radius.squared(row.step)); }

  void prune(std::int64_t t, double max_squared_distance) {
    std::vector<std::size_t> stay = context_.basis.alive_slots(), leave;
    double moved = 0.0;
    for (std::uint32_t draw = 0; !stay.empty(); ++draw) {
      const double u = context_.draws.uniform(t, Purpose::eviction, draw);
      const auto drawn = stay.begin() + static_cast<std::ptrdiff_t>(u * static_cast<double>(stay.size()));
      const double further = moved_by(*drawn, leave);
      if (moved + further > max_squared_distance && stay.size() <= context_.budget) break;
      moved += further;
      leave.push_back(*drawn);
      stay.erase(drawn);
    }
    for (const std::size_t slot : leave) evict(slot);
  }

  // What one more removal adds to |sum of the removed a_j k(s_j, .)|^2.
  double moved_by(std::size_t slot, const std::vector<std::size_t>& leave) {
    values.resize(context_.basis.columns());
    context_.basis.row_of(slot, scratch, values);
    double further = 0.0;
    for (std::size_t o = 0; o < context_.function.outputs(); ++o) {
      const double a = context_.function.last_coefficient(slot, o);
      double along = 0.0;
      for (const std::size_t other : leave) along += context_.function.last_coefficient(other, o) * values[other];
      further += a * (2 * along + a * values[slot]);
    }
    return further;
  }

  PruningRadius radius;
  Block scratch;
  std::vector<double> values;
};

}  // namespace

std::unique_ptr<Eviction> make_random_pruning(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<RandomPruning>(spec, context);
}

}  // namespace onkel
