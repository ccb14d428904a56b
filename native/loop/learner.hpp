// Learner: the one loop. It walks over the rows block by block: kernel tile, score, update, tick of the average.
//
// Kernel values do not depend on the order of learning, so a whole block of them is computed at once; a row that
// becomes a support vector writes its own column for the rows after it. Scores are those of one row at a time, to the
// bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/archive.hpp"
#include "loop/config.hpp"
#include "loop/informed.hpp"
#include "loop/model.hpp"
#include "loop/ticket_lock.hpp"
#include "loop/update.hpp"

namespace onkel {

class Learner final : public Model {
 public:
  // What a configuration says, without a row yet; who makes it knows all kinds of updates.
  struct Made {
    std::unique_ptr<Basis> basis;
    std::unique_ptr<Update> update;
  };
  using Maker = Made (*)(const Config&);
  Learner(const Config& config, Maker make);
  const Config& config() const override { return config_; }
  std::unique_ptr<Learner> clone() const;
  std::unique_ptr<Model> copy() const override { return clone(); }
  // One like it that has learned nothing.
  std::unique_ptr<Learner> blank() const { return std::make_unique<Learner>(config_, make_); }
  // The position in the stream of the first row that it may be shown next.
  std::int64_t next_position() const { return origin_ + t_ + skipped_; }

  std::size_t learn(const Batch& batch, Scores* scores, const Execution& execution,
                    const Continue& should_continue) override;
  Scores score(const Rows& rows, bool each, const Execution& execution, const Continue& should_continue) const override;
  // The two halves of learning from one row (see Update), for who shows a row to several learners and lets nobody else
  // see them: nothing is locked. `batch` has one row.
  void prepare(const Batch& batch, std::span<double> predicted);
  void commit();
  std::vector<double> variance(const Rows& rows) const override;
  double noise_variance() const override;
  std::vector<double> noise_at(const Rows& rows) const override;
  std::vector<double> deviation(const Rows& rows) const override;
  // What was expected of the residual of the last row; 0 if nothing was.
  double measured() const;
  // For second-order learners (see Informed); other learners refuse.
  bool has_information() const { return faces_.informed != nullptr; }
  Informed::Knowledge information() const;
  void set_information(std::span<const double> half, double noise, std::int64_t steps,
                       std::span<const double> deviation);
  Informed::Displacement eliminate(double max_distance, std::size_t max_points);
  std::vector<double> memories() const;
  std::vector<double> memory_weights() const;
  std::pair<std::vector<std::int64_t>, std::vector<double>> memory_history() const;
  void widen(std::size_t outputs) override;
  void reach(std::size_t width) override;
  void flush() override;

  // An expansion that is set from outside.
  struct Expansion {
    Rows points;
    const std::int64_t* births = nullptr;  // of the points, ascending or not
    // The coefficients of a function: of the points [output][point], the constants [output], and of random features
    // [output][feature]; null where there are none.
    struct Coefficients {
      const double* points = nullptr;
      const double* constants = nullptr;
      const double* features = nullptr;
    } last, average;
    std::size_t outputs = 1;
    std::int64_t t = 0;  // rows that led to it
  };
  // Discards the present state and continues from the expansion.
  void set(const Expansion& expansion);
  // KOMP on the last function, for a learner without an eviction of its own: removes points while the function stays
  // within the distance `max_distance`, and then further ones until there are no more than `max_points`. Returns the
  // distance.
  double compress(double max_distance, std::size_t max_points);
  // Adds the information about the expansion, `weight` times (see Informed); the points stay those of this learner.
  void add_information(const Expansion& expansion, std::span<const double> half, double noise, std::int64_t steps,
                       std::span<const double> deviation, double weight);

