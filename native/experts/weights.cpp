#include "experts/weights.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "loop/update.hpp"
#include "second_order/fixed_share.hpp"

namespace onkel {
namespace {

constexpr std::size_t max_remembered = 256;
constexpr double log_of_nothing = -700.0;  // the logarithm of a weight of 0
// The size of a step along the gradient, and the bound on the slope of a single row in units of the typical loss.
constexpr double step = 0.1, steepest = 10.0;

}  // namespace

Weights::Weights(std::size_t n, double share) : share_(share), logs_(n) { normalise(); }

void Weights::normalise() {
  if (logs_.empty()) return;
  const double largest = *std::max_element(logs_.begin(), logs_.end());
  double sum = 0.0;
  relative_.resize(logs_.size());
  weights_.resize(logs_.size());
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    logs_[i] -= largest;
    relative_[i] = std::exp(logs_[i]);
    sum += relative_[i];
  }
  for (std::size_t i = 0; i < logs_.size(); ++i) weights_[i] = relative_[i] / sum;
}

void Weights::move() {
  normalise();
  if (share_ == 0) return;  // taking the logarithm and its exponential would round
  for (std::size_t i = 0; i < logs_.size(); ++i) logs_[i] = std::log(with_share(weights_[i], share_, logs_.size()));
  normalise();
}

void Weights::set(std::span<const double> weights) {
  logs_.assign(weights.size(), 0.0);
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (std::size_t i = 0; i < weights.size(); ++i) logs_[i] = std::max(std::log(weights[i] / largest), log_of_nothing);
  normalise();
  stride_ = 1;
  history_.clear();
}

void Weights::set_logs(const std::vector<double>& logs) {
  logs_ = logs;
  normalise();
}

void Weights::remember(std::int64_t t) {
  if (t % stride_ != 0) return;
  history_.insert(history_.end(), weights_.begin(), weights_.end());
  const std::size_t m = size();
  if (history_.size() < max_remembered * m) return;
  for (std::size_t k = 1; k < max_remembered; k += 2)
    std::copy_n(history_.data() + k * m, m, history_.data() + k / 2 * m);
  history_.resize(max_remembered / 2 * m);
  stride_ *= 2;
}

void Weights::fill_history(std::int64_t t) {
  while (t / stride_ >= static_cast<std::int64_t>(max_remembered)) stride_ *= 2;
  for (std::int64_t row = 0; row < t / stride_; ++row)
    history_.insert(history_.end(), weights_.begin(), weights_.end());
}

std::pair<std::vector<std::int64_t>, std::vector<double>> Weights::history() const {
  std::vector<std::int64_t> rows(size() == 0 ? 0 : history_.size() / size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::int64_t>(k + 1) * stride_;
  return {rows, history_};
}

void Weights::keep(std::span<const std::size_t> chosen) {
  std::vector<double> logs, history;
  for (std::size_t row = 0; row < history_.size(); row += size())
    for (const std::size_t i : chosen) history.push_back(history_[row + i]);
  for (const std::size_t i : chosen) logs.push_back(logs_[i]);
  logs_ = std::move(logs);
  history_ = std::move(history);
  normalise();
}

void Weights::visit(Archive& archive) {
  const std::size_t n = size();
  archive.array("log_weights", logs_);
  archive.require(logs_.size() == n, "log_weights", "must hold one weight for each function");
  archive.require(std::all_of(logs_.begin(), logs_.end(), [](double log) { return log <= 0; }), "log_weights",
                  "must not be positive");
  archive.scalar("stride", stride_);
  archive.require(stride_ >= 1 && stride_ <= std::int64_t{1} << 52, "stride", "must be between 1 and 2^52");
  archive.matrix("history", history_, n);
  archive.require(history_.size() < max_remembered * n, "history", "must hold fewer than 256 rows");
  if (archive.loading()) normalise();
}

void Weights::check_rows(std::int64_t t) const {
  if (static_cast<std::int64_t>(history_.size() / size()) != t / stride_)
    throw std::invalid_argument("a history of weights must hold one row of them for each stride of the stream");
}

void SumWeights::add_up(std::span<const double> each, std::span<double> total) const {
  const std::size_t n = total.size();
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t o = 0; o < n; ++o) total[o] += weights[i] * each[i * n + o];
}

// dl(F)/dw_e = l'(F) . f_e, minus the part common to all functions, l'(F) . F.
void SumWeights::judge(const Loss& loss, std::span<const double> each, Scored& row, Judged& judged) const {
  const std::size_t n = row.f.size();
  std::fill(row.f.begin(), row.f.end(), 0.0);
  add_up(each, row.f);
  judged.residual = row.f[0] - row.y;
  row.units = residuals_.units(judged.residual);
  loss.evaluate(row);
  require_in_range(row.g, "the slope", row.position);
  judged.loss = row.loss;
  judged.slopes.assign(weights.size(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t o = 0; o < n; ++o) judged.slopes[i] += row.g[o] * (each[i * n + o] - row.f[o]);
}

// The slopes of a regression loss are divided by twice its mean, so that they are dimensionless.
void SumWeights::move(const Judged& judged, double weight, Task task) {
  ++moves_;
  if (task == Task::regression) {
    squares_ += 2 * judged.loss;
    residuals_.add(judged.residual);
  }
  const double unit = task != Task::regression ? 1.0 : noise();
  for (std::size_t i = 0; i < weights.size() && unit > 0; ++i)
    weights.add(i, -step * std::clamp(weight * judged.slopes[i] / unit, -steepest, steepest));
  weights.move();
}

double SumWeights::weighted(std::span<const double> each) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(each[i] > 0)) return 0.0;
    sum += weights[i] * each[i];
  }
  return sum;
}

double SumWeights::deviation(std::span<const double> each) const {
  const double sum = weighted(each);
  return sum > 0 ? factor_.at(sum) * sum : 0.0;
}

void SumWeights::measure(const Judged& judged, std::span<const double> each) {
  const double sum = weighted(each);
  if (sum > 0) factor_.add(judged.residual, sum);
}

void SumWeights::set_noise(double noise, std::int64_t moves) {
  squares_ = noise * static_cast<double>(moves);
  moves_ = moves;
}

void SumWeights::visit(Archive& archive) {
  weights.visit(archive);
  archive.part("factor", factor_);
  if (residuals_.are_kept()) archive.part("residuals", residuals_);
  archive.scalar("squares", squares_);
  archive.scalar("moves", moves_);
  archive.require(squares_ >= 0, "squares", "must not be negative");
  archive.require(moves_ >= 0, "moves", "must not be negative");
}

}  // namespace onkel
