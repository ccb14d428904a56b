// SecondOrder, continued: the information about its function: setting it, adding to it and restricting it to fewer
// points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "linalg/elimination.hpp"
#include "second_order/second_order.hpp"

namespace onkel {

// ---- Functions from outside -------------------------------------------------------------------------------------

void SecondOrder::begin_at(std::int64_t t) {
  function_.begin_at(t);
  begin();
}

// A point too close to the span of the others keeps its coefficient.
void SecondOrder::set(std::size_t column, std::size_t output, double last, double average) {
  reach();
  function_.set(column, output, last, average);
  if (output > 0 || column < basis_.first_slot()) return;
  const Buffer<double> values = values_of(column);
  first().extend(column, place(values, values[column]));
}

// Each row so far is taken to inform about one direction as much as a row at the score 0 does.
double SecondOrder::even_information() const {
  const double rows = static_cast<double>(function_.ticks()) * (logistic_ ? 0.25 : 1.0);
  return rows / static_cast<double>(first().size() + 1);
}

void SecondOrder::end_set() {
  first().adopt(first().spread_evenly(even_information()));
  find_dependent_points();
  start_from_function();
}

// Finds the points that are neither candidates nor, since they lie in the span of the members, members.
void SecondOrder::find_dependent_points() {
  dependent_points_ = basis_.alive_slots();
  std::erase_if(dependent_points_, [&](std::size_t slot) {
    return first().holds(slot) || std::any_of(candidates_.begin(), candidates_.end(),
                                              [&](const Candidate& candidate) { return candidate.slot == slot; });
  });
}

// The function becomes that of the first posterior, and the others start from it at the next row.
void SecondOrder::start_from_function() {
  others_suspended_ = false;
  suspend_others();
  for (std::size_t o = 0; o < outputs(); ++o)
    for (std::size_t column = 0; column < first().columns(); ++column)
      first().set_coefficient(column, o, function_.last_coefficient(first().basis_column(column), o));
}

// ---- What is known of the function ------------------------------------------------------------------------------

SecondOrder::Knowledge SecondOrder::information() const {
  std::vector<std::int64_t> births;
  for (const std::int64_t slot : first().members()) births.push_back(basis_.born(static_cast<std::size_t>(slot)));
  Knowledge known{std::move(births), first().current_information(even_information()).half(), lam_, noise_, steps_, {}};
  if (!measures()) return known;
  const std::vector<double> numbers = deviation_.numbers(), local = first().own_local();
  known.deviation = {static_cast<double>(numbers.size())};
  known.deviation.insert(known.deviation.end(), numbers.begin(), numbers.end());
  known.deviation.insert(known.deviation.end(), local.begin(), local.end());
  return known;
}

// Where nothing is known of residuals but their mean square, they are taken to be alike everywhere.
void SecondOrder::set_information(std::span<const double> half, double noise, std::int64_t steps,
                                  std::span<const double> deviation) {
  const std::size_t n = first().columns();
  if (half.size() != n * (n + 1) / 2 || first().size() != basis_.size())
    throw std::invalid_argument("the information must be the lower half of a matrix of " + std::to_string(n) +
                                " coordinates, and every point must add one");
  if (!std::all_of(half.begin(), half.end(), [](double x) { return std::isfinite(x); }) || !std::isfinite(noise))
    throw std::invalid_argument(
        "the information must be of finite numbers; where kernel values are far beyond lam it is lost to rounding: "
        "scale the rows");
  if (noise < 0 || steps < 0 || steps > function_.ticks())
    throw std::invalid_argument("the noise and its steps must be those of the rows so far");
  const std::size_t numbers = deviation.empty() ? 0 : static_cast<std::size_t>(deviation[0]);
  if (measures() && !deviation.empty() &&
      (numbers < Deviation::least_numbers || deviation.size() != 1 + numbers + n ||
       !std::all_of(deviation.begin(), deviation.end(), [](double x) { return std::isfinite(x); })))
    throw std::invalid_argument("what is known of residuals must be finite numbers, the last of them one per column");
  first().adopt(Information::from_half(n, half));
  noise_ = noise;
  steps_ = steps;
  if (!measures()) return;
  if (deviation.empty()) {
    deviation_.begin_with(noise_variance(), steps_);
  } else {
    deviation_.set_numbers(deviation.subspan(1, numbers));
    first().set_local(deviation.subspan(1 + numbers));
  }
}

// The coefficients of an output, in the order of the first posterior's columns.
std::vector<double> SecondOrder::last(std::size_t output) const {
  std::vector<double> coefficients;
  for (std::size_t column = 0; column < first().columns(); ++column)
    coefficients.push_back(function_.last_coefficient(first().basis_column(column), output));
  return coefficients;
}

// Sets them.
void SecondOrder::move(std::size_t output, std::span<const double> coefficients) {
  for (std::size_t column = 0; column < first().columns(); ++column)
    function_.become(first().basis_column(column), output, coefficients[column]);
}

// With M = L^-1 K_old' L_old^-T the coordinates z of a row in the other's span are M z in this one; so H += weight M
// H_old M', and the linear terms (lam I + H) w add up the same way.
void SecondOrder::add_information(const Informed& other, std::span<const double> kernel, double weight) {
  const auto& old = dynamic_cast<const SecondOrder&>(other);
  const std::size_t n = first().size(), n_old = old.first().size(), width = basis_.columns();
  Matrix across(n, n_old);  // L^-1 K_old'
  for (std::size_t j = 0; j < n_old; ++j) {
    const Placement placed = place(kernel.subspan(j * width, width), 0.0);
    for (std::size_t i = 0; i < n; ++i) across.at(i, j) = placed.l[i];
  }
  Matrix m(n_fixed() + n, n_fixed() + n_old);
  if (n_fixed() == 1) m.at(0, 0) = 1.0;
  for (std::size_t i = 0; i < n; ++i) {
    old.first().factor().solve({across.row(i), across.stride()});
    std::copy_n(across.row(i), n_old, m.row(n_fixed() + i) + n_fixed());
  }
  Information sum = first().current_information(even_information());
  const Information theirs = old.first().current_information(old.even_information());
  std::vector<std::vector<double>> linear(outputs());
  for (std::size_t o = 0; o < outputs(); ++o) {
    const std::vector<double> w = first().mean(last(o));
    linear[o] = sum.times(w);
    for (std::size_t i = 0; i < w.size(); ++i) linear[o][i] += lam_ * w[i];
    if (o >= old.outputs()) continue;
    const std::vector<double> w_old = old.first().mean(old.last(o));
    std::vector<double> added = theirs.times(w_old);
    for (std::size_t i = 0; i < w_old.size(); ++i) added[i] += lam_ * w_old[i];
    added = onkel::multiply(m, added);
    for (std::size_t i = 0; i < w.size(); ++i) linear[o][i] += weight * added[i];
  }
  if (measures()) {
    const std::vector<double> w = first().mean(first().own_local()),
                              theirs_w = old.first().mean(old.first().own_local());
    std::vector<double> linear_local = sum.times(w), added = theirs.times(theirs_w);
    for (std::size_t i = 0; i < w.size(); ++i) linear_local[i] += lam_ * w[i];
    for (std::size_t i = 0; i < theirs_w.size(); ++i) added[i] += lam_ * theirs_w[i];
    added = onkel::multiply(m, added);
    for (std::size_t i = 0; i < w.size(); ++i) linear_local[i] += weight * added[i];
    linear.push_back(std::move(linear_local));
    deviation_.add(old.deviation_, weight);
  }
  sum.add(theirs.transformed(m), weight);
  if (measures()) first().set_local(first().from_mean(sum.mean(linear.back(), lam_)));
  for (std::size_t o = 0; o < outputs(); ++o) move(o, first().from_mean(sum.mean(linear[o], lam_)));
  first().adopt(std::move(sum));
  start_from_function();
  noise_ += weight * old.noise_;
  steps_ += std::llround(weight * static_cast<double>(old.steps_));
  // A weight above 1 counts rows more than once; the sum of the residuals is then scaled to the number of rows.
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

void SecondOrder::drop_candidates() {
  for (const Candidate& candidate : candidates_) basis_.erase(candidate.slot, false);
  candidates_.clear();
}

// Replaces points by their projections on the span of the members, if that moves the function by no more than
// `max_distance`, squared. Returns the squared distance. The components outside the span of two points with coordinates
// l and l' have the inner product k - l . l'.
double SecondOrder::project(const std::vector<std::size_t>& slots, double max_distance) {
  const std::size_t n = Cholesky::room_for(first().size());
  Matrix inside(slots.size(), n);
  double moved = 0.0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Buffer<double> values = values_of(slots[i]);
    const Placement placed = place(values, 0.0);
    std::copy(placed.l.begin(), placed.l.end(), inside.row(i));
    for (std::size_t j = 0; j <= i; ++j) {
      const double inner = values[slots[j]] - isa::routines<double>().dot(inside.row(i), inside.row(j), n);
      for (std::size_t o = 0; o < outputs(); ++o)
        moved += (i == j ? 1 : 2) * inner * function_.last_coefficient(slots[i], o) *
                 function_.last_coefficient(slots[j], o);
    }
  }
  moved = std::max(0.0, moved);
  if (moved > max_distance) return moved;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    first().factor().solve_transposed({inside.row(i), n});
    for (std::size_t o = 0; o < outputs(); ++o)
      for (std::size_t j = 0; j < first().size(); ++j)
        function_.add(static_cast<std::size_t>(first().members()[j]), o,
                      inside.at(i, j) * function_.last_coefficient(slots[i], o));
    erase(slots[i]);
  }
  return moved;
}

