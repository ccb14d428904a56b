// Projectron (Orabona, Keshet and Caputo 2008, 2009): a newcomer near the span of the points, or any newcomer once the
// budget is full, is replaced by its projection on them. Points leave only after a function was set from outside, those
// that lie in the span of the others.
//
// Projectron++ also learns from rows that are correct with too small a margin, but never inserts them. Its recipe
// admits every row with a positive hinge loss with a step of full length; which of the two cases applies, and how much
// the step of the second is shortened, is decided here, since both depend on the projection.
#include <algorithm>
#include <cmath>
#include <limits>

#include "first_order/evictions/rules.hpp"
#include "first_order/evictions/span.hpp"

namespace onkel {
namespace {

double length(std::span<const double> values) {
  double square = 0.0;
  for (const double v : values) square += v * v;
  return std::sqrt(square);
}

struct NewcomersOnSpan : Eviction {
  NewcomersOnSpan(const Spec& spec, const EvictionContext& context)
      : Eviction(context), eta(spec.at("eta")), points(context.basis, context.function) {}

  Newcomer absorb(Scored& row) override {
    points.project(row);
    return take_in(row);
  }
  void restore_budget(const Scored&, std::size_t newest) override {
    points.append(newest);
    points.apply_pending();
  }
  void visit(Archive& archive) override { archive.part("gram", points); }
  void work_on(const EvictionContext& context) override {
    Eviction::work_on(context);
    points.move_to(context.basis, context.function);
  }

  // The distance of the step from the span of the points; for one coefficient y it is the papers' delta.
  double distance(std::span<const double> c) const { return length(c) * std::sqrt(std::max(0.0, points.novelty())); }

  Newcomer take_in(Scored& row) {
    const bool full = context_.basis.size() >= context_.budget;
    if (points.independent() && !full && distance(row.coefficient) > eta) return Newcomer::inserted;
    points.add_projection(row.coefficient);
    return Newcomer::absorbed;
  }

  double eta;
  Span points;
};

struct ProjectNewcomer final : CopiedEviction<ProjectNewcomer, NewcomersOnSpan> {
  using CopiedEviction::CopiedEviction;
};

struct ProjectronPlusPlus : NewcomersOnSpan {
  ProjectronPlusPlus(const Spec& spec, const EvictionContext& context) : NewcomersOnSpan(spec, context) {
    constexpr std::size_t unbounded = std::size_t{1} << 62;
    const double b = static_cast<double>(context.budget) + 1;
    U = context.budget < unbounded ? std::sqrt(b / std::log(b)) / 4 : 1 / eta;
  }

  Newcomer absorb(Scored& row) final {
    points.project(row);
    if (row.mistake) return take_in(row);
    // With several classes g has length sqrt(2), and all that the papers state for y k(x, .) holds for g k(x, .).
    const double g = length(row.g);
    const double squared_length =
        g * g * (row.self() - std::max(0.0, points.novelty()));  // |P k|^2, including that of the constant
    const double away = distance(row.g);
    if (!(squared_length > 0)) return Newcomer::refused;
    const double tau = step(row.loss, squared_length, away == 0 ? 0.0 : U * away, row.weight);
    if (!(tau > 0)) return Newcomer::refused;
    std::transform(row.g.begin(), row.g.end(), row.coefficient.begin(), [&](double slope) { return -tau * slope; });
    points.add_projection(row.coefficient);
    return Newcomer::absorbed;
  }
  // tau, or 0 to leave the row alone; `cap` is 1 times the row's weight.
  virtual double step(double loss, double squared_length, double away, double cap) const = 0;

  double U;
};

struct AggressiveProjection final : CopiedEviction<AggressiveProjection, ProjectronPlusPlus> {  // 2009, Figure 3
  using CopiedEviction::CopiedEviction;
  double step(double loss, double squared_length, double away, double cap) const override {
    return std::min({loss / squared_length, 2 * (loss - away) / squared_length, cap});
  }
};

// Below the budget it inserts every mistake.
struct AggressiveProjection2008 final : CopiedEviction<AggressiveProjection2008, ProjectronPlusPlus> {
  AggressiveProjection2008(const Spec& spec, const EvictionContext& context) : CopiedEviction(spec, context) {
    eta = 0.0;
  }
  double step(double loss, double squared_length, double away, double cap) const override {
    const double tau = std::min(loss / squared_length, cap);
    return 2 * loss - tau * squared_length - 2 * away >= 0 ? tau : 0.0;
  }
};

}  // namespace

std::unique_ptr<Eviction> make_project_newcomer(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<ProjectNewcomer>(spec, context);
}
std::unique_ptr<Eviction> make_aggressive_projection(const Spec& spec, const EvictionContext& context) {
  if (spec.name == "AggressiveProjection2008") return std::make_unique<AggressiveProjection2008>(spec, context);
  return std::make_unique<AggressiveProjection>(spec, context);
}

}  // namespace onkel
