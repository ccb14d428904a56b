#include "learn/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

// Of a newcomer's squared length, what must lie outside of the span for it to join.
constexpr double tolerance = 1e-4;
constexpr double least_length = 1e-100;  // squared: what is shorter has no inverse to reckon with
// Of a row's variance k . A k, beside the size of its terms: what is below this is rounding, and the function is known
// there.
constexpr double digits = 1e-14;
// What a row's weight may make of the prior's variance there is one part in so many: digits for all rows that follow.
constexpr double most_certain = 1e10;
constexpr std::size_t most_candidates = 32;
constexpr int most_halvings = 20;
constexpr double rounding = 1e-9;  // near its minimum a function has flat ground that rounding makes uneven

// A tenth of the memory 1 / (1 - forget), which a number such as 0.99 is a rounding error away from.
std::int64_t period_of(double forget) {
  const double tenth = std::floor((1 + 1e-9) / (10 * (1 - forget)));
  return static_cast<std::int64_t>(std::clamp(tenth, 1.0, 1e15));
}

bool is_independent(double outside, double kappa) { return outside > tolerance * kappa && outside > least_length; }

double largest(std::span<const double> values) {
  double found = 0.0;
  for (const double value : values) found = std::max(found, std::abs(value));
  return found;
}

}  // namespace

SecondOrder::SecondOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget,
                         Draws draws, Basis& basis)
    : basis_(basis),
      function_(outputs, averaged),
      draws_(draws),
      loss_(recipe.part("loss"), task),
      logistic_(loss_.logistic()),
      inner_steps_(task == Task::regression ? 1 : 3),
      budget_(budget),
      lam_(recipe.part("prior").at("lam")),
      min_slope_(recipe.part("dictionary").at("min_slope")),
      spread_(recipe.part("dictionary").at("spread")),
      forget_(recipe.part("memory").at("forget")),
      period_(forgets() ? period_of(forget_) : 1) {
  widen(outputs);
  begin();
}

// Nothing is known: the prior of the constant alone.
void SecondOrder::begin() {
  members_.clear();
  candidates_.clear();
  factor_ = {};
  covariance_ = {};
  information_ = {};
  reach();
  if (!basis_.has_constant()) return;
  if (forgets()) information_.reach(1);
  values_.assign(basis_.columns(), 0.0);
  values_[0] = 1 / std::sqrt(lam_);
  covariance_.change(values_, -1.0);
}

void SecondOrder::widen(std::size_t outputs) {
  function_.widen(outputs);
  for (auto* scratch : {&f_, &direction_, &g_, &b_, &next_, &m_}) scratch->resize(outputs);
}

void SecondOrder::reach() {
  function_.reach(basis_.columns());
  covariance_.reach(basis_.columns());
}

void SecondOrder::predict(Block& block, std::size_t row, std::span<double> predicted) const {
  function_.score(basis_, block, row, predicted, predicted);
}

Scored SecondOrder::scored(const Example& example, std::size_t row, std::span<double> f, std::span<double> direction,
                           std::span<double> g) {
  return {.basis = &basis_,
          .block = &example.block,
          .row = row,
          .position = example.position,
          .t = example.t,
          .step = example.t,
          .y = example.block_y[row],
          .weight = example.weight,
          .f = f,
          .direction = direction,
          .g = g,
          .coefficient = {}};
}

void SecondOrder::prepare(const Example& example, std::span<double> predicted) {
  function_.score(basis_, example.block, example.row, f_, predicted);
  require_in_range(f_, "the score", example.position);
  Scored row = scored(example, example.row, f_, direction_, g_);
  loss_.evaluate(row);
  require_in_range(row.g, "the slope", example.position);
  const double weighted[] = {row.weight, row.weight * largest(row.g)};
  require_in_range(weighted, "the weight", example.position);
  // A hedge may let through a share of the rows only.
  const bool seen = example.gate >= 1 || draws_.uniform(example.t, Purpose::visit) < example.gate;
  const bool informative = is_informative(row) && seen;
  if (informative) {
    k_.resize(basis_.columns());
    basis_.values(example.block, example.row, k_);
    require_in_range(k_, "the kernel values", example.position);
    const double self = row.self();
    require_in_range({&self, 1}, "the kernel value", example.position);
  }
  prepared_.emplace(Prepared{example, row, informative});
}

void SecondOrder::commit() {
  auto& [example, row, informative] = *prepared_;
  if (informative) {
    offer(row);
    row.weight = std::min(row.weight, most_certain * lam_ / row.self());
  }
  grow(example.t);
  if (informative) take_step(example, row);
  if (forgets() && example.t % period_ == 0) forget();
  function_.tick();
}

