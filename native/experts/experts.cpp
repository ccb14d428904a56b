#include "experts/experts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace onkel {
namespace {

constexpr std::size_t chunk = 512;  // rows that are routed at once when learning; when predicting, 8 times as many
constexpr std::size_t few = 4;      // rows of a call that are shown to all experts one by one

const Model::Continue always = [] { return true; };

// Rows of a view, whose values may be of either type.
Rows rows_from(const Rows& rows, std::size_t begin, std::size_t count, Type type) {
  Rows some = rows;
  some.count = count;
  if (rows.offsets != nullptr)
    some.offsets += begin;
  else
    some.values = static_cast<const std::byte*>(rows.values) + begin * rows.width * size_of(type);
  return some;
}

}  // namespace

std::size_t Experts::learn(const Batch& batch, Scores* scores, const Execution& execution,
                           const Continue& should_continue) {
  const std::lock_guard call(call_lock_);
  if (batch.positions != nullptr) throw std::invalid_argument("a learner of several experts is shown every row");
  if (scores != nullptr) {
    scores->outputs = outputs_after(batch);
    scores->values.assign(batch.rows.count * scores->outputs, 0.0);
  }
  for (std::size_t begin = 0; begin < batch.rows.count;) {
    if (begin > 0 && !should_continue()) return begin;
    const std::lock_guard turn(state_lock_);
    const std::size_t end = chunk_end(batch, begin);
    std::span<double> predicted;
    if (scores != nullptr) predicted = std::span(scores->values).subspan(begin * scores->outputs);
    learn_chunk(between(batch, begin, end, type()), predicted, scores == nullptr ? 0 : scores->outputs, execution);
    begin = end;
  }
  return batch.rows.count;
}

std::size_t Experts::outputs_after(const Batch& batch) const {
  std::size_t outputs = width();
  for (std::size_t i = 0; i < batch.rows.count && config().task == Task::multiclass; ++i)
    if (batch.weight == nullptr || batch.weight[i] != 0)
      outputs = std::max(outputs, static_cast<std::size_t>(batch.y[i]) + 1);
  return outputs;
}

// A row with a class that is not known yet begins a chunk, so that all experts know it from that row on.
std::size_t Experts::chunk_end(const Batch& batch, std::size_t begin) const {
  const std::size_t most = std::min(begin + chunk, batch.rows.count);
  if (config().task != Task::multiclass) return most;
  const auto outputs_with = [&](std::size_t row, std::size_t known) {
    const bool counts = batch.weight == nullptr || batch.weight[row] != 0;
    return counts ? std::max(known, static_cast<std::size_t>(batch.y[row]) + 1) : known;
  };
  const std::size_t known = outputs_with(begin, width());
  std::size_t end = begin + 1;
  while (end < most && outputs_with(end, known) == known) ++end;
  return end;
}

Model::Batch Experts::between(const Batch& batch, std::size_t begin, std::size_t end, Type type) {
  Batch some = batch;
  some.rows = rows_from(batch.rows, begin, end - begin, type);
  some.y += begin;
  if (some.weight != nullptr) some.weight += begin;
  return some;
}

// Rows that all experts of a region hold are not copied.
Experts::Routed Experts::routed(const Rows& rows) const {
  Routed routed{std::vector<std::size_t>(rows.count), std::vector<Part>(tree_.size())};
  for (std::size_t row = 0; row < rows.count; ++row) routed.leaves[row] = tree_.leaf_of(rows, type(), row);
  for (const Expert& expert : experts_) routed.parts[tree_.place_of(expert.region)].view.width = rows.width;
  for (std::size_t row = 0; row < rows.count; ++row)
    for (std::size_t place = routed.leaves[row]; place != Tree::none; place = tree_[place].parent)
      if (routed.parts[place].view.width > 0) routed.parts[place].rows.push_back(row);
  for (Part& part : routed.parts) {
    if (part.rows.size() == rows.count) {
      part.view = rows;
      continue;
    }
    const std::size_t bytes = size_of(type());
    const auto* values = static_cast<const std::byte*>(rows.values);
    const auto take = [&](std::size_t first, std::size_t n) {
      part.values.insert(part.values.end(), values + first * bytes, values + (first + n) * bytes);
    };
    if (rows.offsets != nullptr) part.offsets.push_back(0);
    for (const std::size_t row : part.rows) {
      if (rows.offsets == nullptr) {
        take(row * rows.width, rows.width);
        continue;
      }
      const auto first = static_cast<std::size_t>(rows.offsets[row]),
                 n = static_cast<std::size_t>(rows.offsets[row + 1]) - first;
      take(first, n);
      part.indices.insert(part.indices.end(), rows.indices + first, rows.indices + first + n);
      part.offsets.push_back(static_cast<std::int64_t>(part.indices.size()));
    }
    part.view = {part.values.data(), part.rows.size(), rows.width,
                 rows.offsets == nullptr ? nullptr : part.offsets.data(), part.indices.data()};
  }
  return routed;
}

