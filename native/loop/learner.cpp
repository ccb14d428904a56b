#include "loop/learner.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

constexpr std::size_t unbounded = std::size_t{1} << 60;
constexpr std::int64_t max_rows = std::int64_t{1} << 62;

using History = std::pair<std::vector<std::int64_t>, std::vector<double>>;

// The positions of a history in the stream, counted from `origin` on.
History since(std::int64_t origin, History history) {
  for (std::int64_t& row : history.first) row += origin;
  return history;
}

bool has_foreign_part(const Config& config) {
  return config.recipe.is_foreign() || std::any_of(config.kernels.begin(), config.kernels.end(),
                                                   [](const KernelConfig& kernel) { return bool(kernel.function); });
}

}  // namespace

Learner::Learner(const Config& config, Maker make) : Learner(config, make, make(config)) {}

Learner::Learner(const Config& config, Maker make, Made made)
    : config_(config),
      make_(make),
      foreign_(has_foreign_part(config)),
      basis_(std::move(made.basis)),
      update_(std::move(made.update)),
      faces_(update_->faces()) {
  config_.weights = basis_->n_weights() > 0;
}

// The number of the block goes on: what was computed for one is not taken for another.
Learner::Learner(const Learner& other)
    : config_(other.config_),
      make_(other.make_),
      foreign_(other.foreign_),
      basis_(other.basis_->clone()),
      update_(other.update_->clone(*basis_)),
      faces_(update_->faces()),
      origin_(other.origin_),
      t_(other.t_),
      skipped_(other.skipped_) {
  block_.number = other.block_.number;
}

std::unique_ptr<Learner> Learner::clone() const {
  const std::lock_guard turn(state_lock_);
  return std::unique_ptr<Learner>(new Learner(*this));
}

std::size_t Learner::learn(const Batch& batch, Scores* scores, const Execution& execution,
                           const Continue& should_continue) {
  const std::lock_guard call(call_lock_);
  check_positions(batch);
  if (scores != nullptr) {
    scores->outputs = outputs_after(batch);
    scores->values.assign(batch.rows.count * scores->outputs, 0.0);
  }
  Team team(batch.rows.count < execution.block_rows ? 1 : execution.threads);
  // Who looks ahead finds few rows in a block that are worth it.
  const std::size_t rows_ahead = update_->looks_ahead() ? 2 * execution.block_rows : execution.block_rows,
                    step = basis_->rows_at_once(rows_ahead, update_->looks_ahead());
  for (std::size_t begin = 0; begin < batch.rows.count; begin += step) {
    if (begin > 0 && !should_continue()) return begin;
    const std::lock_guard turn(state_lock_);
    fill_block(batch, begin, std::min(step, batch.rows.count - begin), team);
    for (std::size_t row = 0; row < block_.count; ++row) all_or_nothing([&] { learn_row(batch, row, scores, team); });
  }
  return batch.rows.count;
}

void Learner::check_positions(const Batch& batch) const {
  if (batch.positions == nullptr) return;
  std::int64_t next = origin_ + t_ + skipped_;
  for (std::size_t i = 0; i < batch.rows.count; ++i) {
    if (batch.weight != nullptr && batch.weight[i] == 0) continue;
    if (batch.positions[i] < next || batch.positions[i] >= max_rows)
      throw std::invalid_argument("the positions of rows must ascend, from that of the next row on");
    next = batch.positions[i] + 1;
  }
}

// Of a row that counts; from `origin_` on.
std::int64_t Learner::position_of(const Batch& batch, std::size_t row) const {
  return batch.positions == nullptr ? t_ + skipped_ : batch.positions[row] - origin_;
}

void Learner::fill_block(const Batch& batch, std::size_t begin, std::size_t count, Team& team) {
  basis_->tile(batch.rows, begin, count, block_, team);
  ++block_.number;
  block_y_.assign(batch.y + begin, batch.y + begin + block_.count);
  if (config_.task == Task::binary)
    for (double& y : block_y_) y = 2 * y - 1;
}

