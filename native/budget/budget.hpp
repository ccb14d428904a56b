// Budget: too many support vectors: who leaves, and how are the others repaired? One file a rule in this folder.
#pragma once

#include <cstddef>
#include <memory>

#include "../archive.hpp"
#include "../basis.hpp"
#include "../function.hpp"
#include "../random.hpp"
#include "../scored.hpp"
#include "../spec.hpp"

namespace onkel {

// What becomes of an admitted row.
enum class Newcomer {
  inserted,  // it takes a slot
  absorbed,  // the rule has taken it in without a slot
  refused    // it changes nothing
};

// What a rule works on.
struct Hold {
  Basis& basis;
  Function& function;
  const Draws& draws;
  std::size_t size;      // the budget B
  double* norm_squared;  // |f|^2, kept up to date by whoever changes f; null where nobody asks for it
};

class Budget {
 public:
  explicit Budget(const Hold& hold) : hold_(hold) {}
  virtual ~Budget() = default;
  // Before an admitted row is inserted.
  virtual Newcomer absorb(Scored&) { return Newcomer::inserted; }
  // After an insertion into slot `newest`, or once a mini-batch: bring the size back to the budget.
  virtual void settle(const Scored&, std::size_t /*newest*/) {}
  // After a row, or a mini-batch, that inserted nobody.
  virtual void idle(const Scored&) {}
  // Whether points leave: then the average, if asked for, keeps them as ghosts.
  virtual bool evicts() const { return true; }
  virtual void visit(Archive&) {}

 protected:
  // The point leaves f.
  void evict(std::size_t slot);
  // The coefficients of f at a slot, and their Euclidean length.
  std::vector<double> coefficients(std::size_t slot) const;
  double weight(std::size_t slot) const;

  Hold hold_;
};

std::unique_ptr<Budget> make_budget(const Spec& spec, const Hold& hold);

}  // namespace onkel
