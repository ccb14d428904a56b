#include "linalg/forward.hpp"

#include <algorithm>

namespace onkel {
namespace {

constexpr std::size_t lanes = Triangle::lanes;
constexpr std::size_t block_size = lanes * lanes;

}  // namespace

Forward::Forward(const Triangle& lower) : minus_(lower.rows(), lower.rows()), inverses_(lower.rows() * lanes, 0.0) {
  for (std::size_t i = 0; i < lower.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) minus_.at(i, j) = -lower.at(i, j);
  for (std::size_t i = lower.size(); i < lower.rows(); ++i) minus_.at(i, i) = -1.0;
  for (std::size_t first = 0; first < rows(); first += lanes) {
    double* inverse = inverses_.data() + first * lanes;
    for (std::size_t j = 0; j < lanes; ++j)
      for (std::size_t i = j; i < lanes; ++i) {
        double rest = i == j ? 1.0 : 0.0;
        for (std::size_t k = j; k < i; ++k) rest += minus_.at(first + i, first + k) * inverse[k * lanes + j];
        inverse[i * lanes + j] = rest / -minus_.at(first + i, first + i);
      }
  }
}

void Forward::solve(double* tiles, std::size_t n_tiles) const {
  const auto& routines = isa::routines<double>();
  const std::size_t n = rows();
  alignas(isa::tile_bytes) double before[block_size];
  for (std::size_t first = 0; first < n; first += panel) {
    const std::size_t end = std::min(first + panel, n);
    for (std::size_t t = 0; t < n_tiles; ++t) {
      double* const tile = tiles + t * n * lanes;
      for (std::size_t i = first; i < end; i += lanes) {
        double* const block = tile + i * lanes;
        std::copy_n(block, block_size, before);
        std::fill_n(block, block_size, 0.0);
        routines.add_products(inverses_.data() + i * lanes, before, lanes, lanes, lanes, block, lanes);
        if (i + lanes < end)
          routines.add_products(minus_.row(i + lanes) + i, block, lanes, lanes, minus_.stride(), block + block_size,
                                end - i - lanes);
      }
    }
    for (std::size_t t = 0; t < n_tiles && end < n; ++t) {
      double* const tile = tiles + t * n * lanes;
      routines.add_products(minus_.row(end) + first, tile + first * lanes, lanes, end - first, minus_.stride(),
                            tile + end * lanes, n - end);
    }
  }
}

}  // namespace onkel
