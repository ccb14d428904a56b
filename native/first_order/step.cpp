#include "first_order/step.hpp"

#include <algorithm>
#include <limits>

namespace onkel {
namespace {

void along_gradient(Scored& row, double length) {
  std::transform(row.g.begin(), row.g.end(), row.coefficient.begin(), [&](double g) { return -length * g; });
}

// f <- (1 - eta lambda) f - eta g kernel(x, .)
struct GradientStep final : Step {
  explicit GradientStep(const Spec& spec) : eta(spec.at("eta")), lam(spec.at("lam")) {}
  double shrink(std::int64_t) const override { return 1.0 - eta * lam; }
  void coefficient(Scored& row) const override { along_gradient(row, eta * row.weight); }
  double eta, lam;
};

// The same with eta_t = eta / (1 + eta lambda t): eta at first, 1 / (lambda t) in the long run.
struct DecayingStep final : Step {
  explicit DecayingStep(const Spec& spec) : eta(spec.at("eta")), lam(spec.at("lam")) {}
  double at(std::int64_t step) const { return eta / (1 + eta * lam * static_cast<double>(step)); }
  double shrink(std::int64_t step) const override { return 1.0 - at(step) * lam; }
  void coefficient(Scored& row) const override { along_gradient(row, at(row.step) * row.weight); }
  double eta, lam;
};

// Pegasos: eta_t = 1 / (lambda t), whose shrink 1 - 1/t is exactly 0 at t = 1.
struct PegasosStep final : Step {
  explicit PegasosStep(const Spec& spec) : lam(spec.at("lam")) {}
  double shrink(std::int64_t step) const override { return 1.0 - 1.0 / static_cast<double>(step); }
  void coefficient(Scored& row) const override {
    along_gradient(row, row.weight / (lam * static_cast<double>(row.step)));
  }
  double lam;
};

// OSKL, Equation (1): -eta g / p_t, which is -eta sgn(g) G while |g| <= G.
struct ImportanceStep final : Step {
  explicit ImportanceStep(const Spec& spec) : eta(spec.at("eta")) {}
  void coefficient(Scored& row) const override { along_gradient(row, eta * row.weight / row.p); }
  double eta;
};

// The smallest step that removes a piecewise linear loss has length l / (|g|^2 kernel(x, x)); |g|^2 is 1 for two
// classes and for regression, 2 for several classes. `softness` is added to the denominator (PA-II), `cap` bounds the
// step.
void passive_aggressive(Scored& row, double cap, double softness = 0.0) {
  double squared_length = 0.0;
  for (const double g : row.g) squared_length += g * g;
  squared_length *= row.self();
  // A row of length 0 cannot change any score: there is nothing to learn from it.
  along_gradient(row, squared_length > 0 ? std::min(cap, row.loss / (squared_length + softness)) : 0.0);
}

struct HardPassiveAggressiveStep final : Step {  // PA
  void coefficient(Scored& row) const override { passive_aggressive(row, std::numeric_limits<double>::infinity()); }
};
struct PassiveAggressiveStep final : Step {  // PA-I
  explicit PassiveAggressiveStep(const Spec& spec) : C(spec.at("C")) {}
  void coefficient(Scored& row) const override { passive_aggressive(row, C * row.weight); }
  double C;
};
struct SquaredPassiveAggressiveStep final : Step {  // PA-II
  explicit SquaredPassiveAggressiveStep(const Spec& spec) : C(spec.at("C")) {}
  void coefficient(Scored& row) const override {
    passive_aggressive(row, std::numeric_limits<double>::infinity(), 1 / (2 * C * row.weight));
  }
  double C;
};

// SPA, Proposition 1: tau_t = min(eta / rho_t, l_t / kernel(x, x)).
struct SparsePassiveAggressiveStep final : Step {
  explicit SparsePassiveAggressiveStep(const Spec& spec) : eta(spec.at("eta")) {}
  void coefficient(Scored& row) const override { passive_aggressive(row, eta * row.weight / row.p); }
  double eta;
};

}  // namespace

std::unique_ptr<Step> make_step(const Spec& spec) {
  if (spec.name == "GradientStep") return std::make_unique<GradientStep>(spec);
  if (spec.name == "DecayingStep") return std::make_unique<DecayingStep>(spec);
  if (spec.name == "PegasosStep") return std::make_unique<PegasosStep>(spec);
  if (spec.name == "ImportanceStep") return std::make_unique<ImportanceStep>(spec);
  if (spec.name == "HardPassiveAggressiveStep") return std::make_unique<HardPassiveAggressiveStep>();
  if (spec.name == "PassiveAggressiveStep") return std::make_unique<PassiveAggressiveStep>(spec);
  if (spec.name == "SquaredPassiveAggressiveStep") return std::make_unique<SquaredPassiveAggressiveStep>(spec);
  if (spec.name == "SparsePassiveAggressiveStep") return std::make_unique<SparsePassiveAggressiveStep>(spec);
  unknown_part("step", spec);
}

}  // namespace onkel
