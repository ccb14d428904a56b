// What parts compute inside, with a C interface, for tests in Python (tests/inside.py).

#include <algorithm>
#include <string>
#include <vector>

#include "first_order/admission.hpp"
#include "first_order/evictions/merge.hpp"
#include "first_order/evictions/resample.hpp"
#include "first_order/evictions/shrink_and_remove_oldest.hpp"
#include "first_order/loss.hpp"
#include "loop/names.hpp"
#include "loop/scored.hpp"

using namespace onkel;

#pragma GCC visibility push(default)
extern "C" {

double onkel_forgetron_factor(double a, double b, double c) { return forgetron_factor(a, b, c); }

double onkel_water_level(const double* weights, std::size_t n) { return water_level({weights, n}); }

double onkel_best_merge(double L, double A, double B, double C, double* h) {
  const Merged merged = best_merge(L, A, B, C);
  *h = merged.h;
  return merged.loss;
}

// A row's probability to join, and in `gradient` what its step would follow; a part is its name and its numbers.
double onkel_evaluate_admission(const char* admission, const char* const* names, const double* values,
                                std::size_t n_values, const char* loss, const char* task, const double* scores,
                                std::size_t n_scores, double y, double* gradient) {
  Spec spec{admission, {}, {}, {}};
  for (std::size_t i = 0; i < n_values; ++i) spec.values[names[i]] = values[i];
  Scored row(n_scores);
  row.f.assign(scores, scores + n_scores);
  row.y = y;
  Loss(Spec{loss, {}, {}, {}}, task_named(task)).evaluate(row);
  const double probability = make_admission(spec)->probability(row);
  std::copy(row.g.begin(), row.g.end(), gradient);
  return probability;
}
}
#pragma GCC visibility pop
