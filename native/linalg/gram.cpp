#include "linalg/gram.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace onkel {

std::size_t Gram::offset(std::size_t i) {
  constexpr std::size_t lanes = isa::score_lanes;
  const std::size_t q = i / lanes, r = i % lanes;
  return lanes * (lanes * (q * (q + 1) / 2) + r * (q + 1));
}

std::size_t Gram::position(std::size_t slot) const {
  const auto at = std::find(slots_.begin(), slots_.end(), static_cast<std::int64_t>(slot));
  return static_cast<std::size_t>(at - slots_.begin());
}

// One pass over the stored half of P_0: row i contributes its part of d_i and, mirrored, its part of d_0 .. d_{i-1}.
// Two rows stay in the cache while the n vectors are multiplied.
std::vector<double> Gram::multiply(std::span<const double> k, std::size_t n) {
  if (pending_ + n > max_pending) apply_pending();
  const std::size_t m = size(), stride = row_length(m);
  const auto& routines = isa::routines<double>();
  Buffer<double> rows(n * stride, 0.0), products(n * stride, 0.0);
  for (std::size_t r = 0; r < n; ++r) std::copy_n(k.begin() + static_cast<std::ptrdiff_t>(r * m), m, &rows[r * stride]);
  for (std::size_t i = 0; i < m; i += 2)
    for (std::size_t r = 0; r < n; ++r) {
      const double* const weights = rows.data() + r * stride;
      double* const sums = products.data() + r * stride;
      double dots[2];
      routines.multiply_rows(row(i), weights, weights + i, dots, sums, row_length(i));
      // On the diagonal a value is its own mirror image.
      sums[i] = dots[0] + weights[i + 1] * row(i + 1)[i];
      sums[i + 1] = dots[1];
    }
  std::vector<double> result(n * m);
  for (std::size_t r = 0; r < n; ++r)
    std::copy_n(&products[r * stride], m, result.begin() + static_cast<std::ptrdiff_t>(r * m));
  return result;
}

void Gram::project(std::span<const double> k, double kappa, std::span<const double> ahead) {
  const std::size_t n = size(), rounded = row_length(n);
  const auto& routines = isa::routines<double>();
  const std::vector<double> product = ahead.empty() ? multiply(k, 1) : std::vector<double>(ahead.begin(), ahead.end());
  k_.assign(rounded, 0.0);
  std::copy_n(k.begin(), n, k_.begin());
  projection_.assign(rounded, 0.0);
  std::copy(product.begin(), product.end(), projection_.begin());
  for (std::size_t t = 0; t < pending_; ++t) {
    Change& change = changes_[t];
    change.u.resize(rounded, 0.0);
    routines.axpy(change.a * routines.dot(change.u.data(), k_.data(), rounded), change.u.data(), projection_.data(),
                  rounded);
  }
  novelty_ = kappa - routines.dot(k_.data(), projection_.data(), rounded);
  kappa_ = kappa;
}

// A newcomer also brings the members near it closer to the span of all the others; 1 / P_ii is how far they are.
bool Gram::independent() const {
  if (!(novelty_ > 0 && novelty_ > tolerance * kappa_)) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const double unit = tolerance * kappas_[i], growth = unit * projection_[i] * projection_[i] / novelty_;
    // A member at the limit must not exclude newcomers that are nearly orthogonal to it.
    if (!(unit * diagonal_[i] + growth < 1 || growth < 0.01)) return false;
  }
  return true;
}

// [P + d d'/s, -d/s; -d'/s, 1/s] is P, with zeros around it, and 1/s (d, -1) (d, -1)'.
void Gram::append(std::size_t slot) {
  const std::size_t n = size();
  diagonal_before_ = diagonal_;
  slots_.push_back(static_cast<std::int64_t>(slot));
  kappas_.push_back(kappa_);
  inverse_.resize(allocated(n + 1), 0.0);
  diagonal_.push_back(0.0);
  projection_.resize(std::max(projection_.size(), n + 1));
  projection_[n] = -1.0;
  wait(1 / novelty_, {projection_.data(), n + 1});
  newest_is_last_change_ = true;
}

// P += a u u', deferred, except for the diagonal, which is needed now.
void Gram::wait(double a, std::span<const double> u) {
  if (pending_ == max_pending) apply_pending();
  if (pending_ == changes_.size()) changes_.emplace_back();
  Change& change = changes_[pending_++];
  change.a = a;
  change.u.assign(row_length(size()), 0.0);
  std::copy(u.begin(), u.end(), change.u.begin());
  isa::routines<double>().add_squares(a, u.data(), diagonal_.data(), u.size());
}

