#include "loop/function.hpp"

#include <algorithm>
#include <cmath>

namespace onkel {
namespace {

constexpr std::int64_t max_outputs = 1 << 20;

}  // namespace

void Function::widen(std::size_t outputs) {
  b_.resize(outputs, std::vector<double>(columns_, 0.0));
  if (averaged_) c_.resize(outputs, std::vector<double>(columns_, 0.0));
}

void Function::reach(std::size_t columns) {
  if (columns <= columns_) return;
  columns_ = columns;
  for (auto& b : b_) b.resize(columns, 0.0);
  for (auto& c : c_) c.resize(columns, 0.0);
}

void Function::add(std::size_t column, std::size_t output, double change) {
  const double delta = change / scale_;
  b_[output][column] += delta;
  if (averaged_) c_[output][column] += delta * scale_sum_;
}

void Function::add(std::span<const Basis::Entry> features, std::size_t output, double change) {
  const double delta = change / scale_, weighted = delta * scale_sum_;
  for (const auto& [column, value] : features) b_[output][column] += delta * value;
  for (std::size_t i = 0; averaged_ && i < features.size(); ++i)
    c_[output][features[i].column] += weighted * features[i].value;
}

void Function::set(std::size_t column, std::size_t output, double last, double average) {
  b_[output][column] = last;
  if (averaged_) c_[output][column] = -average * static_cast<double>(ticks_ + 1);
}

void Function::drop(std::size_t column) {
  for (std::size_t o = 0; o < outputs(); ++o) {
    if (averaged_) {
      const double gone = b_[o][column] * scale_sum_;
      c_[o][column] -= gone;
      // A coefficient that came and went between two ticks leaves only rounding errors in the average.
      if (std::abs(c_[o][column]) <= 1e-13 * std::abs(gone)) c_[o][column] = 0.0;
    }
    b_[o][column] = 0.0;
  }
}

// As if the column was removed and added again: a coefficient that never entered the average is later removed from it
// to exactly 0.
void Function::replace(std::size_t column, std::size_t output, double b) {
  double& old = b_[output][column];
  if (averaged_) {
    double& c = c_[output][column];
    c = (c - old * scale_sum_) + b * scale_sum_;
  }
  old = b;
}

void Function::become(std::size_t output, std::span<const double> values) {
  if (!averaged_ && scale_ == 1) {
    std::copy(values.begin(), values.end(), b_[output].begin());
    return;
  }
  for (std::size_t column = 0; column < values.size(); ++column)
    if (values[column] != last_coefficient(column, output)) become(column, output, values[column]);
}

void Function::squares(std::size_t first, std::span<double> squares) const {
  std::fill(squares.begin(), squares.end(), 0.0);
  for (const auto& b : b_)
    isa::routines<double>().add_squares(scale_ * scale_, b.data() + first, squares.data(), squares.size());
}

Function::Lengths Function::lengths(std::size_t first, isa::Units units, std::span<double> lengths) const {
  const auto weigh = [&](double scale, const double* weights) {
    Lengths all;
    isa::routines<double>().weigh(scale, weights, units, lengths.data(), lengths.size(), &all.sum, &all.largest);
    return all;
  };
  if (outputs() == 1) return weigh(scale_, b_[0].data() + first);
  std::vector<double> norms(lengths.size());
  squares(first, norms);
  for (double& norm : norms) norm = std::sqrt(norm);
  return weigh(1.0, norms.data());
}

void Function::stretch(std::size_t first, std::size_t n, double factor, double level, isa::Units units, double cap) {
  if (outputs() == 1 && !averaged_) {
    isa::routines<double>().stretch(factor, level / scale_, units, cap / scale_, b_[0].data() + first, n);
    return;
  }
  std::vector<double> squares(n);
  this->squares(first, squares);
  for (std::size_t j = 0; j < n; ++j) {
    if (squares[j] == 0) continue;
    const double length = std::sqrt(squares[j]), wanted = std::min(std::max(factor * length, level * units[j]), cap);
    // The direction first: the quotient of two lengths may overflow.
    for (std::size_t o = 0; o < outputs(); ++o) replace(first + j, o, b_[o][first + j] / length * wanted);
  }
}

bool Function::is_zero(std::size_t column) const {
  const auto zero = [column](const std::vector<double>& weights) { return weights[column] == 0; };
  return std::all_of(b_.begin(), b_.end(), zero) && std::all_of(c_.begin(), c_.end(), zero);
}

void Function::scale(double factor) {
  scale_ *= factor;
  // Late changes are divided by the scale and multiplied by S, so a small scale costs digits: keep it near 1.
  if (!(scale_ > smallest_scale && scale_ < largest_scale)) fold();
}

// The same f and the same average, with scale 1 and S = 0.
void Function::fold() {
  for (std::size_t o = 0; o < c_.size(); ++o)
    for (std::size_t j = 0; j < columns_; ++j) c_[o][j] -= b_[o][j] * scale_sum_;
  for (auto& b : b_)
    for (double& value : b) value *= scale_;
  scale_ = 1.0;
  scale_sum_ = 0.0;
}

void Function::tick() {
  scale_sum_ += scale_;
  ++ticks_;
}

double Function::coefficient(std::size_t column, std::size_t output, Which which) const {
  if (!averaged_ || which == Which::last) return last_coefficient(column, output);
  return (b_[output][column] * scale_sum_ - c_[output][column]) / static_cast<double>(ticks_ + 1);
}

std::vector<double> Function::coefficients(const Basis& basis, std::size_t output, Which which) const {
  std::vector<double> coefficients;
  for (std::size_t slot = basis.first_slot(); slot < basis.end_slot(); ++slot)
    coefficients.push_back(coefficient(slot, output, which));
  return coefficients;
}

void Function::score(const Basis& basis, const Block& block, std::size_t row, std::span<double> last,
                     std::span<double> predicted) const {
  const bool want_average = averaged_ && !predicted.empty();
  for (std::size_t o = 0; o < outputs(); ++o) {
    if (want_average) {
      const auto [b, c] = basis.dot_pair(block, row, b_[o].data(), c_[o].data());
      last[o] = scale_ * b;
      predicted[o] = (scale_sum_ * b - c) / static_cast<double>(ticks_ + 1);
    } else if (o + 1 < outputs()) {
      const auto [one, other] = basis.dot_pair(block, row, b_[o].data(), b_[o + 1].data());
      last[o] = scale_ * one;
      last[++o] = scale_ * other;
    } else {
      last[o] = scale_ * basis.dot(block, row, b_[o].data());
    }
  }
  if (!want_average && !predicted.empty()) std::copy(last.begin(), last.end(), predicted.begin());
}

// Fixed columns are orthonormal to each other and to the points: only the points need their Gram matrix.
double Function::norm_squared(const Basis& basis) const {
  std::vector<double> values(basis.columns());
  Block scratch;
  double sum = 0.0;
  for (std::size_t slot = basis.first_slot(); slot < basis.end_slot(); ++slot) {
    basis.row_of(slot, scratch, values);
    for (const auto& b : b_)
      for (std::size_t j = basis.first_slot(); j < basis.end_slot(); ++j) sum += b[slot] * b[j] * values[j];
  }
  for (const auto& b : b_)
    for (std::size_t j = 0; j < basis.first_slot(); ++j) sum += b[j] * b[j];
  return scale_ * scale_ * sum;
}

void Function::visit(Archive& archive, const Basis& basis) {
  archive.scalar("scale", scale_);
  archive.scalar("scale_sum", scale_sum_);
  archive.scalar("ticks", ticks_);
  auto outputs = static_cast<std::int64_t>(this->outputs());
  archive.scalar("outputs", outputs);
  if (archive.loading()) {
    archive.require(scale_ > smallest_scale && scale_ < largest_scale, "scale", "must be between 2^-10 and 2^10");
    archive.require(scale_sum_ >= 0, "scale_sum", "must not be negative");
    archive.require(ticks_ >= 0, "ticks", "must not be negative");
    archive.require(outputs >= 1 && outputs <= max_outputs, "outputs", "must be between 1 and 2^20");
    columns_ = basis.columns();
    if (columns_ == 0) archive.claim("outputs", static_cast<std::size_t>(outputs) * 2 * sizeof(b_[0]));
  }
  const auto n = static_cast<std::size_t>(outputs);
  visit_weights(archive, "b", b_, n, basis);
  if (averaged_) visit_weights(archive, "c", c_, n, basis);
}

void Function::visit_weights(Archive& archive, const char* name, std::vector<std::vector<double>>& weights,
                             std::size_t outputs, const Basis& basis) {
  std::vector<double> flat;
  for (const auto& w : weights) flat.insert(flat.end(), w.begin(), w.end());
  archive.matrix(name, flat, columns_);
  if (!archive.loading()) return;
  archive.require(flat.size() == columns_ * outputs, name, "must hold one row for each output");
  // A weight where there is no point would count: the padding beyond the points has kernel values, too.
  for (std::size_t j = basis.first_slot(); j < columns_; ++j) {
    if (j < basis.end_slot() && basis.born(j) >= 0) continue;
    for (std::size_t o = 0; o < outputs; ++o)
      archive.require(flat[o * columns_ + j] == 0, name, "must be zero where there is no point");
  }
  weights.resize(outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    const auto first = flat.begin() + static_cast<std::ptrdiff_t>(o * columns_);
    weights[o].assign(first, first + static_cast<std::ptrdiff_t>(columns_));
  }
}

}  // namespace onkel
