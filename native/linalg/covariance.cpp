#include "linalg/covariance.hpp"

#include <algorithm>
#include <utility>

namespace onkel {
namespace {

// What one thread folds another reads: with fewer multiply-adds than a matrix of 600 columns takes, a second thread
// costs more than it saves.
constexpr std::size_t worth_a_team = std::size_t{1} << 24;

}  // namespace

// Room is made for an eighth more than is asked for, since columns come a few at a time and all have to move.
void Covariance::reach(std::size_t columns) {
  if (columns <= columns_) return;
  Buffer<double> longer(max_open * columns, 0.0);
  for (std::size_t j = 0; j < open(); ++j)
    std::copy_n(open_.data() + j * columns_, columns_, longer.data() + j * columns);
  open_ = std::move(longer);
  largest_.resize(columns, 0.0);
  if (columns > room_) {
    const std::size_t room = round_up(columns + columns / 8, isa::score_lanes);
    Buffer<double> wider(room * room, 0.0);
    for (std::size_t t = 0; t < columns_ / lanes; ++t)
      std::copy_n(tile(t), columns_ * lanes, wider.data() + t * room * lanes);
    tiles_ = std::move(wider);
    room_ = room;
  }
  columns_ = columns;
}

void Covariance::multiply_tiles(std::size_t first, std::size_t count, const double* k, std::size_t n,
                                double* products) const {
  isa::routines<double>().multiply_tiles(k, n, columns_, tile(first), count, room_ * lanes, columns_,
                                         products + first * lanes, columns_);
}

Buffer<double> Covariance::product(const Buffer<double>& k) const {
  Buffer<double> result(columns_);
  multiply_tiles(0, columns_ / lanes, k.data(), 1, result.data());
  finish(k.data(), result.data());
  return result;
}

void Covariance::finish(const double* k, double* product) const {
  const auto& routines = isa::routines<double>();
  for (std::size_t j = 0; j < open(); j += 2) {
    const double* c = open_.data() + j * columns_;
    const bool pair = j + 1 < open();
    double dots[2];
    routines.dot_pair(k, c, pair ? c + columns_ : c, columns_, dots);
    routines.axpy(-signs_[j] * dots[0], c, product, columns_);
    if (pair) routines.axpy(-signs_[j + 1] * dots[1], c + columns_, product, columns_);
  }
}

void Covariance::change(std::span<const double> c, double sign) {
  if (is_full()) apply_pending();
  std::copy_n(c.begin(), columns_, open_.data() + open() * columns_);
  signs_.push_back(sign);
  if (sign > 0) return;
  for (std::size_t i = 0; i < columns_; ++i) largest_[i] += c[i] * c[i];
}

// The square root of the sum of (k_i A_ij k_j)^2, with A_ij^2 bounded by A_ii A_jj.
double Covariance::size_of_terms(std::span<const double> k) {
  squares_.resize(columns_);
  for (std::size_t i = 0; i < columns_; ++i) squares_[i] = k[i] * k[i];
  return isa::routines<double>().dot(squares_.data(), largest_.data(), columns_);
}

void Covariance::assign(const Triangle& half) {
  const std::size_t n = half.size(), rows = half.rows();
  for (std::size_t t = 0; t < columns_ / lanes; ++t) std::fill_n(tile(t), columns_ * lanes, 0.0);
  std::fill(largest_.begin(), largest_.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) largest_[i] = half.at(i, i);
  for (std::size_t t = 0; t < rows / lanes; ++t) {
    const std::size_t begin = t * lanes, width = std::min(lanes, n - begin);
    double* to = tile(t) + begin * lanes;
    std::copy_n(half.tile(t), (n - begin) * lanes, to);
    for (std::size_t i = 0; i < n - begin && width < lanes; ++i)
      std::fill_n(to + i * lanes + width, lanes - width, 0.0);
    mirror(t);
  }
  signs_.clear();
  ++folds_;
}

// Given coefficient j, that of column i has the variance r . A r of r = e_i - (A_ij / A_jj) e_j.
bool Covariance::can_remove(std::size_t j, std::span<const double> column) const {
  for (std::size_t i = 0; i < columns_; ++i) {
    if (largest_[i] == 0) continue;
    const double step = i == j ? 0.0 : column[i] / column[j];
    if (!is_above_rounding(at(i, i) - step * column[i], largest_[i] + step * step * largest_[j])) return false;
  }
  return true;
}

// The half below the diagonal is computed and moved up; the rest is its mirror image.
void Covariance::remove(std::size_t j, std::span<const double> column) {
  Buffer<double> step(columns_);
  for (std::size_t i = 0; i < columns_; ++i) step[i] = -column[i] / column[j];
  for (std::size_t t = 0; t < columns_ / lanes; ++t) {
    const std::size_t begin = t * lanes;
    isa::routines<double>().add_products(step.data() + begin, column.data() + begin, columns_, 1, 1,
                                         tile(t) + begin * lanes, columns_ - begin);
  }
  for (std::size_t t = 0; t < columns_ / lanes; ++t) {
    const std::size_t begin = t * lanes, end = begin + lanes;
    double* rows = tile(t);
    const double* next = tile(t + 1);  // of which the first column comes into this tile
    const std::size_t stays = j < begin ? 0 : std::min(j - begin, lanes);
    for (std::size_t i = begin; i < columns_; ++i) {
      const std::size_t from = i < j ? i : i + 1;
      double* to = rows + i * lanes;
      if (from == columns_) {
        std::fill_n(to, lanes, 0.0);
        break;
      }
      const double* row = rows + from * lanes;
      for (std::size_t l = 0; l < stays; ++l) to[l] = row[l];
      for (std::size_t l = stays; l + 1 < lanes; ++l) to[l] = row[l + 1];
      if (stays < lanes) to[lanes - 1] = end == columns_ ? 0.0 : next[from * lanes];
    }
  }
  for (std::size_t t = 0; t < columns_ / lanes; ++t) mirror(t);
  largest_.erase(largest_.begin() + static_cast<std::ptrdiff_t>(j));
  largest_.push_back(0.0);
  ++folds_;
}

Matrix Covariance::among(std::span<const std::size_t> columns) const {
  Matrix result(columns.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double value = at(columns[i], columns[j]);
      for (std::size_t change = 0; change < open(); ++change) {
        const double* c = open_.data() + change * columns_;
        value -= signs_[change] * c[columns[i]] * c[columns[j]];
      }
      result.at(i, j) = result.at(j, i) = value;
    }
  return result;
}

// What lies above the diagonal in this tile is the mirror image of what lies below it in the tiles before.
void Covariance::mirror(std::size_t t) {
  const std::size_t begin = t * lanes;
  double* own = tile(t);
  for (std::size_t i = 0; i < lanes; ++i)
    for (std::size_t l = 0; l < i; ++l) own[(begin + l) * lanes + i] = own[(begin + i) * lanes + l];
  for (std::size_t other = 0; other < t; ++other)
    isa::routines<double>().transpose(tile(other) + begin * lanes, own + other * lanes * lanes);
}

// In blocks of 8 changes by 8 columns.
void Covariance::pack() {
  packed_.resize(columns_ * max_open);
  alignas(isa::tile_bytes) double changes[lanes * lanes], across[lanes * lanes];
  for (std::size_t column = 0; column < columns_; column += lanes)
    for (std::size_t first = 0; first < max_open; first += lanes) {
      for (std::size_t j = 0; j < lanes; ++j) {
        const double* c = open_.data() + (first + j) * columns_ + column;
        const double minus = first + j < open() ? -signs_[first + j] : 0.0;
        for (std::size_t l = 0; l < lanes; ++l) changes[j * lanes + l] = minus * c[l];
      }
      isa::routines<double>().transpose(changes, across);
      for (std::size_t l = 0; l < lanes; ++l)
        std::copy_n(across + l * lanes, lanes, packed_.data() + (column + l) * max_open + first);
    }
}

// The changes that wait come into what lies below the diagonal in this tile.
void Covariance::fold(std::size_t t) {
  const std::size_t begin = t * lanes;
  // Side by side: rows a power of two apart would push each other out of the cache.
  alignas(isa::tile_bytes) double across[max_open * lanes];
  for (std::size_t j = 0; j < open(); ++j) std::copy_n(open_.data() + j * columns_ + begin, lanes, across + j * lanes);
  isa::routines<double>().add_products(packed_.data() + begin * max_open, across, lanes, open(), max_open,
                                       tile(t) + begin * lanes, columns_ - begin);
}

// Below the diagonal the tiles are of different length: each long one is paired with a short one, so that the shares of
// a team are equal.
void Covariance::fold_and_multiply(bool folds, const double* k, std::size_t n, double* products, Team* team) {
  constexpr std::size_t at_once = 3;  // tiles, on every level
  const std::size_t tiles = columns_ / lanes, pairs = (tiles + 1) / 2;
  const auto in_pairs = [&](const auto& work) {
    return [&, work](std::size_t first, std::size_t last) {
      work(first, last);
      work(std::max(last, tiles - last), tiles - first);
    };
  };
  const Team::Work phases[] = {in_pairs([&](std::size_t first, std::size_t last) {
                                 for (std::size_t t = first; t < last; ++t) fold(t);
                               }),
                               in_pairs([&](std::size_t first, std::size_t last) {
                                 for (std::size_t t = first; t < last; t += at_once) {
                                   const std::size_t end = std::min(t + at_once, last);
                                   for (std::size_t each = t; each < end && folds; ++each) mirror(each);
                                   if (n > 0) multiply_tiles(t, end - t, k, n, products);
                                 }
                               })};
  const std::span<const Team::Work> due = std::span(phases).subspan(folds ? 0 : 1);
  if (folds) pack();
  Team alone(1);
  const std::size_t multiply_adds = (n + (folds ? open() / 2 : 0)) * columns_ * columns_;
  (team == nullptr || multiply_adds < worth_a_team ? alone : *team).split(pairs, at_once, multiply_adds, due);
  if (!folds) return;
  signs_.clear();
  ++folds_;
}

// The open block is saved at its full size, so that the size of a model does not fluctuate.
void Covariance::visit(Archive& archive, std::span<const std::size_t> members) {
  const std::size_t n = members.size(), m = open();
  std::vector<double> half, changes, largest, signs = signs_;
  for (const std::size_t member : members) largest.push_back(largest_[member]);
  for (std::size_t i = 0; i < n && !archive.loading(); ++i)
    for (std::size_t j = 0; j <= i; ++j) half.push_back(at(members[i], members[j]));
  for (std::size_t c = 0; c < max_open && !archive.loading(); ++c)
    for (const std::size_t member : members) changes.push_back(c < m ? open_[c * columns_ + member] : 0.0);
  signs.resize(max_open, 0.0);
  archive.array("largest", largest);
  archive.array("signs", signs);
  archive.array("matrix", half);
  archive.array("open", changes);
  if (!archive.loading()) return;
  const auto end = std::find(signs.begin(), signs.end(), 0.0);
  archive.require(signs.size() == max_open && std::all_of(signs.begin(), end, [](double s) { return s * s == 1; }) &&
                      std::all_of(end, signs.end(), [](double s) { return s == 0; }),
                  "signs", "must hold 32 numbers, first those that are 1 or -1, then zeros");
  archive.require(largest.size() == n, "largest", "must hold one number for each member");
  for (std::size_t i = 0; i < n; ++i) largest_[members[i]] = largest[i];
  archive.require(half.size() == n * (n + 1) / 2, "matrix", "must hold the half of a matrix of the members");
  archive.require(changes.size() == max_open * n, "open", "must hold 32 numbers for each member");
  for (std::size_t i = 0, next = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) at(members[i], members[j]) = at(members[j], members[i]) = half[next++];
  signs_.assign(signs.begin(), end);
  for (std::size_t c = 0; c < open(); ++c)
    for (std::size_t i = 0; i < n; ++i) open_[c * columns_ + members[i]] = changes[c * n + i];
}

}  // namespace onkel
