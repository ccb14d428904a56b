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

// One pass over the half of P that is stored: row i gives its part of d_i and, mirrored, what it adds to d_0 ..
// d_{i-1}.
void Gram::project(std::span<const double> k, double kappa) {
  apply_pending();
  const std::size_t n = size();
  const auto& routines = isa::routines<double>();
  k_.assign(row_length(n), 0.0);
  std::copy_n(k.begin(), n, k_.begin());
  projection_.assign(row_length(n), 0.0);
  for (std::size_t i = 0; i < n; i += 2) {
    double dots[2];
    routines.multiply_rows(row(i), k_.data(), &k_[i], dots, projection_.data(), row_length(i));
    // On the diagonal the value and its mirror image are one.
    projection_[i] = dots[0] + k_[i + 1] * row(i + 1)[i];
    projection_[i + 1] = dots[1];
  }
  outside_ = kappa - routines.dot(k_.data(), projection_.data(), row_length(n));
  kappa_ = kappa;
}

// A newcomer also brings the members near it closer to the span of all the others; 1 / P_ii is how far they are.
bool Gram::independent() const {
  if (!(outside_ > 0 && outside_ > tolerance * kappa_)) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const double unit = tolerance * kappas_[i], growth = unit * projection_[i] * projection_[i] / outside_;
    // A member at the limit must not keep out newcomers that have little to do with it.
    if (!(unit * diagonal_[i] + growth < 1 || growth < 0.01)) return false;
  }
  return true;
}

void Gram::append(std::size_t slot) {
  slots_.push_back(static_cast<std::int64_t>(slot));
  kappas_.push_back(kappa_);
  pending_ = true;
}

void Gram::apply_pending() {
  if (!pending_) return;
  sweep(1 / outside_, projection_, 0.0, {});
  const std::size_t n = n_applied();
  inverse_.resize(offset(paired(n + 1)), 0.0);
  diagonal_.resize(n + 1);
  for (std::size_t j = 0; j < n; ++j) row(n)[j] = -projection_[j] / outside_;
  diagonal_[n] = row(n)[n] = 1 / outside_;
  pending_ = false;
}

// With q the column of the leaving member r (the waiting member taken in): P_ij - q_i q_j / q_r for all the others.
bool Gram::remove(std::size_t position) {
  const std::size_t last = size() - 1, n = n_applied();
  if (pending_ && position == last) {  // the newcomer itself leaves: P never changed
    slots_.pop_back();
    kappas_.pop_back();
    pending_ = false;
    return true;
  }
  std::vector<double> q(size());
  column(position, q);
  const double q_r = q[position];
  std::vector<double> moved(size());  // the last member's column, which goes to the free position
  if (pending_) {
    for (std::size_t i = 0; i < n; ++i) moved[i] = -projection_[i] / outside_ - q[i] * q[last] / q_r;
    moved[last] = 1 / outside_ - q[last] * q[last] / q_r;
    sweep(1 / outside_, projection_, -1 / q_r, q);
    pending_ = false;
  } else {
    sweep(-1 / q_r, q, 0.0, {});
    column(last, moved);
    std::fill_n(row(last), row_length(last), 0.0);
    inverse_.resize(offset(paired(last)));
    diagonal_.resize(last);
  }
  slots_[position] = slots_[last];
  slots_.pop_back();
  kappas_[position] = kappas_[last];
  kappas_.pop_back();
  if (position < last) place(position, moved);
  return healthy();
}

void Gram::clear() {
  slots_.clear();
  kappas_.clear();
  inverse_.clear();
  diagonal_.clear();
  pending_ = false;
}

double Gram::diagonal(std::size_t position) const {
  if (!pending_) return diagonal_[position];
  if (position == n_applied()) return 1 / outside_;
  return diagonal_[position] + projection_[position] * projection_[position] / outside_;
}

void Gram::column(std::size_t position, std::span<double> values) const {
  const std::size_t n = n_applied();
  if (pending_ && position == n) {
    for (std::size_t i = 0; i < n; ++i) values[i] = -projection_[i] / outside_;
    values[n] = 1 / outside_;
    return;
  }
  std::copy_n(row(position), position + 1, values.begin());
  for (std::size_t i = position + 1; i < n; ++i) values[i] = row(i)[position];
  if (!pending_) return;
  const double share = projection_[position] / outside_;
  for (std::size_t i = 0; i < n; ++i) values[i] += projection_[i] * share;
  values[n] = -share;
}

// P += a u u' + b v v' (v may be empty). The vectors grow with the rows, so that the zeros beyond the diagonal stay.
void Gram::sweep(double a, std::span<const double> u, double b, std::span<const double> v) {
  const std::size_t n = n_applied();
  const auto& routines = isa::routines<double>();
  grown_u_.assign(row_length(n), 0.0);
  grown_v_.assign(row_length(n), 0.0);
  for (std::size_t i = 0; i < n; i += 2) {
    for (std::size_t next = i; next < std::min(i + 2, n); ++next) {
      grown_u_[next] = u[next];
      if (!v.empty()) grown_v_[next] = v[next];
    }
    const double x[] = {a * grown_u_[i], a * grown_u_[i + 1]}, y[] = {b * grown_v_[i], b * grown_v_[i + 1]};
    routines.update_rows(x, grown_u_.data(), y, grown_v_.data(), row(i), row_length(i));
    row(i)[i + 1] = 0.0;
    diagonal_[i] = row(i)[i];
    if (i + 1 < n) diagonal_[i + 1] = row(i + 1)[i + 1];
  }
}

// values[i] = P with the member at i; the last of them is the member's own.
void Gram::place(std::size_t position, std::span<const double> values) {
  std::copy_n(values.begin(), position, row(position));
  diagonal_[position] = row(position)[position] = values.back();
  for (std::size_t i = position + 1; i < size(); ++i) row(i)[position] = values[i];
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
  inverse_.assign(offset(paired(size())), 0.0);
  diagonal_.resize(size());
  const double* next = packed.data();
  for (std::size_t i = 0; i < size(); next += ++i) {
    std::copy_n(next, i + 1, row(i));
    diagonal_[i] = next[i];
  }
  if (!healthy()) throw std::invalid_argument("state has an inverse Gram matrix that is not positive definite");
}

}  // namespace onkel
