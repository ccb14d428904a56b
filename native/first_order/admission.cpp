#include "first_order/admission.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "first_order/logistic.hpp"

namespace onkel {
namespace {

struct OnMistake final : CopiedAdmission<OnMistake> {
  double probability(Scored& row) const override { return row.mistake ? 1.0 : 0.0; }
};

struct OnGradient final : CopiedAdmission<OnGradient> {
  double probability(Scored& row) const override { return largest(row.g) > 0 ? 1.0 : 0.0; }
};

// KLR, Algorithm 1 (NC): every row.
struct Always final : CopiedAdmission<Always> {
  double probability(Scored&) const override { return 1.0; }
};

// KLR, Equation (5): p_t = (2 - eta) / (2 - eta + eta P(y | x)).
struct MarginSampling final : CopiedAdmission<MarginSampling> {
  explicit MarginSampling(const Spec& spec) : eta(spec.at("eta")) {}
  double probability(Scored& row) const override { return (2 - eta) / (2 - eta + eta * logistic(row.z)); }
  double eta;
};

// KLR, Algorithm 3: learns along an auxiliary curve h >= l, with p_t = l(z) / h(z) (Equation (6)).
struct AuxiliarySampling : Admission {
  double probability(Scored& row) const final {
    if (row.loss > 0) row.set_slope(slope(row.z));
    return ratio(row.z);
  }
  virtual double slope(double z) const = 0;  // h'(z)
  virtual double ratio(double z) const = 0;  // l(z) / h(z)
};

// h = ln(gamma + e^-z) = ln gamma + softplus(-z - ln gamma)
struct AuxiliaryShift final : CopiedAdmission<AuxiliaryShift, AuxiliarySampling> {
  explicit AuxiliaryShift(const Spec& spec) : log_shape(std::log(spec.at("shape"))) {}
  double slope(double z) const override { return -logistic(-z - log_shape); }
  double ratio(double z) const override {
    return log_shape == 0 ? 1.0 : softplus(-z) / (log_shape + softplus(-z - log_shape));
  }
  double log_shape;
};

// h = ln(1 + gamma e^-z) = softplus(-z + ln gamma); for large z the curves are e^-z and gamma e^-z, and their ratio is
// 1 / gamma
struct AuxiliaryScale final : CopiedAdmission<AuxiliaryScale, AuxiliarySampling> {
  explicit AuxiliaryScale(const Spec& spec) : shape(spec.at("shape")), log_shape(std::log(shape)) {}
  double slope(double z) const override { return -logistic(-z + log_shape); }
  double ratio(double z) const override {
    const double h = softplus(-z + log_shape);
    return h < 1e-300 ? 1 / shape : softplus(-z) / h;
  }
  double shape, log_shape;
};

// h = max(l(z), l(delta)): no slope beyond delta
struct AuxiliaryCutoff final : CopiedAdmission<AuxiliaryCutoff, AuxiliarySampling> {
  explicit AuxiliaryCutoff(const Spec& spec) : cutoff(spec.at("cutoff")) {}
  double slope(double z) const override { return z <= cutoff ? -logistic(-z) : 0.0; }
  double ratio(double z) const override {
    if (z <= cutoff) return 1.0;
    const double h = softplus(-cutoff);
    return h < 1e-300 ? std::exp(cutoff - z) : softplus(-z) / h;
  }
  double cutoff;
};

// OSKL, Algorithm 1: Pr(Z_t = 1) = |l'| / G; the largest entry of g with several classes.
struct GradientSampling final : CopiedAdmission<GradientSampling> {
  explicit GradientSampling(const Spec& spec) : bound(spec.at("G")) {}
  double probability(Scored& row) const override { return std::min(1.0, row.weight * largest(row.g) / bound); }
  double bound;
};

// SPA, Algorithm 1: rho_t = min(alpha, l_t) / beta, at most 1.
struct LossSampling final : CopiedAdmission<LossSampling> {
  explicit LossSampling(const Spec& spec) : alpha(spec.at("alpha")), beta(spec.at("beta")) {}
  double probability(Scored& row) const override {
    return std::min(1.0, std::min(alpha, row.weight * row.loss) / beta);
  }
  double alpha, beta;
};

// SPA with beta_t = s_t (T - t + 1) / (B - N_t), which spreads the remaining B - N_t points over the remaining rows of
// T, if the mean of min(alpha, l) on these is the mean s_t over the rows so far. In that mean row t has the weight t,
// so that it follows losses that fall as the learner learns. Beyond T the remaining points are spent on the next rows.
struct PacedLossSampling final : CopiedAdmission<PacedLossSampling> {
  explicit PacedLossSampling(const Spec& spec)
      : alpha(spec.at("alpha")), points(spec.at("points")), horizon(spec.at("horizon")) {}
  double probability(Scored& row) const override {
    const double capped = cap(row), unspent = points - static_cast<double>(admitted);
    if (capped == 0 || unspent <= 0) return 0.0;
    const double rows_left = std::max(1.0, horizon - static_cast<double>(row.t - 1));
    return std::min(1.0, capped * unspent / (mean_with(capped) * rows_left));
  }
  void learned(const Scored& row, bool was_admitted) override {
    mean = mean_with(cap(row));
    ++rows;
    admitted += was_admitted ? 1 : 0;
  }
  void visit(Archive& archive) override {
    archive.scalar("mean", mean);
    archive.scalar("rows", rows);
    archive.scalar("admitted", admitted);
    archive.require(mean >= 0 && mean <= alpha, "mean", "must be between 0 and alpha");
    archive.require(admitted >= 0 && admitted <= rows, "admitted", "must be a number of rows");
  }

  double cap(const Scored& row) const { return std::min(alpha, row.weight * row.loss); }
  double mean_with(double capped) const { return mean + (capped - mean) * 2 / (static_cast<double>(rows) + 2); }

  double alpha, points, horizon;
  double mean = 0.0;
  std::int64_t rows = 0, admitted = 0;
};

}  // namespace

std::unique_ptr<Admission> make_admission(const Spec& spec) {
  if (spec.maker.has_value()) return std::any_cast<AdmissionMaker>(spec.maker)();
  if (spec.name == "OnMistake") return std::make_unique<OnMistake>();
  if (spec.name == "OnGradient") return std::make_unique<OnGradient>();
  if (spec.name == "Always") return std::make_unique<Always>();
  if (spec.name == "MarginSampling") return std::make_unique<MarginSampling>(spec);
  if (spec.name == "AuxiliaryShift") return std::make_unique<AuxiliaryShift>(spec);
  if (spec.name == "AuxiliaryScale") return std::make_unique<AuxiliaryScale>(spec);
  if (spec.name == "AuxiliaryCutoff") return std::make_unique<AuxiliaryCutoff>(spec);
  if (spec.name == "GradientSampling") return std::make_unique<GradientSampling>(spec);
  if (spec.name == "LossSampling") return std::make_unique<LossSampling>(spec);
  if (spec.name == "PacedLossSampling") return std::make_unique<PacedLossSampling>(spec);
  unknown_part("admission", spec);
}

}  // namespace onkel
