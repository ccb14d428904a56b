#include "learn/belief.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace onkel {
namespace {

// Of a newcomer's squared length, what must lie outside of the span for it to join.
constexpr double tolerance = 1e-4;
constexpr double least_length = 1e-100;  // squared: what is shorter has no inverse to reckon with
// Of a row's variance k . A k, beside the size of its terms: what is below this is rounding, and the function is known
// there.
constexpr double digits = 1e-14;

// A tenth of the memory 1 / (1 - forget), which a number such as 0.99 is a rounding error away from.
std::int64_t period_of(double forget) {
  const double tenth = std::floor((1 + 1e-9) / (10 * (1 - forget)));
  return static_cast<std::int64_t>(std::clamp(tenth, 1.0, 1e15));
}

}  // namespace

bool is_independent(double outside, double kappa) { return outside > tolerance * kappa && outside > least_length; }

Belief::Belief(double forget, double lam, bool constant, std::size_t max_points, std::size_t outputs)
    : forget_(forget),
      lam_(lam),
      n_fixed_(constant ? 1 : 0),
      max_points_(max_points),
      period_(forget < 1 ? period_of(forget) : 1) {
  widen(outputs);
  begin();
}

void Belief::begin() {
  members_.clear();
  for (auto& a : a_) a.clear();
  factor_ = {};
  inverse_ = {};
  covariance_ = {};
  information_ = {};
  stale_ = false;
  next_exchange_ = 0;
  reach();
  if (n_fixed_ == 0) return;
  if (fades()) information_.reach(1);
  k_.assign(padded(), 0.0);
  k_[0] = 1 / std::sqrt(lam_);
  covariance_.change(k_, -1.0);
}

void Belief::widen(std::size_t outputs) { a_.resize(outputs, Buffer<double>(padded(), 0.0)); }

void Belief::reach() {
  covariance_.reach(Cholesky::room_for(columns()));
  for (auto& a : a_) a.resize(padded(), 0.0);
}

bool Belief::holds(std::size_t slot) const {
  return std::find(members_.begin(), members_.end(), static_cast<std::int64_t>(slot)) != members_.end();
}

// In orthonormal coordinates that begin with those of the first points, the projection is the first of them.
void Belief::begin_as(const Belief& other, double rows) {
  begin();
  const std::size_t n = std::min(max_points_, other.size());
  members_.assign(other.members_.begin(), other.members_.begin() + static_cast<std::ptrdiff_t>(n));
  factor_ = other.factor_.leading(n);
  inverse_ = {};
  reach();
  for (std::size_t o = 0; o < a_.size(); ++o) {
    std::vector<double> w = other.mean(other.a_[o]);
    w.resize(columns());
    const std::vector<double> a = from_mean(w);
    std::copy(a.begin(), a.end(), a_[o].begin());
  }
  Information information = other.current_information().leading(columns());
  information.scale(std::min(1.0, memory() / rows));
  adopt(std::move(information));
}

// ---- A row ------------------------------------------------------------------------------------------------------

void Belief::pick(std::span<const double> values, Buffer<double>& k) const {
  k.assign(padded(), 0.0);
  if (n_fixed_ == 1) k[0] = values[0];
  for (std::size_t i = 0; i < members_.size(); ++i) k[n_fixed_ + i] = values[static_cast<std::size_t>(members_[i])];
}

void Belief::score(const Buffer<double>& k, std::span<double> f) const {
  for (std::size_t o = 0; o < f.size(); ++o) f[o] = isa::routines<double>().dot(a_[o].data(), k.data(), k.size());
}

bool Belief::has_ahead(std::uint64_t block, std::size_t row) {
  derive();
  return ahead_.block == block && ahead_.folds == covariance_.folds() &&
         std::find(ahead_.rows.begin(), ahead_.rows.end(), row) != ahead_.rows.end();
}

