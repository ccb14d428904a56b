#include "linalg/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace onkel {
namespace {

constexpr std::size_t block = isa::score_lanes;

}  // namespace

std::size_t Cholesky::offset(std::size_t i) {
  constexpr std::size_t lanes = isa::score_lanes;
  if (i == 0) return 0;
  // Rows 1 .. i - 1 take 1, ..., 1 (16 times), 2, ... groups of 16.
  const std::size_t full = (i - 1) / lanes, rest = (i - 1) % lanes;
  return lanes * (lanes * (full * (full + 1) / 2) + rest * (full + 1));
}

void Cholesky::solve(std::span<double> x) const { solve_within(x, std::numeric_limits<double>::infinity()); }

void Cholesky::take_known(std::span<double> x, std::size_t first, std::size_t i, std::size_t end) const {
  double known[2];
  isa::routines<double>().dot_pair(x.data(), row(i), row(std::min(i + 1, end - 1)), first, known);
  x[i] -= known[0];
  if (i + 1 < end) x[i + 1] -= known[1];
}

void Cholesky::solve_block(std::span<double> x, std::size_t first, std::size_t from, std::size_t end) const {
  for (std::size_t i = from; i < end; ++i) {
    const double* below = row(i);
    for (std::size_t j = first; j < i; ++j) x[i] -= below[j] * x[j];
    x[i] /= diagonal_[i];
  }
}

// In blocks of 16 rows: what the columns before the block take from all of them first, two rows at a time and none
// waiting for another, then the block's own triangle. A value's bits do not depend on which others are solved with it.
bool Cholesky::solve_within(std::span<double> x, double most, std::size_t solved) const {
  double square = isa::routines<double>().dot(x.data(), x.data(), solved / block * block);
  for (std::size_t first = solved / block * block; first < size_; first += block) {
    const std::size_t from = std::max(first, solved), end = std::min(first + block, size_);
    for (std::size_t i = from; i < end && first > 0; i += 2) take_known(x, first, i, end);
    solve_block(x, first, from, end);
    for (std::size_t i = first; i < end; ++i) square += x[i] * x[i];
    if (square > most) return false;
  }
  return true;
}

void Cholesky::solve_each(double* x, std::size_t n, std::size_t stride) const {
  for (std::size_t first = 0; first < size_; first += block) {
    const std::size_t end = std::min(first + block, size_);
    for (std::size_t i = first; i < end && first > 0; i += 2)
      for (std::size_t v = 0; v < n; ++v) take_known({x + v * stride, stride}, first, i, end);
    for (std::size_t v = 0; v < n; ++v) solve_block({x + v * stride, stride}, first, first, end);
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

// Without row j, each later row has one value beyond the diagonal, which a rotation makes 0.
std::vector<Cholesky::Rotation> Cholesky::remove(std::size_t j) {
  const std::size_t m = size_ - j - 1;
  // The rows after point j, column by column: [column - j][row - j - 1].
  std::vector<double> columns((m + 1) * m, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k <= i; ++k) columns[k * m + i] = row(j + 1 + i)[j + k];
    columns[(i + 1) * m + i] = diagonal_[j + 1 + i];
  }
  std::vector<Rotation> rotations;
  rotations.reserve(m);
  for (std::size_t k = 0; k < m; ++k) {
    double *left = columns.data() + k * m, *right = left + m;
    const double length = std::hypot(left[k], right[k]), c = left[k] / length, s = right[k] / length;
    rotations.push_back({j + k, c, s});
    for (std::size_t i = k; i < m; ++i) {
      const double x = left[i], y = right[i];
      left[i] = c * x + s * y;
      right[i] = c * y - s * x;
    }
    left[k] = length;
  }
  Cholesky result = leading(j);
  std::vector<double> l(size_);
  for (std::size_t i = 0; i < m; ++i) {
    std::copy_n(row(j + 1 + i), j, l.begin());
    for (std::size_t k = 0; k < i; ++k) l[j + k] = columns[k * m + i];
    result.append(l, columns[i * m + i]);
  }
  *this = std::move(result);
  return rotations;
}

Cholesky Cholesky::leading(std::size_t n) const {
  Cholesky result;
  result.size_ = n;
  result.rows_.assign(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(offset(n)));
  result.diagonal_.assign(diagonal_.begin(), diagonal_.begin() + static_cast<std::ptrdiff_t>(n));
  return result;
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
