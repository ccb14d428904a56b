// Gram: the inverse P of the kernel matrix K of some points (the members), for the rules that project.
//
// Members stand in a row of positions and are known by their slots. A newcomer with kernel row k and kernel value kappa
// is projected first: d = P k are the coefficients of its projection on the members, and what stays outside of them has
// the squared length s = kappa - k.d (the Schur complement). Conditioning, not accumulated rounding, is what ruins such
// an inverse: a newcomer with s <= tolerance * kappa cannot be appended, nor one that would bring a member so close to
// the others' span (in a crowd of near-duplicates the first test alone lets K become singular); the caller puts its
// projection in its place. With 1e-5, 100,000 steps amid near-duplicates in the plane leave K P within 1e-3 of I.
//
// An append waits for the removal that mostly follows, so that both cost one sweep over P (rank two, at the
// speed of memory) rather than two.
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

  // Projects a newcomer on the members: k[position] and kappa. The results are valid until the members change.
  void project(std::span<const double> k, double kappa);
  std::span<const double> projection() const { return {projection_.data(), size()}; }  // d
  double outside() const { return outside_; }                                          // s
  bool independent() const;

  // The newcomer just projected, which must be independent, becomes the member at the last position.
  void append(std::size_t slot);
  // The member leaves; the last one takes its position. False where rounding has spoiled P: clear and append anew.
  [[nodiscard]] bool remove(std::size_t position);
  // Carries out the append that waits; the other functions do so where they need it.
  void apply_pending();
  void clear();

  double kappa(std::size_t position) const { return kappas_[position]; }
  // P_ii, and the column P_:i.
  double diagonal(std::size_t position) const;
  void column(std::size_t position, std::span<double> values) const;

  void visit(Archive& archive);

 private:
  // Packed lower triangle: row i has i + 1 values and zeros up to a multiple of 16. Rows come in pairs, the second of
  // the last pair may be all zeros.
  static std::size_t row_length(std::size_t i) { return (i / isa::score_lanes + 1) * isa::score_lanes; }
  static std::size_t offset(std::size_t i);
  static std::size_t paired(std::size_t n) { return (n + 1) / 2 * 2; }
  double* row(std::size_t i) { return inverse_.data() + offset(i); }
  const double* row(std::size_t i) const { return inverse_.data() + offset(i); }
  std::size_t n_applied() const { return slots_.size() - (pending_ ? 1 : 0); }
  void sweep(double a, std::span<const double> u, double b, std::span<const double> v);
  void place(std::size_t position, std::span<const double> values);
  bool healthy() const;

  std::vector<std::int64_t> slots_;  // of the positions
  std::vector<double> kappas_;
  Buffer<double> inverse_;
  std::vector<double> diagonal_;
  // Of the newcomer projected last. While its append waits P is [P + d d'/s, -d/s; -d'/s, 1/s].
  Buffer<double> projection_;
  double outside_ = 0.0, kappa_ = 0.0;
  bool pending_ = false;
  Buffer<double> k_, grown_u_, grown_v_;  // scratch
};

}  // namespace onkel
