// Update: what a recipe compiles to. It owns the function (or functions) and is shown the rows one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/archive.hpp"
#include "loop/function.hpp"
#include "loop/scored.hpp"

namespace onkel {

// A score or a coefficient is no longer finite; the row that caused it has changed nothing.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Diverged if a value is not a number below 1e100; `position` is that of the row in the stream.
void require_in_range(std::span<const double> values, const char* what, std::int64_t position);

class Ensemble;
class Uncertain;
class Informed;
class Sum;

// What an update provides beyond an Update: null where it does not. Whoever holds one asks once.
struct Faces {
  Ensemble* ensemble = nullptr;
  Uncertain* uncertain = nullptr;
  Informed* informed = nullptr;
  Sum* sum = nullptr;
};

class Update {
 public:
  virtual ~Update() = default;
  virtual Faces faces() { return {}; }
  // A copy over a copy of the basis.
  virtual std::unique_ptr<Update> clone(Basis& basis) const = 0;
  virtual std::size_t outputs() const = 0;
  virtual void widen(std::size_t outputs) = 0;
  virtual void reach() {}  // the basis may have more columns than before, without a point more
  // Scores of the function that predicts.
  virtual void predict(Block& block, std::size_t row, std::span<double> predicted) const = 0;
  // Learning from a row has two halves. `prepare` predicts (where `predicted` is not empty) and finds everything that
  // may be wrong with the row; it changes nothing but scratch. `commit` makes the change, and fails only where code
  // from outside the core fails (see Learner).
  virtual void prepare(const Example& example, std::span<double> predicted) = 0;
  virtual void commit() = 0;
  // Whether it prepares several rows of a block at once.
  virtual bool looks_ahead() const { return false; }
  // The scores of the last function at the prepared row.
  virtual std::span<const double> prepared_scores() const = 0;
  // Ends the current mini-batch.
  virtual void flush(std::int64_t t) = 0;
  // The number of functions that it consists of: one, or one for each kernel. Then the coefficients for each slot of
  // the basis, and that of a column before the slots.
  virtual std::size_t functions() const { return 1; }
  virtual std::vector<double> coefficients(std::size_t function, std::size_t output, Which which) const = 0;
  virtual double fixed(std::size_t function, std::size_t column, std::size_t output, Which which) const = 0;
  virtual double norm_squared() const = 0;
  // The largest number of points, which an eviction may raise and a hedge may redistribute.
  virtual std::size_t budget() const = 0;
  virtual void set_budget(std::size_t budget) = 0;
  // For a fresh update: as if `t` rows had led to the function and its average, which are now set column by column.
  virtual void begin_at(std::int64_t) { refuse_expansion(); }
  virtual void set(std::size_t /*column*/, std::size_t /*output*/, double /*last*/, double /*average*/) {
    refuse_expansion();
  }
  virtual void end_set() {}  // the whole expansion is set
  // KOMP on the last function of a learner whose eviction has no state; returns the distance moved.
  virtual double compress(double /*max_distance*/, std::size_t /*max_points*/) { refuse_expansion(); }
  virtual void visit(Archive& archive) = 0;
  // After loading: throws if the state is not that of a stream of t rows.
  virtual void check_rows(std::int64_t t) const = 0;

 private:
  [[noreturn]] static void refuse_expansion() {
    throw std::invalid_argument("this learner is not one expansion over support vectors");
  }
};

// What an update that consists of several functions (a hedge) provides; each function contributes to the prediction.
class Ensemble {
 public:
  virtual ~Ensemble() = default;
  // The scores of each, [function][output].
  virtual void predict_each(Block& block, std::size_t row, std::span<double> scores) const = 0;
  // The weights of the functions, now and after some of the rows so far ([row][function]), and their numbers of points.
  virtual std::vector<double> weights() const = 0;
  virtual std::pair<std::vector<std::int64_t>, std::vector<double>> weight_history() const = 0;
  virtual std::vector<std::int64_t> sizes() const = 0;
  // Continues with some of them only.
  virtual void keep(const std::vector<std::size_t>& functions) = 0;
};

// What an update that knows the uncertainty of its last function provides.
class Uncertain {
 public:
  virtual ~Uncertain() = default;
  // At a row, in units of the noise's variance; and that variance.
  virtual double variance(Block& block, std::size_t row) const = 0;
  virtual double noise_variance() const = 0;
  // That of a row's target from its prediction; where there are classes, of its score.
  virtual double deviation(Block& block, std::size_t row) const = 0;
  // The residual of the row that was learned from last, and the deviation that was expected of it; none where there are
  // classes, and where nothing was expected yet.
  struct Measured {
    double residual, deviation;
  };
  virtual std::optional<Measured> measured() const = 0;
};

}  // namespace onkel
