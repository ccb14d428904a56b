// Eviction: which support vector is removed when there are more than the budget, and how are the others adjusted? Each
// rule has a file in this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/archive.hpp"
#include "linalg/draws.hpp"
#include "loop/function.hpp"
#include "loop/scored.hpp"
#include "loop/spec.hpp"

namespace onkel {

// What becomes of an admitted row.
enum class Newcomer {
  inserted,  // it takes a slot
  absorbed,  // the rule has learned from it without a slot
  refused    // it changes nothing
};

// The objects that a rule works on.
struct EvictionContext {
  Basis& basis;
  Function& function;
  const Draws& draws;
  std::size_t& budget;   // B
  double* norm_squared;  // |f|^2, kept up to date by all that changes f; null where it is not needed
};

class Eviction {
 public:
  explicit Eviction(const EvictionContext& context) : context_(context) {
    if (context_.norm_squared != nullptr) context_.basis.keep_diagonal();
  }
  virtual ~Eviction() = default;
  // A copy that works on copies of the objects.
  virtual std::unique_ptr<Eviction> clone(const EvictionContext& context) const = 0;
  // Before an admitted row is inserted.
  virtual Newcomer absorb(Scored&) { return Newcomer::inserted; }
  // After an insertion into slot `newest`, or once a mini-batch: bring the size back to the budget.
  virtual void restore_budget(const Scored&, std::size_t /*newest*/) {}
  // After a row, or a mini-batch, that inserted no point.
  virtual void idle(const Scored&) {}
  // Whether the rule removes points: then the average, if there is one, keeps them as ghosts.
  virtual bool evicts() const { return true; }
  virtual void visit(Archive&) {}

 protected:
  Eviction(const Eviction&) = default;
  // From now on works on these objects, whose contents are those of the former ones.
  virtual void work_on(const EvictionContext& context) { std::construct_at(&context_, context); }

  static constexpr std::size_t no_slot = std::numeric_limits<std::size_t>::max();
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  // A point whose kernel with itself is no more than this gives no direction to project on.
  static constexpr double no_length = 1e-100;

  bool too_many() const { return context_.basis.size() > context_.budget; }
  // Removes the point from f.
  void evict(std::size_t slot);
  // f <- factor f
  void scale(double factor);
  // The coefficients of f at a slot.
  std::vector<double> coefficients(std::size_t slot) const;
  // f at the point in a slot; this computes a kernel row.
  const std::vector<double>& score(std::size_t slot);
  // Among all points but the newest, the one that comes after `rank` others.
  std::size_t old_point(std::size_t rank, std::size_t newest) const;
  // |a|^2 of the coefficients a at each slot, from the first slot on.
  void squares(std::vector<double>& squares) const;
  // Whether all slots have points: there are neither holes nor ghosts.
  bool is_full() const { return context_.basis.size() == context_.basis.end_slot() - context_.basis.first_slot(); }
  // Makes the costs (one per slot) NaN, which is less than nothing, for the slot `except` and where there is no point.
  void exclude(std::span<double> costs, std::size_t except) const;
  // The support point of least cost, the lowest slot among equal ones, after `exclude`; any point where all costs have
  // overflowed.
  std::size_t cheapest(std::span<double> costs, std::size_t except = no_slot) const;
  // The point of least |a|^2 kernel(s, s), for rules that keep the diagonal. Among equal ones it is the oldest: the
  // steps 1 / (lambda t) of a hinge loss make all coefficients equal up to rounding, and the lowest slot would be the
  // newcomer's for ever.
  std::size_t smallest(std::size_t except = no_slot);

  EvictionContext context_;

 private:
  // Scratch
  std::vector<double> norms_, scores_;
  Block block_;
};

// An eviction that is copied with all that it consists of: `Rule` is its class.
template <class Rule, class Base = Eviction>
class CopiedEviction : public Base {
 public:
  using Base::Base;
  std::unique_ptr<Eviction> clone(const EvictionContext& context) const final {
    auto copy = std::make_unique<Rule>(static_cast<const Rule&>(*this));
    static_cast<CopiedEviction&>(*copy).work_on(context);
    return copy;
  }
};

// The factory of an eviction that is written outside the core: the `maker` of its Spec.
using EvictionMaker = std::function<std::unique_ptr<Eviction>(const EvictionContext&)>;

std::unique_ptr<Eviction> make_eviction(const Spec& spec, const EvictionContext& context);
// The number of random features (fixed columns of the basis) into which a rule among these parts moves points.
std::size_t features_asked(const Spec& spec);

}  // namespace onkel
