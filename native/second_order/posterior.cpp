#include "second_order/posterior.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace onkel {
namespace {

// A newcomer joins only if more than this fraction of its squared length lies outside the span.
constexpr double tolerance = 1e-4;

// A fifth of the memory 1 / (1 - forget), rounded, since 1 / (1 - 0.99) is not exactly 100.
std::int64_t period_of(double forget) {
  const double fifth = std::floor((1 + 1e-9) / (5 * (1 - forget)));
  return static_cast<std::int64_t>(std::clamp(fifth, 1.0, 1e15));
}

}  // namespace

double least_novelty(double kappa) { return std::max(tolerance * kappa, least_squared_length); }

Posterior::Posterior(double forget, double lam, bool constant, std::size_t max_points, std::size_t outputs)
    : forget_(forget),
      lam_(lam),
      n_fixed_(constant ? 1 : 0),
      max_points_(max_points),
      period_(forget < 1 ? period_of(forget) : 1),
      fading_(std::pow(forget, static_cast<double>(period_))) {
  widen(outputs);
  begin();
}

void Posterior::begin() {
  members_.clear();
  each_function([](Buffer<double>& a) { std::fill(a.begin(), a.end(), 0.0); });
  factor_ = {};
  forget_span();
  covariance_ = {};
  information_ = {};
  waiting_ = {};
  stale_ = false;
  next_exchange_ = 0;
  make_room();
  if (n_fixed_ == 0) return;
  if (fades()) information_.reach(1);
  stale_ = keeps_information_alone();
  if (stale_) return;
  Buffer<double> deviation(padded_columns(), 0.0);
  deviation[0] = 1 / std::sqrt(lam_);
  covariance_.change(deviation, -1.0);
}

void Posterior::take(const Posterior& other) {
  Posterior copy(other);  // without what was computed ahead for a block
  copy.max_points_ = max_points_;
  *this = std::move(copy);
}

void Posterior::widen(std::size_t outputs) { a_.resize(outputs, Buffer<double>(basis_columns_, 0.0)); }

void Posterior::reach(std::size_t basis_columns) {
  if (basis_columns <= basis_columns_) return;
  basis_columns_ = basis_columns;
  each_function([=](Buffer<double>& a) { a.resize(basis_columns, 0.0); });
}

void Posterior::forget_span() {
  inverse_ = {};
  solved_ = {};
  precomputed_ = {};
}

void Posterior::make_room() { covariance_.reach(Cholesky::room_for(columns())); }

std::vector<double> Posterior::own(const Buffer<double>& a) const {
  std::vector<double> coefficients(columns());
  for (std::size_t i = 0; i < coefficients.size(); ++i) coefficients[i] = a[basis_column(i)];
  return coefficients;
}

void Posterior::set_own(Buffer<double>& a, std::span<const double> coefficients) const {
  for (std::size_t i = 0; i < coefficients.size(); ++i) a[basis_column(i)] = coefficients[i];
}

bool Posterior::holds(std::size_t slot) const {
  return std::find(members_.begin(), members_.end(), static_cast<std::int64_t>(slot)) != members_.end();
}

// In orthonormal coordinates that begin with those of the first points, the projection is the first of them.
void Posterior::begin_as(const Posterior& other, double rows, double even_information) {
  begin();
  const std::size_t n = std::min(max_points_, other.size());
  members_.assign(other.members_.begin(), other.members_.begin() + static_cast<std::ptrdiff_t>(n));
  factor_ = other.factor_.leading(n);
  forget_span();
  make_room();
  for (std::size_t o = 0; o < a_.size(); ++o) {
    std::vector<double> w = other.mean(other.own(other.a_[o]));
    w.resize(columns());
    set_own(a_[o], from_mean(w));
  }
  Information information = other.current_information(even_information).leading(columns());
  information.scale(std::min(1.0, memory() / rows));
  adopt(std::move(information));
}

// ---- A row ------------------------------------------------------------------------------------------------------

Buffer<double> Posterior::pick(std::span<const double> values) const {
  Buffer<double> k(padded_columns(), 0.0);
  if (n_fixed_ == 1) k[0] = values[0];
  for (std::size_t i = 0; i < members_.size(); ++i) k[n_fixed_ + i] = values[static_cast<std::size_t>(members_[i])];
  return k;
}

bool Posterior::is_precomputed(std::uint64_t block, std::size_t row) const {
  if (keeps_information_alone()) return true;
  derive();
  const auto& rows = precomputed_.ahead.rows;
  return !covariance_.is_full() && precomputed_.block == block && precomputed_.folds == covariance_.folds() &&
         std::find(rows.begin(), rows.end(), row) != rows.end();
}