std::size_t Belief::rows_ahead(std::int64_t t) const {
  const std::size_t room = Covariance::most_open - covariance_.open() + 1;
  return fades() ? std::min(room, static_cast<std::size_t>(period_ - (t - 1) % period_)) : room;
}

void Belief::look_ahead(std::uint64_t block, std::vector<std::size_t> rows, const std::vector<Buffer<double>>& k) {
  const std::size_t n = padded();
  ahead_.block = block;
  ahead_.folds = covariance_.folds();
  ahead_.columns = n;
  ahead_.rows = std::move(rows);
  ahead_.k.resize(ahead_.rows.size() * n);
  ahead_.products.resize(ahead_.rows.size() * n);
  for (std::size_t i = 0; i < ahead_.rows.size(); ++i)
    std::copy_n(k[i].begin(), n, ahead_.k.begin() + static_cast<std::ptrdiff_t>(i * n));
  covariance_.multiply(ahead_.k.data(), ahead_.rows.size(), ahead_.products.data());
}

double Belief::look(std::size_t row, const Buffer<double>& k) {
  const auto at = std::find(ahead_.rows.begin(), ahead_.rows.end(), row) - ahead_.rows.begin();
  k_ = k;
  h_.assign(padded(), 0.0);
  std::copy_n(ahead_.products.data() + at * static_cast<std::ptrdiff_t>(ahead_.columns), ahead_.columns, h_.begin());
  covariance_.finish(k_.data(), h_.data());
  const double s = isa::routines<double>().dot(k_.data(), h_.data(), h_.size());
  return s > digits * covariance_.size_of_terms(k_) ? s : 0.0;
}

void Belief::learn(std::span<const double> b, double s, double v) {
  if (fades() && v != 0) {
    outside(k_, 0.0, l_);
    d_.assign(columns(), 0.0);
    if (n_fixed_ == 1) d_[0] = k_[0];
    std::copy_n(l_.begin(), members_.size(), d_.begin() + static_cast<std::ptrdiff_t>(n_fixed_));
    information_.add_row(d_, v);
  }
  if (s == 0) return;
  for (std::size_t o = 0; o < b.size(); ++o)
    for (std::size_t column = 0; column < columns(); ++column) a_[o][column] += h_[column] * b[o];
  if (v == 0) return;
  const double root = std::sqrt(v / (1 + v * s));
  for (double& h : h_) h *= root;
  covariance_.change(h_, 1.0);
}

void Belief::fade(std::int64_t t) {
  if (!fades() || t % period_ != 0 || information_.size() == 0) return;
  information_.scale(std::pow(forget_, static_cast<double>(period_)));
  stale_ = true;
}

double Belief::variance(const Buffer<double>& k) const {
  derive();
  Buffer<double> h(padded());
  covariance_.multiply(k.data(), 1, h.data());
  covariance_.finish(k.data(), h.data());
  return std::max(0.0, isa::routines<double>().dot(k.data(), h.data(), h.size()));
}

// ---- Points -----------------------------------------------------------------------------------------------------

double Belief::outside(const Buffer<double>& k, double kappa, Buffer<double>& l) const {
  const std::size_t n = members_.size();
  l.assign(Cholesky::room_for(n), 0.0);
  std::copy_n(k.begin() + static_cast<std::ptrdiff_t>(n_fixed_), n, l.begin());
  factor_.solve(l);
  return kappa - isa::routines<double>().dot(l.data(), l.data(), l.size());
}

// L grows by (l, sqrt(s)), and d_ holds L^-T l.
bool Belief::extend(std::size_t slot, std::span<const double> values) {
  pick(values, k_);
  const double kappa = values[slot], s = outside(k_, kappa, l_);
  if (!is_independent(s, kappa)) return false;
  d_ = l_;
  factor_.solve_transposed(d_);
  factor_.append(l_, std::sqrt(s));
  inverse_ = {};
  members_.push_back(static_cast<std::int64_t>(slot));
  reach();
  return true;
}