// The vectors grow with the rows, so that the values beyond the diagonal remain zero.
void Gram::apply_pending() {
  if (pending_ == 0) return;
  const std::size_t n = size(), stride = row_length(n), m = pending_;
  grown_.assign(m * stride, 0.0);
  factors_.resize(m * 4);
  for (std::size_t i = 0; i < n; i += 4) {
    const std::size_t end = std::min(i + 4, n);
    for (std::size_t t = 0; t < m; ++t) {
      const Change& change = changes_[t];
      for (std::size_t next = i; next < i + 4; ++next) {
        const double value = next < end && next < change.u.size() ? change.u[next] : 0.0;
        grown_[t * stride + next] = value;
        factors_[t * 4 + next - i] = change.a * value;
      }
    }
    isa::routines<double>().update_rows(factors_.data(), grown_.data(), stride, m, row(i), row_length(i));
    for (std::size_t next = 0; next < 4; ++next)
      for (std::size_t beyond = next + 1; beyond < 4; ++beyond) row(i + next)[i + beyond] = 0.0;
    for (std::size_t next = i; next < end; ++next) diagonal_[next] = row(next)[next];
  }
  pending_ = 0;
  newest_is_last_change_ = false;
}

// P_ij - q_i q_j / q_r for all members but the removed member r, whose column is q.
bool Gram::remove(std::size_t position, std::span<const double> column) {
  const std::size_t last = size() - 1;
  if (newest_is_last_change_ && position == last) {  // the newcomer itself is removed: P never changed
    --pending_;
    drop_last();
    diagonal_ = diagonal_before_;
    return true;
  }
  wait(-1 / column[position], column.first(size()));
  if (position < last) move_last_to(position);
  drop_last();
  return healthy();
}

// Moves the last member to a position whose member was removed, in P_0 and in the pending changes.
void Gram::move_last_to(std::size_t position) {
  const std::size_t last = size() - 1;
  const double* const from = row(last);
  std::copy_n(from, position, row(position));
  row(position)[position] = from[last];
  for (std::size_t i = position + 1; i < last; ++i) row(i)[position] = from[i];
  for (std::size_t t = 0; t < pending_; ++t) {
    Buffer<double>& u = changes_[t].u;
    if (position < u.size()) u[position] = last < u.size() ? u[last] : 0.0;
  }
  slots_[position] = slots_[last];
  kappas_[position] = kappas_[last];
  diagonal_[position] = diagonal_[last];
}

void Gram::drop_last() {
  const std::size_t last = size() - 1;
  std::fill_n(row(last), row_length(last), 0.0);
  inverse_.resize(allocated(last));
  for (std::size_t t = 0; t < pending_; ++t)
    if (last < changes_[t].u.size()) changes_[t].u[last] = 0.0;
  slots_.pop_back();
  kappas_.pop_back();
  diagonal_.pop_back();
  newest_is_last_change_ = false;
}

void Gram::clear() {
  slots_.clear();
  kappas_.clear();
  inverse_.clear();
  diagonal_.clear();
  pending_ = 0;
  newest_is_last_change_ = false;
}

Buffer<double> Gram::column(std::size_t position) const {
  const auto& routines = isa::routines<double>();
  Buffer<double> values(row_length(size()), 0.0);
  std::copy_n(row(position), position + 1, values.begin());
  for (std::size_t i = position + 1; i < size(); ++i) values[i] = row(i)[position];
  for (std::size_t t = 0; t < pending_; ++t) {
    const Buffer<double>& u = changes_[t].u;
    if (position < u.size())
      routines.axpy(changes_[t].a * u[position], u.data(), values.data(), std::min(u.size(), values.size()));
  }
  return values;
}

bool Gram::healthy() const {
  return std::all_of(diagonal_.begin(), diagonal_.end(), [](double p) { return p > 0 && std::isfinite(p); });
}

void Gram::visit(Archive& archive) {
  apply_pending();
  archive.array("slots", slots_);
  archive.array("kappa", kappas_);
  std::vector<double> packed;
  if (!archive.loading())
    for (std::size_t i = 0; i < size(); ++i) packed.insert(packed.end(), row(i), row(i) + i + 1);
  archive.array("inverse", packed);
  if (!archive.loading()) return;
  if (packed.size() != size() * (size() + 1) / 2 || kappas_.size() != size())
    throw std::invalid_argument("state has an inverse Gram matrix that does not fit its points");
  inverse_.assign(allocated(size()), 0.0);
  diagonal_.resize(size());
  const double* next = packed.data();
  for (std::size_t i = 0; i < size(); next += ++i) {
    std::copy_n(next, i + 1, row(i));
    diagonal_[i] = next[i];
  }
  if (!healthy()) throw std::invalid_argument("state has an inverse Gram matrix that is not positive definite");
}

}  // namespace onkel
