// The makers of the rules, one a file.
#pragma once

#include "budget.hpp"

namespace onkel {

std::unique_ptr<Budget> make_stop(const Spec&, const Hold&);
std::unique_ptr<Budget> make_remove_random(const Spec&, const Hold&);
std::unique_ptr<Budget> make_remove_oldest(const Spec&, const Hold&);
std::unique_ptr<Budget> make_remove_smallest(const Spec&, const Hold&);
std::unique_ptr<Budget> make_forget(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_on_newcomer(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_on_neighbour(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_on_nearest(const Spec&, const Hold&);
std::unique_ptr<Budget> make_resample(const Spec&, const Hold&, bool by_weight);
std::unique_ptr<Budget> make_merge(const Spec&, const Hold&);
std::unique_ptr<Budget> make_grow_at_random(const Spec&, const Hold&);
std::unique_ptr<Budget> make_move_into_features(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_newcomer(const Spec&, const Hold&);
std::unique_ptr<Budget> make_aggressive_projection(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_cheapest(const Spec&, const Hold&);
std::unique_ptr<Budget> make_project_smallest(const Spec&, const Hold&);
std::unique_ptr<Budget> make_komp(const Spec&, const Hold&);
std::unique_ptr<Budget> make_random_pruning(const Spec&, const Hold&);

}  // namespace onkel
