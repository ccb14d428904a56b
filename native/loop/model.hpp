// Model: what learns from rows and predicts, seen from above: one learner, or experts with their regions (see
// experts/experts.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/archive.hpp"
#include "loop/config.hpp"
#include "loop/informed.hpp"

namespace onkel {

class Model {
 public:
  virtual ~Model() = default;
  virtual const Config& config() const = 0;
  // A copy of this moment, in memory: between two rows another thread may be learning.
  virtual std::unique_ptr<Model> copy() const = 0;

  struct Batch {
    Rows rows;
    const double* y = nullptr;       // class indices or targets
    const double* weight = nullptr;  // 1 where it is null
    bool in_order = true;            // whether the rows come in the order of time
    // Of the rows in the stream, ascending, where the learner is shown only some of the stream's rows; null: the next
    // ones.
    const std::int64_t* positions = nullptr;
  };
  // [row][output]
  struct Scores {
    std::vector<double> values;
    std::size_t outputs = 0;
    // What was expected of each row's residual when it was learned from; 0 where nothing was (see Uncertain).
    std::vector<double> deviations = {};
  };
  struct Execution {
    std::size_t threads = 1;
    std::size_t block_rows = 48;
  };
  using Continue = std::function<bool()>;

  // Learns from the rows in order and returns how many it has learned from when `should_continue` (called once per
  // block) returned false. Throws Diverged at the row that would make the function infinite, and whatever a kernel or a
  // part from outside the core throws; then all rows before that row are learned, and nothing of the row itself. Other
  // threads may read between blocks. Where `scores` is given it gets the scores of each row before learning from it, 0
  // for a class that is not known yet.
  virtual std::size_t learn(const Batch& batch, Scores* scores, const Execution& execution,
                            const Continue& should_continue) = 0;
  // Scores of the function that predicts, or of `each` function; ends early when `should_continue` returns false.
  virtual Scores score(const Rows& rows, bool each, const Execution& execution,
                       const Continue& should_continue) const = 0;
  // The variance of the last function at each row (see Uncertain), and that of the noise: of all rows, and around each
  // row.
  virtual std::vector<double> variance(const Rows& rows) const = 0;
  virtual double noise_variance() const = 0;
  virtual std::vector<double> noise_at(const Rows& rows) const = 0;
  // The deviation of each row's target from its prediction.
  virtual std::vector<double> deviation(const Rows& rows) const = 0;
  virtual void widen(std::size_t outputs) = 0;
  // From now on sparse rows have so many features.
  virtual void reach(std::size_t width) = 0;
  virtual void flush() = 0;

  // The number of rows of the stream so far, including those before this learner started.
  virtual std::int64_t t() const = 0;
  virtual std::size_t outputs() const = 0;
  virtual std::size_t size() const = 0;
  // Where the features are columns (see Basis), their number; otherwise 0.
  virtual std::size_t n_weights() const { return 0; }
  virtual std::size_t bytes() const = 0;

  // The points of all functions in the order of their slots, those that left the last function (ghosts) included.
  struct Points {
    PointRows rows;
    std::vector<std::int64_t> births;  // positions in the stream
    std::vector<std::int64_t> ghosts;  // 1 for a ghost
  };
  virtual Points points() const = 0;
  // What has been learned, as one value of one moment.
  struct Learned {
    Points points;
    std::int64_t t = 0;
    std::size_t functions = 1, outputs = 1;
    struct Coefficients {
      std::vector<double> points, constants;  // [function][output][point] and [function][output]
      std::vector<double> features;           // [output][feature]
    } last, average;
    std::vector<double> weights;                   // of the functions; empty where there is one
    std::optional<Informed::Knowledge> knowledge;  // where it was asked for and there is some
  };
  // Of the only learner, or of each expert.
  virtual std::vector<Learned> learned(bool informed) const = 0;

  // Shows every array of the state, in a fixed order.
  virtual void show(const Display::Viewer& viewer) const = 0;
  virtual State save() const = 0;
  virtual void load(const State& state) = 0;
};

}  // namespace onkel
