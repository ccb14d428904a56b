// The makers of the rules, one a file.
#pragma once

#include "learn/eviction/eviction.hpp"

namespace onkel {

std::unique_ptr<Eviction> make_stop(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_random(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_oldest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_smallest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_shrink_and_remove_oldest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_newcomer(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_neighbour(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_nearest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_resample(const Spec&, const EvictionContext&, bool by_weight);
std::unique_ptr<Eviction> make_merge(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_grow_at_random(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_move_into_features(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_newcomer(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_aggressive_projection(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_cheapest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_smallest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_komp(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_random_pruning(const Spec&, const EvictionContext&);

}  // namespace onkel