  std::size_t n_weights() const override;
  std::int64_t t() const override;
  // The stream had this many rows before the first one that this learner sees: it counts them, and knows nothing else
  // about them.
  void begin_after(std::int64_t rows);
  std::size_t outputs() const override;
  std::size_t size() const override;
  std::size_t bytes() const override;
  std::vector<std::int64_t> births() const;  // of its points, ghosts included
  double norm() const;
  // [function][output][point], with points in slot order, and the product of the first two dimensions.
  std::pair<std::vector<double>, std::size_t> coefficients(Which which) const;
  std::vector<double> constants(Which which) const;  // [function][output]; empty without a constant term
  // sqrt(2 / D) cos(w_i . x + b_i), i = 1 .. D, where the eviction keeps such features (see Fourier).
  struct RandomFeatures {
    std::vector<double> frequencies;  // w, [i][feature]
    std::vector<double> phases;       // b, [i]
  };
  RandomFeatures random_features() const;
  // With a hedge (see Ensemble).
  std::vector<double> weights() const;
  std::pair<std::vector<std::int64_t>, std::vector<double>> weight_history() const;
  std::vector<std::int64_t> sizes() const;
  void keep(const std::vector<std::size_t>& functions);

  Points points() const override;
  std::vector<Learned> learned(bool informed) const override;

  // The learners of a sum of second-order learners, each of which goes on by itself; and, for a fresh sum, the opposite
  // (see Hedge).
  std::vector<std::unique_ptr<Learner>> split() const;
  void join(std::span<const Learner* const> parts, std::span<const double> weights, double noise, bool moved,
            const Learner* like);
  // The largest number of points.
  std::size_t budget() const;
  // For second-order learners: from now on it counts as made with this budget (see Informed). That of a sum is the
  // budget of each, and its points stay.
  void limit(std::size_t budget);

  void show(const Display::Viewer& viewer) const override;
  State save() const override;
  void load(const State& state) override;
  // What a state consists of, and a check of what no part can check alone: that the counts of the parts agree.
  void visit(Archive& archive);
  void check_rows() const;
  // Whether a kernel or a part is from outside the core: it may fail at any time.
  bool is_foreign() const { return foreign_; }

 private:
  Learner(const Config& config, Maker make, Made made);
  Learner(const Learner& other);  // with its state locked
  void check_positions(const Batch& batch) const;
  std::int64_t position_of(const Batch& batch, std::size_t row) const;
  void fill_block(const Batch& batch, std::size_t begin, std::size_t count, Team& team);
  void learn_row(const Batch& batch, std::size_t row, Scores* scores, Team& team);
  void count_row(std::int64_t position);
  template <class Value>
  std::vector<double> of_each(const Rows& rows, const Value& value) const;
  template <class Work>
  void all_or_nothing(const Work& work);
  Informed::Knowledge knowledge() const;
  Points all_points() const;
  PointRows weights_as_points(std::size_t copies) const;
  void learned_weights(Learned& learned) const;
  std::vector<double> coefficients_of_points(Which which) const;
  std::vector<double> constant_terms(Which which) const;
  Learned::Coefficients all_coefficients(Which which) const;
  Ensemble& ensemble() const;
  const Uncertain& uncertain() const;
  void adopt(Learner&& fresh);
  std::size_t outputs_after(const Batch& batch) const;
  Informed& informed() const;
  const Informed& with_memories() const;
  Sum& sum() const;

  Config config_;
  Maker make_;
  bool foreign_;  // whether a kernel or a part is from outside the core
  // A call that changes something holds `call_lock_` throughout, and `state_lock_` for each of its steps; a call that
  // only reads holds `state_lock_` alone. `config_` is changed with both held.
  mutable TicketLock call_lock_, state_lock_;
  std::unique_ptr<Basis> basis_;
  std::unique_ptr<Update> update_;
  Faces faces_;              // of the update
  std::int64_t origin_ = 0;  // the number of rows of the stream before the first that it saw
  std::int64_t t_ = 0;       // the number of rows of non-zero weight that it has learned from since
  // The number of rows since that it was not shown, so that t_ + skipped_ is the number of all; births count all.
  std::int64_t skipped_ = 0;
  std::int64_t prepared_ = -1;  // the position of the row that is prepared
  Block block_;                 // scratch of learning
  std::vector<double> block_y_;
};

// The core's own parts fail, if at all, before they change anything. Code from outside the core may fail at every call.
template <class Work>
void Learner::all_or_nothing(const Work& work) {
  if (!foreign_) return work();
  Learner before(*this);
  try {
    work();
  } catch (...) {
    adopt(std::move(before));
    throw;
  }
}

}  // namespace onkel
