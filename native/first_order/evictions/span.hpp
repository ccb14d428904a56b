// Span: the subspace that the points of a function span, for the rules that project. It uses the inverse of their
// kernel matrix; fixed columns (the constant) are orthogonal to all points and do not belong to it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "basis/basis.hpp"
#include "linalg/gram.hpp"
#include "loop/function.hpp"
#include "loop/scored.hpp"

namespace onkel {

class Span {
 public:
  Span(Basis& basis, Function& function) : basis_(&basis), function_(&function) {}
  // From now on of these, which are copies of the former ones.
  void move_to(Basis& basis, Function& function) {
    basis_ = &basis;
    function_ = &function;
  }

  // Projects a row on the span, and computes its distance from it. Changes nothing else.
  void project(const Scored& row);
  double novelty() const { return gram_.novelty(); }  // the row's squared distance from the span
  bool independent() const { return gram_.independent(); }
  // f += c * (the projection of the row projected last)
  void add_projection(std::span<const double> c);
  // The row projected last is now the point in this slot.
  void append(std::size_t slot) { gram_.append(slot); }

  // Every point that is not yet a member becomes one, in stream order; those that lie too close to the span are then
  // replaced by their projections on it, as long as f moves by no more than this squared distance; the others stay
  // unchanged. Returns the squared distance by which f moves.
  double include_points(double max_squared_distance = std::numeric_limits<double>::infinity());

  std::size_t size() const { return gram_.size(); }
  std::size_t slot(std::size_t position) const { return gram_.slot(position); }
  // |a|^2 k(s, s)
  double weight(std::size_t position) const { return squared_length(slot(position)) * gram_.kappa(position); }
  // What it costs, as a squared distance, to project the member on all the others: |a|^2 / P_ii.
  double cost(std::size_t position) const { return squared_length(slot(position)) / gram_.diagonal(position); }
  // Does it. Returns the squared distance that this moves f.
  double project_out(std::size_t position);
  // Carries out the pending changes of the inverse.
  void apply_pending() { gram_.apply_pending(); }

  void visit(Archive& archive);

 private:
  void project_point(std::size_t slot);
  void append_points(std::span<const std::size_t> slots, std::vector<std::size_t>& inside);
  double replace(const std::vector<std::size_t>& inside, double max_squared_distance);
  double squared_length(std::size_t slot) const {
    double square = 0.0;
    for (std::size_t o = 0; o < function_->outputs(); ++o) {
      const double a = function_->last_coefficient(slot, o);
      square += a * a;
    }
    return square;
  }
  void erase(std::size_t slot);

  Basis* basis_;
  Function* function_;
  Gram gram_;
  Block scratch_;
  std::vector<double> values_, members_;  // scratch
  std::vector<char> known_;               // likewise: whether there is a member in the slot
};

}  // namespace onkel
