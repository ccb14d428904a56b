#include "partitions/shared_span.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "second_order/posterior.hpp"

namespace onkel {
namespace {

constexpr std::size_t lanes = Triangle::lanes;
// A point is chosen only if it may join a dictionary, with a margin for rounding.
bool is_independent(double novelty, double kappa) { return novelty > 1.001 * least_novelty(kappa); }

// Evaluates a row whose scores are set.
void judge(const RowSums::Setup& setup, double y, double weight, Scored& row) {
  row.y = setup.task == Task::binary ? 2 * y - 1 : y;
  row.weight = weight;
  setup.loss.check_target(y);
  setup.loss.evaluate(row);
}

void insert_all(Basis& basis, const Rows& points) {
  Team alone(1);
  Block block;
  const std::size_t step = basis.rows_at_once(48);
  for (std::size_t begin = 0; begin < points.count; begin += step) {
    basis.tile(points, begin, std::min(step, points.count - begin), block, alone);
    for (std::size_t row = 0; row < block.count; ++row)
      basis.insert(block, row, static_cast<std::int64_t>(begin + row));
  }
}

}  // namespace

// ---- The span -----------------------------------------------------------------------------------------------------

SharedSpan::SharedSpan(std::unique_ptr<Basis> basis, const Rows& points)
    : basis_(std::move(basis)), n_points_(points.count) {
  insert_all(*basis_, points);
  const std::size_t first = basis_->first_slot();
  Triangle lower(size());
  if (n_fixed() == 1) lower.at(0, 0) = 1.0;
  Block scratch;
  std::vector<double> values(basis_->columns());
  Buffer<double> l(Cholesky::room_for(n_points_));
  for (std::size_t i = 0; i < n_points_; ++i) {
    basis_->row_of(first + i, scratch, values);
    l.assign(Cholesky::room_for(n_points_), 0.0);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), i, l.begin());
    factor_.solve(l);
    const double novelty = values[first + i] - isa::routines<double>().dot(l.data(), l.data(), Cholesky::room_for(i));
    if (!(novelty > least_squared_length))
      throw std::invalid_argument("point " + std::to_string(i) + " lies in the span of those before it");
    factor_.append(l, std::sqrt(novelty));
    for (std::size_t j = 0; j <= i; ++j) lower.at(n_fixed() + i, n_fixed() + j) = factor_.at(i, j);
  }
  solver_.emplace(lower);
}

void SharedSpan::kernel_tiles(const Rows& rows, std::size_t begin, std::size_t count, Block& block,
                              Tiles& tiles) const {
  const std::size_t n = rounded(), first = basis_->first_slot();
  tiles.assign((count + lanes - 1) / lanes * n * lanes, 0.0);
  Team alone(1);
  std::vector<double> values(basis_->columns());
  const std::size_t step = basis_->rows_at_once(count);
  for (std::size_t at = 0; at < count; at += step) {
    basis_->tile(rows, begin + at, std::min(step, count - at), block, alone);
    for (std::size_t row = 0; row < block.count; ++row) {
      basis_->values(block, row, values);
      double* const to = tiles.data() + (at + row) / lanes * n * lanes + (at + row) % lanes;
      if (n_fixed() == 1) to[0] = values[0];
      for (std::size_t i = 0; i < n_points_; ++i) to[(n_fixed() + i) * lanes] = values[first + i];
    }
  }
}

void SharedSpan::coordinates(Tiles& tiles, std::size_t count) const {
  solver_->solve(tiles.data(), (count + lanes - 1) / lanes);
}

std::vector<double> SharedSpan::novelty(const Rows& rows) const {
  std::vector<double> novelty(rows.count);
  Block block;
  Tiles tiles;
  Team alone(1);
  for (std::size_t begin = 0; begin < rows.count; begin += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - begin);
    kernel_tiles(rows, begin, count, block, tiles);
    coordinates(tiles, count);
    const std::size_t step = basis_->rows_at_once(count);
    for (std::size_t at = 0; at < count; at += step) {
      basis_->tile(rows, begin + at, std::min(step, count - at), block, alone);
      for (std::size_t row = 0; row < block.count; ++row) {
        const double* z = tiles.data() + (at + row) / lanes * rounded() * lanes + (at + row) % lanes;
        double inside = 0.0;
        for (std::size_t i = n_fixed(); i < size(); ++i) inside += z[i * lanes] * z[i * lanes];
        novelty[begin + at + row] = std::max(0.0, basis_->self_kernel(block, row, 0) - inside);
      }
    }
  }
  return novelty;
}

