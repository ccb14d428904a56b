#include "experts/hedge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

constexpr double least_weight = 1e-4;  // the smallest weight by which a distance is divided, in a sum
constexpr std::size_t unbounded = std::size_t{1} << 60;
// The fraction of the second-order work of a sum that is divided evenly among its learners, whatever their weights.
constexpr double evenly = 0.25;

bool all_look_ahead(const std::vector<Hedge::Member>& members) {
  return std::all_of(members.begin(), members.end(), [](const Hedge::Member& member) {
    return member.learner->looks_ahead() && member.view->max_rows() > 1;
  });
}

}  // namespace

Hedge::Hedge(const HedgeConfig& config, Loss loss, Task task, std::unique_ptr<Pool> pool, std::vector<Member> members,
             std::size_t budget, const Draws& draws)
    : config_(config),
      loss_(std::move(loss)),
      task_(task),
      pool_(std::move(pool)),
      members_(std::move(members)),
      budget_(budget),
      by_blocks_(config.combination != Combination::stochastic && all_look_ahead(members_)),
      draws_(draws),
      log_discount_(std::log(config.discount)),
      sum_(members_.size(), config.combination == Combination::uniform ? 0.0 : config.share, loss_.narrow()),
      errors_(members_.size()) {
  find_informed();
  scores_.resize(members_.size() * outputs());
  limit_points();
  if (is_informed()) divide_budget();
}

// Between two rows: what is prepared is not copied.
Hedge::Hedge(const Hedge& other, Basis& points)
    : config_(other.config_),
      loss_(other.loss_),
      task_(other.task_),
      pool_(std::make_unique<Pool>(*other.pool_, points)),
      budget_(other.budget_),
      by_blocks_(other.by_blocks_),
      total_(other.total_),
      draws_(other.draws_),
      log_discount_(other.log_discount_),
      sum_(other.sum_),
      lowest_(other.lowest_),
      highest_(other.highest_),
      scores_(other.scores_.size()),
      errors_(other.errors_.size()) {
  for (const Member& member : other.members_) {
    auto view = member.view->clone_over(*pool_);
    auto learner = member.learner->clone(*view);
    members_.push_back({std::move(view), std::move(learner), member.number, member.seen});
  }
  find_informed();
}

void Hedge::find_informed() {
  for (Member& member : members_) member.informed = member.learner->faces().informed;
}

Faces Hedge::faces() {
  if (!is_informed()) return {.ensemble = this};
  return {.ensemble = this, .uncertain = this, .sum = this};
}

void Hedge::widen(std::size_t outputs) {
  for (Member& member : members_) member.learner->widen(outputs);
  scores_.resize(members_.size() * outputs);
}

void Hedge::predict(Block& block, std::size_t row, std::span<double> predicted) const {
  std::vector<double> scores(members_.size() * outputs());
  predict_each(block, row, scores);
  vote(scores, predicted);
}

void Hedge::predict_each(Block& block, std::size_t row, std::span<double> scores) const {
  // Stored after the scores of learning, which a row without weight must not disturb.
  const std::size_t m = members_.size();
  block.views.resize(2 * m);
  for (std::size_t i = 0; i < m; ++i) {
    members_[i].view->project(block, row, block.views[m + i]);
    members_[i].learner->predict(block.views[m + i], 0, scores.subspan(i * outputs(), outputs()));
  }
}

// Two classes: sum of theta_i sign f_i. Several: each votes for its strongest class, and for none where all scores are
// 0. Regression, and a sum of any kind: the weighted mean.
void Hedge::vote(std::span<const double> scores, std::span<double> predicted) const {
  const std::size_t outputs = predicted.size();
  std::fill(predicted.begin(), predicted.end(), 0.0);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto own = scores.subspan(i * outputs, outputs);
    if (sums() || task_ == Task::regression) {
      for (std::size_t o = 0; o < outputs; ++o) predicted[o] += sum_.weights[i] * own[o];
    } else if (task_ == Task::binary) {
      predicted[0] += own[0] > 0 ? sum_.weights[i] : own[0] < 0 || config_.zero_votes ? -sum_.weights[i] : 0.0;
    } else if (std::any_of(own.begin(), own.end(), [](double score) { return score != 0; })) {
      predicted[static_cast<std::size_t>(std::max_element(own.begin(), own.end()) - own.begin())] += sum_.weights[i];
    }
  }
}

