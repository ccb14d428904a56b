#include "linalg/triangle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace onkel {
namespace {

constexpr std::size_t lanes = Triangle::lanes;
constexpr std::size_t block_size = lanes * lanes;

// block <- x block, both 8 by 8.
void multiply_block(const double* x, double* block) {
  alignas(isa::tile_bytes) double before[block_size];
  std::copy_n(block, block_size, before);
  std::fill_n(block, block_size, 0.0);
  isa::routines<double>().add_products(x, before, lanes, lanes, lanes, block, lanes);
}

}  // namespace

Triangle::Triangle(const Matrix& whole) : Triangle(whole.rows()) {
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j <= i; ++j) at(i, j) = whole.at(i, j);
}

Triangle Triangle::from_half(std::size_t n, std::span<const double> half) {
  Triangle result(n);
  const double* next = half.data();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) result.at(i, j) = *next++;
  return result;
}

std::vector<double> Triangle::half() const {
  std::vector<double> values;
  values.reserve(size_ * (size_ + 1) / 2);
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j <= i; ++j) values.push_back(at(i, j));
  return values;
}

Matrix Triangle::whole() const {
  Matrix result(size_, size_);
  for (std::size_t begin = 0; begin < size_; begin += lanes)
    for (std::size_t i = begin; i < size_; ++i)
      for (std::size_t j = begin; j <= std::min(i, begin + lanes - 1); ++j)
        result.at(i, j) = result.at(j, i) = at(i, j);
  return result;
}

Triangle Triangle::leading(std::size_t n) const {
  Triangle result(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) result.at(i, j) = at(i, j);
  return result;
}

Triangle Triangle::identity(std::size_t n) {
  Triangle result(n);
  for (std::size_t i = 0; i < result.rows_; ++i) result.at(i, i) = 1.0;
  return result;
}

void Triangle::reach(std::size_t n) {
  size_ = std::max(size_, n);
  if (n <= rows_) return;
  Triangle larger;
  larger.size_ = n;
  larger.rows_ = round_up(n, lanes);
  larger.values_.resize(larger.offset(larger.rows_ / lanes), 0.0);
  for (std::size_t t = 0; t < rows_ / lanes; ++t) std::copy_n(tile(t), (rows_ - t * lanes) * lanes, larger.tile(t));
  *this = std::move(larger);
}

void Triangle::add_products(const double* x, const double* y, std::size_t y_stride, std::size_t m) {
  for (std::size_t t = 0; t < rows_ / lanes; ++t)
    isa::routines<double>().add_products(x + t * lanes * m, y + t * lanes, y_stride, m, m, tile(t), rows_ - t * lanes);
}

void Triangle::scale(double factor) {
  for (double& value : values_) value *= factor;
}

Triangle gram(const Triangle& v) {
  const std::size_t n = v.rows();
  Buffer<double> transposed(n * n, 0.0);
  for (std::size_t t = 0; t < n / lanes; ++t)
    for (std::size_t i = t * lanes; i < n; ++i)
      for (std::size_t l = 0; l < lanes; ++l)
        transposed[(t * lanes + l) * n + i] = v.tile(t)[(i - t * lanes) * lanes + l];
  Triangle result(v.size());
  for (std::size_t t = 0; t < n / lanes; ++t)
    for (std::size_t i = t * lanes; i < n; i += lanes) {
      const std::size_t below = (i - t * lanes) * lanes;
      isa::routines<double>().add_products(transposed.data() + i * n + i, v.tile(t) + below, lanes, n - i, n,
                                           result.tile(t) + below, lanes);
    }
  return result;
}

Solver::Solver(Triangle lower) : below_(std::move(lower)), inverses_(below_.rows() * lanes, 0.0) {
  for (std::size_t i = below_.size(); i < below_.rows(); ++i) below_.at(i, i) = 1.0;
  for (std::size_t block = 0; block < below_.rows() / lanes; ++block) invert_block(block);
  below_.scale(-1.0);
}

Solver Solver::of_symmetric(Triangle matrix, double least) {
  Solver result = begun(std::move(matrix), least);
  while (result.factor_block()) {
  }
  return result;
}

Solver Solver::begun(Triangle matrix, double least) {
  const std::size_t n = matrix.rows();
  double largest = 0.0;
  for (std::size_t i = 0; i < matrix.size(); ++i) largest = std::max(largest, std::abs(matrix.at(i, i)));
  for (std::size_t i = matrix.size(); i < n; ++i) matrix.at(i, i) = std::max(largest, 1.0);
  const double lowest = 4 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() * largest;
  const double raise = std::max(0.0, lowest - least);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.at(i, i) += raise;
  Solver result;
  result.floor_ = std::max(least, lowest) / 2;
  result.below_ = std::move(matrix);
  result.inverses_.assign(n * lanes, 0.0);
  return result;
}

