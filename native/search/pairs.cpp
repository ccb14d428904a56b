#include "search/pairs.hpp"

#include "isa/isa.hpp"
#include "linalg/buffer.hpp"

namespace onkel {

std::vector<double> pair_effects(const double* columns, const double* residuals, std::size_t n, std::size_t width,
                                 std::size_t outputs, std::size_t first, std::size_t last) {
  constexpr std::size_t lanes = isa::lanes<double>;
  const std::size_t tile = first / lanes, start = tile * lanes, n_tiles = (width - start + lanes - 1) / lanes,
                    wide = n_tiles * lanes, rows = last - first;
  Buffer<double> tiles(wide * n, 0.0), weighed(rows * n), products(rows * wide);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < width - start; ++j)
      tiles[(j / lanes * n + i) * lanes + j % lanes] = columns[i * width + start + j];
  std::vector<double> sums(rows * width, 0.0);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t i = 0; i < n; ++i)
        weighed[a * n + i] = columns[i * width + first + a] * residuals[i * outputs + o] / static_cast<double>(n);
    isa::routines<double>().multiply_tiles(weighed.data(), rows, n, tiles.data(), n_tiles, n * lanes, n,
                                           products.data(), wide);
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t b = first + a; b < width; ++b) {
        const double product = products[a * wide + b - start];
        sums[a * width + b] += product * product;
      }
  }
  return sums;
}

}  // namespace onkel
