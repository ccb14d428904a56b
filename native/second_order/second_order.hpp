// Newton: second-order learning on a budget (docs/newton.md).
//
// f is a Gaussian process with kernel k / lam, restricted to the span of the points (the dictionary) and the constant.
// An informative row makes one Newton step on
//   |f' - f|^2 / (2 s) + weight loss(f'),  s the variance of f there.
// A row is informative with the probability p = min(1, |g| / easy_slope), and then its weight is divided by p: what is
// learned from easy rows is what would be learned from all of them, in expectation, for a fraction of the time. The
// draw belongs to the row: all memories, and all learners of a hedge, share it.
// In the orthonormal coordinates z = L^-1 k of the span this is w += P z b, with P their covariance: that form is the
// definition (and the one in the tests); the form that is computed needs no triangular solve for each row (see
// posterior.hpp).
//
// There is a posterior for each memory. The first has the longest memory and uses all points; the others use some of
// them. The function is the mean of their functions, weighted by fixed share on the likelihood of what each predicted.
// Where the order of the rows has no meaning (`Example::in_order` is false) only the first learns: the others are
// suspended, and start from its function afterwards.
//
// Points come from a reservoir of informative rows, each with the key u^(1/q), q = |g| times its distance from the
// span: the best joins as the dictionary grows to sqrt(t B / spread), B the budget. Rows in the reservoir have slots
// and count towards the budget; their coefficients are 0. At a full budget, where a short memory has the largest
// weight, an informative row replaces the point that is needed least, once in as many rows as that memory holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "first_order/loss.hpp"
#include "first_order/residuals.hpp"
#include "linalg/draws.hpp"
#include "loop/function.hpp"
#include "loop/informed.hpp"
#include "loop/spec.hpp"
#include "loop/update.hpp"
#include "second_order/deviation.hpp"
#include "second_order/fixed_share.hpp"
#include "second_order/inner_step.hpp"
#include "second_order/posterior.hpp"
#include "second_order/recent_loss.hpp"

namespace onkel {

class SecondOrder final : public Update, public Informed {
 public:
  SecondOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget, Draws draws,
              Basis& basis);
  SecondOrder(const SecondOrder& other, Basis& basis);

  Faces faces() override { return {.uncertain = this, .informed = this}; }
  std::unique_ptr<Update> clone(Basis& basis) const override { return std::make_unique<SecondOrder>(*this, basis); }
  std::size_t outputs() const override { return function_.outputs(); }
  void widen(std::size_t outputs) override;
  void predict(Block& block, std::size_t row, std::span<double> predicted) const override;
  void prepare(const Example& example, std::span<double> predicted) override;
  void commit() override;
  bool looks_ahead() const override { return true; }
  std::span<const double> prepared_scores() const override { return in_hand_.mixed.f; }
  void flush(std::int64_t) override {}
  std::vector<double> coefficients(std::size_t, std::size_t output, Which which) const override {
    return function_.coefficients(basis_, output, which);
  }
  double fixed(std::size_t, std::size_t column, std::size_t output, Which which) const override {
    return function_.coefficient(column, output, which);
  }
  double norm_squared() const override { return function_.norm_squared(basis_); }
  std::size_t budget() const override { return budget_; }
  void set_budget(std::size_t budget) override { budget_ = budget; }
  double variance(Block& block, std::size_t row) const override;
  double noise_variance() const override { return steps_ > 0 ? noise_ / static_cast<double>(steps_) : 0.0; }
  double deviation(Block& block, std::size_t row) const override;
  std::optional<Measured> measured() const override { return measured_; }
  // Only the number of the earlier rows is known: their information is taken to be spread evenly over the span.
  void begin_at(std::int64_t t) override;
  void set(std::size_t column, std::size_t output, double last, double average) override;
  void end_set() override;
  double compress(double max_distance, std::size_t max_points) override;
  Knowledge information() const override;
  void take(const Informed& other) override;
  void limit_memories(std::size_t budget) override;
  void limit(std::size_t budget) override;
  void set_information(std::span<const double> half, double noise, std::int64_t steps,
                       std::span<const double> deviation) override;
  void add_information(const Informed& other, std::span<const double> kernel, double weight) override;
  Displacement eliminate(double max_distance, std::size_t max_points) override;
  std::vector<double> memories() const override;
  std::vector<double> memory_weights() const override { return share_.weights(); }
  std::pair<std::vector<std::int64_t>, std::vector<double>> memory_history() const override {
    return {share_.rows(), share_.history()};
  }
  void visit(Archive& archive) override;
  void check_rows(std::int64_t t) const override;