// A matrix that stays in the first-level cache is read for each row as quickly as for several.
std::size_t Posterior::steps_ahead() const {
  constexpr std::size_t columns_in_cache = 64;
  if (padded_columns() <= columns_in_cache) return 1;
  return Covariance::max_open - (covariance_.is_full() ? 0 : covariance_.open());
}

std::size_t Posterior::rows_ahead(std::int64_t t) const {
  return fades() ? static_cast<std::size_t>(period_ - (t - 1) % period_) : std::numeric_limits<std::size_t>::max();
}

// The rows that are precomputed already stay, as long as they are valid.
void Posterior::precompute(std::uint64_t block, const Ahead& ahead, bool may_join, Team* team) {
  auto& [number, folds, count, stride, known, products] = precomputed_;
  if (covariance_.is_full() || number != block || folds != covariance_.folds() || stride != padded_columns()) {
    known.rows.clear();
    known.k.clear();
    count = columns();
  }
  number = block;
  stride = padded_columns();
  const std::size_t done = known.k.size();
  known.rows.insert(known.rows.end(), ahead.rows.begin(), ahead.rows.end());
  known.k.insert(known.k.end(), ahead.k.begin(), ahead.k.end());
  products.resize(known.k.size());
  covariance_.multiply(known.k.data() + done, ahead.rows.size(), products.data() + done, team);
  folds = covariance_.folds();
  if (may_join && ahead.rows.size() > 1) solve_ahead(block, ahead);
}

void Posterior::solve_ahead(std::uint64_t block, const Ahead& ahead) {
  const std::size_t n = members_.size(), stride = Cholesky::room_for(n);
  solved_.block = block;
  solved_.points = n;
  solved_.stride = stride;
  solved_.rows.assign(ahead.rows.begin() + 1, ahead.rows.end());
  solved_.l.assign(solved_.rows.size() * stride, 0.0);
  for (std::size_t i = 0; i < solved_.rows.size(); ++i)
    std::copy_n(ahead.k.data() + (i + 1) * padded_columns() + n_fixed_, n, solved_.l.data() + i * stride);
  factor_.solve_each(solved_.l.data(), solved_.rows.size(), stride);
}

const double* Posterior::Precomputed::product(std::size_t row) const {
  const auto at = std::find(ahead.rows.begin(), ahead.rows.end(), row) - ahead.rows.begin();
  return products.data() + static_cast<std::size_t>(at) * stride;
}

Row Posterior::look_at(std::uint64_t block, std::size_t row, std::span<const double> values) const {
  assert(is_precomputed(block, row));
  Row result{pick(values), Buffer<double>(padded_columns(), 0.0), {}, 0.0};
  if (keeps_information_alone()) return look_by_information(std::move(result));
  auto& [k, h, z, s] = result;
  const double* product = precomputed_.product(row);
  // Where columns were added since, A_0 is zero and so is the product; at all others the row is still the same.
  assert(std::equal(k.begin(), k.begin() + static_cast<std::ptrdiff_t>(precomputed_.columns),
                    precomputed_.ahead.k.data() + (product - precomputed_.products.data())));
  std::copy_n(product, precomputed_.stride, h.begin());
  covariance_.finish(k.data(), h.data());
  s = isa::routines<double>().dot(k.data(), h.data(), h.size());
  if (!is_above_rounding(s, covariance_.size_of_terms(k))) s = 0.0;
  return result;
}

// With lam I + H = R R' and u = R^-1 z, s = |u|^2 and A k = L^-T R^-T u.
Row Posterior::look_by_information(Row row) const {
  row.z.assign(round_up(columns(), Triangle::lanes), 0.0);
  if (n_fixed_ == 1) row.z[0] = row.k[0];
  const Placement placed = place(row.k, 0.0);
  std::copy_n(placed.l.begin(), members_.size(), row.z.begin() + static_cast<std::ptrdiff_t>(n_fixed_));
  Buffer<double> u = row.z;
  const Solver root = information_.root(lam_);
  root.solve(u);
  for (const double x : u) row.s += x * x;
  root.solve_transposed(u);
  const std::vector<double> h = from_mean(u);
  std::copy(h.begin(), h.end(), row.h.begin());
  return row;
}

