// Weights: those of several functions, which sum to 1, as logarithms; and how they move along the gradient of the loss
// of the functions' sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "first_order/loss.hpp"
#include "first_order/residuals.hpp"
#include "linalg/archive.hpp"
#include "loop/config.hpp"
#include "loop/scored.hpp"
#include "second_order/deviation.hpp"

namespace onkel {

class Weights {
 public:
  // Of each total weight, the fraction `share` is divided evenly after a move.
  explicit Weights(std::size_t n = 0, double share = 0.0);

  std::size_t size() const { return logs_.size(); }
  double operator[](std::size_t i) const { return weights_[i]; }
  const std::vector<double>& values() const { return weights_; }
  double relative(std::size_t i) const { return relative_[i]; }   // over the largest
  const std::vector<double>& logs() const { return logs_; }       // the largest is 0
  void add(std::size_t i, double change) { logs_[i] += change; }  // to a logarithm; `move` ends the row
  void move();                                                    // normalises, and divides the share
  void set(std::span<const double> weights);                      // whatever they sum to
  void set_logs(const std::vector<double>& logs);
  // Records the weights after row t in a bounded history: those at multiples of a stride that doubles when there are
  // too many.
  void remember(std::int64_t t);
  // As if they had been these weights for t rows.
  void fill_history(std::int64_t t);
  std::pair<std::vector<std::int64_t>, std::vector<double>> history() const;
  // Goes on with some of them; the others' shares are lost.
  void keep(std::span<const std::size_t> chosen);

  void visit(Archive& archive);
  // After loading: whether the history is that of t rows.
  void check_rows(std::int64_t t) const;

 private:
  void normalise();
  double share_ = 0.0;
  std::vector<double> logs_, relative_, weights_;
  std::int64_t stride_ = 1;
  std::vector<double> history_;  // [row][function]
};

// Exponentiated gradient (Kivinen and Warmuth 1997): F = sum_e w_e f_e, and w_e <- w_e e^(-step dl(F)/dw_e),
// normalised.
class SumWeights {
 public:
  // `narrow` is that of the loss.
  explicit SumWeights(std::size_t n = 0, double share = 0.0, double narrow = 0.0)
      : weights(n, share), residuals_(narrow) {}
  Weights weights;

  // What a row says: the loss of the sum, and how it changes with each weight.
  struct Judged {
    double loss = 0.0, residual = 0.0;
    std::vector<double> slopes;
  };
  // The sum of scores [function][output], added to `total`.
  void add_up(std::span<const double> each, std::span<double> total) const;
  // `row` has label, weight and position; its scores become those of the sum. Throws Diverged and changes nothing else.
  void judge(const Loss& loss, std::span<const double> each, Scored& row, Judged& judged) const;
  void move(const Judged& judged, double weight, Task task);
  // What is expected of a row's residual where the functions expect these deviations of theirs: their weighted sum,
  // times a factor that the residuals of the sum tell. Before the weights have moved, a row is shown with the
  // deviations that were expected; where one of them is not known (0), nothing is.
  double deviation(std::span<const double> each) const;
  void measure(const Judged& judged, std::span<const double> each);
  void take_factor(const SumWeights& other) { factor_ = other.factor_; }

  // Twice the mean loss of a regression, for the squared error the mean squared residual, and the number of rows that
  // it is the mean of.
  double noise() const { return moves_ > 0 ? squares_ / static_cast<double>(moves_) : 0.0; }
  std::int64_t moves() const { return moves_; }
  void set_noise(double noise, std::int64_t moves);

  void visit(Archive& archive);

 private:
  double weighted(std::span<const double> each) const;
  Residuals residuals_;  // of the sum, for a loss that has units
  double squares_ = 0.0;
  std::int64_t moves_ = 0;
  DeviationFactor factor_;
};

}  // namespace onkel