// A row of the present block.
void Learner::learn_row(const Batch& batch, std::size_t row, Scores* scores, Team& team) {
  const std::size_t i = block_.begin + row;
  const double* block_weight = batch.weight == nullptr ? nullptr : batch.weight + block_.begin;
  const double weight = block_weight == nullptr ? 1.0 : block_weight[row];
  const double y = block_y_[row];
  if (config_.task == Task::multiclass && y >= static_cast<double>(update_->outputs()) && weight != 0)
    update_->widen(static_cast<std::size_t>(y) + 1);
  std::span<double> predicted;
  if (scores != nullptr) predicted = {scores->values.data() + i * scores->outputs, update_->outputs()};
  if (weight == 0) {
    if (!predicted.empty()) update_->predict(block_, row, predicted);
    return;
  }
  const std::int64_t position = position_of(batch, i);
  update_->prepare({.block = block_,
                    .row = row,
                    .position = position,
                    .t = t_ + 1,
                    .y = y,
                    .weight = weight,
                    .in_order = batch.in_order,
                    .block_y = block_y_.data(),
                    .block_weight = block_weight,
                    .team = &team},
                   predicted);
  update_->commit();
  count_row(position);
  if (scores != nullptr && !scores->deviations.empty()) scores->deviations[i] = measured();
}

double Learner::measured() const {
  const auto measured = faces_.uncertain == nullptr ? std::nullopt : faces_.uncertain->measured();
  return measured ? measured->deviation : 0.0;
}

void Learner::count_row(std::int64_t position) {
  ++t_;
  skipped_ = position + 1 - t_;
}

void Learner::prepare(const Batch& batch, std::span<double> predicted) {
  Team alone(1);
  fill_block(batch, 0, 1, alone);
  prepared_ = position_of(batch, 0);
  update_->prepare({.block = block_,
                    .row = 0,
                    .position = prepared_,
                    .t = t_ + 1,
                    .y = block_y_[0],
                    .weight = batch.weight == nullptr ? 1.0 : batch.weight[0],
                    .in_order = batch.in_order,
                    .block_y = block_y_.data(),
                    .block_weight = batch.weight,
                    .team = nullptr},
                   predicted);
}

void Learner::commit() {
  update_->commit();
  count_row(prepared_);
}

// The core's own parts fail, if at all, before they change anything. Code from outside the core may fail at every call.
template <class Work>
void Learner::all_or_nothing(const Work& work) {
  if (!foreign_) return work();
  Learner before(*this);
  try {
    work();
  } catch (...) {
    adopt(std::move(before));
    throw;
  }
}

// The number of outputs once these rows are learned from.
std::size_t Learner::outputs_after(const Batch& batch) const {
  std::size_t outputs = update_->outputs();
  for (std::size_t i = 0; i < batch.rows.count && config_.task == Task::multiclass; ++i)
    if (batch.weight == nullptr || batch.weight[i] != 0)
      outputs = std::max(outputs, static_cast<std::size_t>(batch.y[i]) + 1);
  return outputs;
}

Learner::Scores Learner::score(const Rows& rows, bool each, const Execution& execution,
                               const Continue& should_continue) const {
  const std::lock_guard turn(state_lock_);
  const Ensemble* each_of = each ? &ensemble() : nullptr;
  const std::size_t outputs = update_->outputs() * (each ? update_->functions() : 1),
                    step = basis_->rows_at_once(execution.block_rows);
  Scores scores{std::vector<double>(rows.count * outputs), outputs};
  // Each thread takes the next free block; only the caller's thread asks whether to continue.
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  Team team(rows.count < 2 * execution.block_rows ? 1 : execution.threads);
  team.run([&](std::size_t member) {
    Team alone(1);
    Block block;
    for (std::size_t begin; (begin = next.fetch_add(execution.block_rows)) < rows.count && !stopped;) {
      if (member == 0 && begin > 0 && !should_continue()) stopped = true;
      const std::size_t end = stopped ? begin : std::min(rows.count, begin + execution.block_rows);
      for (std::size_t first = begin; first < end; first += step) {
        basis_->tile(rows, first, std::min(step, end - first), block, alone);
        for (std::size_t row = 0; row < block.count; ++row) {
          const std::span<double> out{scores.values.data() + (first + row) * outputs, outputs};
          each_of != nullptr ? each_of->predict_each(block, row, out) : update_->predict(block, row, out);
        }
      }
    }
  });
  return scores;
}

