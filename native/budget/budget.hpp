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
  std::size_t size;  // the budget B
};

class Budget {
 public:
  explicit Budget(const Hold& hold) : hold_(hold) {}
  virtual ~Budget() = default;
  // Before an admitted row is inserted.
  virtual Newcomer absorb(Scored&) { return Newcomer::inserted; }
  // After an insertion into slot `newest`, or once a mini-batch: bring the size back to the budget.
  virtual void settle(const Scored&, std::size_t /*newest*/) {}
  virtual void visit(Archive&) {}

 protected:
  Hold hold_;
};

std::unique_ptr<Budget> make_budget(const Spec& spec, const Hold& hold);

}  // namespace onkel
