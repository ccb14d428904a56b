#include "second_order/deviation.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {
namespace {

constexpr double covered = 0.9, normal_quantile = 1.6448536269514722;  // of a normal distribution so much lies within
constexpr std::size_t least_scores = 20;                               // before them the likelihood alone decides
constexpr double freedom = 4.0;                                        // of Student's t
constexpr double largest_curvature = (freedom + 1) / 8;        // of its negative log-likelihood, in the logarithm
constexpr std::int64_t first_rows = 32;                        // the level is that of their mean square
constexpr double memory = 1000.0;                              // in rows, of the level and of the scales
constexpr double prior_information = 10.0, largest_log = 5.0;  // of the scales
constexpr double least_square = 1e-300;

}  // namespace

double DeviationFactor::at(double deviation) const {
  const RecentScores& scores = is_large(std::log(deviation)) ? large_ : small_;
  return scores.size() < least_scores ? 1.0 : scores.quantile(covered) / normal_quantile;
}

void DeviationFactor::add(double residual, double deviation) {
  const double score = std::abs(residual) / deviation, log = std::log(deviation);
  if (!std::isfinite(score) || !std::isfinite(log)) return;
  (is_large(log) ? large_ : small_).add(score);
  ++rows_;
  middle_ += (log - middle_) / std::min(static_cast<double>(rows_), memory);
}

void DeviationFactor::add(const DeviationFactor& other, double part) {
  middle_ += part * (other.middle_ - middle_);
  rows_ += other.rows_;
  for (auto [mine, its] : {std::pair{&small_, &other.small_}, std::pair{&large_, &other.large_}}) {
    std::vector<double> scores = mine->in_order();
    const std::vector<double> more = its->in_order();
    scores.insert(scores.end(), more.begin(), more.end());
    mine->set(std::move(scores));
  }
}

std::vector<double> DeviationFactor::numbers() const {
  const std::vector<double> small = small_.in_order(), large = large_.in_order();
  std::vector<double> numbers{middle_, static_cast<double>(rows_), static_cast<double>(small.size())};
  numbers.insert(numbers.end(), small.begin(), small.end());
  numbers.insert(numbers.end(), large.begin(), large.end());
  return numbers;
}

void DeviationFactor::set_numbers(std::span<const double> numbers) {
  middle_ = numbers[0];
  rows_ = std::llround(numbers[1]);
  const auto scores = numbers.subspan(3), small = scores.first(std::min(scores.size(), std::size_t(numbers[2]))),
             large = scores.subspan(small.size());
  small_.set({small.begin(), small.end()});
  large_.set({large.begin(), large.end()});
}

void DeviationFactor::visit(Archive& archive) {
  archive.scalar("middle", middle_);
  archive.scalar("rows", rows_);
  archive.require(rows_ >= 0, "rows", "must not be negative");
  archive.part("small", small_);
  archive.part("large", large_);
}

const double Deviation::mean_curvature = 0.5 * freedom / (freedom + 3);

double Deviation::relative(double inside, double outside) const {
  return 1 + inside_.factor * inside + outside_.factor * outside;
}

double Deviation::at(double local, double inside, double outside) const {
  if (rows_ == 0) return 0.0;
  const double deviation = std::exp((level_ + local) / 2) * std::sqrt(relative(inside, outside));
  return factor_.at(deviation) * deviation;
}

void Deviation::Scale::set(double log, double information) {
  *this = {std::clamp(log, -largest_log, largest_log), information, 0.0};
  factor = std::exp(this->log);
}

// A step along the slope over the information of the latest rows, `share` the part of the variance that this scale is
// a factor of.
void Deviation::Scale::learn(double slope, double share, double rate) {
  const double informed = information + rate * (mean_curvature * share * share - information / memory);
  set(log - rate * slope * share / (prior_information + informed), informed);
}

