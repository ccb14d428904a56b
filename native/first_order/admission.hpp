// Admission: with what probability p_t does a row become a support vector? (Z_t ~ Bernoulli(p_t); a deterministic rule
// answers 0 or 1.)
#pragma once

#include <functional>
#include <memory>

#include "linalg/archive.hpp"
#include "loop/scored.hpp"
#include "loop/spec.hpp"

namespace onkel {

class Admission {
 public:
  virtual ~Admission() = default;
  virtual std::unique_ptr<Admission> clone() const = 0;
  // Returns p_t. A rule that learns along a curve other than the loss puts that curve's slope into row.g.
  virtual double probability(Scored& row) const = 0;
  // The row has been learned from, as a support vector or not.
  virtual void learned(const Scored& /*row*/, bool /*admitted*/) {}
  virtual void visit(Archive& /*archive*/) {}
};

// An admission that is copied with all that it consists of: `Rule` is its class.
template <class Rule, class Base = Admission>
class CopiedAdmission : public Base {
 public:
  std::unique_ptr<Admission> clone() const final { return std::make_unique<Rule>(static_cast<const Rule&>(*this)); }
};

// The factory of an admission that is written outside the core: the `maker` of its Spec.
using AdmissionMaker = std::function<std::unique_ptr<Admission>()>;

std::unique_ptr<Admission> make_admission(const Spec& spec);

}  // namespace onkel
