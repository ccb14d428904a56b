// SecondOrder, continued: what it knows of its function, how that is given, added to and put on fewer points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "learn/second_order.hpp"
#include "linalg/elimination.hpp"

namespace onkel {

// ---- Functions from elsewhere -----------------------------------------------------------------------------------

void SecondOrder::begin_at(std::int64_t t) {
  function_.begin_at(t);
  begin();
}

// A point too close to the span of the others keeps the coefficient it has.
void SecondOrder::set(std::size_t column, std::size_t output, double last, double average) {
  reach();
  function_.set(column, output, last, average);
  if (output == 0 && column >= basis_.first_slot()) extend(column);
}

// Each row before told of one direction as much as a row at the score 0 does.
void SecondOrder::end_set() {
  const double rows = static_cast<double>(function_.ticks()) * (logistic_ ? 0.25 : 1.0);
  Information even(n_fixed() + members_.size());
  even.add_evenly(rows / static_cast<double>(members_.size() + 1));
  adopt(std::move(even));
}

// ---- What is known of the function ------------------------------------------------------------------------------

// L of the coordinates: that of the points, and 1 for the constant.
Triangle SecondOrder::coordinates() const {
  Triangle lower(n_fixed() + members_.size());
  if (n_fixed() == 1) lower.at(0, 0) = 1.0;
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) lower.at(n_fixed() + i, n_fixed() + j) = factor_.at(i, j);
  return lower;
}

Information SecondOrder::current_information() const {
  if (forgets()) return information_;
  return Information::from_covariance(covariance_.among(covered()), coordinates(), lam_);
}

// From now on this is known: the covariance follows from it.
void SecondOrder::adopt(Information information) {
  covariance_.assign(covered(), information.covariance(coordinates(), lam_));
  if (forgets()) information_ = std::move(information);
}

SecondOrder::Knowledge SecondOrder::information() const {
  std::vector<std::int64_t> births;
  for (const std::int64_t slot : members_) births.push_back(basis_.born(static_cast<std::size_t>(slot)));
  return {std::move(births), current_information().half(), lam_, noise_, steps_};
}

void SecondOrder::set_information(std::span<const double> half, double noise, std::int64_t steps) {
  const std::size_t n = n_fixed() + members_.size();
  if (half.size() != n * (n + 1) / 2 || members_.size() != basis_.size())
    throw std::invalid_argument("the information must be the lower half of a matrix of " + std::to_string(n) +
                                " coordinates, and every point must add one");
  if (!std::all_of(half.begin(), half.end(), [](double x) { return std::isfinite(x); }) || !std::isfinite(noise))
    throw std::invalid_argument(
        "the information must be of finite numbers; where kernel values are far beyond lam it is lost to rounding: "
        "scale the rows");
  if (noise < 0 || steps < 0 || steps > function_.ticks())
    throw std::invalid_argument("the noise and its steps must be those of the rows so far");
  adopt(Information::from_half(n, half));
  noise_ = noise;
  steps_ = steps;
}

// The coordinates w = L' a of an output.
std::vector<double> SecondOrder::mean(std::size_t output) const {
  const std::vector<std::size_t> columns = covered();
  std::vector<double> w(columns.size(), 0.0);
  if (n_fixed() == 1) w[0] = function_.last_coefficient(0, output);
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      w[n_fixed() + j] += factor_.at(i, j) * function_.last_coefficient(columns[n_fixed() + i], output);
  return w;
}

// The coefficients of an output become these.
void SecondOrder::move(std::size_t output, std::span<const double> coefficients) {
  const std::vector<std::size_t> columns = covered();
  for (std::size_t i = 0; i < columns.size(); ++i)
    function_.add(columns[i], output, coefficients[i] - function_.last_coefficient(columns[i], output));
}