void Posterior::learn(Row row, std::span<const double> b, double v) {
  assert(row.k.size() == padded_columns());
  // The coordinates of rows that wait for H are found for several at once, before the points, and with them L, change.
  if (keeps_information_alone() && v != 0) {
    information_.add_rows(row.z.data(), {&v, 1});
  } else if (fades() && v != 0) {
    if (waiting_.v.size() == max_waiting) add_waiting();
    waiting_.k.insert(waiting_.k.end(), row.k.begin(), row.k.end());
    waiting_.v.push_back(v);
  }
  if (row.s == 0) return;
  Buffer<double> spread(basis_columns_, 0.0);
  for (std::size_t column = 0; column < columns(); ++column) spread[basis_column(column)] = row.h[column];
  for (std::size_t o = 0; o < b.size(); ++o)
    isa::routines<double>().axpy(b[o], spread.data(), a_[o].data(), basis_columns_);
  if (keeps_information_alone()) stale_ = true;
  if (v == 0 || stale_) return;
  const double root = std::sqrt(v / (1 + v * row.s));
  for (double& h : row.h) h *= root;
  covariance_.change(row.h, 1.0);
}

void Posterior::learn_local(std::span<const double> h, double b) {
  for (std::size_t column = 0; column < columns(); ++column) local_[basis_column(column)] += b * h[column];
}

// Z = L^-1 K for 8 rows at a time, side by side as a tile; each value is one chain of multiply-adds, whatever their
// number.
void Posterior::add_waiting() const {
  const std::size_t m = waiting_.v.size(), stride = padded_columns();
  if (m == 0) return;
  assert(waiting_.k.size() == m * stride);
  constexpr std::size_t lanes = Triangle::lanes;
  const Triangle& inverse = this->inverse();
  const std::size_t n = inverse.rows();
  Buffer<double> k(n * lanes), tile(n * lanes), z(m * n);
  for (std::size_t first = 0; first < m; first += lanes) {
    const std::size_t count = std::min(lanes, m - first);
    std::fill(k.begin(), k.end(), 0.0);
    std::fill(tile.begin(), tile.end(), 0.0);
    for (std::size_t row = 0; row < count; ++row)
      for (std::size_t i = 0; i < columns(); ++i) k[i * lanes + row] = waiting_.k[(first + row) * stride + i];
    for (std::size_t begin = 0; begin < n; begin += lanes)
      isa::routines<double>().add_products(inverse.tile(begin / lanes), k.data() + begin * lanes, lanes, lanes, lanes,
                                           tile.data() + begin * lanes, n - begin);
    for (std::size_t row = 0; row < count; ++row)
      for (std::size_t i = 0; i < columns(); ++i) z[(first + row) * n + i] = tile[i * lanes + row];
  }
  information_.add_rows(z.data(), waiting_.v);
  waiting_.k.clear();
  waiting_.v.clear();
}

void Posterior::fade(std::int64_t t) {
  if (!fades() || t % period_ != 0 || information_.size() == 0) return;
  add_waiting();
  information_.scale(fading_);
  stale_ = true;
}

double Posterior::variance(const Buffer<double>& k) const {
  derive();
  const Buffer<double> h = covariance_.product(k);
  return std::max(0.0, isa::routines<double>().dot(k.data(), h.data(), h.size()));
}

// ---- Points -----------------------------------------------------------------------------------------------------

Placement Posterior::place(const Buffer<double>& k, double kappa) const {
  constexpr std::uint64_t no_block = 0;
  return *place_beyond(-std::numeric_limits<double>::infinity(), no_block, 0, k, kappa);
}

std::optional<Placement> Posterior::place_beyond(double least, std::uint64_t block, std::size_t row,
                                                 const Buffer<double>& k, double kappa) const {
  const std::size_t n = members_.size();
  Placement placed{n, Buffer<double>(Cholesky::room_for(n), 0.0), kappa, 0.0};
  auto& l = placed.l;
  std::copy_n(k.begin() + static_cast<std::ptrdiff_t>(n_fixed_), n, l.begin());
  std::size_t known = 0;
  const auto at = std::find(solved_.rows.begin(), solved_.rows.end(), row) - solved_.rows.begin();
  if (solved_.block == block && at < std::ssize(solved_.rows)) {
    known = solved_.points;
    assert(known <= n);
    std::copy_n(solved_.l.data() + at * static_cast<std::ptrdiff_t>(solved_.stride), known, l.begin());
  }
  if (!factor_.solve_within(l, kappa - least, known)) return std::nullopt;
  placed.novelty = kappa - isa::routines<double>().dot(l.data(), l.data(), l.size());
  return placed;
}

// L grows by (l, sqrt(novelty)).
bool Posterior::extend(std::size_t slot, const Placement& placed) {
  assert(placed.points == members_.size());
  if (!placed.is_independent()) return false;
  add_waiting();
  factor_.append(placed.l, std::sqrt(placed.novelty));
  inverse_ = {};
  members_.push_back(static_cast<std::int64_t>(slot));
  make_room();
  return true;
}