Experts::Routed Experts::routed_to_learn(const Batch& batch) const {
  Routed found = routed(batch.rows);
  std::vector<std::int64_t> positions(batch.rows.count);
  std::int64_t next = t_;
  for (std::size_t row = 0; row < positions.size(); ++row) {
    positions[row] = next;
    if (batch.weight == nullptr || batch.weight[row] != 0) ++next;
  }
  for (Part& part : found.parts)
    for (const std::size_t row : part.rows) {
      part.y.push_back(batch.y[row]);
      part.weight.push_back(batch.weight == nullptr ? 1.0 : batch.weight[row]);
      part.positions.push_back(positions[row]);
    }
  return found;
}

// Each expert learns its rows, and `each` gets their scores from before. An expert that others hold too is copied by
// its task: copies take a sixth of the time of a stream with many regions, and threads share it. Where some fail, the
// first row at which one did is returned: others have learned beyond it.
std::optional<Experts::Failure> Experts::learn_parts(const Routed& routed, bool in_order, std::vector<Scores>* each,
                                                     const Execution& execution) {
  struct Share {
    std::size_t expert, place;
    double work;
  };
  std::vector<Share> tasks;
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const std::size_t place = tree_.place_of(experts_[e].region);
    const auto n = static_cast<double>(experts_[e].learner->size());
    const std::size_t rows = routed.parts[place].rows.size();
    if (rows > 0) tasks.push_back({e, place, static_cast<double>(rows) * (n + 1) * (n + 1)});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Share& a, const Share& b) { return a.work > b.work; });
  std::vector<std::optional<Failure>> failures(experts_.size());
  std::atomic<std::size_t> next{0};
  Team team(is_foreign() ? 1 : std::min(execution.threads, tasks.size()));
  const std::size_t threads = tasks.size() == 1 ? execution.threads : 1;
  team.run([&](std::size_t) {
    for (std::size_t i; (i = next.fetch_add(1)) < tasks.size();) {
      const Part& part = routed.parts[tasks[i].place];
      Shared& learner = experts_[tasks[i].expert].learner;
      const std::int64_t before = learner->t();
      const Batch batch{part.view, part.y.data(), part.weight.data(), in_order, part.positions.data()};
      try {
        learner.own().learn(batch, each == nullptr ? nullptr : &(*each)[tasks[i].expert],
                            {threads, execution.block_rows}, always);
      } catch (...) {
        std::int64_t learned = learner->t() - before;
        std::size_t row = 0;
        while (part.weight[row] == 0 || learned-- > 0) ++row;
        failures[tasks[i].expert] = {part.rows[row], std::current_exception()};
      }
    }
  });
  std::optional<Failure> first;
  for (const std::optional<Failure>& failure : failures)
    if (failure && (!first || failure->row < first->row)) first = failure;
  return first;
}

