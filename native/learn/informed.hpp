// Informed: what a second-order learner answers beyond an Update, since it knows how certain its function is.
//
// Its coordinates are orthonormal in the span of the constant (where there is one, the first of them) and of the points
// in the order in which they joined: z = L^-1 k. See linalg/information.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "learn/update.hpp"

namespace onkel {

class Informed : public Uncertain {
 public:
  struct Knowledge {
    std::vector<std::int64_t> births;  // of the points, in the order of joining
    std::vector<double> half;          // of the information: its rows up to the diagonal
    double lam = 0.0;                  // the prior's
    double noise = 0.0;                // sum of the squared residuals, each over its own variance
    std::int64_t steps = 0;            // how many they are
  };
  virtual Knowledge information() const = 0;
  // After a function was set: this is known of it, in the order in which its points were set.
  virtual void set_information(std::span<const double> half, double noise, std::int64_t steps) = 0;
  // What the other knows is known here too, `weight` times: the information adds up and the function becomes the mean
  // of both. What of it lies outside of this span is lost. `kernel`: [point of the other][column of this basis].
  virtual void add_information(const Informed& other, std::span<const double> kernel, double weight) = 0;

  // The memories in rows, the longest first, what each weighs, and what each weighed after some rows ([row][memory]).
  virtual std::vector<double> memories() const = 0;
  virtual std::vector<double> memory_weights() const = 0;
  virtual std::pair<std::vector<std::int64_t>, std::vector<double>> memory_history() const = 0;

  struct Displacement {
    double data;  // (a - a')' (lam K + sum_i v_i k_i k_i') (a - a')
    double rkhs;  // |f - f'|^2
  };
  // Points leave, always the one that the rows would miss least, and the others' coefficients become what they are
  // expected to be without it: until there are no more than `max_points`, and on while |f - f'| is at most
  // `max_distance`.
  virtual Displacement eliminate(double max_distance, std::size_t max_points) = 0;
};

}  // namespace onkel
