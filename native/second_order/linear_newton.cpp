#include "second_order/linear_newton.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "second_order/inner_step.hpp"

namespace onkel {
namespace {

constexpr double smallest_scale = 0x1p-40;

// The memories of a stream are a matter of points: here all rows are remembered.
double forget_of(const Spec& memory) {
  if (memory.name == "FadingMemory") return memory.at("forget");
  if (memory.name == "StreamMemory") return 1.0;
  unknown_part("memory", memory);
}

}  // namespace

LinearNewton::LinearNewton(const Spec& recipe, Task task, std::size_t outputs, bool averaged, std::size_t budget,
                           Draws draws, Basis& basis)
    : basis_(basis),
      function_(outputs, averaged),
      draws_(draws),
      task_(task),
      loss_(recipe.part("loss"), task),
      residuals_(loss_.narrow()),
      budget_(budget),
      lam_(recipe.part("prior").at("lam")),
      easy_slope_(recipe.part("dictionary").at("easy_slope")),
      forget_(forget_of(recipe.part("memory"))),
      measures_(loss_.measures_residuals()) {
  widen(outputs);
  reach();
}

// Between two rows: what is prepared is not copied.
LinearNewton::LinearNewton(const LinearNewton& other, Basis& basis)
    : basis_(basis),
      function_(other.function_),
      draws_(other.draws_),
      task_(other.task_),
      loss_(other.loss_),
      residuals_(other.residuals_),
      budget_(other.budget_),
      lam_(other.lam_),
      easy_slope_(other.easy_slope_),
      forget_(other.forget_),
      information_(other.information_),
      scale_(other.scale_),
      noise_(other.noise_),
      steps_(other.steps_),
      measures_(other.measures_),
      deviation_(other.deviation_) {
  widen(outputs());
}

void LinearNewton::widen(std::size_t outputs) {
  function_.widen(outputs);
  row_.widen(outputs);
}

void LinearNewton::reach() {
  function_.reach(basis_.columns());
  information_.resize(basis_.columns(), 0.0);
}

// The constant is a feature like the others.
std::span<const Basis::Entry> LinearNewton::features_of(const Block& block, std::size_t row,
                                                        std::vector<Basis::Entry>& entries) const {
  basis_.entries(block, row, entries);
  if (basis_.has_constant()) entries.push_back({0, Basis::constant_value});
  return entries;
}

double LinearNewton::variance(std::span<const Basis::Entry> features) const {
  double sum = 0.0;
  for (const auto& [column, value] : features) sum += value * value * variance_of(column);
  return sum;
}

double LinearNewton::variance(Block& block, std::size_t row) const {
  std::vector<Basis::Entry> entries;
  return variance(features_of(block, row, entries));
}

double LinearNewton::deviation(Block& block, std::size_t row) const {
  const double s = variance(block, row);
  return measures_ ? deviation_.at(0.0, s, 0.0) : std::sqrt(s);
}

void LinearNewton::prepare(const Example& example, std::span<double> predicted) {
  Scored& row = row_;
  row.begin(example, basis_);
  function_.score(basis_, example.block, example.row, row.f, predicted);
  require_in_range(row.f, "the score", example.position);
  loss_.check_target(row.y);
  row.units = residuals_.units(row.f[0] - row.y);
  loss_.evaluate(row);
  require_in_range(row.g, "the slope", example.position);
  const double weighted[] = {row.weight, row.weight * largest(row.g)};
  require_in_range(weighted, "the weight", example.position);
  const double self = row.self();
  require_in_range({&self, 1}, "the kernel value", example.position);
  const double draw = Draws{draws_.seed, 0}.uniform(example.t, Purpose::easy);
  times_ = multiplicity(easy_slope_, 1 / (1 - forget_), row, draw);
  const double most = max_certainty * lam_ / self;
  weight_ = row.weight;
  row.weight = std::min(times_ * row.weight, most);
}

void LinearNewton::commit() {
  Scored& row = row_;
  measured_.reset();
  if (task_ == Task::regression) residuals_.add(row.f[0] - row.y);
  if (times_ > 0) {
    const Excess excess = excess_of(row, task_);
    const double weight = row.weight;
    const auto features = features_of(*row.block, row.row, entries_);
    const double s = variance(features);
    if (measures_) {
      const double error = row.y - row.f[0];
      const Deviation::Seen seen = deviation_.learn(error, 0.0, s, 0.0, weight_);
      if (seen.deviation) measured_ = {error, *seen.deviation};
    }
    const auto [b, v] = solve(loss_, row, s);
    steps_along_.assign(features.begin(), features.end());
    for (auto& [column, value] : steps_along_) value *= variance_of(column);
    for (std::size_t o = 0; o < b.size(); ++o)
      if (b[o] != 0) function_.add(steps_along_, o, b[o]);
    for (const auto& [column, value] : features) information_[column] += v * value * value / scale_;
    noise_ += excess.with(weight, s);
    ++steps_;
  }
  fade();
  function_.tick();
}

void LinearNewton::fade() {
  if (forget_ == 1) return;
  scale_ *= forget_;
  if (scale_ > smallest_scale) return;
  for (double& each : information_) each *= scale_;
  scale_ = 1.0;
}

void LinearNewton::visit(Archive& archive) {
  struct {
    LinearNewton& self;
    void visit(Archive& inner) { self.function_.visit(inner, self.basis_); }
  } function{*this};
  archive.part("function", function);
  archive.array("information", information_);
  archive.require(information_.size() == basis_.columns(), "information", "must hold one number for each column");
  archive.require(std::all_of(information_.begin(), information_.end(), [](double each) { return each >= 0; }),
                  "information", "must not be negative");
  archive.scalar("scale", scale_);
  archive.require(scale_ > smallest_scale && scale_ <= 1, "scale", "must be between 2^-40 and 1");
  if (residuals_.are_kept()) archive.part("residuals", residuals_);
  archive.scalar("noise", noise_);
  archive.require(noise_ >= 0, "noise", "must not be negative");
  archive.scalar("steps", steps_);
  if (measures_) archive.part("deviation", deviation_);
  if (archive.loading()) widen(outputs());
}

void LinearNewton::check_rows(std::int64_t t) const {
  if (function_.ticks() != t)
    throw std::invalid_argument("state 'update.function.ticks' must be the number of rows, " + std::to_string(t));
  if (steps_ < 0 || steps_ > t) throw std::invalid_argument("state 'update.steps' must be between 0 and the rows");
}

}  // namespace onkel