// The rows of a batch that brings no more than one class that is not known yet, with its first row.
void Experts::learn_chunk(const Batch& chunk_of, std::span<double> predicted, std::size_t stride,
                          const Execution& execution) {
  const std::size_t count = chunk_of.rows.count, before = width(), outputs = outputs_after(chunk_of);
  if (outputs > before)
    for (Expert& expert : experts_) expert.learner.own().widen(outputs);
  if (count <= few && !is_foreign()) {
    for (std::size_t row = 0; row < count; ++row)
      learn_one(between(chunk_of, row, row + 1, type()),
                predicted.empty() ? predicted : predicted.subspan(row * stride, outputs));
    return;
  }
  const Routed routed = routed_to_learn(chunk_of);
  const std::vector<Expert> begun = experts_;  // whoever learns leaves these as they are
  std::vector<Scores> each(experts_.size());
  for (std::size_t e = 0; e < each.size(); ++e)
    each[e].deviations.resize(routed.parts[tree_.place_of(experts_[e].region)].rows.size());
  std::optional<Failure> failure = learn_parts(routed, chunk_of.in_order, &each, execution);

  std::vector<std::size_t> next(experts_.size());  // the row of each expert that is next
  std::vector<double> scores, deviations;
  Scored scored(outputs);
  SumWeights::Judged judged;
  for (std::size_t row = 0; row < (failure ? failure->row : count); ++row) {
    const Leaf& leaf = leaf_at(routed.leaves[row]);
    scores.clear();
    deviations.clear();
    for (const std::size_t e : leaf.path) {
      const Scores& own = each[e];
      deviations.push_back(own.deviations[next[e]]);
      const auto first = own.values.begin() + static_cast<std::ptrdiff_t>(next[e]++ * outputs);
      scores.insert(scores.end(), first, first + static_cast<std::ptrdiff_t>(outputs));
    }
    if (!predicted.empty()) leaf.sum.add_up(scores, predicted.subspan(row * stride, outputs));
    const double weight = chunk_of.weight == nullptr ? 1.0 : chunk_of.weight[row];
    if (weight == 0) continue;
    try {
      judge(leaf, scores, chunk_of.y[row], weight, scored, judged);
    } catch (const Diverged&) {
      failure = {row, std::current_exception()};
      break;
    }
    count_row(routed.leaves[row], judged, deviations, weight);
  }
  if (!failure) return;
  // As if nobody had seen the row that failed, nor any after it.
  std::int64_t learned = 0;
  for (std::size_t row = 0; row < failure->row; ++row)
    learned += chunk_of.weight == nullptr || chunk_of.weight[row] != 0 ? 1 : 0;
  experts_ = begun;
  t_ -= learned;  // the weights have moved already; positions are counted from here once more
  const Routed again = routed_to_learn(between(chunk_of, 0, failure->row, type()));
  t_ += learned;
  learn_parts(again, chunk_of.in_order, nullptr, execution);
  std::rethrow_exception(failure->error);
}

// One row: all experts of its path prepare, which finds whatever is wrong with it, before any of them changes.
void Experts::learn_one(const Batch& one, std::span<double> predicted) {
  const std::size_t place = tree_.leaf_of(one.rows, type(), 0), outputs = width();
  const Leaf& leaf = leaf_at(place);
  std::vector<double> scores(leaf.path.size() * outputs);
  const double weight = one.weight == nullptr ? 1.0 : one.weight[0];
  Batch shown = one;
  shown.positions = &t_;
  for (std::size_t i = 0; i < leaf.path.size(); ++i) {
    Shared& learner = experts_[leaf.path[i]].learner;
    const std::span<double> own(scores.data() + i * outputs, outputs);
    if (weight != 0)
      learner.own().prepare(shown, own);
    else if (!predicted.empty())
      std::ranges::copy(learner->score(one.rows, false, {}, always).values, own.begin());
  }
  if (!predicted.empty()) leaf.sum.add_up(scores, predicted);
  if (weight == 0) return;
  Scored scored(outputs);
  SumWeights::Judged judged;
  judge(leaf, scores, one.y[0], weight, scored, judged);
  std::vector<double> deviations;
  for (const std::size_t e : leaf.path) {
    experts_[e].learner.own().commit();
    deviations.push_back(experts_[e].learner->measured());
  }
  count_row(place, judged, deviations, weight);
}

void Experts::judge(const Leaf& leaf, std::span<const double> each, double y, double weight, Scored& row,
                    SumWeights::Judged& judged) const {
  row.y = config().task == Task::binary ? 2 * y - 1 : y;
  row.weight = weight;
  row.position = t_;
  leaf.sum.judge(loss_, each, row, judged);
}

void Experts::count_row(std::size_t place, const SumWeights::Judged& judged, std::span<const double> deviations,
                        double weight) {
  Leaf& leaf = *by_place_[place];
  if (config().task == Task::regression) leaf.sum.measure(judged, deviations);
  leaf.sum.move(judged, weight, config().task);
  leaf.sum.weights.remember(++leaf.rows);
  leaf.losses += judged.loss;
  ++leaf.judged;
  tree_.count(place);
  ++t_;
}

bool Experts::is_foreign() const {
  return std::ranges::any_of(experts_, [](const Expert& expert) { return expert.learner->is_foreign(); });
}

