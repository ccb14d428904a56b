// BOGD's probabilities, apart from the rule so that they can be tested.
#pragma once

#include <span>

namespace onkel {

// BOGD++, Equation (16): points of these weights leave with p_i = max(0, 1 - w_i / level), sum p = 1. The paper is
// silent on weights above the level, whose p would be negative: they stay for sure, and the level is found again among
// the others (water-filling). Fixing them lowers it, and two are always left: w_1 + w_2 tops both. It is 0 where two
// or more have no weight, one of which then leaves, and infinite for a single point. Infinite weights do not count.
double water_level(std::span<const double> weights);

}  // namespace onkel
