// When there is one point too many, one is removed and replaced by its projection on all the others.
//   ProjectCheapest  BPA, "project" (Wang and Vucetic 2010): an old point, the one whose projection costs least.
//   ProjectSmallest  BSGD, "project" (Wang, Crammer and Vucetic 2012): the one of least |a|^2 k(s, s), which may be the
//   newest.
// A newcomer that lies in the span of the points already is replaced by its projection at once.
#include <algorithm>
#include <limits>

#include "first_order/evictions/rules.hpp"
#include "first_order/evictions/span.hpp"

namespace onkel {
namespace {

struct ProjectLeaver : Eviction {
  explicit ProjectLeaver(const EvictionContext& context) : Eviction(context), points(context.basis, context.function) {}

  Newcomer absorb(Scored& row) final {
    points.project(row);
    if (points.independent()) return Newcomer::inserted;
    points.add_projection(row.coefficient);
    return Newcomer::absorbed;
  }
  void restore_budget(const Scored&, std::size_t newest) final {
    points.append(newest);
    while (points.size() > context_.budget) points.project_out(leaver());
    points.apply_pending();
  }
  void visit(Archive& archive) final { archive.part("gram", points); }
  void work_on(const EvictionContext& context) final {
    Eviction::work_on(context);
    points.move_to(context.basis, context.function);
  }

  // Among equal ones the oldest: the steps of a hinge loss make coefficients that are equal up to rounding.
  std::size_t leaver() const {
    constexpr double equal = 1 + 1e-9;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < points.size(); ++i) least = std::min(least, price(i));
    std::size_t found = points.size();
    for (std::size_t i = 0; i < points.size(); ++i)
      if (price(i) <= equal * least && (found == points.size() || born(i) < born(found))) found = i;
    return found;
  }
  std::int64_t born(std::size_t position) const { return context_.basis.born(points.slot(position)); }
  virtual double price(std::size_t position) const = 0;

  Span points;
};

struct ProjectCheapest final : CopiedEviction<ProjectCheapest, ProjectLeaver> {
  using CopiedEviction::CopiedEviction;
  double price(std::size_t i) const override {
    const bool newest = i + 1 == points.size();
    return newest && points.size() > 1 ? std::numeric_limits<double>::infinity() : points.cost(i);
  }
};

struct ProjectSmallest final : CopiedEviction<ProjectSmallest, ProjectLeaver> {
  using CopiedEviction::CopiedEviction;
  double price(std::size_t i) const override { return points.weight(i); }
};

}  // namespace

std::unique_ptr<Eviction> make_project_cheapest(const Spec&, const EvictionContext& context) {
  return std::make_unique<ProjectCheapest>(context);
}
std::unique_ptr<Eviction> make_project_smallest(const Spec&, const EvictionContext& context) {
  return std::make_unique<ProjectSmallest>(context);
}

}  // namespace onkel
