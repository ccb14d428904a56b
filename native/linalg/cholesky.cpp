#include "linalg/cholesky.hpp"

#include <algorithm>

namespace onkel {

std::size_t Cholesky::offset(std::size_t i) {
  constexpr std::size_t lanes = isa::score_lanes;
  if (i == 0) return 0;
  // Rows 1 .. i - 1 take 1, ..., 1 (16 times), 2, ... groups of 16.
  const std::size_t full = (i - 1) / lanes, rest = (i - 1) % lanes;
  return lanes * (lanes * (full * (full + 1) / 2) + rest * (full + 1));
}

void Cholesky::solve(std::span<double> x) const {
  const auto& routines = isa::routines<double>();
  for (std::size_t i = 0; i < size_; ++i) {
    // What lies beyond row i in its last group of 16 meets zeros.
    const double known = i == 0 ? 0.0 : routines.dot(row(i), x.data(), room_for(i));
    x[i] = (x[i] - known) / diagonal_[i];
  }
}

void Cholesky::solve_transposed(std::span<double> x) const {
  const auto& routines = isa::routines<double>();
  for (std::size_t i = size_; i-- > 0;) {
    x[i] /= diagonal_[i];
    if (i > 0) routines.axpy(-x[i], row(i), x.data(), room_for(i));
  }
}

void Cholesky::append(std::span<const double> l, double diagonal) {
  const std::size_t i = size_++;
  rows_.resize(offset(size_), 0.0);
  std::copy_n(l.begin(), i, rows_.data() + offset(i));
  diagonal_.push_back(diagonal);
}

void Cholesky::visit(Archive& archive) {
  std::vector<double> packed;
  for (std::size_t i = 0; i < size_ && !archive.loading(); ++i) packed.insert(packed.end(), row(i), row(i) + i);
  archive.array("diagonal", diagonal_);
  archive.array("below", packed);
  if (!archive.loading()) return;
  const std::vector<double> diagonal = std::move(diagonal_);
  archive.require(std::all_of(diagonal.begin(), diagonal.end(), [](double x) { return x > 0; }), "diagonal",
                  "must hold positive numbers");
  archive.require(packed.size() == diagonal.size() * (diagonal.size() - (diagonal.empty() ? 0 : 1)) / 2, "below",
                  "must hold what lies below the diagonal");
  *this = {};
  const double* next = packed.data();
  for (std::size_t i = 0; i < diagonal.size(); next += i++) append({next, i}, diagonal[i]);
}

}  // namespace onkel