// p_i = (1 - delta) theta_i / max theta + delta
double Hedge::visit_probability(std::size_t i) const {
  return (1 - config_.smoothing) * sum_.weights.relative(i) + config_.smoothing;
}

bool Hedge::visits(std::size_t i, std::int64_t t) const {
  return config_.combination != Combination::stochastic ||
         Draws{draws_.seed, members_[i].number}.uniform(t, Purpose::visit) < visit_probability(i);
}

// The error of the last function of a member, from 0 to 1. The paper writes y f < 0, but the proof of its Theorem 5.3
// holds, and most of its figures are reproduced, only if a score of 0 is a mistake: otherwise a kernel too narrow to
// predict anything keeps the largest weight.
double Hedge::error(std::span<const double> f, double y, double range) const {
  if (task_ == Task::binary) return y * f[0] < 0 || (f[0] == 0 && !config_.zero_votes) ? 1.0 : 0.0;
  if (task_ == Task::multiclass) {
    const auto label = static_cast<std::size_t>(y);
    for (std::size_t o = 0; o < f.size(); ++o)
      if (o != label && f[label] <= f[o]) return 1.0;
    return 0.0;
  }
  return range > 0 ? std::min(1.0, loss_.error(f[0], y, range)) : 0.0;
}

// All members judge the row before any of them changes.
void Hedge::prepare(const Example& example, std::span<double> predicted) {
  const std::size_t m = members_.size();
  example.block.views.resize(2 * m);
  prepared_.visited.clear();
  prepared_.t = example.t;
  prepared_.weight = example.weight;
  // The range of the targets so far, including this one.
  prepared_.lowest = example.t == 1 ? example.y : std::min(lowest_, example.y);
  prepared_.highest = example.t == 1 ? example.y : std::max(highest_, example.y);
  for (std::size_t i = 0; i < m; ++i) {
    const bool visited = visits(i, example.t);
    if (!visited && predicted.empty()) continue;
    Block& own = example.block.views[i];
    const View& view = *members_[i].view;
    const std::size_t first = by_blocks_ ? 0 : example.row;  // the first row of the member's own block
    if (!by_blocks_)
      view.project(example.block, example.row, own);
    else if (!View::shows_all_of(own, example.block))
      view.project(example.block, own);
    const auto scores = predicted.empty() ? predicted : std::span(scores_).subspan(i * outputs(), outputs());
    if (!visited) {
      members_[i].learner->predict(own, 0, scores);
      continue;
    }
    prepared_.visited.push_back(i);
    members_[i].learner->prepare(
        {.block = own,
         .row = example.row - first,
         .position = example.position,
         .t = members_[i].seen + 1,
         .y = example.y,
         .weight = example.weight,
         .gate = config_.combination == Combination::spa ? visit_probability(i) : 1.0,
         .in_order = example.in_order,
         .block_y = example.block_y + first,
         .block_weight = example.block_weight == nullptr ? nullptr : example.block_weight + first,
         .team = example.team},
        scores);
    errors_[i] = error(members_[i].learner->prepared_scores(), example.y, prepared_.highest - prepared_.lowest);
  }
  if (sums()) evaluate_sum(example);
  if (!predicted.empty()) vote(scores_, predicted);
}

