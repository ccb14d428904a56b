// Deviation: what is expected of the residuals of a regression (docs/uncertainty.md).
//
// The residual e of a row, before it is learned from, has the variance
//   exp(level + local) (1 + a s + b o),
// s the variance of the function at the row within the span of the points and o outside it, in units of the noise. The
// local logarithm of the noise is a function on the same points, which the posterior keeps (see Posterior); this keeps
// the rest. All of it is learned row by row by the likelihood of Student's t, which no outlier moves far. What then is
// still missing is measured: of the latest residuals 90 % lie within 1.645 deviations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linalg/archive.hpp"
#include "loop/recent_scores.hpp"

namespace onkel {

// The factor by which expected deviations are multiplied, so that 90 % of the latest residuals lie within 1.645 of
// them, as in a normal distribution: one for those that are small, as the latest go, and one for those that are large.
class DeviationFactor {
 public:
  double at(double deviation) const;
  // A residual and the deviation that was expected of it, but for the factor.
  void add(double residual, double deviation);
  // What both have seen, as if it had come one after the other; `part` of it was seen by the other.
  void add(const DeviationFactor& other, double part);
  std::vector<double> numbers() const;
  void set_numbers(std::span<const double> numbers);
  void visit(Archive& archive);

 private:
  bool is_large(double log) const { return log > middle_; }
  double middle_ = 0.0;  // the mean logarithm of the latest deviations
  std::int64_t rows_ = 0;
  RecentScores small_{1000}, large_{1000};
};

class Deviation {
 public:
  // The deviation of a row's target from its prediction; 0 before the first row.
  double at(double local, double inside, double outside) const;

  // What was expected of a residual, if anything was and it is known how far outside the span it lies; and what the
  // local logarithm has to learn from it: the slope of the loss there, and a bound on its curvature.
  struct Seen {
    std::optional<double> deviation;
    double slope, curvature;
  };
  Seen learn(double residual, double local, double inside, std::optional<double> outside, double weight);
  // How much a row informs about the local logarithm, in the mean.
  static const double mean_curvature;
  // Nothing is known but the variance of the residuals of so many rows.
  void begin_with(double noise_variance, std::int64_t rows);
  // Adds what another one knows, `weight` times.
  void add(const Deviation& other, double weight);

  // All of it as numbers, the first of them of the scales.
  std::vector<double> numbers() const;
  static constexpr std::size_t n_scales = 8, least_numbers = n_scales + 3;
  void set_numbers(std::span<const double> numbers);
  void visit(Archive& archive);

 private:
  struct Scale {                                        // of a part of the variance
    double log = 0.0, information = 0.0, factor = 1.0;  // e^log
    void set(double log, double information);
    void learn(double slope, double share, double rate);
  };
  double relative(double inside, double outside) const;  // 1 + a s + b o

  double level_ = 0.0;
  std::int64_t rows_ = 0;
  double heaviest_ = 0.0;  // the largest weight of a row so far
  Scale inside_, outside_;
  double mean_outside_ = 0.0;  // of the latest rows of which it is known, which others are taken to be like
  DeviationFactor factor_;
};

}  // namespace onkel
