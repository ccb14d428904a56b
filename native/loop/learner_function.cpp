// What a learner has learned, as values: its function, points and information; and how it goes on from others.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "loop/learner.hpp"

namespace onkel {
namespace {

constexpr std::size_t unbounded = std::size_t{1} << 60;

using History = std::pair<std::vector<std::int64_t>, std::vector<double>>;

// The positions of a history in the stream, counted from `origin` on.
History since(std::int64_t origin, History history) {
  for (std::int64_t& row : history.first) row += origin;
  return history;
}

}  // namespace

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

std::size_t Learner::budget() const {
  const std::lock_guard turn(state_lock_);
  return update_->budget();
}

void Learner::limit(std::size_t budget) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  all_or_nothing([&] {
    if (faces_.sum != nullptr)
      faces_.sum->limit_memories(budget);
    else
      informed().limit(budget);
  });
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

std::vector<std::int64_t> Learner::births() const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::int64_t> births;
  for (const std::size_t slot : basis_->held_slots()) births.push_back(origin_ + basis_->born(slot));
  return births;
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

}  // namespace onkel