SecondOrder::Displacement SecondOrder::eliminate(double max_distance, std::size_t max_points) {
  drop_candidates();
  find_dependent_points();
  const double room = max_distance * max_distance;
  const bool must = first().size() + dependent_points_.size() > max_points;
  const double projected = project(dependent_points_, must ? std::numeric_limits<double>::infinity() : room);
  if (!must && projected > room) return {0.0, 0.0};
  dependent_points_.clear();
  start_from_function();
  return lose_points(projected, room, max_points);
}

// All memories go on, but where points lie in the span of others.
void SecondOrder::limit(std::size_t budget) {
  budget_ = budget;
  limit_memories(budget);
  if (basis_.size() <= budget) return;
  if (!dependent_points_.empty()) {
    eliminate(0.0, budget);
    return;
  }
  drop_candidates();
  lose_points(0.0, 0.0, budget);
}

// The first posterior loses points until there are no more than `max_points`, and further ones as long as its function
// moves by no more than `max_distance`, squared, with what was `projected` before. In the coordinates of the points
// that stay, with L_S their rows of L, the information is M H M', M = L'^-1 L_S: in the coefficients the rows and
// columns of the others are dropped. The other posteriors, which have few points, lose the same ones one by one.
SecondOrder::Displacement SecondOrder::lose_points(double projected, double max_distance, std::size_t max_points) {
  const std::size_t n = first().columns();
  const Triangle lower = first().coordinates();
  Matrix rows(n, n), a(outputs(), n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) rows.at(i, j) = lower.at(i, j);
  for (std::size_t o = 0; o < outputs(); ++o)
    for (std::size_t i = 0; i < n; ++i) a.at(o, i) = first().coefficients(o)[first().basis_column(i)];
  const Displacement start{0.0, projected};  // what is projected moves at right angles to all that follows
  Displacement moved = start;
  Elimination elimination(first().covariance(), first().sizes_of_variances(), a, rows, n_fixed());
  const auto run = [&] {
    while (elimination.left() > 0) {
      elimination.project();
      const double reached = projected + elimination.rkhs_distance();
      if (elimination.left() <= max_points && reached > max_distance) break;
      if (!elimination.is_above_rounding()) return false;
      elimination.remove();
      moved = {elimination.data_distance(), reached};
    }
    return true;
  };
  // Where A has no digits left to tell who is needed, the kernel says it (KOMP), which always has.
  if (!run()) {
    moved = start;
    elimination = Elimination(first().even_covariance(even_information()), {}, std::move(a), rows, n_fixed());
    run();
  }
  const std::vector<std::size_t> staying = elimination.staying();
  std::vector<std::size_t> leaving;
  for (std::size_t i = n_fixed(); i < n; ++i)
    if (!std::binary_search(staying.begin(), staying.end(), i)) leaving.push_back(first().basis_column(i));
  Triangle half(staying.size());
  for (std::size_t i = 0; i < staying.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) half.at(i, j) = elimination.covariance().at(staying[i], staying[j]);
  first().restrict_to(staying, rows, half);
  for (std::size_t o = 0; o < outputs(); ++o)
    for (std::size_t i = 0; i < staying.size(); ++i)
      first().set_coefficient(i, o, elimination.coefficients().at(o, staying[i]));
  for (std::size_t e = 1; e < n_active(); ++e) {
    Posterior& own = posteriors_[e];
    for (const std::size_t slot : leaving)
      if (own.holds(slot)) own.leave(slot, even_information());
    while (own.size() > own.max_points()) own.leave(own.least_needed(), even_information());
  }
  publish();
  for (const std::size_t slot : leaving) erase(slot);
  return moved;
}

}  // namespace onkel
