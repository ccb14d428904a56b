// FirstOrder: the papers' learners, one row at a time: loss, admission, step with its shrink, eviction, ball.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "first_order/admission.hpp"
#include "first_order/evictions/eviction.hpp"
#include "first_order/loss.hpp"
#include "first_order/step.hpp"
#include "linalg/draws.hpp"
#include "loop/function.hpp"
#include "loop/update.hpp"

namespace onkel {

class FirstOrder final : public Update {
 public:
  FirstOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget, Draws draws,
             Basis& basis);
  FirstOrder(const FirstOrder& other, Basis& basis);

  std::unique_ptr<Update> clone(Basis& basis) const override { return std::make_unique<FirstOrder>(*this, basis); }
  std::size_t outputs() const override { return function_.outputs(); }
  void widen(std::size_t outputs) override;
  void reach() override { function_.reach(basis_.columns()); }
  void predict(Block& block, std::size_t row, std::span<double> predicted) const override;
  void prepare(const Example& example, std::span<double> predicted) override;
  void commit() override;
  std::span<const double> prepared_scores() const override { return row_.f; }
  void flush(std::int64_t t) override;
  std::vector<double> coefficients(std::size_t, std::size_t output, Which which) const override {
    return function_.coefficients(basis_, output, which);
  }
  double fixed(std::size_t, std::size_t column, std::size_t output, Which which) const override {
    return function_.coefficient(column, output, which);
  }
  double norm_squared() const override { return function_.norm_squared(basis_); }
  void begin_at(std::int64_t t) override { function_.begin_at(t); }
  void set(std::size_t column, std::size_t output, double last, double average) override;
  void end_set() override;
  double compress(double max_distance, std::size_t max_points) override;
  void visit(Archive& archive) override;
  void check_rows(std::int64_t t) const override;
  std::size_t budget() const override { return budget_; }
  void set_budget(std::size_t budget) override { budget_ = budget; }

 private:
  EvictionContext context() { return {basis_, function_, draws_, budget_, radius_ > 0 ? &norm_squared_ : nullptr}; }
  bool join(Scored& row);
  void end_batch(const Scored& row);
  void shrink(double factor);
  void track_norm(const Scored& row);
  void project_on_ball();
  void add(std::size_t slot, std::span<const double> coefficient);
  void add_constant(std::span<const double> coefficient);

  Basis& basis_;
  Function function_;
  Draws draws_;
  Loss loss_;
  std::unique_ptr<Admission> admission_;
  std::shared_ptr<const Step> step_;
  std::size_t budget_;
  double radius_;
  double norm_squared_ = 0.0;  // of f, tracked step by step where there is a ball
  double shrunk_ = 1.0;        // this step's shrink
  std::int64_t period_;
  std::unique_ptr<Eviction> eviction_;
  std::int64_t committed_ = 0;  // rows whose mini-batches have ended
  // Rows of the current mini-batch: they have slots already, and their coefficients are added at its end.
  std::vector<std::int64_t> pending_slots_;
  std::vector<double> pending_;  // [row][output]
  Scored row_;                   // the prepared row
  bool admitted_ = false;
  std::vector<Basis::Entry> entries_;  // scratch
};

}  // namespace onkel
