// The rules: a line for each, with its maker, which its own file defines.
#pragma once

#include "first_order/evictions/eviction.hpp"

namespace onkel {

std::unique_ptr<Eviction> make_stop(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_random(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_oldest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_remove_smallest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_shrink_and_remove_oldest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_newcomer(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_neighbour(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_resample_uniformly(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_resample_by_weight(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_merge(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_on_nearest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_grow_at_random(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_move_into_features(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_newcomer(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_aggressive_projection(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_cheapest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_project_smallest(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_komp(const Spec&, const EvictionContext&);
std::unique_ptr<Eviction> make_random_pruning(const Spec&, const EvictionContext&);

struct Rule {
  const char* name;  // of its class in Python
  std::unique_ptr<Eviction> (*make)(const Spec&, const EvictionContext&);
};

inline constexpr Rule rules[] = {
    {"Stop", make_stop},
    {"RemoveRandom", make_remove_random},
    {"RemoveOldest", make_remove_oldest},
    {"RemoveSmallest", make_remove_smallest},
    {"ShrinkAndRemoveOldest", make_shrink_and_remove_oldest},
    {"ProjectOnNewcomer", make_project_on_newcomer},
    {"ProjectOnNeighbour", make_project_on_neighbour},
    {"ResampleUniformly", make_resample_uniformly},
    {"ResampleByWeight", make_resample_by_weight},
    {"Merge", make_merge},
    {"ProjectOnNearest", make_project_on_nearest},
    {"GrowAtRandom", make_grow_at_random},
    {"MoveIntoFeatures", make_move_into_features},
    {"ProjectNewcomer", make_project_newcomer},
    {"AggressiveProjection", make_aggressive_projection},
    {"AggressiveProjection2008", make_aggressive_projection},
    {"ProjectCheapest", make_project_cheapest},
    {"ProjectSmallest", make_project_smallest},
    {"KOMP", make_komp},
    {"RandomPruning", make_random_pruning},
};

}  // namespace onkel