// In the coefficients, with s = what lies outside and d = L^-T l: A += u u' / (lam s), u = (d, -1).
bool Posterior::join(std::size_t slot, const Placement& placed) {
  if (!keeps_information_alone()) derive();
  if (!placed.is_independent()) return false;
  Buffer<double> d = placed.l;
  factor_.solve_transposed(d);
  extend(slot, placed);
  if (fades()) information_.reach(columns());
  stale_ = keeps_information_alone();
  if (stale_) return true;
  const std::size_t n = placed.points;
  const double s = factor_.at(n, n) * factor_.at(n, n), unit = 1 / std::sqrt(lam_ * s);
  Buffer<double> u(padded_columns(), 0.0);
  for (std::size_t i = 0; i < n; ++i) u[n_fixed_ + i] = unit * d[i];
  u[n_fixed_ + n] = -unit;
  covariance_.change(u, -1.0);
  return true;
}

std::vector<double> Posterior::costs() {
  derive();
  covariance_.apply_pending();
  std::vector<double> costs(members_.size(), 0.0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto slot = static_cast<std::size_t>(members_[i]);
    for (const auto& a : a_) costs[i] += a[slot] * a[slot];
    costs[i] /= std::max(covariance_.variance(n_fixed_ + i), std::numeric_limits<double>::min());
  }
  return costs;
}

std::size_t Posterior::least_needed() {
  const std::vector<double> costs = this->costs();
  const auto least = std::min_element(costs.begin(), costs.end()) - costs.begin();
  return static_cast<std::size_t>(members_[static_cast<std::size_t>(least)]);
}

void Posterior::leave(std::size_t slot, double even_information) {
  add_waiting();
  const auto at = std::find(members_.begin(), members_.end(), static_cast<std::int64_t>(slot)) - members_.begin();
  const std::size_t i = static_cast<std::size_t>(at), column = n_fixed_ + i;
  Buffer<double> h = covariance_with(column);
  if (!covariance_.can_remove(column, h)) {
    renew_covariance(even_information);
    h = covariance_with(column);
  }
  each_function([&](Buffer<double>& a) {
    const double step = a[slot] / h[column];
    for (std::size_t j = 0; j < columns(); ++j) a[basis_column(j)] -= h[j] * step;
    a[slot] = 0.0;
  });
  stale_ = keeps_information_alone();
  if (!stale_) covariance_.remove(column, h);
  members_.erase(members_.begin() + at);
  const std::vector<Cholesky::Rotation> rotations = factor_.remove(i);
  forget_span();
  if (fades()) information_ = information_.without_last(rotations, n_fixed_);
}

Buffer<double> Posterior::covariance_with(std::size_t column) {
  derive();
  covariance_.apply_pending();
  Buffer<double> unit(padded_columns(), 0.0);
  unit[column] = 1.0;
  Buffer<double> h = covariance_.product(unit);
  h[column] = std::max(h[column], std::numeric_limits<double>::min());
  return h;
}

// ---- What is known ----------------------------------------------------------------------------------------------

void Posterior::renew_covariance(double even_information) {
  stale_ = fades();
  if (!stale_) adopt(spread_evenly(even_information));
}

// Put off until A is needed, which changes no bit: whatever changes A, or L, asks for it first.
void Posterior::derive() const {
  if (!stale_) return;
  covariance_.assign(information_.covariance(inverse(), lam_));
  stale_ = false;
}

const Triangle& Posterior::inverse() const {
  if (inverse_.size() != columns()) {
    inverse_ = Triangle::identity(columns());
    Solver(coordinates()).solve(inverse_);
  }
  return inverse_;
}

Triangle Posterior::coordinates() const {
  Triangle lower(columns());
  if (n_fixed_ == 1) lower.at(0, 0) = 1.0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double* row = factor_.row(i);
    for (std::size_t j = 0; j < i; ++j) lower.at(n_fixed_ + i, n_fixed_ + j) = row[j];
    lower.at(n_fixed_ + i, n_fixed_ + i) = factor_.at(i, i);
  }
  return lower;
}

std::vector<double> Posterior::sizes_of_variances() const {
  derive();
  std::vector<double> sizes;
  for (std::size_t j = 0; j < columns(); ++j) sizes.push_back(covariance_.size_of_variance(j));
  return sizes;
}

Matrix Posterior::covariance() const {
  derive();
  std::vector<std::size_t> all(columns());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return covariance_.among(all);
}

