// BOGD's probabilities, apart from the rule so that they can be tested.
#pragma once

#include <span>

namespace onkel {

// BOGD++, Equation (16): with what probability 1 - p_i each of the points with these weights stays, exactly one
// leaving. p_i = 1 - w_i / tau with sum p = 1; the paper is silent on weights above tau, whose p would be negative:
// they stay for sure and tau is found again among the others (water-filling). Where weights are 0 one of those leaves,
// uniformly.
void stay_probabilities(std::span<const double> weights, std::span<double> stay);

}  // namespace onkel