// A value of each row that the update knows.
template <class Value>
std::vector<double> Learner::of_each(const Rows& rows, const Value& value) const {
  const std::lock_guard turn(state_lock_);
  const Uncertain& update = uncertain();
  const std::size_t step = basis_->rows_at_once(Execution{}.block_rows);
  std::vector<double> values(rows.count);
  Team alone(1);
  Block block;
  for (std::size_t begin = 0; begin < rows.count; begin += step) {
    basis_->tile(rows, begin, std::min(step, rows.count - begin), block, alone);
    for (std::size_t row = 0; row < block.count; ++row) values[begin + row] = value(update, block, row);
  }
  return values;
}

std::vector<double> Learner::variance(const Rows& rows) const {
  return of_each(rows,
                 [](const Uncertain& update, Block& block, std::size_t row) { return update.variance(block, row); });
}

std::vector<double> Learner::deviation(const Rows& rows) const {
  return of_each(rows,
                 [](const Uncertain& update, Block& block, std::size_t row) { return update.deviation(block, row); });
}

double Learner::noise_variance() const {
  const std::lock_guard turn(state_lock_);
  return uncertain().noise_variance();
}

std::vector<double> Learner::noise_at(const Rows& rows) const {
  return std::vector<double>(rows.count, noise_variance());
}

Informed& Learner::informed() const {
  if (faces_.informed != nullptr) return *faces_.informed;
  throw std::invalid_argument("this learner keeps no information: it takes first-order steps");
}

// For a sum, the learner with the largest weight.
const Informed& Learner::with_memories() const { return faces_.sum != nullptr ? faces_.sum->heaviest() : informed(); }

Informed::Knowledge Learner::knowledge() const {
  Informed::Knowledge information = informed().information();
  for (std::int64_t& birth : information.births) birth += origin_;
  return information;
}

Informed::Knowledge Learner::information() const {
  const std::lock_guard turn(state_lock_);
  return knowledge();
}

void Learner::set_information(std::span<const double> half, double noise, std::int64_t steps,
                              std::span<const double> deviation) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  informed().set_information(half, noise, steps, deviation);
}

void Learner::add_information(const Expansion& expansion, std::span<const double> half, double noise,
                              std::int64_t steps, std::span<const double> deviation, double weight) {
  const std::lock_guard call(call_lock_);
  Learner other(config_, make_);
  other.set(expansion);
  other.set_information(half, noise, steps, deviation);
  const std::lock_guard turn(state_lock_);
  const std::size_t n = expansion.points.count, columns = basis_->columns(),
                    step = basis_->rows_at_once(Execution{}.block_rows);
  std::vector<double> kernel(n * columns);
  Team alone(1);
  Block block;
  for (std::size_t begin = 0; begin < n; begin += step) {
    basis_->tile(expansion.points, begin, std::min(step, n - begin), block, alone);
    for (std::size_t row = 0; row < block.count; ++row)
      basis_->values(block, row, {kernel.data() + (begin + row) * columns, columns});
  }
  informed().add_information(other.informed(), kernel, weight);
}

Informed::Displacement Learner::eliminate(double max_distance, std::size_t max_points) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  Informed::Displacement moved;
  all_or_nothing([&] {
    moved = faces_.sum != nullptr ? faces_.sum->eliminate(max_distance, max_points)
                                  : informed().eliminate(max_distance, max_points);
  });
  return moved;
}