// In the coefficients, with s = what lies outside: A += u u' / (lam s), u = (d, -1).
bool Belief::join(std::size_t slot, std::span<const double> values) {
  derive();
  const std::size_t n = members_.size();
  if (!extend(slot, values)) return false;
  if (fades()) information_.reach(columns());
  const double s = factor_.at(n, n) * factor_.at(n, n), unit = 1 / std::sqrt(lam_ * s);
  k_.assign(padded(), 0.0);
  for (std::size_t i = 0; i < n; ++i) k_[n_fixed_ + i] = unit * d_[i];
  k_[n_fixed_ + n] = -unit;
  covariance_.change(k_, -1.0);
  return true;
}

std::vector<double> Belief::costs() {
  derive();
  covariance_.settle();
  std::vector<double> costs(members_.size(), 0.0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    for (const auto& a : a_) costs[i] += a[n_fixed_ + i] * a[n_fixed_ + i];
    costs[i] /= std::max(covariance_.variance(n_fixed_ + i), std::numeric_limits<double>::min());
  }
  return costs;
}

std::size_t Belief::least_needed() {
  const std::vector<double> costs = this->costs();
  const auto least = std::min_element(costs.begin(), costs.end()) - costs.begin();
  return static_cast<std::size_t>(members_[static_cast<std::size_t>(least)]);
}

void Belief::leave(std::size_t slot) {
  derive();
  covariance_.settle();
  const auto at = std::find(members_.begin(), members_.end(), static_cast<std::int64_t>(slot)) - members_.begin();
  const std::size_t i = static_cast<std::size_t>(at), column = n_fixed_ + i;
  k_.assign(padded(), 0.0);
  k_[column] = 1.0;
  h_.resize(padded());
  covariance_.multiply(k_.data(), 1, h_.data());  // A_:j
  const double variance = std::max(h_[column], std::numeric_limits<double>::min());
  for (auto& a : a_) {
    const double step = a[column] / variance;
    for (std::size_t j = 0; j < columns(); ++j) a[j] -= h_[j] * step;
    a.erase(a.begin() + static_cast<std::ptrdiff_t>(column));
    a.push_back(0.0);
  }
  covariance_.remove(column);
  members_.erase(members_.begin() + at);
  const std::vector<Cholesky::Rotation> rotations = factor_.remove(i);
  inverse_ = {};
  if (fades()) information_ = information_.without_last(rotations, n_fixed_);
}

// ---- What is known ----------------------------------------------------------------------------------------------

// Put off until A is needed, which changes no bit: whatever changes A, or L, asks for it first.
void Belief::derive() const {
  if (!stale_) return;
  std::vector<std::size_t> all(columns());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (inverse_.size() != all.size()) {
    inverse_ = Triangle::identity(all.size());
    Solver(coordinates()).solve(inverse_);
  }
  covariance_.assign(all, information_.covariance(inverse_, lam_));
  stale_ = false;
}

Triangle Belief::coordinates() const {
  Triangle lower(columns());
  if (n_fixed_ == 1) lower.at(0, 0) = 1.0;
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) lower.at(n_fixed_ + i, n_fixed_ + j) = factor_.at(i, j);
  return lower;
}

Matrix Belief::covariance() const {
  derive();
  std::vector<std::size_t> all(columns());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return covariance_.among(all);
}

Information Belief::current_information() const {
  return fades() ? information_ : Information::from_covariance(covariance(), coordinates(), lam_);
}

void Belief::adopt(Information information) {
  information_ = std::move(information);
  stale_ = true;
  derive();
  if (!fades()) information_ = {};
}

