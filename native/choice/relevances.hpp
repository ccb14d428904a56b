// Relevances: one scale a feature, found by the loss that rows have which a fit has not seen.
//
// Rows are dense, and the first and every second one after it are one fold, the others the other. At scales s_j =
// e^theta_j a function on the span of some of the rows and of a constant is fitted to each fold: kernel ridge
// regression (a class is a target of 0 or 1), or for two classes penalised logistic regression,
//   minimise sum_i w_i l(f(x_i), y_i) + lam/2 |f|^2,
// and judged by its loss on the other fold. The gradient of that loss is exact, by one more solve a fold (the adjoint).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "isa/isa.hpp"
#include "learn/loss.hpp"

namespace onkel {

class ValidationLoss {
 public:
  struct Data {
    const double* rows = nullptr;    // [row][feature]
    const double* y = nullptr;       // +-1, a target, or the index of a class
    const double* weight = nullptr;  // one a row
    std::size_t count = 0, width = 0;
    Task task = Task::binary;
    std::size_t classes = 1;
    Base base = Base::squared_distance;  // or manhattan
    std::size_t max_points = 300;
  };
  explicit ValidationLoss(const Data& data);

  std::size_t width() const { return data_.width; }
  // At log scales and, the last value, log lambda. `gradient` is as long.
  double operator()(std::span<const double> at, std::span<double> gradient);

 private:
  struct Fold {
    std::size_t begin = 0, end = 0;  // of the rows, which lie fold by fold
    std::vector<double> scores;      // of its rows by the fit to them, [row][output]; the next one starts from them
  };

  void compute_kernel(std::span<const double> at);
  double validate(std::size_t fold, double lam, double& slope);
  std::vector<double> times(std::span<const double> coefficients, std::size_t begin, std::size_t end) const;
  std::vector<double> transposed_times(std::span<const double> values, std::size_t begin, std::size_t end) const;
  std::vector<double> curved(std::span<const double> coefficients, std::span<const double> v, double lam,
                             std::size_t begin, std::size_t end) const;
  Buffer<double> padded(std::span<const double> coefficients, std::size_t columns) const;
  std::vector<double> penalty_times(std::span<const double> coefficients) const;

  Data data_;
  std::size_t outputs_, points_, columns_, stride_;
  double total_ = 0.0;              // of the weights
  std::vector<std::size_t> order_;  // the rows, fold by fold
  std::vector<std::size_t> place_;  // of the points among them
  std::vector<double> targets_;     // [row][output]
  std::vector<double> weights_;
  Fold folds_[2];
  std::size_t features_;  // with the zeros that round them up
  // Scaled rows, points as tiles and as rows, kernel values, what each counts for.
  Buffer<double> scaled_, tiles_, points_as_rows_, phi_, g_;
};

// L-BFGS with at most so many evaluations of `objective(at, gradient)`, from `at`, which becomes the best found;
// returns its value. It ends when three evaluations have made it smaller by less than 0.003, which is 0.3 % of a loss
// whose logarithm it is, and is cut short when `should_continue` says no.
double minimise(const std::function<double(std::span<const double>, std::span<double>)>& objective,
                std::vector<double>& at, std::size_t evaluations, const std::function<bool()>& should_continue);

// The scales that these rows ask for: minimises log(loss) + sum_j (theta_j - centre_j - mean)^2 / (spread h) over theta
// and log lambda, h the number of rows, from `at` (log scales and log lambda), which becomes the best found. An
// infinite `spread` is no penalty. Features of one group, a number below the number of features, share their scale:
// they start at the same one.
double learn_scales(const ValidationLoss::Data& data, std::span<const double> centre,
                    std::span<const std::size_t> groups, double spread, std::size_t evaluations,
                    std::vector<double>& at, const std::function<bool()>& should_continue);

}  // namespace onkel
