// SecondOrder, continued: several memories on one set of points.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <optional>

#include "second_order/second_order.hpp"

namespace onkel {
namespace {

// What an expert believed of a row counts for no less: one surprise must not silence it.
const double least_log_likelihood = std::log(1e-2);

// A memory of less weight rests while nothing seems to change.
constexpr double least_weight = 0.01;

}  // namespace

std::vector<double> SecondOrder::memories() const {
  std::vector<double> rows;
  for (const Posterior& posterior : posteriors_) rows.push_back(posterior.memory());
  return rows;
}

// The present function becomes that of the first posterior.
void SecondOrder::suspend_others() {
  if (others_suspended_ || posteriors_.size() == 1) return;
  others_suspended_ = true;
  for (std::size_t e = 1; e < posteriors_.size(); ++e) posteriors_[e].begin();
  share_.begin_with_first();
  due_ = 0.0;
  for (std::size_t o = 0; o < outputs(); ++o)
    for (std::size_t column = 0; column < first().columns(); ++column)
      first().set_coefficient(column, o, function_.last_coefficient(first().basis_column(column), o));
}

// Nothing is known about the weights yet, and the first posterior keeps all of the weight, so that the function stays.
void SecondOrder::resume_others() {
  for (std::size_t e = 1; e < posteriors_.size(); ++e)
    posteriors_[e].begin_as(first(), static_cast<double>(function_.ticks() + 1), even_information());
  others_suspended_ = false;
}

// For classes, the probability of the label where scores are log odds, and e^-loss otherwise. For targets, the density
// relative to its peak that belongs to the loss (of the squared error the normal one), with one noise variance for all:
// otherwise a posterior would gain by a small variance.
double SecondOrder::log_likelihood(const Scored& row) const {
  if (task_ != Task::regression) return std::max(-row.loss, least_log_likelihood);
  const double noise = noise_variance();
  return noise > 0 ? std::max(-row.loss / noise, least_log_likelihood) : 0.0;
}

void SecondOrder::update_weights(const InHand& row) {
  const Example& example = *row.example;
  std::vector<double> logs;
  for (const Scored& each : row.each) logs.push_back(log_likelihood(each));
  const double part = share_.update_weights(logs, example.weight);
  recent_loss_.add(1 - std::exp(log_likelihood(row.mixed)), part);
  share_.remember(example.t);
  const Posterior& winner = posteriors_[share_.winner()];
  if (winner.fades() && is_full(example.position)) due_ = std::min(1.0, due_ + 1 / winner.memory());
}

// One that counts for little, while the function does as well as ever, neither learns nor forgets: it costs its score
// alone. By chance the loss rises every now and then, so that it is not left behind.
bool SecondOrder::rests(std::size_t posterior) const {
  return posterior > 0 && share_.weights()[posterior] < least_weight && !recent_loss_.may_have_risen(posterior);
}

// At a full budget the row takes the place of the point that the function needs least, where one is due. Posteriors
// that stand on fewer points make room for it too.
void SecondOrder::renew(InHand& in_hand) {
  assert(in_hand.several || due_ == 0);
  const Scored& row = in_hand.mixed;
  if (due_ < 1 - 1e-9) return;      // the sum of so many parts
  if (first().size() == 0) return;  // other kernels have all the points that there may be
  const double kappa = kernel_with_itself(*row.block, row.row);
  if (!place(in_hand.k, kappa).is_independent()) return;
  due_ = 0.0;
  const std::size_t leaver = least_needed();
  for (Posterior& posterior : posteriors_)
    if (posterior.holds(leaver)) posterior.leave(leaver, even_information());
  erase(leaver);
  // Another kernel may hold on to the point that has left: then there is no room for the row.
  std::optional<std::size_t> slot;
  if (basis_.has_room(row.position)) slot = basis_.insert(*row.block, row.row, row.position);
  reach();
  in_hand.k.assign(basis_.columns(), 0.0);
  basis_.values(*row.block, row.row, in_hand.k);
  if (slot) {
    in_hand.k[*slot] = kappa;
    if (!join(*slot, in_hand)) basis_.erase(*slot, false);
  }
  publish();
  score_each(in_hand);
}

// A posterior that uses some of the points follows the rows: where the nearest of all points to a row that is
// informative for it is not its own, that point replaces the one that it needs least, at most once per period.
void SecondOrder::exchange(std::size_t e, InHand& in_hand) {
  Posterior& posterior = posteriors_[e];
  Scored& row = in_hand.seen_by(e);
  if (!posterior.may_exchange(row.t)) return;
  if (!in_hand.nearest) in_hand.nearest = nearest(in_hand);
  const std::size_t slot = *in_hand.nearest;
  if (posterior.holds(slot)) return;
  posterior.exchanged(row.t);
  posterior.leave(posterior.least_needed(), even_information());
  const Buffer<double> values = values_of(slot);
  posterior.join(slot, posterior.place(posterior.pick(values), values[slot]));
  score(posterior, in_hand.k, row.f);
  loss_.evaluate(row);
}

// The point with the largest kernel value at the row.
std::size_t SecondOrder::nearest(const InHand& row) const {
  const auto& members = first().members();
  return static_cast<std::size_t>(*std::max_element(members.begin(), members.end(), [&](auto a, auto b) {
    return row.k[static_cast<std::size_t>(a)] < row.k[static_cast<std::size_t>(b)];
  }));
}

// The point whose removal costs least, summed over all posteriors by their weights, in the metric of the data.
std::size_t SecondOrder::least_needed() {
  std::vector<double> costs(basis_.columns(), 0.0);
  for (std::size_t e = 0; e < posteriors_.size(); ++e) {
    const std::vector<double> own = posteriors_[e].costs();
    for (std::size_t i = 0; i < own.size(); ++i)
      costs[static_cast<std::size_t>(posteriors_[e].members()[i])] += share_.weights()[e] * own[i];
  }
  const auto& members = first().members();
  return static_cast<std::size_t>(*std::min_element(members.begin(), members.end(), [&](auto a, auto b) {
    return costs[static_cast<std::size_t>(a)] < costs[static_cast<std::size_t>(b)];
  }));
}

}  // namespace onkel