Buffer<double> in_tiles(std::span<const double> function, std::size_t size) {
  const std::size_t outputs = function.size() / size, rounded = round_up(size, lanes);
  Buffer<double> tiles(round_up(outputs, lanes) * rounded, 0.0);
  for (std::size_t o = 0; o < outputs; ++o) std::copy_n(function.data() + o * size, size, tiles.data() + o * rounded);
  return tiles;
}

std::vector<double> SharedSpan::scores(const Rows& rows, std::span<const double> function) const {
  const std::size_t outputs = function.size() / size(), padded = round_up(outputs, lanes), n = rounded();
  const Buffer<double> weights = in_tiles(function, size());
  std::vector<double> scores(rows.count * outputs);
  Block block;
  Tiles tiles;
  Buffer<double> tile(padded * lanes);
  for (std::size_t begin = 0; begin < rows.count; begin += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - begin);
    kernel_tiles(rows, begin, count, block, tiles);
    for (std::size_t first = 0; first < count; first += lanes) {
      std::fill(tile.begin(), tile.end(), 0.0);
      isa::routines<double>().add_products(weights.data(), tiles.data() + first * n, lanes, n, n, tile.data(), padded);
      for (std::size_t row = first; row < std::min(first + lanes, count); ++row)
        for (std::size_t o = 0; o < outputs; ++o) scores[(begin + row) * outputs + o] = tile[o * lanes + row - first];
    }
  }
  return scores;
}

void SharedSpan::solve(std::span<double> x) const {
  Buffer<double> padded(Cholesky::room_for(n_points_), 0.0);
  std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(n_fixed()), n_points_, padded.begin());
  factor_.solve(padded);
  std::copy_n(padded.begin(), n_points_, x.begin() + static_cast<std::ptrdiff_t>(n_fixed()));
}

void SharedSpan::solve_transposed(std::span<double> x) const {
  Buffer<double> padded(Cholesky::room_for(n_points_), 0.0);
  std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(n_fixed()), n_points_, padded.begin());
  factor_.solve_transposed(padded);
  std::copy_n(padded.begin(), n_points_, x.begin() + static_cast<std::ptrdiff_t>(n_fixed()));
}

// ---- Sums over rows -----------------------------------------------------------------------------------------------

RowSums::RowSums(const SharedSpan& span, const Setup& setup, std::span<const double> function)
    : span_(span),
      setup_(setup),
      padded_outputs_(round_up(setup.outputs, lanes)),
      function_(in_tiles(function, span.size())),
      slopes_(padded_outputs_ * span.rounded(), 0.0),
      information_(setup.informed ? span.size() : 0),
      row_(setup.outputs) {}

void RowSums::add(const Rows& rows, const double* y, const double* weight) {
  const auto& routines = isa::routines<double>();
  const std::size_t n = span_.rounded();
  for (std::size_t begin = 0; begin < rows.count; begin += SharedSpan::block_rows) {
    const std::size_t count = std::min(SharedSpan::block_rows, rows.count - begin);
    const std::size_t n_tiles = (count + lanes - 1) / lanes;
    span_.kernel_tiles(rows, begin, count, block_, tiles_);
    if (setup_.informed) span_.coordinates(tiles_, count);
    scores_.assign(n_tiles * padded_outputs_ * lanes, 0.0);
    for (std::size_t t = 0; t < n_tiles; ++t)
      routines.add_products(function_.data(), tiles_.data() + t * n * lanes, lanes, n, n,
                            scores_.data() + t * padded_outputs_ * lanes, padded_outputs_);
    row_slopes_.assign(padded_outputs_ * n_tiles * lanes, 0.0);
    curvatures_.assign(n_tiles * lanes, 0.0);
    for (std::size_t row = 0; row < count; ++row) {
      const double own = weight == nullptr ? 1.0 : weight[begin + row];
      if (own != 0) evaluate(row, y[begin + row], own);
    }
    add_block(n_tiles * lanes);
  }
}

void RowSums::evaluate(std::size_t row, double y, double weight) {
  const std::size_t width = row_slopes_.size() / padded_outputs_;
  for (std::size_t o = 0; o < setup_.outputs; ++o)
    row_.f[o] = scores_[(row / lanes * padded_outputs_ + o) * lanes + row % lanes];
  judge(setup_, y, weight, row_);
  for (std::size_t o = 0; o < setup_.outputs; ++o) row_slopes_[o * width + row] = weight * row_.g[o];
  curvatures_[row] = setup_.loss.information(row_);
  loss_ += weight * row_.loss;
  squares_ += weight * (setup_.task == Task::regression ? 2 * row_.loss : largest(row_.g) * largest(row_.g));
  ++rows_;
}

