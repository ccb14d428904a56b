// How much pairs of columns say together about a residual.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace onkel {

// sums[a][b] = sum over the residuals r of (1/n sum_i columns[i][a] columns[i][b] r[i])^2, for rows `columns` of
// `width` values and rows `residuals` of `outputs` values. Each sum over i is one chain, in their order. Where
// `should_continue` returns false the rest stays 0.
std::vector<double> pair_effects(const double* columns, const double* residuals, std::size_t n, std::size_t width,
                                 std::size_t outputs, const std::function<bool()>& should_continue);

}  // namespace onkel