// With M = L^-1 K_old' L_old^-T the coordinates z of a row in the other's span are M z in this one; so H += weight M
// H_old M', and the linear terms (lam I + H) w add up the same way.
void SecondOrder::add_information(const Informed& other, std::span<const double> kernel, double weight) {
  const auto& old = dynamic_cast<const SecondOrder&>(other);
  const std::size_t n = members_.size(), n_old = old.members_.size(), width = basis_.columns();
  Matrix across(n, n_old);  // L^-1 K_old'
  Buffer<double> column;
  for (std::size_t j = 0; j < n_old; ++j) {
    outside(kernel.subspan(j * width, width), 0.0, column);
    for (std::size_t i = 0; i < n; ++i) across.at(i, j) = column[i];
  }
  Matrix m(n_fixed() + n, n_fixed() + n_old);
  if (n_fixed() == 1) m.at(0, 0) = 1.0;
  for (std::size_t i = 0; i < n; ++i) {
    old.factor_.solve({across.row(i), across.stride()});
    std::copy_n(across.row(i), n_old, m.row(n_fixed() + i) + n_fixed());
  }
  Information sum = current_information();
  const Information theirs = old.current_information();
  std::vector<std::vector<double>> linear(outputs());
  for (std::size_t o = 0; o < outputs(); ++o) {
    const std::vector<double> w = mean(o);
    linear[o] = sum.times(w);
    for (std::size_t i = 0; i < w.size(); ++i) linear[o][i] += lam_ * w[i];
    if (o >= old.outputs()) continue;
    const std::vector<double> w_old = old.mean(o);
    std::vector<double> added = theirs.times(w_old);
    for (std::size_t i = 0; i < w_old.size(); ++i) added[i] += lam_ * w_old[i];
    added = onkel::multiply(m, added);
    for (std::size_t i = 0; i < w.size(); ++i) linear[o][i] += weight * added[i];
  }
  sum.add(theirs.transformed(m), weight);
  for (std::size_t o = 0; o < outputs(); ++o) {
    const std::vector<double> w = sum.mean(linear[o], lam_);
    column.assign(Cholesky::room_for(n), 0.0);
    std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(n_fixed()), n, column.begin());
    factor_.solve_transposed(column);
    std::vector<double> coefficients(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(n_fixed()));
    coefficients.insert(coefficients.end(), column.begin(), column.begin() + static_cast<std::ptrdiff_t>(n));
    move(o, coefficients);
  }
  adopt(std::move(sum));
  noise_ += weight * old.noise_;
  steps_ += std::llround(weight * static_cast<double>(old.steps_));
  // A weight above 1 counts rows more than once; their mean is what is kept.
  if (steps_ > function_.ticks()) {
    noise_ *= static_cast<double>(function_.ticks()) / static_cast<double>(steps_);
    steps_ = function_.ticks();
  }
}

// ---- Fewer points -----------------------------------------------------------------------------------------------

double SecondOrder::compress(double max_distance, std::size_t max_points) {
  return std::sqrt(eliminate(max_distance, max_points).rkhs);
}

void SecondOrder::erase(std::size_t slot) {
  function_.drop(slot);
  basis_.erase(slot, !function_.is_zero(slot));
}

// The points that are no members, since they lie in the span of those; candidates leave.
std::vector<std::size_t> SecondOrder::dependent_points() {
  for (const Candidate& candidate : candidates_) basis_.erase(candidate.slot, false);
  candidates_.clear();
  std::vector<std::size_t> slots = basis_.alive_slots();
  std::erase_if(slots, [&](std::size_t slot) {
    return std::find(members_.begin(), members_.end(), static_cast<std::int64_t>(slot)) != members_.end();
  });
  return slots;
}