std::vector<double> Learner::memories() const {
  const std::lock_guard turn(state_lock_);
  return with_memories().memories();
}

std::vector<double> Learner::memory_weights() const {
  const std::lock_guard turn(state_lock_);
  return with_memories().memory_weights();
}

std::pair<std::vector<std::int64_t>, std::vector<double>> Learner::memory_history() const {
  const std::lock_guard turn(state_lock_);
  return since(origin_, with_memories().memory_history());
}

void Learner::widen(std::size_t outputs) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  if (outputs > update_->outputs()) update_->widen(outputs);
}

void Learner::reach(std::size_t width) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  if (width < config_.width) throw std::invalid_argument("rows cannot have fewer features than before");
  basis_->reach(width);
  update_->reach();
  config_.width = width;
}

std::size_t Learner::budget() const {
  const std::lock_guard turn(state_lock_);
  return update_->budget();
}

void Learner::limit_memories(std::size_t budget) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  sum().limit_memories(budget);
  config_.budget = budget;
}

Sum& Learner::sum() const {
  if (faces_.sum == nullptr) throw std::invalid_argument("this learner is not a sum of second-order learners");
  return *faces_.sum;
}

std::vector<std::unique_ptr<Learner>> Learner::split() const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::unique_ptr<Learner>> parts;
  for (const Sum::Part& own : sum().parts()) {
    Config config = config_;
    config.hedge.reset();
    config.kernels = {config_.kernels[parts.size()]};
    config.kernels[0].number = 0;
    if (config.budget < unbounded) config.budget = own.budget;
    auto part = std::make_unique<Learner>(config, make_);
    part->basis_->take(own.basis);
    part->informed().take(own.learner);
    part->origin_ = origin_;
    part->t_ = t_;
    part->skipped_ = skipped_;
    parts.push_back(std::move(part));
  }
  return parts;
}

void Learner::join(std::span<const Learner* const> parts, std::span<const double> weights, double noise, bool moved,
                   const Learner* like) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  Sum& own = sum();
  if (t_ > 0 || parts.size() != own.parts().size() || weights.size() != parts.size())
    throw std::invalid_argument("a fresh sum is joined of one learner and one weight for each kernel");
  std::vector<Sum::Part> taken;
  for (const Learner* part : parts) {
    const std::lock_guard other(part->state_lock_);
    if (part->t_ != parts[0]->t_) throw std::invalid_argument("the terms of a sum must have seen the same rows");
    taken.push_back({*part->basis_, part->informed(), part->update_->budget()});
  }
  own.join(*basis_, taken, parts[0]->t_, weights, noise, moved, like == nullptr ? nullptr : &like->sum());
  origin_ = parts[0]->origin_;
  t_ = parts[0]->t_;
  skipped_ = parts[0]->skipped_;
}

void Learner::flush() {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  all_or_nothing([&] { update_->flush(t_); });
}

