#include "loop/learner.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>

namespace onkel {
namespace {

constexpr std::int64_t max_rows = std::int64_t{1} << 62;

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

void Learner::flush() {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  all_or_nothing([&] { update_->flush(t_); });
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

std::size_t Learner::bytes() const {
  ByteCounter counter;
  const_cast<Learner*>(this)->visit(counter);
  return counter.bytes;
}

const Uncertain& Learner::uncertain() const {
  if (faces_.uncertain == nullptr)
    throw std::invalid_argument("this learner does not know its variance: it takes first-order steps");
  return *faces_.uncertain;
}

void Learner::show(const Display::Viewer& viewer) const {
  Display display(viewer);
  const_cast<Learner*>(this)->visit(display);
}

State Learner::save() const {
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
  const std::lock_guard turn(state_lock_);
  archive.scalar("t", t_);
  archive.scalar_if_any("origin", origin_);
  archive.scalar_if_any("skipped", skipped_);
  archive.part("basis", *basis_);
  archive.part("update", *update_);
}

}  // namespace onkel
