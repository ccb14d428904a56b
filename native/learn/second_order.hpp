// Newton: second-order learning on a budget (docs/newton.md).
//
// f is a Gaussian process with kernel k / lam, restricted to the span of the points (the dictionary) and the constant.
// Its mean is the function, whose coefficients a have the covariance A: at first K^-1 / lam. An informative
// row, one whose slope |g| is above a threshold, with kernel values k, makes one Newton step on
//   |f' - f|^2 / (2 s) + loss(f'),  s = k . A k,  f = k . a:     a += A k b,   A -= v / (1 + v s) A k (A k)'.
// In the orthonormal coordinates z = L^-1 k of the span this is w += P z b, with P = L' A L: that form is the
// definition (and the tests'), this one needs no triangular solve for each row.
//
// Where the memory fades, the information H = sum v z z' is kept as well: every `period` rows it is scaled by the power
// of forget, the function stays, and A is derived from lam I + H anew. Without fading H is derived from A when asked
// for.
//
// Points come from a reservoir of informative rows, each kept with the key u^(1/q), q = |g| sqrt(what of it lies
// outside of the span): the best joins as the dictionary grows to sqrt(t B / spread), B the budget. Rows in the
// reservoir hold slots, and count for the budget; their coefficients are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learn/function.hpp"
#include "learn/informed.hpp"
#include "learn/loss.hpp"
#include "learn/spec.hpp"
#include "learn/update.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/covariance.hpp"
#include "linalg/draws.hpp"
#include "linalg/information.hpp"

namespace onkel {

class SecondOrder final : public Update, public Informed {
 public:
  SecondOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget, Draws draws,
              Basis& basis);

  std::size_t outputs() const override { return function_.outputs(); }
  void widen(std::size_t outputs) override;
  void predict(Block& block, std::size_t row, std::span<double> predicted) const override;
  void prepare(const Example& example, std::span<double> predicted) override;
  void commit() override;
  std::span<const double> prepared_scores() const override { return f_; }
  void flush(std::int64_t) override {}
  std::vector<double> coefficients(std::size_t, std::size_t output, Which which) const override {
    return function_.coefficients(basis_, output, which);
  }
  double fixed(std::size_t, std::size_t column, std::size_t output, Which which) const override {
    return function_.coefficient(column, output, which);
  }
  double norm_squared() const override { return function_.norm_squared(basis_); }
  std::size_t& budget() override { return budget_; }
  double variance(Block& block, std::size_t row) const override;
  double noise_variance() const override { return steps_ > 0 ? noise_ / static_cast<double>(steps_) : 0.0; }
  // Of the rows before only their number is known: what they told counts as spread evenly over the span.
  void begin_at(std::int64_t t) override;
  void set(std::size_t column, std::size_t output, double last, double average) override;
  void end_set() override;
  double compress(double max_distance, std::size_t max_points) override;
  Knowledge information() const override;
  void set_information(std::span<const double> half, double noise, std::int64_t steps) override;
  void add_information(const Informed& other, std::span<const double> kernel, double weight) override;
  Moved eliminate(double max_distance, std::size_t max_points) override;
  void visit(Archive& archive) override;
  void check_rows(std::int64_t t) const override;

 private:
  // A row of the reservoir: the larger the key, the sooner it joins.
  struct Candidate {
    std::size_t slot;
    double key;
  };

  Scored scored(const Example& example, std::size_t row, std::span<double> f, std::span<double> direction,
                std::span<double> g);
  double curvature(const Scored& row, std::size_t output) const;
  double steepest(const Scored& row) const;
  double mean_curvature(const Scored& row) const;
  bool is_informative(const Scored& row) const;
  void offer(const Scored& row);
  void grow(std::int64_t t);
  bool join(std::size_t slot);
  bool extend(std::size_t slot);
  void take_step(const Example& example, Scored& row);
  double solve(Scored& row, double s);
  bool forgets() const { return forget_ < 1; }
  void learn_information(double v);
  void forget();
  void reach();
  void begin();
  void multiply(const Example& example);
  void look_ahead(const Example& example);
  std::vector<std::size_t> covered() const;
  std::size_t n_fixed() const { return basis_.has_constant() ? 1 : 0; }
  Triangle coordinates() const;
  Information current_information() const;
  void adopt(Information information);
  std::vector<double> mean(std::size_t output) const;
  void move(std::size_t output, std::span<const double> coefficients);
  void erase(std::size_t slot);
  std::vector<std::size_t> dependent_points();
  double project(const std::vector<std::size_t>& slots, double max_distance);
  double kernel_with_itself(Block& block, std::size_t row) const;
  double outside(std::span<const double> values, double kappa, Buffer<double>& l) const;

  Basis& basis_;
  Function function_;
  Draws draws_;
  Loss loss_;
  bool logistic_;
  int inner_steps_;
  std::size_t budget_;
  double lam_, min_slope_, spread_, forget_;
  std::int64_t period_;                // rows from one forgetting to the next
  std::vector<std::int64_t> members_;  // the dictionary's slots in the order of joining, which is L's
  std::vector<Candidate> candidates_;
  Cholesky factor_;
  Covariance covariance_;
  Information information_;  // where the memory fades
  double noise_ = 0.0;       // sum of the squared residuals, each over its own variance
  std::int64_t steps_ = 0;   // second-order steps

  // The row prepared; its kernel values are in k_, its scores in f_.
  struct Prepared {
    Example example;
    Scored row;
    bool informative;
  };
  std::optional<Prepared> prepared_;

  // Scratch: A_0 k of rows of a block that seemed informative, valid for one block and until the next fold.
  struct Ahead {
    std::uint64_t block = 0;
    std::int64_t folds = 0;
    std::size_t columns = 0;
    std::vector<std::size_t> rows;
    Buffer<double> k, products;
  } ahead_;
  Block scratch_;
  Buffer<double> k_, h_, l_, d_, z_, values_;
  std::vector<double> f_, direction_, g_, b_, next_, m_;
};

}  // namespace onkel