bool SecondOrder::is_informative(const Scored& row) const { return largest(row.g) > min_slope_; }

// ---- The dictionary ---------------------------------------------------------------------------------------------

// The row, with its kernel values in k_, may enter the reservoir: weighted sampling without replacement by keys
// u^(1/q) (Efraimidis and Spirakis), of which the logarithm is kept.
void SecondOrder::offer(const Scored& row) {
  const std::size_t others = basis_.size() - candidates_.size();
  if (others >= budget_) return;
  const std::size_t room = std::min(most_candidates, budget_ - others);
  const double kappa = kernel_with_itself(*row.block, row.row), newness = outside(k_, kappa, l_);
  if (!is_independent(newness, kappa)) return;
  const double g = largest(row.g), q = row.weight * g * g * std::sqrt(newness);
  const double key = std::log1p(-draws_.uniform(row.t, Purpose::admission)) / q;
  if (!std::isfinite(key)) return;  // a slope too small to square
  if (candidates_.size() >= room) {
    const auto worst = std::min_element(candidates_.begin(), candidates_.end(),
                                        [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    if (!(key > worst->key)) return;
    basis_.erase(worst->slot, false);
    candidates_.erase(worst);
  }
  const std::size_t slot = basis_.insert(*row.block, row.row, row.position);
  reach();
  candidates_.push_back({slot, key});
  // A row's own column comes after the row.
  k_.resize(basis_.columns(), 0.0);
  k_[slot] = kappa;
}

// The best candidates join as far as the dictionary may follow the stream.
void SecondOrder::grow(std::int64_t t) {
  const double rows = static_cast<double>(t);
  const double target = std::min(rows, std::sqrt(rows / spread_ * static_cast<double>(budget_)));
  while (static_cast<double>(members_.size()) < target && !candidates_.empty()) {
    const auto best = std::max_element(candidates_.begin(), candidates_.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    const std::size_t slot = best->slot;
    candidates_.erase(best);
    if (!join(slot)) basis_.erase(slot, false);
  }
}

double SecondOrder::kernel_with_itself(Block& block, std::size_t row) const {
  return basis_.self_kernel(block, row, 0);
}

// kappa - |L^-1 k|^2 of a point with these columns; l = L^-1 k.
double SecondOrder::outside(std::span<const double> values, double kappa, Buffer<double>& l) const {
  const std::size_t n = members_.size();
  l.assign(Cholesky::room_for(n), 0.0);
  for (std::size_t i = 0; i < n; ++i) l[i] = values[static_cast<std::size_t>(members_[i])];
  factor_.solve(l);
  return kappa - isa::routines<double>().dot(l.data(), l.data(), l.size());
}

// The point in this slot becomes a member: L grows by a row (l, sqrt(s)), and d_ holds L^-T l. False where it lies in
// the span of the others.
bool SecondOrder::extend(std::size_t slot) {
  values_.resize(basis_.columns());
  basis_.row_of(slot, scratch_, values_);
  const double kappa = values_[slot], s = outside(values_, kappa, l_);
  if (!is_independent(s, kappa)) return false;
  d_ = l_;
  factor_.solve_transposed(d_);
  factor_.append(l_, std::sqrt(s));
  members_.push_back(static_cast<std::int64_t>(slot));
  return true;
}

// The same within the stream, where the new direction has the prior 1 / lam and nothing is known of it. In the
// coefficients, with s = what lies outside: A += u u' / (lam s), u = (d, -1).
bool SecondOrder::join(std::size_t slot) {
  const std::size_t n = members_.size();
  if (!extend(slot)) return false;
  const double s = factor_.at(n, n) * factor_.at(n, n), unit = 1 / std::sqrt(lam_ * s);
  std::fill(values_.begin(), values_.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) values_[static_cast<std::size_t>(members_[i])] = unit * d_[i];
  values_[slot] = -unit;
  covariance_.change(values_, -1.0);
  if (forgets()) information_.reach(n_fixed() + n + 1);
  return true;
}

// The columns that A is about: the constant and the members.
std::vector<std::size_t> SecondOrder::covered() const {
  std::vector<std::size_t> columns(basis_.has_constant() ? 1 : 0, 0);
  columns.insert(columns.end(), members_.begin(), members_.end());
  return columns;
}

// ---- The step ---------------------------------------------------------------------------------------------------

void SecondOrder::take_step(const Example& example, Scored& row) {
  multiply(example);
  double s = isa::routines<double>().dot(k_.data(), h_.data(), h_.size());
  const bool is_known = !(s > digits * covariance_.size_of_terms(k_));
  const double residual = largest(row.g);
  if (is_known) s = 0.0;
  const double v = solve(row, s);
  noise_ += row.weight * residual * residual / (1 + row.weight * s);
  ++steps_;
  if (forgets() && v != 0) learn_information(v);
  if (is_known) return;
  for (const std::size_t column : covered())
    for (std::size_t o = 0; o < b_.size(); ++o)
      if (const double change = h_[column] * b_[o]; change != 0) function_.add(column, o, change);
  if (v == 0) return;
  const double root = std::sqrt(v / (1 + v * s));
  for (double& h : h_) h *= root;
  covariance_.change(h_, 1.0);
}

// The diagonal of the loss's second derivative H in the scores. Log losses: p_c (1 - p_c), where |g_c| is p_c, or 1 -
// p_c for the row's own class. Others: the curve's own, along its direction.
double SecondOrder::curvature(const Scored& row, std::size_t output) const {
  const double g = std::abs(row.g[output]), d = row.direction[output];
  return row.weight * (logistic_ ? g * (1 - g) : row.curvature * d * d);
}

// For the step, whose scores must not overshoot: the largest.
double SecondOrder::steepest(const Scored& row) const {
  double v = 0.0;
  for (std::size_t o = 0; o < row.g.size(); ++o) v = std::max(v, curvature(row, o));
  return v;
}

// For A, which all outputs share: the mean over the C - 1 directions in which C scores can differ, tr H / (C - 1).
double SecondOrder::mean_curvature(const Scored& row) const {
  double v = 0.0;
  for (std::size_t o = 0; o < row.g.size(); ++o) v += curvature(row, o);
  return row.g.size() > 2 ? v / static_cast<double>(row.g.size() - 1) : v;
}

// The b that minimises s |b|^2 / 2 + weight loss(m + s b), by a few Newton steps, each halved until it helps; f + s b
// is then the new score. Returns the mean curvature there.
double SecondOrder::solve(Scored& row, double s) {
  m_ = f_;
  std::fill(b_.begin(), b_.end(), 0.0);
  double value = row.weight * row.loss;
  for (int step = 0; step < inner_steps_; ++step) {
    const double v = steepest(row);
    for (std::size_t o = 0; o < b_.size(); ++o) next_[o] = (v * s * b_[o] - row.weight * row.g[o]) / (1 + v * s);
    for (int halvings = 0;; ++halvings) {
      double length = 0.0;
      for (std::size_t o = 0; o < b_.size(); ++o) {
        f_[o] = m_[o] + s * next_[o];
        length += next_[o] * next_[o];
      }
      loss_.evaluate(row);
      const double reached = s * length / 2 + row.weight * row.loss;
      if (reached <= value * (1 + rounding) || halvings == most_halvings || inner_steps_ == 1) {
        value = reached;
        break;
      }
      for (std::size_t o = 0; o < b_.size(); ++o) next_[o] = (b_[o] + next_[o]) / 2;
    }
    b_ = next_;
  }
  return mean_curvature(row);
}

// h_ = A k_.
void SecondOrder::multiply(const Example& example) {
  const bool current = ahead_.block == example.block.number && ahead_.folds == covariance_.folds();
  auto at = current ? std::find(ahead_.rows.begin(), ahead_.rows.end(), example.row) : ahead_.rows.end();
  if (at == ahead_.rows.end()) {
    look_ahead(example);
    at = ahead_.rows.begin();
  }
  const double* product =
      ahead_.products.data() + (at - ahead_.rows.begin()) * static_cast<std::ptrdiff_t>(ahead_.columns);
  h_.assign(covariance_.columns(), 0.0);
  std::copy_n(product, ahead_.columns, h_.begin());
  covariance_.finish(k_.data(), h_.data());
}

// A_0 k of this row, and of the rows after it that seem informative now, as many as may come before the next fold. A
// row that turns out otherwise costs time and nothing else.
void SecondOrder::look_ahead(const Example& example) {
  const std::size_t n = covariance_.columns(), room = Covariance::most_open - covariance_.open() + 1;
  ahead_.block = example.block.number;
  ahead_.folds = covariance_.folds();
  ahead_.columns = n;
  ahead_.rows.assign(1, example.row);
  std::vector<double> f(outputs()), direction(outputs()), g(outputs());
  for (std::size_t i = example.row + 1; i < example.block.count && ahead_.rows.size() < room; ++i) {
    if (example.block_weight != nullptr && example.block_weight[i] == 0) continue;
    Scored row = scored(example, i, f, direction, g);
    function_.score(basis_, example.block, i, f, {});
    bool seems_informative = true;
    if (row.y < static_cast<double>(f.size()) || f.size() == 1) {
      loss_.evaluate(row);
      seems_informative = is_informative(row);
    }
    if (seems_informative) ahead_.rows.push_back(i);
  }
  ahead_.k.resize(ahead_.rows.size() * n);
  ahead_.products.resize(ahead_.rows.size() * n);
  std::copy_n(k_.data(), n, ahead_.k.data());  // with its own column, which is not in the block
  for (std::size_t i = 1; i < ahead_.rows.size(); ++i)
    basis_.values(example.block, ahead_.rows[i], {ahead_.k.data() + i * n, n});
  covariance_.multiply(ahead_.k.data(), ahead_.rows.size(), ahead_.products.data());
}

// H += v z z', z the coordinates of the row whose columns are in k_.
void SecondOrder::learn_information(double v) {
  outside(k_, 0.0, l_);
  z_.assign(n_fixed() + members_.size(), 0.0);
  if (n_fixed() == 1) z_[0] = k_[0];
  std::copy_n(l_.begin(), members_.size(), z_.begin() + static_cast<std::ptrdiff_t>(n_fixed()));
  information_.add_row(z_, v);
}

// What the rows so far told counts less, and the function stays.
void SecondOrder::forget() {
  if (information_.size() == 0) return;
  information_.scale(std::pow(forget_, static_cast<double>(period_)));
  adopt(std::move(information_));
}

// With s of the span as k . A k: what lies outside of it has the prior's variance.
double SecondOrder::variance(Block& block, std::size_t row) const {
  Buffer<double> k(covariance_.columns()), h(covariance_.columns()), l;
  basis_.values(block, row, k);
  const double kappa = kernel_with_itself(block, row);
  covariance_.multiply(k.data(), 1, h.data());
  covariance_.finish(k.data(), h.data());
  const double inside = isa::routines<double>().dot(k.data(), h.data(), h.size());
  return std::max(0.0, inside) + std::max(0.0, outside(k, kappa, l)) / lam_;
}

// ---- State ------------------------------------------------------------------------------------------------------

void SecondOrder::visit(Archive& archive) {
  struct {
    SecondOrder& self;
    void visit(Archive& inner) { self.function_.visit(inner, self.basis_); }
  } function{*this};
  archive.part("function", function);
  std::vector<std::int64_t> slots;
  std::vector<double> keys;
  for (const Candidate& candidate : candidates_) {
    slots.push_back(static_cast<std::int64_t>(candidate.slot));
    keys.push_back(candidate.key);
  }
  archive.array("members", members_);
  archive.array("candidates", slots);
  archive.array("keys", keys);
  if (archive.loading()) {
    widen(outputs());
    archive.require(keys.size() == slots.size(), "keys", "must hold one key for each candidate");
    std::vector<std::int64_t> used = members_;
    used.insert(used.end(), slots.begin(), slots.end());
    std::sort(used.begin(), used.end());
    archive.require(std::adjacent_find(used.begin(), used.end()) == used.end(), "members",
                    "must not share a slot with each other or with the candidates");
    for (const std::int64_t slot : used)
      archive.require(slot >= static_cast<std::int64_t>(basis_.first_slot()) &&
                          slot < static_cast<std::int64_t>(basis_.end_slot()) &&
                          basis_.alive(static_cast<std::size_t>(slot)),
                      "members", "must hold, as the candidates, slots that have a point");
    candidates_.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) candidates_.push_back({static_cast<std::size_t>(slots[i]), keys[i]});
  }
  archive.part("factor", factor_);
  archive.require(factor_.size() == members_.size(), "factor.diagonal", "must hold one number for each member");
  if (archive.loading()) {
    // The factor is there for the members; other slots, of which there are few, have columns in the covariance too.
    const std::size_t n = basis_.columns(), borne_out = 8 * factor_.size();
    if (n > borne_out) archive.claim("members", (n * n - borne_out * borne_out) * sizeof(double));
    covariance_ = {};
    covariance_.reach(n);
  }
  struct {
    SecondOrder& self;
    void visit(Archive& inner) { self.covariance_.visit(inner, self.covered()); }
  } covariance{*this};
  archive.part("covariance", covariance);
  struct {
    SecondOrder& self;
    void visit(Archive& inner) { self.information_.visit(inner, self.n_fixed() + self.members_.size()); }
  } information{*this};
  if (forgets()) archive.part("information", information);
  archive.scalar("noise", noise_);
  archive.scalar("steps", steps_);
  archive.require(noise_ >= 0, "noise", "must not be negative");
}

void SecondOrder::check_rows(std::int64_t t) const {
  if (function_.ticks() != t)
    throw std::invalid_argument("state 'update.function.ticks' must be the number of rows, " + std::to_string(t));
  if (steps_ < 0 || steps_ > t) throw std::invalid_argument("state 'update.steps' must be between 0 and the rows");
}

}  // namespace onkel
