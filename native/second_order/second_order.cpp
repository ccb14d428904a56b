#include "second_order/second_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

constexpr std::size_t max_candidates = 32;
// How far a row of a regression lies outside the span is found for all of the first rows, and then for every second
// one: it takes about a third of a step.
constexpr std::int64_t all_placed = 1000, placed_of = 2;
constexpr double rounding = 1e-9;

// The memories in rows, the fraction of the points that each of them uses, and how many at most: forgetting costs the
// cube of their number, and few rows carry little information about many points.
struct Memory {
  double rows;
  std::size_t share, max_points;
  std::size_t points(std::size_t budget) const { return std::clamp<std::size_t>(budget / share, 1, max_points); }
};
constexpr Memory short_memories[] = {{1000, 2, 150}, {100, 4, 70}, {10, 10, 30}};

// The first has all points, which the dictionary keeps within the budget: a hedge may change that at any row.
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

std::vector<Posterior> make_posteriors(const Spec& memory, double lam, bool constant, std::size_t budget,
                                       std::size_t outputs) {
  std::vector<Posterior> result;
  if (memory.name == "FadingMemory") {
    result.emplace_back(memory.at("forget"), lam, constant, no_limit, outputs);
  } else if (memory.name == "StreamMemory") {
    result.emplace_back(1.0, lam, constant, no_limit, outputs);
    for (const Memory& each : short_memories)
      result.emplace_back(1 - 1 / each.rows, lam, constant, each.points(budget), outputs);
  } else {
    unknown_part("memory", memory);
  }
  return result;
}

}  // namespace

SecondOrder::SecondOrder(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget,
                         Draws draws, Basis& basis)
    : basis_(basis),
      function_(outputs, averaged),
      draws_(draws),
      task_(task),
      loss_(recipe.part("loss"), task),
      logistic_(loss_.logistic()),
      budget_(budget),
      lam_(recipe.part("prior").at("lam")),
      easy_slope_(recipe.part("dictionary").at("easy_slope")),
      spread_(recipe.part("dictionary").at("spread")),
      posteriors_(make_posteriors(recipe.part("memory"), lam_, basis.has_constant(), budget, outputs)),
      residuals_(loss_.narrow()),
      share_(posteriors_.size(), posteriors_.size() == 1 ? 0.0 : recipe.part("memory").at("share")),
      recent_loss_(memories()) {
  in_hand_.each.resize(posteriors_.size());
  if (averaged) basis_.keep_ghosts();  // points of several posteriors leave, and those of a sum that shares its budget
  widen(outputs);
  begin();
}

// Between two rows: what is prepared is not copied.
SecondOrder::SecondOrder(const SecondOrder& other, Basis& basis)
    : basis_(basis),
      function_(other.function_),
      draws_(other.draws_),
      task_(other.task_),
      loss_(other.loss_),
      logistic_(other.logistic_),
      budget_(other.budget_),
      lam_(other.lam_),
      easy_slope_(other.easy_slope_),
      spread_(other.spread_),
      posteriors_(other.posteriors_),
      residuals_(other.residuals_),
      share_(other.share_),
      recent_loss_(other.recent_loss_),
      others_suspended_(other.others_suspended_),
      due_(other.due_),
      candidates_(other.candidates_),
      dependent_points_(other.dependent_points_),
      noise_(other.noise_),
      steps_(other.steps_),
      deviation_(other.deviation_) {
  in_hand_.each.resize(posteriors_.size());
  widen(outputs());
}

void SecondOrder::limit_memories(std::size_t budget) {
  for (std::size_t e = 1; e < posteriors_.size(); ++e) posteriors_[e].limit(short_memories[e - 1].points(budget));
}

