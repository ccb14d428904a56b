// Newton for the linear kernel with many features: a weight for each feature, and the diagonal of their precision.
//
// A row moves the weights by P phi b, with P the inverse of the diagonal lam + sum of v phi^2 over the rows, and b the
// solution of the row's own problem (see inner_step.hpp): rare features take long steps, frequent ones short steps. All
// rows are remembered, or as many as a fading memory says; features that a row does not have cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "first_order/loss.hpp"
#include "first_order/residuals.hpp"
#include "linalg/draws.hpp"
#include "loop/function.hpp"
#include "loop/spec.hpp"
#include "loop/update.hpp"
#include "second_order/deviation.hpp"

namespace onkel {

class LinearNewton final : public Update, public Uncertain {
 public:
  // Up to so many features points span them all, and the covariance is kept in full (see SecondOrder).
  static constexpr std::size_t full_columns = 1000;

  LinearNewton(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget, Draws draws,
               Basis& basis);
  LinearNewton(const LinearNewton& other, Basis& basis);

  Faces faces() override { return {.uncertain = this}; }
  std::unique_ptr<Update> clone(Basis& basis) const override { return std::make_unique<LinearNewton>(*this, basis); }
  std::size_t outputs() const override { return function_.outputs(); }
  void widen(std::size_t outputs) override;
  void reach() override;
  void predict(Block& block, std::size_t row, std::span<double> predicted) const override {
    function_.score(basis_, block, row, predicted, predicted);
  }
  void prepare(const Example& example, std::span<double> predicted) override;
  void commit() override;
  std::span<const double> prepared_scores() const override { return row_.f; }
  void flush(std::int64_t) override {}
  std::vector<double> coefficients(std::size_t, std::size_t, Which) const override { return {}; }
  double fixed(std::size_t, std::size_t column, std::size_t output, Which which) const override {
    return function_.coefficient(column, output, which);
  }
  double norm_squared() const override { return function_.norm_squared(basis_); }
  std::size_t budget() const override { return budget_; }
  void set_budget(std::size_t budget) override { budget_ = budget; }
  // Of the earlier rows only the function is known.
  void begin_at(std::int64_t t) override { function_.begin_at(t); }
  void set(std::size_t column, std::size_t output, double last, double average) override {
    function_.set(column, output, last, average);
  }
  double variance(Block& block, std::size_t row) const override;
  double noise_variance() const override { return steps_ > 0 ? noise_ / static_cast<double>(steps_) : 0.0; }
  double deviation(Block& block, std::size_t row) const override;
  std::optional<Measured> measured() const override { return measured_; }
  void visit(Archive& archive) override;
  void check_rows(std::int64_t t) const override;

 private:
  double variance_of(std::size_t column) const { return 1 / (lam_ + scale_ * information_[column]); }
  double variance(std::span<const Basis::Entry> features) const;
  std::span<const Basis::Entry> features_of(const Block& block, std::size_t row,
                                            std::vector<Basis::Entry>& entries) const;
  void fade();

  Basis& basis_;
  Function function_;
  Draws draws_;
  Task task_;
  Loss loss_;
  Residuals residuals_;  // of the function, for a loss that has units
  std::size_t budget_;
  double lam_, easy_slope_, forget_;
  std::vector<double> information_;  // of each column, up to the factor `scale_`
  double scale_ = 1.0;
  double noise_ = 0.0;                // the sum of twice the losses, each divided by its own variance
  std::int64_t steps_ = 0;            // the number of second-order steps
  bool measures_;                     // whether its residuals have a deviation
  Deviation deviation_;               // the noise is the same everywhere, and nothing lies outside the span
  std::optional<Measured> measured_;  // of the last row
  Scored row_;                        // the prepared row
  double times_ = 0.0;                // how many rows it stands for
  double weight_ = 0.0;               // its weight, whatever it stands for
  std::vector<Basis::Entry> entries_, steps_along_;
};

}  // namespace onkel
