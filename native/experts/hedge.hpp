// Hedge: several kernels at once, with a learner for each, weighted by their mistakes (OMKC; SPA paper, sections 4 and
// 6.2), or by the gradient of the loss of their sum.
//
// The prediction is the weighted vote of the learners (regression: the weighted mean), the weights theta start equal
// and fall by a factor `discount` with every mistake. The combination decides which learners learn from a row:
//   uniform        all; the weights stay equal (U)
//   deterministic  all (DD, Algorithm 3)
//   stochastic     learner i is visited with p_i = (1 - smoothing) theta_i / max theta + smoothing; its weight and its
//                  function change only then, and its stream consists of the rows it saw (SD, Algorithm 4)
//   spa            all see every row, but each admits it with p_i times its own probability; the step uses the latter
//                  alone (BOMKC, Algorithm 2)
//   sum            all, and the prediction is the sum F of theta_i f_i itself: theta moves along the gradient of
//                  the loss of F (exponentiated gradient, Kivinen and Warmuth), from the first row after `start` on
// After each row that may move the weights, `share` of the total weight is divided evenly, since the best kernel may
// change (fixed share, Herbster and Warmuth). With uniform, deterministic and sum the budget is divided among the
// learners; with stochastic and spa it is common to all. Whenever the number of rows has doubled, the learners of a sum
// that know their uncertainty divide the work that the budget stands for anew by their weights; a point that several of
// them use counts once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "basis/pool.hpp"
#include "experts/weights.hpp"
#include "first_order/loss.hpp"
#include "linalg/draws.hpp"
#include "loop/config.hpp"
#include "loop/informed.hpp"
#include "loop/update.hpp"

namespace onkel {

class Hedge final : public Update, public Ensemble, public Uncertain, public Sum {
 public:
  struct Member {
    std::unique_ptr<View> view;
    std::unique_ptr<Update> learner;
    std::uint32_t number;          // the kernel's number
    std::int64_t seen = 0;         // rows that the learner saw
    Informed* informed = nullptr;  // the learner, if it keeps information

    void visit(Archive& archive);
  };

  // `budget` is that of each member, or the common one.
  Hedge(const HedgeConfig& config, Loss loss, Task task, std::unique_ptr<Pool> pool, std::vector<Member> members,
        std::size_t budget, const Draws& draws);
  // A copy over a copy of the points.
  Hedge(const Hedge& other, Basis& points);

  std::unique_ptr<Update> clone(Basis& points) const override { return std::make_unique<Hedge>(*this, points); }
  std::size_t outputs() const override { return members_[0].learner->outputs(); }
  void widen(std::size_t outputs) override;
  void predict(Block& block, std::size_t row, std::span<double> predicted) const override;
  // The scores of each member, [member][output].
  void predict_each(Block& block, std::size_t row, std::span<double> scores) const override;
  void prepare(const Example& example, std::span<double> predicted) override;
  void commit() override;
  bool looks_ahead() const override { return by_blocks_; }
  // The scores of the members, [member][output], where a prediction was asked for.
  std::span<const double> prepared_scores() const override { return scores_; }
  void flush(std::int64_t t) override;
  std::size_t functions() const override { return members_.size(); }
  std::vector<double> coefficients(std::size_t function, std::size_t output, Which which) const override;
  double fixed(std::size_t function, std::size_t column, std::size_t output, Which which) const override;
  double norm_squared() const override;
  Faces faces() override;
  std::size_t budget() const override { return budget_; }
  void set_budget(std::size_t budget) override { budget_ = budget; }
  std::vector<double> weights() const override { return sum_.weights.values(); }
  std::pair<std::vector<std::int64_t>, std::vector<double>> weight_history() const override {
    return sum_.weights.history();
  }
  std::vector<std::int64_t> sizes() const override;
  void keep(const std::vector<std::size_t>& functions) override;
  // For a sum of second-order learners: the standard deviation is the weighted sum of those of its terms.
  double variance(Block& block, std::size_t row) const override;
  double noise_variance() const override;
  double deviation(Block& block, std::size_t row) const override;
  std::optional<Measured> measured() const override { return measured_; }
  std::vector<Part> parts() const override;
  const std::vector<double>& log_weights() const override { return sum_.weights.logs(); }
  const Informed& heaviest() const override;
  Informed::Displacement eliminate(double max_distance, std::size_t max_points) override;
  void limit_memories(std::size_t budget) override;
  void join(Basis& points, std::span<const Part> parts, std::int64_t t, std::span<const double> weights, double noise,
            bool moved, const Sum* like) override;
  void visit(Archive& archive) override;
  void check_rows(std::int64_t t) const override;

 private:
  bool is_informed() const;  // a sum of learners that keep information
  void find_informed();
  bool sums() const { return config_.combination == Combination::sum; }
  void evaluate_sum(const Example& example);
  void measure();
  std::size_t whole_budget() const { return budget_ * members_.size(); }
  void limit_points();
  void divide_budget();
  void share_budget(std::int64_t t);
  double visit_probability(std::size_t i) const;
  bool visits(std::size_t i, std::int64_t t) const;
  double error(std::span<const double> f, double y, double range) const;
  void vote(std::span<const double> scores, std::span<double> predicted) const;
  template <class Work>
  void with_budget(Member& member, const Work& work);
  void count();

  HedgeConfig config_;
  Loss loss_;
  Task task_;
  std::unique_ptr<Pool> pool_;
  std::vector<Member> members_;
  std::size_t budget_;
  bool by_blocks_;         // members see all rows of a block at once
  std::size_t total_ = 0;  // points of all members, where the budget is common
  Draws draws_;
  double log_discount_;
  SumWeights sum_;                       // theta; how the weights of a sum move
  double lowest_ = 0.0, highest_ = 0.0;  // the range of y so far
  // Numbers of the prepared row.
  struct {
    std::int64_t t = 0;
    double weight = 0.0;
    double lowest = 0.0, highest = 0.0;
    std::vector<std::size_t> visited;
    SumWeights::Judged judged;  // of the sum
  } prepared_;
  std::vector<double> scores_, errors_;
  std::optional<Measured> measured_;  // of the last row
};

}  // namespace onkel
