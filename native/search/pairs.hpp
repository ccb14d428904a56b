// How much pairs of columns say together about a residual.
#pragma once

#include <cstddef>
#include <vector>

namespace onkel {

// sums[a - first][b] = sum over the residuals r of (1/n sum_i columns[i][a] columns[i][b] r[i])^2 for first <= a < last
// and a <= b; what is below is 0. Rows `columns` are of `width` values, rows `residuals` of `outputs` values. Each sum
// over i is one chain, in their order.
std::vector<double> pair_effects(const double* columns, const double* residuals, std::size_t n, std::size_t width,
                                 std::size_t outputs, std::size_t first, std::size_t last);

}  // namespace onkel