Model::Scores Experts::score(const Rows& rows, bool each, const Execution& execution,
                             const Continue& should_continue) const {
  const std::lock_guard turn(state_lock_);
  const std::size_t outputs = width(), columns = each ? experts_.size() * outputs : outputs;
  Scores scores{std::vector<double>(rows.count * columns), columns};
  for (std::size_t begin = 0; begin < rows.count; begin += 8 * chunk) {
    if (begin > 0 && !should_continue()) break;
    const Rows some = rows_from(rows, begin, std::min(8 * chunk, rows.count - begin), type());
    const Routed routed = this->routed(some);
    for (const std::size_t e : order_) {
      const Part& part = routed.parts[tree_.place_of(experts_[e].region)];
      if (part.rows.empty()) continue;
      const Scores own = experts_[e].learner->score(part.view, false, execution, should_continue);
      for (std::size_t i = 0; i < part.rows.size(); ++i) {
        const double* from = own.values.data() + i * outputs;
        double* to = scores.values.data() + (begin + part.rows[i]) * columns;
        if (each) {
          std::copy_n(from, outputs, to + e * outputs);
          continue;
        }
        const Leaf& leaf = leaf_at(routed.leaves[part.rows[i]]);
        const auto place = std::ranges::find(leaf.path, e) - leaf.path.begin();
        for (std::size_t o = 0; o < outputs; ++o) to[o] += leaf.sum.weights[static_cast<std::size_t>(place)] * from[o];
      }
    }
  }
  return scores;
}

// Before the weights have moved, it is that of the experts.
double Experts::noise_of(const Leaf& leaf) const {
  if (leaf.sum.moves() > 0) return leaf.sum.noise();
  double mean = 0.0;
  for (std::size_t i = 0; i < leaf.path.size(); ++i)
    mean += leaf.sum.weights[i] * experts_[leaf.path[i]].learner->noise_variance();
  return mean;
}

std::vector<double> Experts::variance(const Rows& rows) const {
  const std::lock_guard turn(state_lock_);
  const bool regression = config().task == Task::regression;
  const Routed routed = this->routed(rows);
  std::vector<double> deviations(rows.count);
  for (const std::size_t e : order_) {
    const Part& part = routed.parts[tree_.place_of(experts_[e].region)];
    if (part.rows.empty()) continue;
    const std::vector<double> own = experts_[e].learner->variance(part.view);
    const double unit = regression ? experts_[e].learner->noise_variance() : 1.0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Leaf& leaf = leaf_at(routed.leaves[part.rows[i]]);
      const auto place = std::ranges::find(leaf.path, e) - leaf.path.begin();
      deviations[part.rows[i]] += leaf.sum.weights[static_cast<std::size_t>(place)] * std::sqrt(unit * own[i]);
    }
  }
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double noise = regression ? noise_of(leaf_at(routed.leaves[row])) : 1.0;
    deviations[row] = noise > 0 ? deviations[row] * deviations[row] / noise : 0.0;
  }
  return deviations;
}

std::vector<double> Experts::deviation(const Rows& rows) const {
  const std::lock_guard turn(state_lock_);
  const Routed routed = this->routed(rows);
  std::vector<std::vector<double>> each(rows.count);  // of each row's path
  for (std::size_t row = 0; row < rows.count; ++row) each[row].resize(leaf_at(routed.leaves[row]).path.size());
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const Part& part = routed.parts[tree_.place_of(experts_[e].region)];
    if (part.rows.empty()) continue;
    const std::vector<double> own = experts_[e].learner->deviation(part.view);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto& path = leaf_at(routed.leaves[part.rows[i]]).path;
      each[part.rows[i]][static_cast<std::size_t>(std::ranges::find(path, e) - path.begin())] = own[i];
    }
  }
  std::vector<double> deviations;
  for (std::size_t row = 0; row < rows.count; ++row)
    deviations.push_back(leaf_at(routed.leaves[row]).sum.deviation(each[row]));
  return deviations;
}

double Experts::noise_variance() const {
  const std::lock_guard turn(state_lock_);
  double sum = 0.0, rows = 0.0;
  for (const auto& [region, leaf] : leaves_) {
    const double n = static_cast<double>(std::max<std::int64_t>(1, leaf.sum.moves()));
    sum += n * noise_of(leaf);
    rows += n;
  }
  return sum / rows;
}

std::vector<double> Experts::noise_at(const Rows& rows) const {
  const std::lock_guard turn(state_lock_);
  std::vector<double> noise(tree_.size()), found(rows.count);
  for (std::size_t place = 0; place < tree_.size(); ++place)
    if (tree_[place].is_leaf()) noise[place] = noise_of(leaf_at(place));
  for (std::size_t row = 0; row < rows.count; ++row) found[row] = noise[tree_.leaf_of(rows, type(), row)];
  return found;
}

}  // namespace onkel