void Learner::set(const Expansion& expansion) {
  const std::lock_guard call(call_lock_);
  Learner fresh(config_, make_);
  fresh.t_ = expansion.t;
  for (std::size_t i = 0; i < expansion.points.count; ++i)  // rows that it was not shown came between its own
    fresh.skipped_ = std::max(fresh.skipped_, expansion.births[i] + 1 - expansion.t);
  if (expansion.outputs > fresh.update_->outputs()) fresh.update_->widen(expansion.outputs);
  fresh.update_->begin_at(expansion.t);
  const std::size_t n = expansion.points.count, step = fresh.basis_->rows_at_once(Execution{}.block_rows),
                    width = fresh.basis_->n_weights();
  std::vector<double> last(width * expansion.outputs), average(width * expansion.outputs);
  std::vector<Basis::Entry> entries;
  Team alone(1);
  for (std::size_t begin = 0; begin < n; begin += step) {
    fresh.basis_->tile(expansion.points, begin, std::min(step, n - begin), fresh.block_, alone);
    for (std::size_t row = 0; row < fresh.block_.count && width > 0; ++row)
      for (std::size_t o = 0; o < expansion.outputs; ++o) {
        const std::size_t i = o * n + begin + row;
        for (const auto& [column, value] : fresh.basis_->entries(fresh.block_, row, entries)) {
          const std::size_t weight = o * width + column - fresh.basis_->first_weight();
          last[weight] += expansion.last.points[i] * value;
          average[weight] += expansion.average.points[i] * value;
        }
      }
    for (std::size_t row = 0; row < fresh.block_.count && width == 0; ++row) {
      const std::size_t slot = fresh.basis_->insert(fresh.block_, row, expansion.births[begin + row]);
      for (std::size_t o = 0; o < expansion.outputs; ++o) {
        const std::size_t i = o * n + begin + row;
        fresh.update_->set(slot, o, expansion.last.points[i], expansion.average.points[i]);
      }
    }
  }
  for (std::size_t i = 0; i < width * expansion.outputs; ++i)
    fresh.update_->set(fresh.basis_->first_weight() + i % width, i / width, last[i], average[i]);
  for (std::size_t o = 0; o < expansion.outputs && fresh.basis_->has_constant(); ++o)
    fresh.update_->set(0, o, expansion.last.constants[o] / Basis::constant_value,
                       expansion.average.constants[o] / Basis::constant_value);
  const std::size_t features = expansion.last.features == nullptr ? 0 : fresh.basis_->n_features();
  for (std::size_t o = 0; o < expansion.outputs; ++o)
    for (std::size_t i = 0; i < features; ++i)
      fresh.update_->set(fresh.basis_->first_feature() + i, o, expansion.last.features[o * features + i],
                         expansion.average.features[o * features + i]);
  fresh.update_->end_set();
  const std::lock_guard turn(state_lock_);
  adopt(std::move(fresh));
}

double Learner::compress(double max_distance, std::size_t max_points) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  double moved = 0.0;
  all_or_nothing([&] { moved = update_->compress(max_distance, max_points); });
  return moved;
}

std::int64_t Learner::t() const {
  const std::lock_guard turn(state_lock_);
  return origin_ + t_;
}

void Learner::begin_after(std::int64_t rows) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  if (t_ > 0 || rows < 0 || rows > max_rows)
    throw std::invalid_argument("only a learner that has learned from no row can start later in the stream");
  origin_ = rows;
}

std::size_t Learner::outputs() const {
  const std::lock_guard turn(state_lock_);
  return update_->outputs();
}

std::size_t Learner::size() const {
  const std::lock_guard turn(state_lock_);
  return basis_->size_with_ghosts();
}

std::vector<std::int64_t> Learner::births() const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::int64_t> births;
  for (const std::size_t slot : basis_->held_slots()) births.push_back(origin_ + basis_->born(slot));
  return births;
}

std::size_t Learner::bytes() const {
  const std::lock_guard turn(state_lock_);
  ByteCounter counter;
  const_cast<Learner*>(this)->visit(counter);
  return counter.bytes;
}

double Learner::norm() const {
  const std::lock_guard turn(state_lock_);
  return std::sqrt(std::max(0.0, update_->norm_squared()));
}

std::vector<double> Learner::coefficients_of_points(Which which) const {
  std::vector<double> coefficients;
  for (std::size_t function = 0; function < update_->functions(); ++function)
    for (std::size_t output = 0; output < update_->outputs(); ++output) {
      const std::vector<double> by_slot = update_->coefficients(function, output, which);
      for (std::size_t i = 0; i < by_slot.size(); ++i)
        if (basis_->born(basis_->first_slot() + i) >= 0) coefficients.push_back(by_slot[i]);
    }
  return coefficients;
}

std::vector<double> Learner::constant_terms(Which which) const {
  std::vector<double> constants;
  for (std::size_t function = 0; config_.constant && function < update_->functions(); ++function)
    for (std::size_t output = 0; output < update_->outputs(); ++output)
      constants.push_back(update_->fixed(function, 0, output, which) * Basis::constant_value);
  return constants;
}