void Hedge::commit() {
  for (const std::size_t i : prepared_.visited) {
    ++members_[i].seen;
    with_budget(members_[i], [&] { members_[i].learner->commit(); });
  }
  lowest_ = prepared_.lowest;
  highest_ = prepared_.highest;
  if (sums()) {
    measure();
    if (prepared_.t > config_.start) sum_.move(prepared_.judged, prepared_.weight, task_);
    share_budget(prepared_.t);
  } else if (config_.combination != Combination::uniform) {
    for (const std::size_t i : prepared_.visited) sum_.weights.add(i, prepared_.weight * errors_[i] * log_discount_);
    sum_.weights.move();
  }
  sum_.weights.remember(prepared_.t);
}

void Hedge::evaluate_sum(const Example& example) {
  const std::size_t n = outputs();
  std::vector<double> each(members_.size() * n);
  for (std::size_t i = 0; i < members_.size(); ++i)
    std::copy_n(members_[i].learner->prepared_scores().begin(), n, each.begin() + static_cast<std::ptrdiff_t>(i * n));
  Scored row(n);
  row.begin(example, pool_->points());
  sum_.judge(loss_, each, row, prepared_.judged);
}

void Hedge::limit_points() {
  if (is_informed() && budget_ < unbounded) pool_->set_limit(whole_budget());
}

// The work of a second-order learner grows with the square of its number of points: all of them together have the work
// of one learner with the whole budget, divided by their weights. A point that several of them use counts once.
void Hedge::divide_budget() {
  if (budget_ >= unbounded) return;
  const auto m = static_cast<double>(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double points = static_cast<double>(whole_budget()) * std::sqrt(evenly / m + (1 - evenly) * sum_.weights[i]);
    members_[i].learner->set_budget(std::clamp<std::size_t>(static_cast<std::size_t>(points), 1, whole_budget()));
  }
}

// Learners that know their uncertainty can give points up, and do so whenever the number of rows has doubled.
void Hedge::share_budget(std::int64_t t) {
  if (!is_informed() || t <= config_.start || (t & (t - 1)) != 0) return;
  divide_budget();
  for (Member& member : members_)
    if (member.view->size() > member.learner->budget()) member.informed->eliminate(0.0, member.learner->budget());
}

const Informed& Hedge::heaviest() const {
  const std::vector<double>& weights = sum_.weights.values();
  const auto found = std::max_element(weights.begin(), weights.end()) - weights.begin();
  return *members_[static_cast<std::size_t>(found)].informed;
}

Informed::Displacement Hedge::eliminate(double max_distance, std::size_t max_points) {
  if (!is_informed())
    throw std::invalid_argument("this learner keeps no information: its kernels vote, or it takes first-order steps");
  const std::size_t m = members_.size();
  std::size_t all = 0;
  for (const Member& member : members_) all += member.view->size();
  Informed::Displacement moved{0.0, 0.0};
  for (std::size_t i = 0; i < m; ++i) {
    Member& member = members_[i];
    const std::size_t kept = max_points >= all ? all : std::max<std::size_t>(1, max_points * member.view->size() / all);
    const double own = max_distance / (std::max(sum_.weights[i], least_weight) * std::sqrt(static_cast<double>(m)));
    const Informed::Displacement part = member.informed->eliminate(own, kept);
    moved.data += sum_.weights[i] * sum_.weights[i] * part.data;
    moved.rkhs += sum_.weights[i] * sum_.weights[i] * part.rkhs;
    if (max_points < unbounded) member.learner->set_budget(kept);
  }
  if (max_points < unbounded) budget_ = std::max<std::size_t>(1, max_points / m);
  limit_points();
  return moved;
}

bool Hedge::is_informed() const {
  return sums() &&
         std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.informed != nullptr; });
}

double Hedge::variance(Block& block, std::size_t row) const {
  block.views.resize(members_.size());
  double deviation = 0.0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].view->project(block, row, block.views[i]);
    const Informed& learner = *members_[i].informed;
    const double unit = task_ == Task::regression ? learner.noise_variance() : 1.0;
    deviation += sum_.weights[i] * std::sqrt(unit * learner.variance(block.views[i], 0));
  }
  const double noise = task_ == Task::regression ? noise_variance() : 1.0;
  return noise > 0 ? deviation * deviation / noise : 0.0;
}