Deviation::Seen Deviation::learn(double residual, double local, double inside, std::optional<double> known_outside,
                                 double weight) {
  const double outside = known_outside.value_or(mean_outside_);
  heaviest_ = std::max(heaviest_, weight);
  const double rate = weight / heaviest_, whole = relative(inside, outside), square = residual * residual / whole;
  ++rows_;
  if (known_outside) mean_outside_ += (outside - mean_outside_) / std::min(static_cast<double>(rows_), memory);
  if (rows_ <= first_rows) {
    const double before = rows_ == 1 ? 0.0 : std::exp(level_);
    level_ = std::log(std::max(before + (square - before) / static_cast<double>(rows_), least_square));
    return {{}, 0.0, 0.0};
  }
  const double variance = std::exp(level_ + local), q = square / variance, deviation = std::sqrt(variance * whole),
               pull = std::isfinite(q) ? (freedom + 1) * q / (freedom + q) : freedom + 1, slope = (1 - pull) / 2;
  Seen seen{{}, rate * slope, rate * largest_curvature};
  if (known_outside) {
    seen.deviation = factor_.at(deviation) * deviation;
    factor_.add(residual, deviation);
    inside_.learn(slope, inside_.factor * inside / whole, rate);
    outside_.learn(slope, outside_.factor * outside / whole, rate);
  }
  level_ -= rate * slope / (mean_curvature * std::min(static_cast<double>(rows_), memory));
  return seen;
}

void Deviation::begin_with(double noise_variance, std::int64_t rows) {
  *this = {};
  if (!(noise_variance > 0) || rows <= 0) return;
  level_ = std::log(std::max(noise_variance, least_square));
  rows_ = std::max(rows, first_rows);
}

void Deviation::add(const Deviation& other, double weight) {
  const double own = static_cast<double>(rows_), theirs = weight * static_cast<double>(other.rows_);
  if (!(theirs > 0)) return;
  const double part = theirs / (own + theirs);
  const auto blend = [part](double& mine, double its) { mine += part * (its - mine); };
  blend(level_, other.level_);
  for (auto [mine, its] : {std::pair{&inside_, &other.inside_}, std::pair{&outside_, &other.outside_}}) {
    double log = mine->log, information = mine->information;
    blend(log, its->log);
    blend(information, its->information);
    mine->set(log, information);
  }
  blend(mean_outside_, other.mean_outside_);
  heaviest_ = std::max(heaviest_, other.heaviest_);
  rows_ += std::max<std::int64_t>(1, std::llround(theirs));
  factor_.add(other.factor_, part);
}

std::vector<double> Deviation::numbers() const {
  std::vector<double> numbers{level_,       static_cast<double>(rows_), heaviest_,    inside_.log, inside_.information,
                              outside_.log, outside_.information,       mean_outside_};
  const std::vector<double> factor = factor_.numbers();
  numbers.insert(numbers.end(), factor.begin(), factor.end());
  return numbers;
}

void Deviation::set_numbers(std::span<const double> numbers) {
  level_ = numbers[0];
  rows_ = std::llround(numbers[1]);
  heaviest_ = numbers[2];
  inside_.set(numbers[3], numbers[4]);
  outside_.set(numbers[5], numbers[6]);
  mean_outside_ = numbers[7];
  factor_.set_numbers(numbers.subspan(n_scales));
}

void Deviation::visit(Archive& archive) {
  archive.scalar("level", level_);
  archive.scalar("rows", rows_);
  archive.scalar("heaviest", heaviest_);
  for (auto [name, scale] : {std::pair{"inside", &inside_}, std::pair{"outside", &outside_}}) {
    std::vector<double> both{scale->log, scale->information};
    archive.array(name, both);
    archive.require(both.size() == 2 && std::abs(both[0]) <= largest_log && both[1] >= 0, name,
                    "must hold the logarithm of a scale, between -5 and 5, and its information");
    scale->set(both[0], both[1]);
  }
  archive.scalar("mean_outside", mean_outside_);
  archive.require(rows_ >= 0 && heaviest_ >= 0, "rows", "must not be negative, nor the heaviest weight");
  archive.part("factor", factor_);
}

}  // namespace onkel
