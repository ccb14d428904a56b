// Step: with what coefficient does an admitted row enter the function, and by what factor does the function shrink
// first?
#pragma once

#include <memory>

#include "loop/scored.hpp"
#include "loop/spec.hpp"

namespace onkel {

class Step {
 public:
  virtual ~Step() = default;
  // The factor on the old coefficients at this step (1 - eta_t lambda), applied whether or not the row is admitted.
  virtual double shrink(std::int64_t) const { return 1.0; }
  // Fills in row.coefficient.
  virtual void coefficient(Scored& row) const = 0;
};

std::unique_ptr<Step> make_step(const Spec& spec);

}  // namespace onkel