// The tiles of rows become tiles of coordinates, [tile of coordinates][row][8]; slopes and information are products
// with those.
void RowSums::add_block(std::size_t width) {
  const auto& routines = isa::routines<double>();
  const std::size_t n = span_.rounded();
  across_.resize(n * width);
  for (std::size_t t = 0; t < width / lanes; ++t)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t lane = 0; lane < lanes; ++lane)
        across_[(i / lanes * width + t * lanes + lane) * lanes + i % lanes] = tiles_[(t * n + i) * lanes + lane];
  for (std::size_t t = 0; t < n / lanes; ++t)
    routines.add_products(row_slopes_.data(), across_.data() + t * width * lanes, lanes, width, width,
                          slopes_.data() + t * padded_outputs_ * lanes, padded_outputs_);
  if (!setup_.informed) return;
  weighted_.resize(n * width);
  for (std::size_t t = 0; t < width / lanes; ++t)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t lane = 0; lane < lanes; ++lane)
        weighted_[i * width + t * lanes + lane] = curvatures_[t * lanes + lane] * tiles_[(t * n + i) * lanes + lane];
  // A strip of rows of the matrix stays in the cache while all its tiles are updated.
  constexpr std::size_t strip = 64;
  for (std::size_t first = 0; first < n; first += strip) {
    const std::size_t end = std::min(first + strip, n);
    for (std::size_t t = 0; t * lanes < end; ++t) {
      const std::size_t from = std::max(first, t * lanes);
      routines.add_products(weighted_.data() + from * width, across_.data() + t * width * lanes, lanes, width, width,
                            information_.tile(t) + (from - t * lanes) * lanes, end - from);
    }
  }
}

std::vector<double> RowSums::slopes() const {
  const std::size_t n = span_.size();
  std::vector<double> values(setup_.outputs * n);
  for (std::size_t o = 0; o < setup_.outputs; ++o)
    for (std::size_t i = 0; i < n; ++i)
      values[o * n + i] = slopes_[(i / lanes * padded_outputs_ + o) * lanes + i % lanes];
  return values;
}

// ---- Points -------------------------------------------------------------------------------------------------------

std::vector<double> slope_keys(const RowSums::Setup& setup, const double* scores, std::span<const double> y,
                               const double* weight, const double* u, double easy_slope) {
  std::vector<double> keys(y.size(), -std::numeric_limits<double>::infinity());
  Scored row(setup.outputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (weight[i] == 0) continue;
    std::copy_n(scores + i * setup.outputs, setup.outputs, row.f.begin());
    judge(setup, y[i], weight[i], row);
    const double slope = largest(row.g);
    if (slope > easy_slope) keys[i] = std::log1p(-u[i]) / (weight[i] * slope * slope);
  }
  return keys;
}

// Pivoted Cholesky: each chosen point adds a coordinate to every candidate.
std::vector<std::int64_t> choose_points(Basis& basis, const Rows& candidates, std::span<const double> keys,
                                        std::size_t n_first, std::size_t budget) {
  insert_all(basis, candidates);
  const std::size_t n = candidates.count, first = basis.first_slot();
  const std::size_t max_chosen = std::min(budget, n);
  Matrix coordinates(n, max_chosen);
  std::vector<double> kappa(n), novelty(n), values(basis.columns());
  std::vector<bool> done(n, false);
  for (std::size_t i = 0; i < n; ++i) novelty[i] = kappa[i] = basis.self_kernel(first + i, 0);
  const auto next = [&](std::size_t turn) {
    if (turn < n_first) return turn;
    std::size_t best = n;
    double highest = 0.0;
    for (std::size_t i = n_first; i < n; ++i) {
      if (done[i] || !is_independent(novelty[i], kappa[i])) continue;
      const double key = keys[i] / std::sqrt(novelty[i]);
      if (best == n || key > highest) best = i, highest = key;
    }
    return best;
  };
  std::vector<std::int64_t> chosen;
  Block scratch;
  for (std::size_t turn = 0; chosen.size() < max_chosen; ++turn) {
    const std::size_t c = next(turn);
    if (c == n) break;
    done[c] = true;
    if (!is_independent(novelty[c], kappa[c])) continue;
    basis.row_of(first + c, scratch, values);
    const std::size_t m = chosen.size(), width = Cholesky::room_for(m);
    const double root = std::sqrt(novelty[c]);
    chosen.push_back(static_cast<std::int64_t>(c));
    for (std::size_t i = 0; i < n; ++i) {
      if (done[i]) continue;
      const double inner = isa::routines<double>().dot(coordinates.row(i), coordinates.row(c), width);
      const double l = (values[first + i] - inner) / root;
      coordinates.at(i, m) = l;
      novelty[i] -= l * l;
    }
  }
  return chosen;
}

}  // namespace onkel
