#include "first_order/evictions/komp.hpp"

#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

std::size_t cheapest(const Span& points) {
  std::size_t best = 0;
  double least = points.cost(0);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double cost = points.cost(i);
    if (cost >= least) continue;
    least = cost;
    best = i;
  }
  return best;
}

// POLK: once per mini-batch the function is pruned to within eps_t of the result of its step, whether or not there are
// new points.
struct KOMP final : CopiedEviction<KOMP> {
  KOMP(const Spec& spec, const EvictionContext& context)
      : CopiedEviction(context), radius(spec), points(context.basis, context.function) {}
  void restore_budget(const Scored& row, std::size_t) override { prune(row.step); }
  void idle(const Scored& row) override { prune(row.step); }
  void visit(Archive& archive) override { archive.part("gram", points); }
  void work_on(const EvictionContext& context) override {
    Eviction::work_on(context);
    points.move_to(context.basis, context.function);
  }

  void prune(std::int64_t step) {
    const double moved = points.include_points();
    komp(points, moved, radius.squared(step), context_.budget);
    points.apply_pending();
  }

  PruningRadius radius;
  Span points;
};

}  // namespace

double komp(Span& points, double moved, double max_squared_distance, std::size_t max_points) {
  while (points.size() > 0) {
    const std::size_t leaver = cheapest(points);
    if (moved + points.cost(leaver) > max_squared_distance && points.size() <= max_points) break;
    moved += points.project_out(leaver);
  }
  return moved;
}

std::unique_ptr<Eviction> make_komp(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<KOMP>(spec, context);
}

}  // namespace onkel
