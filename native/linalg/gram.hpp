// Gram: the inverse P of the kernel matrix K of some points (the members), for the rules that project.
//
// Members have consecutive positions and are identified by their slots. A newcomer with kernel row k and kernel value
// kappa is projected first: d = P k are the coefficients of its projection on the members' span, and the component
// outside the span has the squared length s = kappa - k.d (the Schur complement). Conditioning, not accumulated
// rounding, is what ruins such an inverse: a newcomer with s <= tolerance * kappa cannot be appended, nor one that
// would bring a member that close to the span of the others (among many near-duplicates the first test alone lets K
// become singular); the caller uses its projection in its place. With a tolerance of 1e-5, 100,000 steps among
// near-duplicates in the plane leave K P within 1e-3 of I.
//
// A point that is added or removed changes P by a matrix of rank one. These changes are deferred, so that those of a
// mini-batch, or of one point added and one removed, cost one sweep over P rather than one each: P = P_0 + sum_t a_t
// u_t u_t', and
//   P k = P_0 k + sum_t a_t u_t (u_t . k),
// where P_0 k may be computed for several k in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/buffer.hpp"

namespace onkel {

class Gram {
 public:
  static constexpr double tolerance = 1e-5;

  std::size_t size() const { return slots_.size(); }
  std::size_t slot(std::size_t position) const { return static_cast<std::size_t>(slots_[position]); }
  std::size_t position(std::size_t slot) const;

  // How many newcomers may be projected ahead of time, and appended, between two sweeps.
  static constexpr std::size_t max_ahead = 32;
  // P_0 k for n rows of size() values each, [row][size()]; valid until a sweep or a removal. Appending that many
  // newcomers keeps them valid.
  std::vector<double> multiply(std::span<const double> k, std::size_t n);
  // Projects a newcomer on the members: k[position] and kappa. The results are valid until the members change. `ahead`
  // is P_0 k where it was computed ahead of time.
  void project(std::span<const double> k, double kappa, std::span<const double> ahead = {});
  std::span<const double> projection() const { return {projection_.data(), size()}; }  // d
  double novelty() const { return novelty_; }                                          // s
  bool independent() const;

  // The newcomer just projected, which must be independent, becomes the member at the last position.
  void append(std::size_t slot);
  // Removes the member with this column of P; the last member takes its position. Returns false where rounding has
  // ruined P: then clear it and append all members anew.
  [[nodiscard]] bool remove(std::size_t position, std::span<const double> column);
  // Carries out the pending changes.
  void apply_pending();
  void clear();

  double kappa(std::size_t position) const { return kappas_[position]; }
  // P_ii, and the column P_:i, with zeros up to a multiple of 16.
  double diagonal(std::size_t position) const { return diagonal_[position]; }
  Buffer<double> column(std::size_t position) const;

  void visit(Archive& archive);

 private:
  static constexpr std::size_t max_pending = 2 * max_ahead;
  // A pending change: a u u'.
  struct Change {
    double a = 0.0;
    Buffer<double> u;  // by positions, zeros up to a multiple of 16
  };
  // P_0, as a packed lower triangle: row i has i + 1 values and zeros up to a multiple of 16. Rows come in groups of
  // four, the last of which may be all zeros, and so are the rows of members appended since the last sweep.
  static std::size_t row_length(std::size_t i) { return (i / isa::score_lanes + 1) * isa::score_lanes; }
  static std::size_t offset(std::size_t i);
  static std::size_t allocated(std::size_t n) { return offset(round_up(n, 4)); }
  double* row(std::size_t i) { return inverse_.data() + offset(i); }
  const double* row(std::size_t i) const { return inverse_.data() + offset(i); }
  void wait(double a, std::span<const double> u);
  void drop_last();
  void move_last_to(std::size_t position);
  bool healthy() const;

  std::vector<std::int64_t> slots_;  // of the positions
  std::vector<double> kappas_;
  Buffer<double> inverse_;
  std::vector<double> diagonal_;  // of P
  std::vector<Change> changes_;   // the first of them are pending
  std::size_t pending_ = 0;
  // The projection of the last newcomer, and the diagonal before it became a member.
  Buffer<double> projection_;
  double novelty_ = 0.0, kappa_ = 0.0;
  bool newest_is_last_change_ = false;
  std::vector<double> diagonal_before_;
  Buffer<double> k_, grown_, factors_;  // scratch
};

}  // namespace onkel