void SecondOrder::take(const Informed& given) {
  const auto& other = dynamic_cast<const SecondOrder&>(given);
  function_ = other.function_;
  for (std::size_t e = 0; e < posteriors_.size(); ++e) posteriors_[e].take(other.posteriors_[e]);
  residuals_ = other.residuals_;
  share_ = other.share_;
  recent_loss_ = other.recent_loss_;
  others_suspended_ = other.others_suspended_;
  due_ = other.due_;
  candidates_ = other.candidates_;
  dependent_points_ = other.dependent_points_;
  noise_ = other.noise_;
  steps_ = other.steps_;
  deviation_ = other.deviation_;
  widen(outputs());
}

// The prior of the constant alone.
void SecondOrder::begin() {
  candidates_.clear();
  deviation_ = {};
  reach();
  for (Posterior& posterior : posteriors_) posterior.begin();
}

void SecondOrder::widen(std::size_t outputs) {
  function_.widen(outputs);
  in_hand_.mixed.widen(outputs);
  for (Scored& row : in_hand_.each) row.widen(outputs);
  for (Posterior& posterior : posteriors_) posterior.widen(outputs);
}

void SecondOrder::reach() {
  function_.reach(basis_.columns());
  for (Posterior& posterior : posteriors_) posterior.reach(basis_.columns());
}

void SecondOrder::predict(Block& block, std::size_t row, std::span<double> predicted) const {
  function_.score(basis_, block, row, predicted, predicted);
}

void SecondOrder::prepare(const Example& example, std::span<double> predicted) {
  auto& [kept, seen, draw, times, several, row, each, apart, k, nearest, first, measured, slot, placed] = in_hand_;
  kept.emplace(example);
  nearest.reset();
  measured = false;
  apart = 0.0;
  slot.reset();
  row.begin(example, basis_);
  function_.score(basis_, example.block, example.row, row.f, predicted);
  require_in_range(row.f, "the score", example.position);
  loss_.check_target(row.y);
  row.units = residuals_.units(row.f[0] - row.y);
  loss_.evaluate(row);
  require_in_range(row.g, "the slope", example.position);
  const double weighted[] = {row.weight, row.weight * largest(row.g)};
  require_in_range(weighted, "the weight", example.position);
  // No kernel value with a point exceeds the larger of the two kernel values with themselves (the Cauchy-Schwarz
  // inequality).
  const double self = row.self();
  require_in_range({&self, 1}, "the kernel value", example.position);
  seen = example.gate >= 1 || draws_.uniform(example.t, Purpose::visit) < example.gate;
  draw = draw_of(example.t);
  times = seen ? multiplicity(posteriors_[0], row, draw) : 0.0;
  several = n_active() > 1 && example.in_order;
  if (times > 0 || several) {
    k.resize(basis_.columns());
    basis_.values(example.block, example.row, k);
    require_in_range(k, "the kernel values", example.position);
  }
  if (!several) return;
  for (Scored& own : each) {
    own.begin(example, basis_);
    own.units = row.units;
  }
  score_each(in_hand_);
  for (const Scored& own : each) {
    require_in_range(own.f, "the score", example.position);
    require_in_range(own.g, "the slope", example.position);
  }
  apart = variance_between(each, row.f);
}

// The weights follow from the predictions; then the points change, then each posterior learns.
void SecondOrder::commit() {
  InHand& row = in_hand_;
  const Example& example = *row.example;
  Scored& mixed = row.mixed;
  const Excess excess = excess_of(mixed, task_);
  const double max_weight = max_certainty * lam_ / mixed.self(),
               weight = std::min(row.times * mixed.weight, max_weight);
  const double error = measures() ? example.y - mixed.f[0] : 0.0;
  measured_.reset();
  if (task_ == Task::regression) residuals_.add(mixed.f[0] - mixed.y);
  if (!example.in_order) suspend_others();
  if (row.several) update_weights(row);
  if (row.is_informative()) offer(row);
  grow(row);
  double variance = 0.0;
  for (std::size_t e = 0; e < (row.several ? posteriors_.size() : 1); ++e) {
    Scored& own = row.seen_by(e);
    const double times = multiplicity(posteriors_[e], own, row.draw);
    if (!row.seen || rests(e) || times == 0) continue;
    own.weight = std::min(times * own.weight, max_weight);
    if (e > 0) exchange(e, row);
    variance += share_.weights()[e] * take_step(e, row);
  }
  if (row.measured) measure(row, error);
  if (row.is_informative()) {
    noise_ += excess.with(weight, variance);
    ++steps_;
  }
  for (std::size_t e = 0; e < n_active(); ++e)
    if (!rests(e)) posteriors_[e].fade(example.t);
  if (row.several || row.is_informative()) publish();
  if (others_suspended_ && example.in_order) resume_others();
  function_.tick();
}

