// Experts: learners of their own (an expert has its points, kernel, prior and memory), each of which learns from the
// rows of its region. What is predicted is a sum over the experts of all regions that hold a row, the path from the
// root to a leaf:
//
//   F(x) = sum over the path  w_e f_e(x)
//
// The weights belong to the leaf and move along the gradient of the loss of F (weights.hpp), on each row before it is
// learned from. Nobody's learning depends on them: the rows of a block are routed, each expert learns its rows as one
// task, which threads share, and then one pass over the rows in order moves the weights.
//
// Who divides regions, and adds experts and lets them go, is above this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "experts/shared.hpp"
#include "experts/tree.hpp"
#include "experts/weights.hpp"
#include "loop/learner.hpp"
#include "loop/model.hpp"
#include "loop/ticket_lock.hpp"

namespace onkel {

class Experts final : public Model {
 public:
  // All of them experts of the root, with equal weights; `t` rows of the stream have been.
  Experts(std::vector<std::unique_ptr<Learner>> learners, std::int64_t t);
  const Config& config() const override { return experts_[0].learner->config(); }
  std::unique_ptr<Experts> clone() const;
  std::unique_ptr<Model> copy() const override { return clone(); }

  std::size_t learn(const Batch& batch, Scores* scores, const Execution& execution,
                    const Continue& should_continue) override;
  // `each`: [row][expert][output], 0 for experts that do not hold the row.
  Scores score(const Rows& rows, bool each, const Execution& execution, const Continue& should_continue) const override;
  // The standard deviation is the sum of those of the path, by their weights; the noise around a row is that of its
  // leaf.
  std::vector<double> variance(const Rows& rows) const override;
  double noise_variance() const override;
  std::vector<double> noise_at(const Rows& rows) const override;
  std::vector<double> deviation(const Rows& rows) const override;
  void widen(std::size_t outputs) override;
  void reach(std::size_t width) override;
  void flush() override;
  std::int64_t t() const override;
  std::size_t outputs() const override;
  // Of distinct points: those of the same row count once.
  std::size_t size() const override;
  std::size_t bytes() const override;
  // Distinct ones, in the order of the stream.
  Points points() const override;
  std::vector<Learned> learned(bool informed) const override;
  void show(const Display::Viewer& viewer) const override;
  State save() const override;
  void load(const State& state) override;

  // -- structure

  struct Seen {
    Tree::Region region;
    std::int64_t parent;                // its number, -1 for the root
    std::vector<std::int64_t> experts;  // its own, by their numbers
    std::vector<std::int64_t> path;     // of a leaf: those of all regions that hold its rows
    std::vector<double> weights;        // of the path
    double loss = 0.0, noise = 0.0;     // of a leaf: mean loss of the sum, and mean squared residual
  };
  std::vector<Seen> regions() const;
  std::vector<std::int64_t> numbers() const;  // of the experts
  std::vector<std::int64_t> leaves_of(const Rows& rows) const;
  std::unique_ptr<Learner> expert(std::int64_t number) const;  // a copy
  // Row counts of a leaf since its experts changed, and the weights after each of them.
  std::pair<std::vector<std::int64_t>, std::vector<double>> weight_history(std::int64_t region) const;

  // Other experts, which go on from these. A leaf becomes two regions with experts of their own (copies of those
  // given), and with weights of their whole paths.
  struct Side {
    std::span<const Learner* const> experts;
    std::span<const double> weights;
  };
  std::unique_ptr<Experts> divided(std::int64_t region, const Condition& condition, const Side& lower,
                                   const Side& upper) const;
  // One more expert, with this weight at each leaf of the region.
  std::unique_ptr<Experts> with_expert(std::int64_t region, const Learner& expert, double weight) const;
  // What it weighed is divided among the others.
  std::unique_ptr<Experts> without_expert(std::int64_t expert) const;
  // Others in the places of all experts; they may count rows and points anew. With `rows`, so many of each leaf, in the
  // order of the regions, they have learned from those instead of from the rows so far.
  std::unique_ptr<Experts> with_experts(std::span<const Learner* const> experts,
                                        std::span<const std::int64_t> rows = {}) const;
  // A region becomes a leaf: all below it go, and its weights are the mean of theirs.
  std::unique_ptr<Experts> merged_back(std::int64_t region) const;
  std::unique_ptr<Experts> with_weights(std::int64_t region, std::span<const double> weights) const;

 private:
  struct Expert {
    std::int64_t number = 0, region = 0;
    Shared learner;
  };
  struct Leaf {
    SumWeights sum;
    std::vector<std::size_t> path = {};  // places among the experts
    std::int64_t rows = 0;               // since its experts changed
    double losses = 0.0;                 // of the sum, and the number of rows that they are of
    std::int64_t judged = 0;
    void visit(Archive& archive);
  };
  // Some rows, for those who hold them.
  struct Part {
    std::vector<std::size_t> rows;  // among those that are divided
    Rows view;
    std::vector<std::byte> values;
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> indices;
    std::vector<double> y, weight;  // where they are to be learned from
    std::vector<std::int64_t> positions;
  };
  struct Routed {
    std::vector<std::size_t> leaves;  // of each row, by place
    std::vector<Part> parts;          // of each region with experts, by place
  };
  struct Failure {
    std::size_t row;
    std::exception_ptr error;
  };

  Experts(const Experts& other);  // with its state locked
  void adopt(Experts&& fresh);
  Type type() const { return config().type; }
  std::size_t width() const { return experts_[0].learner->outputs(); }  // of a score
  void link();
  const Leaf& leaf_at(std::size_t place) const { return *by_place_[place]; }
  std::size_t expert_at(std::int64_t number) const;
  std::size_t leaf_numbered(std::int64_t region) const;
  std::unique_ptr<Learner> fitting(const Learner& expert) const;
  void reweigh(Leaf& leaf, const std::map<std::int64_t, double>& weights);
  std::map<std::int64_t, double> weights_of(const Leaf& leaf) const;
  bool is_foreign() const;

  static Batch between(const Batch& batch, std::size_t begin, std::size_t end, Type type);
  Routed routed(const Rows& rows) const;
  std::size_t outputs_after(const Batch& batch) const;
  std::size_t chunk_end(const Batch& batch, std::size_t begin) const;
  void learn_one(const Batch& one, std::span<double> predicted);
  void learn_chunk(const Batch& chunk, std::span<double> predicted, std::size_t stride, const Execution& execution);
  Routed routed_to_learn(const Batch& chunk) const;
  std::optional<Failure> learn_parts(const Routed& routed, bool in_order, std::vector<Scores>* each,
                                     const Execution& execution);
  void judge(const Leaf& leaf, std::span<const double> each, double y, double weight, Scored& row,
             SumWeights::Judged& judged) const;
  void count_row(std::size_t place, const SumWeights::Judged& judged, std::span<const double> deviations,
                 double weight);
  double noise_of(const Leaf& leaf) const;

  void visit(Archive& archive);
  void check_rows() const;

  mutable TicketLock call_lock_, state_lock_;  // as those of a Learner
  Loss loss_;
  Tree tree_;
  std::vector<Expert> experts_;
  std::vector<std::size_t> order_;       // the experts' places, those of higher regions first: the order of all sums
  std::int64_t next_ = 0;                // the number of the next expert
  std::map<std::int64_t, Leaf> leaves_;  // by the numbers of their regions
  std::vector<Leaf*> by_place_;          // null for what is no leaf
  std::int64_t t_ = 0;
};

}  // namespace onkel