bool Solver::factor_block() {
  const std::size_t n = below_.rows(), block = n_factored_;
  if (block == n / lanes) return false;
  double* const diagonal = below_.tile(block);
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t i = j; i < lanes; ++i) {
      double rest = diagonal[i * lanes + j];
      for (std::size_t k = 0; k < j; ++k) rest -= diagonal[i * lanes + k] * diagonal[j * lanes + k];
      if (i == j && !(rest >= floor_)) exact_ = false;
      diagonal[i * lanes + j] = i == j ? std::sqrt(std::max(rest, floor_)) : rest / diagonal[j * lanes + j];
    }
  for (std::size_t i = 0; i < lanes; ++i) std::fill(diagonal + i * lanes + i + 1, diagonal + (i + 1) * lanes, 0.0);
  invert_block(block);
  // The rows below, X D^-T, are stored with the opposite sign; then X X' is subtracted from every later tile.
  double* const below = diagonal + block_size;
  const std::size_t first = (block + 1) * lanes, count = n - first;
  const double* inverse = inverses_.data() + block * block_size;
  Buffer<double> before(below, below + count * lanes), across(block_size);
  for (std::size_t i = 0; i < lanes; ++i)
    for (std::size_t j = 0; j < lanes; ++j) across[j * lanes + i] = -inverse[i * lanes + j];
  std::fill_n(below, count * lanes, 0.0);
  const auto& routines = isa::routines<double>();
  routines.add_products(before.data(), across.data(), lanes, lanes, lanes, below, count);
  for (std::size_t t = block + 1; t < n / lanes; ++t) {
    const double* rows = below + (t * lanes - first) * lanes;
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t j = 0; j < lanes; ++j) across[j * lanes + i] = -rows[i * lanes + j];
    routines.add_products(rows, across.data(), lanes, lanes, lanes, below_.tile(t), n - t * lanes);
  }
  ++n_factored_;
  return true;
}

// Column by column, by forward substitution.
void Solver::invert_block(std::size_t block) {
  const double* d = below_.tile(block);
  double* inverse = inverses_.data() + block * block_size;
  for (std::size_t j = 0; j < lanes; ++j)
    for (std::size_t i = j; i < lanes; ++i) {
      double rest = i == j ? 1.0 : 0.0;
      for (std::size_t k = j; k < i; ++k) rest -= d[i * lanes + k] * inverse[k * lanes + j];
      inverse[i * lanes + j] = rest / d[i * lanes + i];
    }
}

// `rows`: those of a tile from the block's own on.
void Solver::solve_block(std::size_t block, double* rows) const {
  multiply_block(inverses_.data() + block * block_size, rows);
  isa::routines<double>().add_products(below_.tile(block) + block_size, rows, lanes, lanes, lanes, rows + block_size,
                                       below_.rows() - (block + 1) * lanes);
}

void Solver::solve(Triangle& x) const {
  const std::size_t blocks = below_.rows() / lanes;
  for (std::size_t t = 0; t < blocks; ++t)
    for (std::size_t block = t; block < blocks; ++block) solve_block(block, x.tile(t) + (block - t) * block_size);
}

void Solver::solve(double* tiles, std::size_t n_tiles) const {
  for (std::size_t block = 0; block < below_.rows() / lanes; ++block)
    for (std::size_t t = 0; t < n_tiles; ++t) solve_block(block, tiles + (t * below_.rows() + block * lanes) * lanes);
}

void Solver::solve(std::span<double> x) const {
  for (std::size_t first = 0; first < below_.rows(); first += lanes) {
    const double *inverse = inverses_.data() + first * lanes, *tile = below_.tile(first / lanes);
    double solved[lanes] = {};
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t j = 0; j <= i; ++j) solved[i] += inverse[i * lanes + j] * x[first + j];
    std::copy_n(solved, lanes, x.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t i = first + lanes; i < below_.rows(); ++i)
      for (std::size_t j = 0; j < lanes; ++j) x[i] += tile[(i - first) * lanes + j] * solved[j];
  }
}

void Solver::solve_transposed(std::span<double> x) const {
  for (std::size_t end = below_.rows(); end > 0; end -= lanes) {
    const std::size_t first = end - lanes;
    const double *inverse = inverses_.data() + first * lanes, *tile = below_.tile(first / lanes);
    double rest[lanes], solved[lanes] = {};
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), lanes, rest);
    for (std::size_t i = end; i < below_.rows(); ++i)
      for (std::size_t j = 0; j < lanes; ++j) rest[j] += tile[(i - first) * lanes + j] * x[i];
    for (std::size_t i = 0; i < lanes; ++i)
      for (std::size_t j = 0; j <= i; ++j) solved[j] += inverse[i * lanes + j] * rest[i];
    std::copy_n(solved, lanes, x.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace onkel