// The function becomes the mean of the posteriors.
void SecondOrder::publish() {
  const std::vector<double>& weights = share_.weights();
  for (std::size_t o = 0; o < outputs(); ++o) {
    if (n_active() == 1 && dependent_points_.empty()) {
      function_.become(o, first().coefficients(o));
      continue;
    }
    Buffer<double> mixture(basis_.columns(), 0.0);
    for (std::size_t e = 0; e < n_active(); ++e)
      isa::routines<double>().axpy(weights[e], posteriors_[e].coefficients(o).data(), mixture.data(), mixture.size());
    for (const std::size_t slot : dependent_points_) mixture[slot] = function_.last_coefficient(slot, o);
    function_.become(o, mixture);
  }
}

// ---- The dictionary ---------------------------------------------------------------------------------------------

// Whether a row can become a point only in place of a member: the budget is reached, or, where the points are shared,
// their limit.
bool SecondOrder::is_full(std::int64_t position) const {
  const bool no_candidates = candidates_.empty() && !basis_.has_room(position);
  return no_candidates || basis_.size() - candidates_.size() >= budget_;
}

// The row may enter the reservoir: weighted sampling without replacement by keys u^(1/q) (Efraimidis and Spirakis), of
// which the logarithm is kept.
void SecondOrder::offer(InHand& in_hand) {
  const Scored& row = in_hand.mixed;
  const std::size_t others = basis_.size() - candidates_.size();
  if (is_full(row.position)) return renew(in_hand);
  const std::size_t room = std::min(max_candidates, budget_ - others);
  const bool full = candidates_.size() >= room || !basis_.has_room(row.position);
  const auto worst = std::min_element(candidates_.begin(), candidates_.end(),
                                      [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  const double kappa = kernel_with_itself(*row.block, row.row), g = largest(row.g), unit = row.weight * g * g,
               log_u = std::log1p(-draws_.uniform(row.t, Purpose::admission));
  // log u / (unit sqrt(own)) must be above the worst key.
  const double needed = full ? log_u / (unit * worst->key) : 0.0;
  const double least = std::max(needed * needed, least_novelty(kappa)) * (1 - rounding);
  const auto placed = first().place_beyond(least, row.block->number, row.row, first().pick(in_hand.k), kappa);
  if (!placed || !placed->is_independent()) return;
  const double key = log_u / (unit * std::sqrt(placed->novelty));
  if (!std::isfinite(key)) return;  // a slope too small to square
  if (full) {
    if (!(key > worst->key) || !basis_.has_room_without(worst->slot, row.position)) return;
    basis_.erase(worst->slot, false);
    candidates_.erase(worst);
  }
  const std::size_t slot = basis_.insert(*row.block, row.row, row.position);
  reach();
  candidates_.push_back({slot, key});
  in_hand.slot = slot;
  in_hand.placed = *placed;
  // A row's own column comes after the row.
  in_hand.k.resize(basis_.columns(), 0.0);
  in_hand.k[slot] = kappa;
}

// The best candidates join, as many as the dictionary may have at this row.
void SecondOrder::grow(const InHand& row) {
  const double rows = static_cast<double>(row.example->t);
  const double target = std::min(rows, std::sqrt(rows / spread_ * static_cast<double>(budget_)));
  while (static_cast<double>(first().size()) < target && !candidates_.empty()) {
    const auto best = std::max_element(candidates_.begin(), candidates_.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    const std::size_t slot = best->slot;
    candidates_.erase(best);
    if (!join(slot, row)) basis_.erase(slot, false);
  }
}

double SecondOrder::kernel_with_itself(Block& block, std::size_t row) const {
  return basis_.self_kernel(block, row, 0);
}

// The values of the point in this slot at the columns of the basis.
Buffer<double> SecondOrder::values_of(std::size_t slot) const {
  Block scratch;
  Buffer<double> values(basis_.columns());
  basis_.row_of(slot, scratch, values);
  return values;
}

// A row of squared length kappa with these values at the columns of the basis, among all members.
Placement SecondOrder::place(std::span<const double> values, double kappa) const {
  return first().place(first().pick(values), kappa);
}

// The point in this slot becomes a member of every posterior that has room for it.
bool SecondOrder::join(std::size_t slot, const InHand& row) {
  if (row.slot == slot && row.placed.points == first().size() && n_active() == 1) return first().join(slot, row.placed);
  const Buffer<double> values = values_of(slot);
  if (!first().join(slot, place(values, values[slot]))) return false;
  for (std::size_t e = 1; e < n_active(); ++e) {
    Posterior& own = posteriors_[e];
    if (own.size() < own.max_points()) own.join(slot, own.place(own.pick(values), values[slot]));
  }
  return true;
}

// ---- The step ---------------------------------------------------------------------------------------------------

// Returns the variance of the posterior's function at the row before the step.
double SecondOrder::take_step(std::size_t e, InHand& row) {
  Posterior& posterior = posteriors_[e];
  const auto& [block, at] = std::pair{row.example->block.number, row.example->row};
  if (!posterior.is_precomputed(block, at)) precompute(posterior, row);
  Row known = posterior.look_at(block, at, row.k);
  const double s = known.s;
  const auto [b, v] = solve(loss_, row.seen_by(e), s);
  if (e == 0 && measures()) {
    row.first = known;
    row.measured = true;
  }
  posterior.learn(std::move(known), b, v);
  return s;
}

// A_0 k of this row, and of the rows after it that seem informative now, as many as may come before A_0 changes. A row
// that turns out not to be costs time but changes nothing.
void SecondOrder::precompute(Posterior& posterior, const InHand& in_hand) const {
  const Example& example = *in_hand.example;
  Posterior::Ahead ahead;
  ahead.add(example.row, posterior.pick(in_hand.k));  // with its own column, which is not in the block
  const std::size_t steps = posterior.steps_ahead(),
                    end = example.row + std::min(posterior.rows_ahead(example.t), example.block.count - example.row);
  Scored row(outputs());
  row.begin(example, basis_);
  row.units = in_hand.mixed.units;
  Buffer<double> values(basis_.columns());
  std::int64_t t = example.t;
  for (std::size_t i = example.row + 1, found = 1; i < end && found < steps; ++i) {
    if (example.block_weight != nullptr && example.block_weight[i] == 0) continue;
    ++t;
    if (posterior.is_precomputed(example.block.number, i)) {
      ++found;
      continue;
    }
    row.row = i;
    row.y = example.block_y[i];
    if (row.y < static_cast<double>(outputs()) || outputs() == 1) {
      if (n_active() == 1) {
        function_.score(basis_, example.block, i, row.f, {});
      } else {
        for (std::size_t o = 0; o < outputs(); ++o)
          row.f[o] = basis_.dot(example.block, i, posterior.coefficients(o).data());
      }
      loss_.evaluate(row);
      if (multiplicity(posterior, row, draw_of(t)) == 0) continue;
    }
    basis_.values(example.block, i, values);
    ahead.add(i, posterior.pick(values));
    ++found;
  }
  const bool may_join = &posterior == &first() && !is_full(example.position);
  posterior.precompute(example.block.number, ahead, may_join, example.team);
}

// ---- What is expected of residuals ------------------------------------------------------------------------------

double SecondOrder::local(std::span<const double> values) const {
  return isa::routines<double>().dot(values.data(), first().local().data(), values.size());
}

// The variance within the span is that of the first posterior, which learns from every row, and the variance between
// the posteriors. The local logarithm of the noise is learned as the function is, with a gain that is larger since a
// row informs less about it: one step against a bound on the curvature.
void SecondOrder::measure(const InHand& row, double residual) {
  const Example& example = *row.example;
  const auto& [k, h, z, s] = row.first;
  constexpr double all = -std::numeric_limits<double>::infinity();
  std::optional<double> outside;
  if (example.t <= all_placed || example.t % placed_of == 0) {
    const double kappa = kernel_with_itself(example.block, example.row);
    outside = std::max(0.0, first().place_beyond(all, example.block.number, example.row, k, kappa)->novelty) / lam_;
  }
  const double gain = 1 / Deviation::mean_curvature;
  const Deviation::Seen seen = deviation_.learn(residual, local(row.k), s + row.apart, outside, example.weight);
  if (seen.deviation) measured_ = {residual, *seen.deviation};
  if (seen.slope != 0) first().learn_local(h, -gain * seen.slope / (1 + seen.curvature * gain * s));
}

double SecondOrder::deviation(Block& block, std::size_t row) const {
  if (!measures()) return std::sqrt(variance(block, row));
  Buffer<double> values(basis_.columns());
  basis_.values(block, row, values);
  const double inside = first().variance(first().pick(values)) + variance_between(block, row, values);
  return deviation_.at(local(values), inside, outside(block, row, values));
}

// The variance k . A k within the span, in the mean of several posteriors with the variance between their functions,
// and the prior's of the component outside it.
double SecondOrder::variance(Block& block, std::size_t row) const {
  Buffer<double> values(basis_.columns());
  basis_.values(block, row, values);
  double inside = 0.0;
  for (std::size_t e = 0; e < n_active(); ++e)
    inside += share_.weights()[e] * posteriors_[e].variance(posteriors_[e].pick(values));
  return inside + variance_between(block, row, values) + outside(block, row, values);
}

double SecondOrder::outside(Block& block, std::size_t row, std::span<const double> values) const {
  return std::max(0.0, place(values, kernel_with_itself(block, row)).novelty) / lam_;
}

double SecondOrder::variance_between(Block& block, std::size_t row, std::span<const double> values) const {
  if (n_active() == 1) return 0.0;
  std::vector<double> mean(outputs());
  std::vector<Scored> each(posteriors_.size(), Scored(outputs()));
  function_.score(basis_, block, row, mean, {});
  for (std::size_t e = 0; e < posteriors_.size(); ++e) score(posteriors_[e], values, each[e].f);
  return variance_between(each, mean);
}

// The variance between the functions of the posteriors, in units of the noise.
double SecondOrder::variance_between(const std::vector<Scored>& each, std::span<const double> mean) const {
  const double noise = task_ == Task::regression ? noise_variance() : 1.0;
  double between = 0.0;
  for (std::size_t e = 0; e < each.size(); ++e)
    for (std::size_t o = 0; o < mean.size(); ++o)
      between += share_.weights()[e] * (each[e].f[o] - mean[o]) * (each[e].f[o] - mean[o]);
  return noise > 0 ? between / noise : 0.0;
}

// Each posterior judges the row.
void SecondOrder::score_each(InHand& row) const {
  for (std::size_t e = 0; e < posteriors_.size(); ++e) {
    score(posteriors_[e], row.k, row.each[e].f);
    loss_.evaluate(row.each[e]);
  }
}

// The points that are not members add the same to the score of every posterior (see `set`).
void SecondOrder::score(const Posterior& posterior, std::span<const double> values, std::span<double> f) const {
  for (std::size_t o = 0; o < f.size(); ++o) {
    f[o] = isa::routines<double>().dot(values.data(), posterior.coefficients(o).data(), values.size());
    for (const std::size_t slot : dependent_points_) f[o] += function_.last_coefficient(slot, o) * values[slot];
  }
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
  archive.array("candidates", slots);
  archive.array("keys", keys);
  if (archive.loading()) {
    widen(outputs());
    reach();
    archive.require(keys.size() == slots.size(), "keys", "must hold one key for each candidate");
    candidates_.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) candidates_.push_back({static_cast<std::size_t>(slots[i]), keys[i]});
  }
  visit_members(archive, first(), slots);
  first().visit(archive, posteriors_.size() == 1);
  if (residuals_.are_kept()) archive.part("residuals", residuals_);
  archive.scalar("noise", noise_);
  archive.scalar("steps", steps_);
  archive.require(noise_ >= 0, "noise", "must not be negative");
  if (measures()) {
    archive.part("deviation", deviation_);
    std::vector<double> local = first().own_local();
    archive.array("local", local);
    archive.require(local.size() == first().columns(), "local", "must hold one number for each column");
    first().set_local(local);
  }
  if (archive.loading()) find_dependent_points();
  if (posteriors_.size() == 1) {
    for (std::size_t o = 0; o < outputs() && archive.loading(); ++o)
      for (std::size_t column = 0; column < first().columns(); ++column)
        first().set_coefficient(column, o, function_.last_coefficient(first().basis_column(column), o));
    return;
  }
  archive.part("share", share_);
  archive.part("recent_loss", recent_loss_);
  auto resting = static_cast<std::int64_t>(others_suspended_);
  archive.scalar("resting", resting);
  archive.require(resting == 0 || resting == 1, "resting", "must be 0 or 1");
  others_suspended_ = resting == 1;
  archive.scalar("due", due_);
  archive.require(due_ >= 0 && due_ <= 1, "due", "must be between 0 and 1");
  for (std::size_t e = 1; e < posteriors_.size(); ++e) {
    struct {
      SecondOrder& self;
      Posterior& posterior;
      void visit(Archive& inner) {
        self.visit_members(inner, posterior, {});
        for (const std::int64_t slot : posterior.members())
          inner.require(self.first().holds(static_cast<std::size_t>(slot)), "members", "must be members of the first");
        posterior.visit(inner, false);
      }
    } memory{*this, posteriors_[e]};
    archive.part("memory" + std::to_string(e), memory);
  }
}

// The slots of a posterior's points: each point has one, none is shared, and none is among `others`.
void SecondOrder::visit_members(Archive& archive, Posterior& posterior, const std::vector<std::int64_t>& others) {
  std::vector<std::int64_t> members = posterior.members();
  archive.array("members", members);
  if (!archive.loading()) return;
  std::vector<std::int64_t> used = members;
  used.insert(used.end(), others.begin(), others.end());
  std::sort(used.begin(), used.end());
  archive.require(std::adjacent_find(used.begin(), used.end()) == used.end(), "members",
                  "must not share a slot with each other or with the candidates");
  for (const std::int64_t slot : used)
    archive.require(slot >= static_cast<std::int64_t>(basis_.first_slot()) &&
                        slot < static_cast<std::int64_t>(basis_.end_slot()) &&
                        basis_.alive(static_cast<std::size_t>(slot)),
                    "members", "must hold, as the candidates, slots that have a point");
  posterior.set_members(std::move(members));
}

void SecondOrder::check_rows(std::int64_t t) const {
  if (function_.ticks() != t)
    throw std::invalid_argument("state 'update.function.ticks' must be the number of rows, " + std::to_string(t));
  if (steps_ < 0 || steps_ > t) throw std::invalid_argument("state 'update.steps' must be between 0 and the rows");
}

}  // namespace onkel
