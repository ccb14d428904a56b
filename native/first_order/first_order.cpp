#include "first_order/first_order.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "first_order/evictions/komp.hpp"

namespace onkel {
FirstOrder::FirstOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget,
                       Draws draws, Basis& basis)
    : basis_(basis),
      function_(outputs, averaged),
      draws_(draws),
      loss_(recipe.part("loss"), task),
      admission_(make_admission(recipe.part("admission"))),
      step_(make_step(recipe.part("step"))),
      budget_(budget),
      radius_(recipe.at("ball")),
      period_(static_cast<std::int64_t>(recipe.at("batch_size"))),
      eviction_(make_eviction(recipe.part("eviction"), context())) {
  if (averaged && eviction_->evicts()) basis_.keep_ghosts();
  widen(outputs);
  function_.reach(basis_.columns());
}

// Between two rows: what is prepared is not copied.
FirstOrder::FirstOrder(const FirstOrder& other, Basis& basis)
    : basis_(basis),
      function_(other.function_),
      draws_(other.draws_),
      loss_(other.loss_),
      admission_(other.admission_->clone()),
      step_(other.step_),
      budget_(other.budget_),
      radius_(other.radius_),
      norm_squared_(other.norm_squared_),
      shrunk_(other.shrunk_),
      period_(other.period_),
      eviction_(other.eviction_->clone(context())),
      committed_(other.committed_),
      pending_slots_(other.pending_slots_),
      pending_(other.pending_) {
  widen(outputs());
}

void FirstOrder::widen(std::size_t outputs) {
  std::vector<double> wider;
  for (std::size_t i = 0; i < pending_slots_.size(); ++i) {
    const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(i * function_.outputs());
    wider.insert(wider.end(), first, first + static_cast<std::ptrdiff_t>(function_.outputs()));
    wider.resize((i + 1) * outputs, 0.0);
  }
  pending_ = std::move(wider);
  function_.widen(outputs);
  row_.widen(outputs);
}

void FirstOrder::predict(Block& block, std::size_t row, std::span<double> predicted) const {
  function_.score(basis_, block, row, predicted, predicted);
}

void FirstOrder::prepare(const Example& example, std::span<double> predicted) {
  Scored& row = row_;
  row.begin(example, basis_);
  row.step = (example.t - 1) / period_ + 1;
  function_.score(basis_, example.block, example.row, row.f, predicted);
  require_in_range(row.f, "the score", example.position);
  loss_.check_target(row.y);
  loss_.evaluate(row);
  row.p = admission_->probability(row);
  admitted_ = row.p > 0 && draws_.uniform(row.t, Purpose::admission) < row.gate * row.p;
  if (admitted_) {
    step_->coefficient(row);
    require_in_range(row.coefficient, "the coefficient", row.position);
    // A point whose kernel values overflow would make every later score infinite.
    const double self = row.self();
    require_in_range({&self, 1}, "the kernel value", row.position);
    admitted_ = std::any_of(row.coefficient.begin(), row.coefficient.end(), [](double c) { return c != 0; });
  }
}

// The budget is 0 for a member of a hedge when the other members use all of it: it has no point of its own to give up.
void FirstOrder::commit() {
  Scored& row = row_;
  if (period_ == 1) shrink(step_->shrink(row.step));
  const bool inserted = admitted_ && budget_ > 0 && join(row);
  if (period_ == 1 && !inserted) eviction_->idle(row);
  if (period_ > 1 && row.t % period_ == 0) end_batch(row);
  admission_->learned(row, admitted_);
  function_.tick();
}

// The admitted row takes a slot (returns true), or the eviction absorbs or refuses it. Where the features are columns,
// it moves their weights.
bool FirstOrder::join(Scored& row) {
  if (basis_.n_weights() > 0) {
    add_constant(row.coefficient);
    track_norm(row);
    const auto features = basis_.entries(*row.block, row.row, entries_);
    for (std::size_t o = 0; o < row.coefficient.size(); ++o)
      if (row.coefficient[o] != 0) function_.add(features, o, row.coefficient[o]);
    project_on_ball();
    return true;
  }
  const Newcomer newcomer = eviction_->absorb(row);
  if (newcomer == Newcomer::refused) return false;
  if (period_ == 1) add_constant(row.coefficient);
  if (newcomer == Newcomer::absorbed) return false;
  const std::size_t slot = basis_.insert(*row.block, row.row, row.position);
  function_.reach(basis_.columns());
  if (period_ == 1) {
    track_norm(row);
    add(slot, row.coefficient);
    eviction_->restore_budget(row, slot);
    project_on_ball();
    return true;
  }
  pending_slots_.push_back(static_cast<std::int64_t>(slot));
  const auto share = 1.0 / static_cast<double>(period_);
  for (const double c : row.coefficient) pending_.push_back(c * share);
  return true;
}

void FirstOrder::shrink(double factor) {
  function_.scale(factor);
  shrunk_ = factor;
  norm_squared_ *= factor * factor;
}