std::pair<std::vector<double>, std::size_t> Learner::coefficients(Which which) const {
  const std::lock_guard turn(state_lock_);
  return {coefficients_of_points(which), update_->functions() * update_->outputs()};
}

std::vector<double> Learner::constants(Which which) const {
  const std::lock_guard turn(state_lock_);
  return constant_terms(which);
}

Learner::RandomFeatures Learner::random_features() const {
  const std::lock_guard turn(state_lock_);
  const Fourier& fourier = basis_->fourier();
  const Metric& metric = config_.kernels[0].metric;
  RandomFeatures result;
  for (std::size_t i = 0; i < fourier.count(); ++i) {
    result.phases.push_back(fourier.phase(i));
    for (std::size_t feature = 0; feature < config_.width; ++feature)
      result.frequencies.push_back(fourier.frequency(i, feature) * metric.scale(feature));
  }
  return result;
}

Learner::Points Learner::points() const {
  const std::lock_guard turn(state_lock_);
  return all_points();
}

std::vector<Model::Learned> Learner::learned(bool informed) const {
  const std::lock_guard turn(state_lock_);
  Learned learned{.points = all_points(),
                  .t = origin_ + t_,
                  .functions = update_->functions(),
                  .outputs = update_->outputs(),
                  .last = all_coefficients(Which::last),
                  .average = all_coefficients(Which::predicting),
                  .weights = {},
                  .knowledge = {}};
  if (basis_->n_weights() > 0) learned_weights(learned);
  if (faces_.ensemble != nullptr) learned.weights = faces_.ensemble->weights();
  if (informed && has_information()) learned.knowledge = knowledge();
  return {std::move(learned)};
}

// The weights of the features are a point of their own for each output, whose coefficient is 1: w . x = k(w, x). Where
// there is an average, it has points of its own.
void Learner::learned_weights(Learned& learned) const {
  const std::size_t n = update_->outputs(), copies = config_.average ? 2 : 1;
  learned.points.rows = weights_as_points(copies);
  for (std::size_t i = 0; i < n * copies; ++i) {
    learned.points.births.push_back(static_cast<std::int64_t>(i));
    learned.points.ghosts.push_back(i < n ? 0 : 1);
  }
  const auto chosen = [&](std::size_t copy) {
    std::vector<double> coefficients(n * n * copies, 0.0);
    for (std::size_t o = 0; o < n; ++o) coefficients[o * n * copies + copy * n + o] = 1.0;
    return coefficients;
  };
  learned.last.points = chosen(0);
  learned.average.points = chosen(copies - 1);
}

PointRows Learner::weights_as_points(std::size_t copies) const {
  PointRows points{copies * update_->outputs(), basis_->n_weights(), {}, {}, {}};
  if (config_.sparse) points.offsets.push_back(0);
  const auto add = [&]<class T>(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    points.values.insert(points.values.end(), bytes, bytes + sizeof(T));
  };
  for (std::size_t i = 0; i < points.count; ++i) {
    const Which which = i < update_->outputs() ? Which::last : Which::predicting;
    for (std::size_t f = 0; f < points.width; ++f) {
      const double weight = update_->fixed(0, basis_->first_weight() + f, i % update_->outputs(), which);
      if (config_.sparse && weight == 0) continue;
      config_.type == Type::f32 ? add(static_cast<float>(weight)) : add(weight);
      if (config_.sparse) points.indices.push_back(static_cast<std::int32_t>(f));
    }
    if (config_.sparse) points.offsets.push_back(static_cast<std::int64_t>(points.indices.size()));
  }
  return points;
}

std::size_t Learner::n_weights() const {
  const std::lock_guard turn(state_lock_);
  return basis_->n_weights();
}

Learner::Points Learner::all_points() const {
  const std::vector<std::size_t> slots = basis_->held_slots();
  Points points{basis_->points(slots), {}, {}};
  for (const std::size_t slot : slots) {
    points.births.push_back(origin_ + basis_->born(slot));
    points.ghosts.push_back(basis_->alive(slot) ? 0 : 1);
  }
  return points;
}

