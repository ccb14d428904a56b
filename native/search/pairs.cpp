#include "search/pairs.hpp"

#include <algorithm>

#include "isa/isa.hpp"
#include "linalg/buffer.hpp"

namespace onkel {

std::vector<double> pair_effects(const double* columns, const double* residuals, std::size_t n, std::size_t width,
                                 std::size_t outputs, const std::function<bool()>& should_continue) {
  constexpr std::size_t lanes = isa::lanes<double>, at_once = 8 * lanes;
  const std::size_t n_tiles = (width + lanes - 1) / lanes, padded = n_tiles * lanes;
  Buffer<double> tiles(padded * n, 0.0), weighed(at_once * n), products(at_once * padded);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < width; ++j) tiles[(j / lanes * n + i) * lanes + j % lanes] = columns[i * width + j];
  std::vector<double> sums(width * width, 0.0);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t first = 0; first < width && should_continue(); first += at_once) {
      const std::size_t rows = std::min(at_once, width - first), tile = first / lanes;
      for (std::size_t a = 0; a < rows; ++a)
        for (std::size_t i = 0; i < n; ++i)
          weighed[a * n + i] = columns[i * width + first + a] * residuals[i * outputs + o] / static_cast<double>(n);
      // The columns before these have had theirs.
      isa::routines<double>().multiply_tiles(weighed.data(), rows, n, tiles.data() + tile * n * lanes, n_tiles - tile,
                                             n * lanes, n, products.data(), padded);
      for (std::size_t a = 0; a < rows; ++a)
        for (std::size_t b = first + a; b < width; ++b) {
          const double product = products[a * padded + b - tile * lanes];
          sums[(first + a) * width + b] += product * product;
        }
    }
  for (std::size_t a = 0; a < width; ++a)
    for (std::size_t b = 0; b < a; ++b) sums[a * width + b] = sums[b * width + a];
  return sums;
}

}  // namespace onkel