// After a shrink s, adding c k(x, .) makes |f|^2 of s^2 |f|^2: + 2 s c . f(x) + |c|^2 k(x, x).
void FirstOrder::track_norm(const Scored& row) {
  if (radius_ == 0) return;
  double along = 0.0, length = 0.0;
  for (std::size_t o = 0; o < row.f.size(); ++o) {
    along += row.coefficient[o] * row.f[o];
    length += row.coefficient[o] * row.coefficient[o];
  }
  norm_squared_ += 2 * shrunk_ * along + length * row.self();
}

void FirstOrder::project_on_ball() {
  if (radius_ == 0 || norm_squared_ <= radius_ * radius_) return;
  function_.scale(radius_ / std::sqrt(norm_squared_));
  norm_squared_ = radius_ * radius_;
}

// The end of a mini-batch: f <- shrink f + the sum of the pending rows. A mini-batch that was flushed has shrunk
// already.
void FirstOrder::end_batch(const Scored& row) {
  const bool flushed = committed_ > (row.step - 1) * period_;
  shrink(flushed ? 1.0 : step_->shrink(row.step));
  committed_ = row.t;
  if (pending_slots_.empty()) {
    eviction_->idle(row);
    return;
  }
  for (std::size_t i = 0; i < pending_slots_.size(); ++i) {
    const auto coefficient = std::span(pending_).subspan(i * outputs(), outputs());
    add(static_cast<std::size_t>(pending_slots_[i]), coefficient);
    add_constant(coefficient);
  }
  const auto newest = static_cast<std::size_t>(pending_slots_.back());
  pending_slots_.clear();
  pending_.clear();
  eviction_->restore_budget(row, newest);
}

void FirstOrder::flush(std::int64_t t) {
  if (period_ == 1 || t == committed_) return;
  Block none;
  Scored no_row(outputs());
  no_row.begin({.block = none, .row = 0, .position = 0, .t = t, .y = 0.0, .weight = 0.0}, basis_);
  no_row.step = (t - 1) / period_ + 1;
  end_batch(no_row);
}

void FirstOrder::add(std::size_t slot, std::span<const double> coefficient) {
  for (std::size_t o = 0; o < coefficient.size(); ++o)
    if (coefficient[o] != 0) function_.add(slot, o, coefficient[o]);
}

// The constant column is a feature like the kernel's own: it moves with every row that is taken in.
void FirstOrder::add_constant(std::span<const double> coefficient) {
  for (std::size_t o = 0; o < coefficient.size() && basis_.has_constant(); ++o)
    function_.add(0, o, coefficient[o] * Basis::constant_value);
}

void FirstOrder::set(std::size_t column, std::size_t output, double last, double average) {
  function_.reach(basis_.columns());
  function_.set(column, output, last, average);
}

// A function that was set from outside may lie outside the ball; its next change projects it back.
void FirstOrder::end_set() {
  if (radius_ != 0) norm_squared_ = function_.norm_squared(basis_);
}

double FirstOrder::compress(double max_distance, std::size_t max_points) {
  Span points(basis_, function_);
  // Points that are nearly in the span of the others are removed too, within the allowed distance.
  const double allowed = max_distance * max_distance;
  const bool few = basis_.size() > max_points;
  const double moved = few ? points.include_points() : points.include_points(allowed);
  return std::sqrt(komp(points, moved, allowed, max_points));
}

void FirstOrder::visit(Archive& archive) {
  struct {
    FirstOrder& self;
    void visit(Archive& inner) { self.function_.visit(inner, self.basis_); }
  } function{*this};
  archive.part("function", function);
  archive.part("admission", *admission_);
  archive.part("eviction", *eviction_);
  if (radius_ != 0) archive.scalar("norm_squared", norm_squared_);
  if (archive.loading()) {
    pending_slots_.clear();
    widen(outputs());
  }
  if (period_ > 1) archive.scalar("committed", committed_);
  archive.array("pending_slots", pending_slots_);
  archive.matrix("pending", pending_, outputs());
  if (!archive.loading()) return;
  archive.require(pending_.size() == pending_slots_.size() * outputs(), "pending",
                  "must hold one coefficient for each waiting row and output");
  for (const std::int64_t slot : pending_slots_)
    archive.require(slot >= static_cast<std::int64_t>(basis_.first_slot()) &&
                        slot < static_cast<std::int64_t>(basis_.end_slot()) &&
                        basis_.alive(static_cast<std::size_t>(slot)),
                    "pending_slots", "must hold slots that have a point");
}

void FirstOrder::check_rows(std::int64_t t) const {
  if (function_.ticks() != t)
    throw std::invalid_argument("state 'update.function.ticks' must be the number of rows, " + std::to_string(t));
  // The pending rows are those of the current mini-batch, in order.
  std::int64_t earliest = t - t % period_;
  for (const std::int64_t slot : pending_slots_) {
    const std::int64_t born = basis_.born(static_cast<std::size_t>(slot));
    if (born < earliest)
      throw std::invalid_argument("state 'update.pending_slots' must hold rows of the current mini-batch, in order");
    earliest = born + 1;
  }
}

}  // namespace onkel