void Belief::stand_on(const std::vector<std::size_t>& columns, const Matrix& rows, const Triangle& covariance) {
  const std::size_t n = this->columns();
  std::vector<std::int64_t> members;
  Cholesky factor;
  Matrix m(columns.size(), n);  // L'^-1 L_S, whose first columns are L'
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < n_fixed_) {
      m.at(i, columns[i]) = 1.0;
      continue;
    }
    members.push_back(members_[columns[i] - n_fixed_]);
    Buffer<double> inner(Cholesky::room_for(n), 0.0);
    double square = isa::routines<double>().dot(rows.row(columns[i]), rows.row(columns[i]), rows.stride());
    for (std::size_t j = n_fixed_; j < i; ++j)
      inner[j - n_fixed_] = isa::routines<double>().dot(rows.row(columns[i]), rows.row(columns[j]), rows.stride());
    factor.solve(inner);
    square -= isa::routines<double>().dot(inner.data(), inner.data(), inner.size());
    factor.append(inner, std::sqrt(square));
  }
  for (std::size_t j = n_fixed_; j < n && fades(); ++j) {
    Buffer<double> column(Cholesky::room_for(columns.size()), 0.0);
    for (std::size_t i = n_fixed_; i < columns.size(); ++i) column[i - n_fixed_] = rows.at(columns[i], j);
    factor.solve(column);
    for (std::size_t i = n_fixed_; i < columns.size(); ++i) m.at(i, j) = column[i - n_fixed_];
  }
  if (fades()) information_ = information_.transformed(m);
  members_ = std::move(members);
  factor_ = std::move(factor);
  inverse_ = {};
  covariance_ = {};
  for (auto& a : a_) a.clear();
  reach();
  std::vector<std::size_t> all(columns.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  covariance_.assign(all, covariance);
  stale_ = false;
}

std::vector<double> Belief::mean(std::span<const double> coefficients) const {
  std::vector<double> w(columns(), 0.0);
  if (n_fixed_ == 1) w[0] = coefficients[0];
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) w[n_fixed_ + j] += factor_.at(i, j) * coefficients[n_fixed_ + i];
  return w;
}

std::vector<double> Belief::from_mean(std::span<const double> w) const {
  Buffer<double> points(Cholesky::room_for(members_.size()), 0.0);
  std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(n_fixed_), members_.size(), points.begin());
  factor_.solve_transposed(points);
  std::vector<double> a(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(n_fixed_));
  a.insert(a.end(), points.begin(), points.begin() + static_cast<std::ptrdiff_t>(members_.size()));
  return a;
}

// ---- State ------------------------------------------------------------------------------------------------------

// On loading the members are there, and room for as many outputs as the function has.
void Belief::visit(Archive& archive, bool alone) {
  if (!archive.loading()) derive();
  archive.part("factor", factor_);
  archive.require(factor_.size() == members_.size(), "factor.diagonal", "must hold one number for each member");
  if (archive.loading()) {
    covariance_ = {};
    inverse_ = {};
    stale_ = false;
    for (auto& a : a_) a.clear();
    reach();
  }
  struct {
    Belief& self;
    void visit(Archive& inner) {
      std::vector<std::size_t> all(self.columns());
      std::iota(all.begin(), all.end(), std::size_t{0});
      self.covariance_.visit(inner, all);
    }
  } covariance{*this};
  archive.part("covariance", covariance);
  struct {
    Belief& self;
    void visit(Archive& inner) { self.information_.visit(inner, self.columns()); }
  } information{*this};
  if (fades()) archive.part("information", information);
  if (alone) return;
  archive.scalar("next_exchange", next_exchange_);
  std::vector<double> flat;
  for (const auto& a : a_) flat.insert(flat.end(), a.begin(), a.begin() + static_cast<std::ptrdiff_t>(columns()));
  archive.matrix("coefficients", flat, columns());
  if (!archive.loading()) return;
  archive.require(flat.size() == a_.size() * columns(), "coefficients", "must hold one row for each output");
  for (std::size_t o = 0; o < a_.size(); ++o)
    std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(o * columns()), columns(), a_[o].begin());
}

}  // namespace onkel
