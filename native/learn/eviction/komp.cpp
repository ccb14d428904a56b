#include "learn/eviction/komp.hpp"

#include "learn/eviction/rules.hpp"

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

// POLK: once a mini-batch the function is pruned to within eps of what its step made of it, new points or not.
struct KOMP final : Eviction {
  KOMP(const Spec& spec, const EvictionContext& context)
      : Eviction(context), most_moved(spec.at("eps") * spec.at("eps")), points(context.basis, context.function) {}
  void settle(const Scored&, std::size_t) override { prune(); }
  void idle(const Scored&) override { prune(); }
  void visit(Archive& archive) override { archive.part("gram", points); }

  void prune() {
    const double moved = points.include_points();
    komp(points, moved, most_moved, context_.budget);
    points.settle();
  }

  double most_moved;
  Span points;
};

}  // namespace

double komp(Span& points, double moved, double most_moved, std::size_t most_points) {
  while (points.size() > 0) {
    const std::size_t leaver = cheapest(points);
    if (moved + points.cost(leaver) > most_moved && points.size() <= most_points) break;
    moved += points.project_out(leaver);
  }
  return moved;
}

std::unique_ptr<Eviction> make_komp(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<KOMP>(spec, context);
}

}  // namespace onkel
