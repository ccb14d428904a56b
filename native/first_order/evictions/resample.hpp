// BOGD's probabilities, separate from the rule so that they can be tested.
#pragma once

#include <span>

namespace onkel {

// BOGD++, Equation (16): points of these weights are removed with p_i = max(0, 1 - w_i / level), sum p = 1. The paper
// is silent on weights above the level, whose p would be negative: these points always stay, and the level is computed
// again among the others (water-filling). Excluding them lowers the level, and two points always remain: w_1 + w_2
// exceeds both weights. The level is 0 where two or more points have no weight, one of which is then removed, and
// infinite for a single point. Infinite weights do not count.
double water_level(std::span<const double> weights);

}  // namespace onkel