Learner::Learned::Coefficients Learner::all_coefficients(Which which) const {
  Learned::Coefficients all{coefficients_of_points(which), constant_terms(which), {}};
  for (std::size_t output = 0; output < update_->outputs() && basis_->n_features() > 0; ++output)
    for (std::size_t i = 0; i < basis_->n_features(); ++i)
      all.features.push_back(update_->fixed(0, basis_->first_feature() + i, output, which));
  return all;
}
Ensemble& Learner::ensemble() const {
  if (faces_.ensemble == nullptr)
    throw std::invalid_argument("this learner has one kernel and one function, not several");
  return *faces_.ensemble;
}

const Uncertain& Learner::uncertain() const {
  if (faces_.uncertain == nullptr)
    throw std::invalid_argument("this learner does not know its variance: it takes first-order steps");
  return *faces_.uncertain;
}

std::vector<double> Learner::weights() const {
  const std::lock_guard turn(state_lock_);
  return ensemble().weights();
}

std::pair<std::vector<std::int64_t>, std::vector<double>> Learner::weight_history() const {
  const std::lock_guard turn(state_lock_);
  return since(origin_, ensemble().weight_history());
}

std::vector<std::int64_t> Learner::sizes() const {
  const std::lock_guard turn(state_lock_);
  return ensemble().sizes();
}

void Learner::keep(const std::vector<std::size_t>& functions) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  ensemble().keep(functions);
  std::vector<KernelConfig> kernels;
  for (const std::size_t i : functions) kernels.push_back(config_.kernels[i]);
  config_.kernels = std::move(kernels);
}

void Learner::show(const Display::Viewer& viewer) const {
  const std::lock_guard turn(state_lock_);
  Display display(viewer);
  const_cast<Learner*>(this)->visit(display);
}

State Learner::save() const {
  const std::lock_guard turn(state_lock_);
  Saver saver;
  const_cast<Learner*>(this)->visit(saver);
  return std::move(saver.state);
}

void Learner::load(const State& state) {
  const std::lock_guard call(call_lock_);
  Config config = config_;
  config.weights = state.count("basis.weights") != 0;
  Learner fresh(config, make_);
  Loader loader(state);
  fresh.visit(loader);
  loader.finish();
  fresh.check_rows();
  const std::lock_guard turn(state_lock_);
  config_.weights = config.weights;
  adopt(std::move(fresh));
}

void Learner::adopt(Learner&& fresh) {
  basis_ = std::move(fresh.basis_);
  update_ = std::move(fresh.update_);
  faces_ = fresh.faces_;
  origin_ = fresh.origin_;
  t_ = fresh.t_;
  skipped_ = fresh.skipped_;
}

void Learner::check_rows() const {
  if (t_ < 0 || t_ > max_rows) throw std::invalid_argument("state 't' must be between 0 and 2^62");
  if (origin_ < 0 || origin_ > max_rows - t_) throw std::invalid_argument("state 'origin' must be between 0 and 2^62");
  if (skipped_ < 0 || skipped_ > max_rows - t_ - origin_)
    throw std::invalid_argument("state 'skipped' must be between 0 and 2^62");
  // A merged point has the birth of one of the two; where points are identified by their births there are no merged
  // points.
  basis_->check_births(t_ + skipped_, has_information());
  update_->check_rows(t_);
  const std::size_t outputs = update_->outputs();
  if (config_.task == Task::multiclass ? outputs < config_.outputs : outputs != 1)
    throw std::invalid_argument("state has " + std::to_string(outputs) + " outputs, which this learner cannot have");
}

void Learner::visit(Archive& archive) {
  archive.scalar("t", t_);
  archive.scalar_if_any("origin", origin_);
  archive.scalar_if_any("skipped", skipped_);
  archive.part("basis", *basis_);
  archive.part("update", *update_);
}

}  // namespace onkel