Information Posterior::current_information(double even_information) const {
  if (fades()) {
    add_waiting();
    return information_;
  }
  const auto found = Information::from_covariance(covariance(), coordinates(), lam_);
  return found ? *found : spread_evenly(even_information);
}

Information Posterior::spread_evenly(double information) const {
  Information even(columns());
  even.add_evenly(information);
  return even;
}

void Posterior::adopt(Information information) {
  information_ = std::move(information);
  waiting_ = {};
  stale_ = true;
  derive();
  if (!fades()) information_ = {};
}

Matrix Posterior::even_covariance(double information) const {
  Triangle inverse = Triangle::identity(columns());
  Solver(coordinates()).solve(inverse);
  return spread_evenly(information).covariance(inverse, lam_).whole();
}

void Posterior::restrict_to(const std::vector<std::size_t>& columns, const Matrix& rows, const Triangle& covariance) {
  const std::size_t n = this->columns();
  add_waiting();
  const std::vector<double> local = mean(own_local());
  Buffer<double> local_inside(Cholesky::room_for(columns.size()), 0.0);  // L'^-1 L_S w, its projection
  std::vector<std::int64_t> members;
  Cholesky factor;
  Matrix m(columns.size(), n);  // L'^-1 L_S, whose first columns are L'
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < n_fixed_) {
      m.at(i, columns[i]) = 1.0;
      continue;
    }
    members.push_back(members_[columns[i] - n_fixed_]);
    for (std::size_t j = n_fixed_; j < n; ++j) local_inside[i - n_fixed_] += rows.at(columns[i], j) * local[j];
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
  forget_span();
  covariance_ = {};
  each_function([](Buffer<double>& a) { std::fill(a.begin(), a.end(), 0.0); });
  factor_.solve(local_inside);
  std::vector<double> w(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(n_fixed_));
  w.insert(w.end(), local_inside.begin(), local_inside.begin() + static_cast<std::ptrdiff_t>(members_.size()));
  set_local(from_mean(w));
  make_room();
  covariance_.assign(covariance);
  stale_ = fades();
}

std::vector<double> Posterior::mean(std::span<const double> coefficients) const {
  std::vector<double> w(columns(), 0.0);
  if (n_fixed_ == 1) w[0] = coefficients[0];
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) w[n_fixed_ + j] += factor_.at(i, j) * coefficients[n_fixed_ + i];
  return w;
}

std::vector<double> Posterior::from_mean(std::span<const double> w) const {
  Buffer<double> points(Cholesky::room_for(members_.size()), 0.0);
  std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(n_fixed_), members_.size(), points.begin());
  factor_.solve_transposed(points);
  std::vector<double> a(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(n_fixed_));
  a.insert(a.end(), points.begin(), points.begin() + static_cast<std::ptrdiff_t>(members_.size()));
  return a;
}

// ---- State ------------------------------------------------------------------------------------------------------

// On loading, the members are set already, and there is room for as many outputs as the function has.
void Posterior::visit(Archive& archive, bool alone) {
  if (archive.loading()) {
    waiting_ = {};
  } else if (!keeps_information_alone()) {
    derive();
    add_waiting();
  }
  archive.part("factor", factor_);
  archive.require(factor_.size() == members_.size(), "factor.diagonal", "must hold one number for each member");
  if (archive.loading()) {
    covariance_ = {};
    forget_span();
    stale_ = keeps_information_alone();
    each_function([](Buffer<double>& a) { std::fill(a.begin(), a.end(), 0.0); });
    make_room();
  }
  struct {
    Posterior& self;
    void visit(Archive& inner) {
      std::vector<std::size_t> all(self.columns());
      std::iota(all.begin(), all.end(), std::size_t{0});
      self.covariance_.visit(inner, all);
    }
  } covariance{*this};
  if (!keeps_information_alone()) archive.part("covariance", covariance);
  struct {
    Posterior& self;
    void visit(Archive& inner) { self.information_.visit(inner, self.columns()); }
  } information{*this};
  if (fades()) archive.part("information", information);
  if (alone) return;
  archive.scalar("next_exchange", next_exchange_);
  std::vector<double> flat;
  for (std::size_t o = 0; o < a_.size(); ++o) {
    const std::vector<double> coefficients = own(a_[o]);
    flat.insert(flat.end(), coefficients.begin(), coefficients.end());
  }
  archive.matrix("coefficients", flat, columns());
  if (!archive.loading()) return;
  archive.require(flat.size() == a_.size() * columns(), "coefficients", "must hold one row for each output");
  for (std::size_t o = 0; o < a_.size(); ++o) set_own(a_[o], std::span(flat).subspan(o * columns(), columns()));
}

}  // namespace onkel
