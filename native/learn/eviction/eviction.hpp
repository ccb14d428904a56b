// Eviction: which support vector leaves when there are more than the budget, and how are the others repaired? One file
// a rule in this folder.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "basis/basis.hpp"
#include "learn/function.hpp"
#include "learn/scored.hpp"
#include "learn/spec.hpp"
#include "linalg/archive.hpp"
#include "linalg/draws.hpp"

namespace onkel {

// What becomes of an admitted row.
enum class Newcomer {
  inserted,  // it takes a slot
  absorbed,  // the rule has taken it in without a slot
  refused    // it changes nothing
};

// What a rule works on.
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
  // Before an admitted row is inserted.
  virtual Newcomer absorb(Scored&) { return Newcomer::inserted; }
  // After an insertion into slot `newest`, or once a mini-batch: bring the size back to the budget.
  virtual void restore_budget(const Scored&, std::size_t /*newest*/) {}
  // After a row, or a mini-batch, that inserted no point.
  virtual void idle(const Scored&) {}
  // Whether points leave: then the average, if asked for, keeps them as ghosts.
  virtual bool evicts() const { return true; }
  virtual void visit(Archive&) {}

 protected:
  static constexpr std::size_t no_slot = std::numeric_limits<std::size_t>::max();
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  // A point whose kernel with itself is no more than this gives no direction to project on.
  static constexpr double no_length = 1e-100;

  bool too_many() const { return context_.basis.size() > context_.budget; }
  // The point leaves f.
  void evict(std::size_t slot);
  // f <- factor f
  void scale(double factor);
  // The coefficients of f at a slot.
  std::vector<double> coefficients(std::size_t slot) const;
  // f at the point in a slot, which takes a kernel row.
  const std::vector<double>& score(std::size_t slot);
  // Among the points but the newest, the one with so many before it.
  std::size_t old_point(std::size_t rank, std::size_t newest) const;
  // |a|^2 of the coefficients a at each slot, from the first slot on.
  void squares(std::vector<double>& squares) const;
  // Of these numbers, one a slot from the first on, those of `except` and where there is no point become infinite.
  void exclude(std::span<double> costs, std::size_t except) const;
  // The support point that costs least, the lowest slot of equals, after `exclude`; any where all costs have overflown.
  std::size_t cheapest(std::span<double> costs, std::size_t except = no_slot) const;
  // The point of least |a|^2 kernel(s, s), for rules that keep the diagonal. Of equals the oldest: the steps 1 /
  // (lambda t) of a hinge loss make all coefficients equal but for rounding, and the lowest slot would be the
  // newcomer's for ever.
  std::size_t smallest(std::size_t except = no_slot);

  EvictionContext context_;

 private:
  // Scratch
  std::vector<double> norms_, scores_;
  Block block_;
};

// What makes an eviction that is written outside of the core: the `maker` of its Spec.
using EvictionMaker = std::function<std::unique_ptr<Eviction>(const EvictionContext&)>;

std::unique_ptr<Eviction> make_eviction(const Spec& spec, const EvictionContext& context);
// How many random features a rule among these parts moves points into: fixed columns of the basis.
std::size_t features_asked(const Spec& spec);

}  // namespace onkel
