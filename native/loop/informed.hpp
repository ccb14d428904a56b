// Informed: what a second-order learner provides beyond an Update, since it keeps the information about its function.
//
// Its coordinates are orthonormal in the span of the constant (where there is one, the first of them) and of the points
// in the order in which they joined: z = L^-1 k. See linalg/information.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "loop/update.hpp"

namespace onkel {

class Informed : public Uncertain {
 public:
  struct Knowledge {
    std::vector<std::int64_t> births;  // of the points, in the order in which they joined
    std::vector<double> half;          // the lower half of the information matrix, row by row
    double lam = 0.0;                  // that of the prior
    double noise = 0.0;                // the sum of the squared residuals, each divided by its own variance
    std::int64_t steps = 0;            // the number of these residuals
    // What is expected of residuals: the numbers of Deviation, their count before them, and the local logarithm of the
    // noise, one coefficient for each column; empty where there are classes.
    std::vector<double> deviation;
  };
  virtual Knowledge information() const = 0;
  // After a function was set: sets the information about it, in the order in which its points were set.
  virtual void set_information(std::span<const double> half, double noise, std::int64_t steps,
                               std::span<const double> deviation) = 0;
  // Adds the information of the other learner, `weight` times: the two matrices add up and the function becomes the
  // weighted mean of both. The part of it outside this span is lost. `kernel`: [point of the other][column of this
  // basis].
  virtual void add_information(const Informed& other, std::span<const double> kernel, double weight) = 0;

  // Knows from now on what the other does, whose basis has the same slots; its own settings stay.
  virtual void take(const Informed& other) = 0;
  // Memories that use a part of the points use as many from now on as if it had been made with this budget.
  virtual void limit_memories(std::size_t budget) = 0;
  // Goes on as if it had been made with this budget: of points that are too many those leave that the others can best
  // compensate for.
  virtual void limit(std::size_t budget) = 0;

  // The memories in rows, the longest first; the weight of each; and the weights after some rows ([row][memory]).
  virtual std::vector<double> memories() const = 0;
  virtual std::vector<double> memory_weights() const = 0;
  virtual std::pair<std::vector<std::int64_t>, std::vector<double>> memory_history() const = 0;

  struct Displacement {
    double data;  // (a - a')' (lam K + sum_i v_i k_i k_i') (a - a')
    double rkhs;  // |f - f'|^2
  };
  // Removes points, always the one whose removal costs least in the metric of the rows, and sets the coefficients of
  // the others to their conditional expectation without it: until there are no more than `max_points`, and then further
  // ones while |f - f'| is at most `max_distance`.
  virtual Displacement eliminate(double max_distance, std::size_t max_points) = 0;
};

// What a sum of such learners provides: it can be taken apart into them, and put together.
class Sum {
 public:
  virtual ~Sum() = default;
  struct Part {
    const Basis& basis;
    const Informed& learner;
    std::size_t budget;
  };
  virtual std::vector<Part> parts() const = 0;
  virtual std::vector<double> weights() const = 0;
  virtual const std::vector<double>& log_weights() const = 0;
  virtual const Informed& heaviest() const = 0;  // the one with the largest weight
  // Removes points of each (see Informed) until there are no more than `max_points` in all, and then further ones while
  // the sum moves by at most `max_distance` in the direct sum of the kernels' spaces. `max_points`, where it is given,
  // is the budget from then on.
  virtual Informed::Displacement eliminate(double max_distance, std::size_t max_points) = 0;
  virtual void limit_memories(std::size_t budget) = 0;  // of each
  // For a fresh sum: it consists of these learners, one for each kernel, which have learned from t rows. `weights` are
  // theirs; those of `like`, where they are equal, have logarithms of their own. `noise` is the variance of the
  // residuals of a regression, and `moved` whether any row has moved the weights. `points` are those of the pool.
  virtual void join(Basis& points, std::span<const Part> parts, std::int64_t t, std::span<const double> weights,
                    double noise, bool moved, const Sum* like) = 0;
};

}  // namespace onkel