 private:
  // A row of the reservoir: the larger the key, the sooner it joins.
  struct Candidate {
    std::size_t slot;
    double key;
  };

  // What is known of the row in hand, from `prepare` to the end of `commit`.
  struct InHand {
    std::optional<Example> example;
    bool seen = false;                   // a hedge may show this learner only a fraction of the rows
    double draw = 0.0, times = 0.0;      // its draw, and how many rows it stands for to the function
    bool several = false;                // whether each posterior judges it by itself
    Scored mixed;                        // as the function sees it
    std::vector<Scored> each;            // as the posteriors do, where there are several
    double apart = 0.0;                  // the variance between them
    Buffer<double> k;                    // its values at the columns of the basis, if it is informative or several
    std::optional<std::size_t> nearest;  // the slot of the point with the largest of them, once found
    Row first;                           // as the first posterior saw it, where a regression learns from it
    bool measured = false;
    // The candidate that it became, and where it lies as long as the points are those of the time.
    std::optional<std::size_t> slot;
    Placement placed{};

    bool is_informative() const { return times > 0; }
    Scored& seen_by(std::size_t posterior) { return several ? each[posterior] : mixed; }
  };

  Posterior& first() { return posteriors_[0]; }
  const Posterior& first() const { return posteriors_[0]; }
  // The number of posteriors that learn.
  std::size_t n_active() const { return others_suspended_ ? 1 : posteriors_.size(); }
  double draw_of(std::int64_t t) const { return Draws{draws_.seed, 0}.uniform(t, Purpose::easy); }
  double multiplicity(const Posterior& posterior, const Scored& row, double draw) const {
    return onkel::multiplicity(easy_slope_, posterior.memory(), row, draw);
  }
  double log_likelihood(const Scored& row) const;
  bool is_full(std::int64_t position) const;
  double outside(Block& block, std::size_t row, std::span<const double> values) const;
  double variance_between(Block& block, std::size_t row, std::span<const double> values) const;
  double variance_between(const std::vector<Scored>& each, std::span<const double> mean) const;
  bool measures() const { return loss_.measures_residuals(); }
  void measure(const InHand& row, double residual);
  double local(std::span<const double> values) const;
  void offer(InHand& row);
  void grow(const InHand& row);
  bool join(std::size_t slot, const InHand& row);
  double take_step(std::size_t posterior, InHand& row);
  void reach();
  void begin();
  void precompute(Posterior& posterior, const InHand& row) const;
  void score(const Posterior& posterior, std::span<const double> values, std::span<double> f) const;
  void score_each(InHand& row) const;
  void publish();
  // The memories (second_order_memory.cpp).
  void suspend_others();
  void resume_others();
  void update_weights(const InHand& row);
  bool rests(std::size_t posterior) const;
  void renew(InHand& row);
  void exchange(std::size_t posterior, InHand& row);
  std::size_t nearest(const InHand& row) const;
  std::size_t least_needed();

  std::size_t n_fixed() const { return basis_.has_constant() ? 1 : 0; }
  std::vector<double> last(std::size_t output) const;
  void move(std::size_t output, std::span<const double> coefficients);
  void erase(std::size_t slot);
  void find_dependent_points();
  void start_from_function();
  double even_information() const;
  void visit_members(Archive& archive, Posterior& posterior, const std::vector<std::int64_t>& others);
  void drop_candidates();
  double project(const std::vector<std::size_t>& slots, double max_distance);
  Displacement lose_points(double projected, double max_distance, std::size_t max_points);
  double kernel_with_itself(Block& block, std::size_t row) const;
  Buffer<double> values_of(std::size_t slot) const;
  Placement place(std::span<const double> values, double kappa) const;

  Basis& basis_;
  Function function_;
  Draws draws_;
  Task task_;
  Loss loss_;
  bool logistic_;
  std::size_t budget_;
  double lam_, easy_slope_, spread_;
  std::vector<Posterior> posteriors_;
  Residuals residuals_;  // of the function, for a loss that has units
  FixedShare share_;
  RecentLoss recent_loss_;         // of the function
  bool others_suspended_ = false;  // all but the first posterior
  double due_ = 0.0;               // the fraction of a point that is due to be renewed
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> dependent_points_;  // slots of points that are neither members nor candidates
  double noise_ = 0.0;                         // the sum of twice the losses, each divided by its own variance
  std::int64_t steps_ = 0;                     // the number of second-order steps
  Deviation deviation_;                        // of a regression
  std::optional<Measured> measured_;           // of the last row

  InHand in_hand_;
};

}  // namespace onkel