// Points are replaced by their projections on the span of the members, if that moves the function by no more than this,
// squared. Returns how far it does. What two of them, of coordinates l, leave outside has the inner product k - l . l'.
double SecondOrder::project(const std::vector<std::size_t>& slots, double max_distance) {
  const std::size_t n = Cholesky::room_for(members_.size());
  Matrix inside(slots.size(), n);
  double moved = 0.0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    values_.resize(basis_.columns());
    basis_.row_of(slots[i], scratch_, values_);
    outside(values_, 0.0, l_);
    std::copy(l_.begin(), l_.end(), inside.row(i));
    for (std::size_t j = 0; j <= i; ++j) {
      const double inner = values_[slots[j]] - isa::routines<double>().dot(inside.row(i), inside.row(j), n);
      for (std::size_t o = 0; o < outputs(); ++o)
        moved += (i == j ? 1 : 2) * inner * function_.last_coefficient(slots[i], o) *
                 function_.last_coefficient(slots[j], o);
    }
  }
  moved = std::max(0.0, moved);
  if (moved > max_distance) return moved;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    factor_.solve_transposed({inside.row(i), n});
    for (std::size_t o = 0; o < outputs(); ++o)
      for (std::size_t j = 0; j < members_.size(); ++j)
        function_.add(static_cast<std::size_t>(members_[j]), o,
                      inside.at(i, j) * function_.last_coefficient(slots[i], o));
    erase(slots[i]);
  }
  return moved;
}

// In the coordinates of the points that stay, with L_S their rows of L, the information is M H M', M = L'^-1 L_S: in
// the coefficients the rows and columns of the others are left out.
SecondOrder::Moved SecondOrder::eliminate(double max_distance, std::size_t max_points) {
  const std::vector<std::size_t> others = dependent_points();
  const double room = max_distance * max_distance;
  const bool must = members_.size() + others.size() > max_points;
  const double projected = project(others, must ? std::numeric_limits<double>::infinity() : room);
  if (!must && projected > room) return {0.0, 0.0};
  const std::vector<std::size_t> columns = covered();
  const std::size_t n = columns.size();
  const Triangle lower = coordinates();
  Matrix rows(n, n), a(outputs(), n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) rows.at(i, j) = lower.at(i, j);
  for (std::size_t o = 0; o < outputs(); ++o)
    for (std::size_t i = 0; i < n; ++i) a.at(o, i) = function_.last_coefficient(columns[i], o);
  const Matrix kernel = multiply_transposed(rows, rows);
  Elimination elimination(covariance_.among(columns), std::move(a), kernel, n_fixed());
  Moved moved{0.0, projected};  // what is projected moves at right angles to all that follows
  while (elimination.left() > 0) {
    elimination.project();
    const double reached = projected + elimination.rkhs_distance();
    if (elimination.left() <= max_points && reached > room) break;
    elimination.remove();
    moved = {elimination.data_distance(), reached};
  }
  for (std::size_t o = 0; o < outputs(); ++o) move(o, {elimination.coefficients().row(o), n});

  const std::vector<std::size_t> staying = elimination.staying();
  for (std::size_t i = n_fixed(); i < n; ++i)
    if (!std::binary_search(staying.begin(), staying.end(), i)) erase(columns[i]);
  members_.clear();
  factor_ = {};
  for (const std::size_t i : staying)
    if (i >= n_fixed()) extend(columns[i]);
  Triangle half(staying.size());
  for (std::size_t i = 0; i < staying.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) half.at(i, j) = elimination.covariance().at(staying[i], staying[j]);
  covariance_.assign(covered(), half);
  if (!forgets()) return moved;
  Matrix m(staying.size(), n);
  if (n_fixed() == 1) m.at(0, 0) = 1.0;
  Buffer<double> column;
  for (std::size_t j = n_fixed(); j < n; ++j) {
    column.assign(Cholesky::room_for(members_.size()), 0.0);
    for (std::size_t i = n_fixed(); i < staying.size(); ++i) column[i - n_fixed()] = rows.at(staying[i], j);
    factor_.solve(column);
    for (std::size_t i = n_fixed(); i < staying.size(); ++i) m.at(i, j) = column[i - n_fixed()];
  }
  information_ = information_.transformed(m);
  return moved;
}

}  // namespace onkel