double Hedge::deviation(Block& block, std::size_t row) const {
  if (task_ != Task::regression) return std::sqrt(variance(block, row));
  block.views.resize(members_.size());
  std::vector<double> each;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].view->project(block, row, block.views[i]);
    each.push_back(members_[i].informed->deviation(block.views[i], 0));
  }
  return sum_.deviation(each);
}

void Hedge::measure() {
  measured_.reset();
  if (!is_informed() || task_ != Task::regression) return;
  std::vector<double> each;
  for (const Member& member : members_) {
    const auto own = member.informed->measured();
    if (!own) return;
    each.push_back(own->deviation);
  }
  measured_ = {prepared_.judged.residual, sum_.deviation(each)};
  sum_.measure(prepared_.judged, each);
}

// Before the weights have moved, it is that of the terms.
double Hedge::noise_variance() const {
  if (sum_.moves() > 0) return sum_.noise();
  double mean = 0.0;
  for (std::size_t i = 0; i < members_.size(); ++i) mean += sum_.weights[i] * members_[i].informed->noise_variance();
  return mean;
}

// A common budget: the member may use what the others leave. Where its eviction raises the budget, the common budget is
// raised.
template <class Work>
void Hedge::with_budget(Member& member, const Work& work) {
  if (config_.combination != Combination::stochastic && config_.combination != Combination::spa) {
    work();
    return;
  }
  const std::size_t others = total_ - member.view->size();
  const std::size_t room = budget_ > others ? budget_ - others : 0;
  member.learner->set_budget(room);
  work();
  budget_ += member.learner->budget() - room;
  member.learner->set_budget(budget_);
  total_ = others + member.view->size();
}

void Hedge::count() {
  total_ = 0;
  for (const Member& member : members_) total_ += member.view->size();
}

void Hedge::flush(std::int64_t) {
  for (Member& member : members_) with_budget(member, [&] { member.learner->flush(member.seen); });
}

std::vector<double> Hedge::coefficients(std::size_t function, std::size_t output, Which which) const {
  const Basis& points = pool_->points();
  std::vector<double> pooled(points.end_slot() - points.first_slot());
  members_[function].view->scatter(members_[function].learner->coefficients(0, output, which), pooled);
  return pooled;
}

double Hedge::fixed(std::size_t function, std::size_t column, std::size_t output, Which which) const {
  return members_[function].learner->fixed(0, column, output, which);
}

// The squared norm of sum_i theta_i f_i in the direct sum of the kernels' spaces.
double Hedge::norm_squared() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < members_.size(); ++i)
    sum += sum_.weights[i] * sum_.weights[i] * members_[i].learner->norm_squared();
  return sum;
}

std::vector<std::int64_t> Hedge::sizes() const {
  std::vector<std::int64_t> sizes;
  for (const Member& member : members_) sizes.push_back(static_cast<std::int64_t>(member.view->size_with_ghosts()));
  return sizes;
}

void Hedge::keep(const std::vector<std::size_t>& functions) {
  std::vector<Member> kept;
  for (const std::size_t i : functions) kept.push_back(std::move(members_[i]));
  for (Member& member : members_)
    for (std::size_t slot = 0; member.view && slot < member.view->end_slot(); ++slot)
      if (slot >= member.view->first_slot() && member.view->born(slot) >= 0) member.view->erase(slot, false);
  members_ = std::move(kept);
  sum_.weights.keep(functions);
  errors_.resize(members_.size());
  scores_.resize(members_.size() * outputs());
  count();
  limit_points();
}

std::vector<Sum::Part> Hedge::parts() const {
  std::vector<Part> parts;
  for (const Member& member : members_) parts.push_back({*member.view, *member.informed, member.learner->budget()});
  return parts;
}

void Hedge::limit_memories(std::size_t budget) {
  for (Member& member : members_) member.informed->limit_memories(budget);
}

