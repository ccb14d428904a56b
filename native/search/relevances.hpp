// Relevances: one scale per feature, chosen by the loss on rows that a fit has not seen.
//
// Rows are dense; the first, third, fifth, ... rows form one fold, the others the second fold. At scales s_j =
// e^theta_j a function on the span of some of the rows and of a constant is fitted to each fold: kernel ridge
// regression (a class is a target of 0 or 1), or for two classes penalised logistic regression,
//   minimise sum_i w_i l(f(x_i), y_i) + lam/2 |f|^2,
// and evaluated by its loss on the other fold. The gradient of that loss is exact and costs one more solve per fold
// (the adjoint method).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "first_order/loss.hpp"
#include "isa/isa.hpp"
#include "linalg/triangle.hpp"
#include "search/slices.hpp"

namespace onkel {

class ValidationLoss {
 public:
  struct Data {
    const double* rows = nullptr;    // [row][feature]
    const double* y = nullptr;       // +-1, a target, or the index of a class
    const double* weight = nullptr;  // one per row
    std::size_t count = 0, width = 0;
    Task task = Task::binary;
    std::size_t classes = 1;
    Base base = Base::squared_distance;  // or manhattan
    std::size_t max_points = 300;
  };
  ValidationLoss(const Data& data, Pace& pace);

  // The loss at these log scales and, the last value, log lambda. `gradient` has the same length, or
  // none where only the loss is wanted.
  Sliced<double> at(std::span<const double> at, std::span<double> gradient);

 private:
  struct Fold {
    std::size_t begin = 0, end = 0;  // of its rows, which are stored fold by fold
    std::vector<double> scores;      // of the fit at its own rows, [row][output]; the next fit starts from them
  };

  // A function fitted to a fold.
  struct Fit {
    Fold* fold;
    double lam;
    std::vector<double> a{};         // its coefficients, [output][column]
    std::vector<double> e{}, v{};    // minus the slopes of the weighted loss at the fold's rows, and its curvatures
    std::optional<Solver> factor{};  // of the Hessian at one of the steps
    int conjugate_steps = 0;         // since that was factored
  };

  bool is_logistic() const { return data_.task == Task::binary; }
  double pass(std::size_t rows) const;
  void scale(std::span<const double> at);
  void compute_kernel(std::size_t begin, std::size_t end);
  Sliced<double> validate(std::size_t fold, double lam, double* slope);
  double judge(Fit& fit) const;
  double move(Fit& fit, std::vector<double> a) const;
  Sliced<Solver> hessian(const Fit& fit) const;
  std::vector<double> solved(const Fit& fit, std::vector<double> x) const;
  Sliced<std::vector<double>> solved_here(Fit& fit, std::vector<double> rest, double tolerance) const;
  std::vector<double> descent(const Fit& fit) const;
  Sliced<double> fitted(Fit& fit) const;
  std::pair<double, std::vector<double>> loss_elsewhere(const Fit& fit, const Fold& other) const;
  Sliced<double> add_gradient(const Fit& fit, const std::vector<double>& u, const Fold& other,
                              const std::vector<double>& r);
  std::vector<double> times(std::span<const double> coefficients, std::size_t begin, std::size_t end) const;
  std::vector<double> transposed_times(std::span<const double> values, std::size_t begin, std::size_t end) const;
  std::vector<double> curved(std::span<const double> coefficients, std::span<const double> v, double lam,
                             std::size_t begin, std::size_t end) const;
  void add_products(std::span<const double> shares, const Buffer<double>& values, std::size_t begin);
  Sliced<Buffer<double>> weighed_differences() const;
  Sliced<Buffer<double>> weighed_squares() const;
  Sliced<Buffer<double>> weighed_squares_of_differences() const;
  Buffer<double> padded(std::span<const double> coefficients, std::size_t columns) const;
  std::vector<double> penalty_times(std::span<const double> coefficients) const;

  Data data_;
  Pace& pace_;
  std::size_t outputs_, points_, columns_, stride_;
  double total_ = 0.0;              // the sum of the weights
  std::vector<std::size_t> order_;  // the rows, fold by fold
  std::vector<std::size_t> place_;  // the positions of the points among them
  std::vector<double> targets_;     // [row][output]
  std::vector<double> weights_;
  Fold folds_[2];
  std::size_t features_;  // rounded up with zeros
  // Scaled rows, points as tiles, kernel values, and the derivative with respect to each of them.
  Buffer<double> scaled_, tiles_, phi_, g_;
};

// L-BFGS with a limited number of evaluations of `objective(at, gradient)`, from `at`, which becomes the best point
// found; returns its value. It ends when three evaluations have reduced it by less than 0.003, which is 0.3 % of the
// loss where the objective is its logarithm.
using Objective = std::function<Sliced<double>(std::span<const double>, std::span<double>)>;
Sliced<double> minimise(const Objective& objective, std::vector<double>& at, std::size_t evaluations);

// Where a search starts, and what it may do. Features of the same group (an index below the number of features) share
// their scale, and must start with the same one.
struct Start {
  std::vector<double> at;  // log scales and log lambda
  std::vector<double> centre{};
  std::vector<std::size_t> groups{};
  double spread = 0.0;
  std::size_t evaluations = 0;
};

// Learns the scales from these rows, in slices: minimises log(loss) + sum_j (theta_j - centre_j - mean)^2 / (spread h)
// over theta and log lambda, with h the number of rows. With an infinite `spread` there is no penalty. Without
// evaluations it computes the loss where it starts.
class Search {
 public:
  Search(const ValidationLoss::Data& data, Start start)
      : data_(data), start_(std::move(start)), loss_(data, pace_), slices_(whole()) {}

  // Goes on until about so much work was done, counted from the beginning; returns whether it has ended.
  bool run(double until) { return slices_.run(pace_, until); }
  double spent() const { return pace_.spent; }
  double value() { return slices_.result(); }
  const std::vector<double>& at() const { return start_.at; }  // the best point found

 private:
  Sliced<double> whole();
  Sliced<double> objective(std::span<const double> x, std::span<double> gradient);

  Pace pace_;
  ValidationLoss::Data data_;
  Start start_;
  ValidationLoss loss_;
  Sliced<double> slices_;
};

}  // namespace onkel
