// Function: f = scale * sum_j b_j column_j for each output, and the running average of all the f so far.
//
// The average costs one more number per column (after t rows it is the mean of f_1 = 0 .. f_{t+1}). With S the sum of
// the scale over the ticks, a change of b_j adds (change * S) to c_j; the sum of all iterates is then sum_j (b_j S -
// c_j) column_j, whatever was added, shrunk or reset in between.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/archive.hpp"

namespace onkel {

// Which of the two functions is meant where an average is kept.
enum class Which { predicting, last };

class Function {
 public:
  Function(std::size_t outputs, bool averaged) : averaged_(averaged) { widen(outputs); }

  std::size_t outputs() const { return b_.size(); }
  void widen(std::size_t outputs);  // adds outputs that are zero so far
  void reach(std::size_t columns);  // adds columns that are zero so far

  void add(std::size_t column, std::size_t output, double change);
  // Adds `change` times a row's features, where these are columns.
  void add(std::span<const Basis::Entry> features, std::size_t output, double change);
  // Sets the coefficient.
  void become(std::size_t column, std::size_t output, double value) { replace(column, output, value / scale_); }
  void become(std::size_t output, std::span<const double> values);  // those of the first columns
  void drop(std::size_t column);  // exactly 0 in f from now on; the average keeps its part
  // The coefficients a of column first + j, j < n, keep their direction, and their length |a| becomes factor |a|, but
  // no less than level * units[j] and no more than cap; zeros stay.
  void stretch(std::size_t first, std::size_t n, double factor, double level, isa::Units units, double cap);
  void scale(double factor);  // f <- factor f; exactly 0 resets it
  // For a fresh function: `ticks` rows have been learned from, and what is set from now on is the last f and the
  // average of all.
  void begin_at(std::int64_t ticks) { ticks_ = ticks; }
  void set(std::size_t column, std::size_t output, double last, double average);
  void tick();  // the row is done: f enters the average

  // The coefficient of the last f, and that of the function that predicts, which is the average or the last f.
  double last_coefficient(std::size_t column, std::size_t output) const { return scale_ * b_[output][column]; }
  double coefficient(std::size_t column, std::size_t output, Which which = Which::predicting) const;
  std::vector<double> coefficients(const Basis& basis, std::size_t output, Which which) const;  // one per slot
  // |a|^2 over the outputs, of the coefficients a of the last f at column first + j.
  void squares(std::size_t first, std::span<double> squares) const;
  // lengths[j] = |a| units[j] for the same.
  struct Lengths {
    double sum, largest;
  };
  Lengths lengths(std::size_t first, isa::Units units, std::span<double> lengths) const;
  // The point in slots [first, end) of least |a|^2 times its squared distance in the kernel's space from the direction
  // of a row of the block, whose kernel with itself is 1 / inverse_self. `squares` holds |a|^2 of all slots, up to a
  // common factor; it may be empty where there is one output. The cost is in the unit of the squares.
  Priced cheapest(const Basis& basis, const Block& block, std::size_t row, std::size_t first, std::size_t end,
                  double inverse_self, std::span<const double> squares) const {
    return basis.cheapest(block, row, first, end, inverse_self, b_[0].data(), squares);
  }
  bool is_zero(std::size_t column) const;  // whether it is exactly 0 in the last f and in the average
  bool averaged() const { return averaged_; }
  // At a row of the block: the last f, and where `predicted` is not empty the function that predicts.
  void score(const Basis& basis, const Block& block, std::size_t row, std::span<double> last,
             std::span<double> predicted) const;
  // ||f||^2 of the last f, summed over the outputs.
  double norm_squared(const Basis& basis) const;

  std::int64_t ticks() const { return ticks_; }

  // `basis` has the columns, and must have been visited before.
  void visit(Archive& archive, const Basis& basis);

 private:
  static constexpr double smallest_scale = 0x1p-10, largest_scale = 0x1p10;

  void fold();
  void replace(std::size_t column, std::size_t output, double b);
  void visit_weights(Archive& archive, const char* name, std::vector<std::vector<double>>& weights, std::size_t outputs,
                     const Basis& basis);

  bool averaged_;
  double scale_ = 1.0;      // sigma
  double scale_sum_ = 0.0;  // S, since the last fold
  std::int64_t ticks_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::vector<double>> b_, c_;  // [output][column]
};

}  // namespace onkel