// Points born at the same row are held once.
void Hedge::join(Basis& points, std::span<const Part> parts, std::int64_t t, std::span<const double> weights,
                 double noise, bool moved, const Sum* like) {
  const std::size_t m = members_.size();
  std::map<std::int64_t, std::pair<const Basis*, std::size_t>> first;
  for (const Part& part : parts)
    for (const std::size_t slot : part.basis.held_slots()) first.try_emplace(part.basis.born(slot), &part.basis, slot);
  std::map<std::int64_t, std::size_t> pooled;
  for (const auto& [birth, place] : first) pooled[birth] = points.take_point(*place.first, place.second);
  for (std::size_t i = 0; i < m; ++i) {
    Member& member = members_[i];
    std::vector<std::size_t> places;
    for (const std::size_t slot : parts[i].basis.held_slots()) places.push_back(pooled[parts[i].basis.born(slot)]);
    member.view->take_over(parts[i].basis, places);
    member.informed->take(parts[i].learner);
    member.seen = t;
  }
  scores_.resize(m * outputs());
  // A logarithm and its exponential cost bits.
  if (like != nullptr && std::ranges::equal(weights, like->weights()))
    sum_.weights.set_logs(like->log_weights());
  else
    sum_.weights.set(weights);
  if (const auto* same = dynamic_cast<const Hedge*>(like)) sum_.take_factor(same->sum_);
  sum_.set_noise(noise, moved ? t : 0);
  sum_.weights.fill_history(t);
  // The budget of each is that of terms of equal weight, and at least what it has.
  for (Member& member : members_) {
    const double share = static_cast<double>(std::min(budget_, unbounded)) * std::sqrt(static_cast<double>(m));
    member.learner->set_budget(std::max({std::size_t{1}, member.view->size_with_ghosts(),
                                         budget_ < unbounded ? static_cast<std::size_t>(share) : budget_}));
  }
  limit_points();
  count();
}

void Hedge::Member::visit(Archive& archive) {
  archive.scalar("seen", seen);
  archive.part("basis", *view);
  archive.part("learner", *learner);
}

void Hedge::visit(Archive& archive) {
  auto budget = static_cast<std::int64_t>(budget_);
  archive.scalar("budget", budget);
  archive.require(budget >= 1, "budget", "must be positive");
  budget_ = static_cast<std::size_t>(budget);
  if (sums()) {
    sum_.visit(archive);
    std::vector<std::int64_t> budgets;
    for (const Member& member : members_) budgets.push_back(static_cast<std::int64_t>(member.learner->budget()));
    archive.array("budgets", budgets);
    archive.require(budgets.size() == members_.size() &&
                        std::all_of(budgets.begin(), budgets.end(), [](std::int64_t b) { return b >= 1; }),
                    "budgets", "must hold one positive number for each kernel");
    for (std::size_t i = 0; i < members_.size(); ++i)
      members_[i].learner->set_budget(static_cast<std::size_t>(budgets[i]));
  } else {
    sum_.weights.visit(archive);
  }
  if (task_ == Task::regression) {
    archive.scalar("lowest", lowest_);
    archive.scalar("highest", highest_);
  }
  for (Member& member : members_) archive.part("kernel" + std::to_string(member.number), member);
  if (!archive.loading()) return;
  pool_->check_holders();
  const std::size_t width = outputs();
  for (const Member& member : members_)
    archive.require(member.learner->outputs() == width, "kernels", "must have the same number of outputs");
  scores_.resize(members_.size() * width);
  limit_points();
  count();
}

void Hedge::check_rows(std::int64_t t) const {
  for (const Member& member : members_) {
    if (member.seen < 0 || member.seen > t || (member.seen != t && config_.combination != Combination::stochastic))
      throw std::invalid_argument("state 'update.seen' must be the number of rows that a kernel's learner saw");
    member.learner->check_rows(member.seen);
    member.view->check_births(t);
  }
  sum_.weights.check_rows(t);
}

}  // namespace onkel
