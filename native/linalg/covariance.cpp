#include "linalg/covariance.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace onkel {
namespace {

constexpr Kernel product{Base::dot, Shape::identity, 1.0, 0.0, 1};

}  // namespace

void Covariance::reach(std::size_t columns) {
  if (columns <= columns_) return;
  Buffer<double> wider(columns * columns, 0.0);
  for (std::size_t tile = 0; tile < columns_ / lanes; ++tile)
    std::copy_n(tiles_.data() + tile * columns_ * lanes, columns_ * lanes, wider.data() + tile * columns * lanes);
  Buffer<double> longer(most_open * columns, 0.0);
  for (std::size_t j = 0; j < open(); ++j)
    std::copy_n(open_.data() + j * columns_, columns_, longer.data() + j * columns);
  tiles_ = std::move(wider);
  open_ = std::move(longer);
  largest_.resize(columns, 0.0);
  columns_ = columns;
}

void Covariance::multiply(const double* k, std::size_t n, double* products) const {
  isa::routines<double>().tile(product, k, n, columns_, tiles_.data(), columns_ / lanes, columns_, products, columns_);
}

void Covariance::finish(const double* k, double* product) const {
  const auto& routines = isa::routines<double>();
  for (std::size_t j = 0; j < open(); ++j) {
    const double* c = open_.data() + j * columns_;
    routines.axpy(-signs_[j] * routines.dot(c, k, columns_), c, product, columns_);
  }
}

void Covariance::change(std::span<const double> c, double sign) {
  if (open() == most_open) fold();
  std::copy_n(c.begin(), columns_, open_.data() + open() * columns_);
  signs_.push_back(sign);
  if (sign > 0) return;
  for (std::size_t i = 0; i < columns_; ++i) largest_[i] += c[i] * c[i];
}

// The root of the sum of (k_i A_ij k_j)^2, with A_ij^2 at most A_ii A_jj.
double Covariance::size_of_terms(std::span<const double> k) {
  squares_.resize(columns_);
  for (std::size_t i = 0; i < columns_; ++i) squares_[i] = k[i] * k[i];
  return isa::routines<double>().dot(squares_.data(), largest_.data(), columns_);
}

void Covariance::assign(std::span<const std::size_t> columns, const Triangle& half) {
  std::fill(tiles_.begin(), tiles_.end(), 0.0);
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) at(columns[i], columns[j]) = at(columns[j], columns[i]) = half.at(i, j);
  std::fill(largest_.begin(), largest_.end(), 0.0);
  for (std::size_t i = 0; i < columns.size(); ++i) largest_[columns[i]] = half.at(i, i);
  signs_.clear();
  ++folds_;
}

void Covariance::remove(std::size_t j) {
  const double variance = std::max(at(j, j), std::numeric_limits<double>::min());
  Buffer<double> column(columns_), kept(columns_ * columns_, 0.0);
  for (std::size_t i = 0; i < columns_; ++i) column[i] = at(i, j);
  for (std::size_t k = 0; k + 1 < columns_; ++k) {
    const std::size_t from = k < j ? k : k + 1;
    const double step = column[from] / variance;
    for (std::size_t i = 0; i + 1 < columns_; ++i) {
      const std::size_t row = i < j ? i : i + 1;
      // Both halves by the same product, so that they stay alike to the bit.
      kept[(k / lanes * columns_ + i) * lanes + k % lanes] =
          at(row, from) - (row > from ? column[row] * step : column[from] * (column[row] / variance));
    }
  }
  tiles_ = std::move(kept);
  largest_.erase(largest_.begin() + static_cast<std::ptrdiff_t>(j));
  largest_.push_back(0.0);
  ++folds_;
}

Matrix Covariance::among(std::span<const std::size_t> columns) const {
  Matrix made(columns.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double value = at(columns[i], columns[j]);
      for (std::size_t change = 0; change < open(); ++change) {
        const double* c = open_.data() + change * columns_;
        value -= signs_[change] * c[columns[i]] * c[columns[j]];
      }
      made.at(i, j) = made.at(j, i) = value;
    }
  return made;
}

// The half below the diagonal is computed, in blocks of 8 by 8 and their own mirror images on it; the rest is copied.
void Covariance::fold() {
  packed_.resize(columns_ * most_open);
  for (std::size_t i = 0; i < columns_; ++i)
    for (std::size_t j = 0; j < most_open; ++j)
      packed_[i * most_open + j] = j < open() ? -signs_[j] * open_[j * columns_ + i] : 0.0;
  for (std::size_t tile = 0; tile < columns_ / lanes; ++tile) {
    double* first = tiles_.data() + tile * columns_ * lanes;
    const std::size_t begin = tile * lanes;
    isa::routines<double>().add_products(packed_.data() + begin * most_open, open_.data() + begin, columns_, open(),
                                         most_open, first + begin * lanes, columns_ - begin);
    for (std::size_t other = tile + 1; other < columns_ / lanes; ++other) {
      const double* from = first + other * lanes * lanes;
      double* to = tiles_.data() + (other * columns_ + begin) * lanes;
      for (std::size_t i = 0; i < lanes; ++i)
        for (std::size_t l = 0; l < lanes; ++l) to[l * lanes + i] = from[i * lanes + l];
    }
  }
  signs_.clear();
  ++folds_;
}

// The open block is saved at its full size, so that a model's bytes do not go up and down.
void Covariance::visit(Archive& archive, std::span<const std::size_t> members) {
  const std::size_t n = members.size(), m = open();
  std::vector<double> half, changes, largest, signs = signs_;
  for (const std::size_t member : members) largest.push_back(largest_[member]);
  for (std::size_t i = 0; i < n && !archive.loading(); ++i)
    for (std::size_t j = 0; j <= i; ++j) half.push_back(at(members[i], members[j]));
  for (std::size_t c = 0; c < most_open && !archive.loading(); ++c)
    for (const std::size_t member : members) changes.push_back(c < m ? open_[c * columns_ + member] : 0.0);
  signs.resize(most_open, 0.0);
  archive.array("largest", largest);
  archive.array("signs", signs);
  archive.array("matrix", half);
  archive.array("open", changes);
  if (!archive.loading()) return;
  const auto end = std::find(signs.begin(), signs.end(), 0.0);
  archive.require(signs.size() == most_open && std::all_of(signs.begin(), end, [](double s) { return s * s == 1; }) &&
                      std::all_of(end, signs.end(), [](double s) { return s == 0; }),
                  "signs", "must hold 32 numbers, first those that are 1 or -1, then zeros");
  archive.require(largest.size() == n, "largest", "must hold one number for each member");
  for (std::size_t i = 0; i < n; ++i) largest_[members[i]] = largest[i];
  archive.require(half.size() == n * (n + 1) / 2, "matrix", "must hold the half of a matrix of the members");
  archive.require(changes.size() == most_open * n, "open", "must hold 32 numbers for each member");
  for (std::size_t i = 0, next = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) at(members[i], members[j]) = at(members[j], members[i]) = half[next++];
  signs_.assign(signs.begin(), end);
  for (std::size_t c = 0; c < open(); ++c)
    for (std::size_t i = 0; i < n; ++i) open_[c * columns_ + members[i]] = changes[c * n + i];
}

}  // namespace onkel
