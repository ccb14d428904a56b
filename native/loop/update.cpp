#include "loop/update.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace onkel {
namespace {

// Far below the largest number, so that squares and the sums of the average stay finite too.
constexpr double largest_value = 1e100;

}  // namespace

void require_in_range(std::span<const double> values, const char* what, std::int64_t position) {
  if (std::all_of(values.begin(), values.end(), [](double v) { return std::abs(v) <= largest_value; })) return;
  throw Diverged(std::string(what) + " of row " + std::to_string(position) +
                 " of the stream is not a number below 1e100: the learner diverges (smaller steps or scaled features "
                 "help)");
}

}  // namespace onkel
