#include "search/relevances.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "basis/basis.hpp"
#include "first_order/logistic.hpp"

namespace onkel {
namespace {

constexpr std::size_t rows_at_once = 64, slice = 1'000'000;  // multiplications
constexpr std::size_t updated_rows = 4;                      // by isa::update_rows
constexpr std::size_t exponential = 16;  // features that take as long as the exponential of a kernel value
constexpr int max_newton_steps = 40, max_halvings = 20;
constexpr int max_conjugate_steps = 50;
constexpr double converged = 1e-7;  // bound on the Newton decrement before the last step, per row
// Bounds on the relative squared residual of a linear system: that of a Newton step, and that of the adjoint.
constexpr double rough = 1e-2, exact = 1e-9;
// Where the kernel matrix of the points is numerically singular, rounding keeps Newton's method from converging: it is
// given up after two steps that reduce the loss by no more than this fraction without halving the decrement.
constexpr double negligible = 1e-4;
constexpr int max_stalls = 2;
// Learners choose their lambda from 0.001 on. Where the classes hardly overlap a smaller one would win here, with
// systems so badly conditioned that each takes hundreds of steps.
constexpr double least_lam = 1e-3;
// Points that are equal, or nearly so to a wide kernel, have a singular matrix: this fraction of its largest entry is
// more than rounding, and less than any direction that matters.
constexpr double tiny = 1e-11;
constexpr double far_away = 1e4;      // a distance whose square, as part of a sum, costs half of the digits
constexpr double flattest = 1e-6;     // the least curvature of a row
constexpr double longest_step = 2.0;  // the largest change of a log scale in one step
constexpr std::size_t remembered = 8;
constexpr std::size_t tries = 3;      // evaluations that must gain together ...
constexpr double least_gain = 0.003;  // ... so much, or the search ends

// How many rows make a slice, each of which takes so much work.
std::size_t rows_for(std::size_t work) {
  return std::clamp<std::size_t>(slice / std::max<std::size_t>(work, 1), 1, rows_at_once);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

ValidationLoss::ValidationLoss(const Data& data, Pace& pace)
    : data_(data),
      pace_(pace),
      outputs_(data.task == Task::multiclass ? data.classes : 1),
      points_(std::min(data.max_points, data.count / 2)),
      columns_(points_ + 1),
      stride_(round_up(columns_, isa::score_lanes)),
      features_(round_up(data.width, isa::lanes<double>)) {
  for (std::size_t first = 0; first < 2; ++first) {
    folds_[first].begin = order_.size();
    for (std::size_t i = first; i < data.count; i += 2) order_.push_back(i);
    folds_[first].end = order_.size();
    folds_[first].scores.assign((folds_[first].end - folds_[first].begin) * outputs_, 0.0);
  }
  std::vector<std::size_t> where(data.count);
  for (std::size_t i = 0; i < data.count; ++i) where[order_[i]] = i;
  for (std::size_t k = 0; k < points_; ++k) place_.push_back(where[k * data.count / points_]);
  targets_.assign(data.count * outputs_, 0.0);
  for (std::size_t i = 0; i < data.count; ++i) {
    const double y = data.y[order_[i]];
    if (data.task == Task::multiclass)
      targets_[i * outputs_ + static_cast<std::size_t>(y)] = 1.0;
    else
      targets_[i] = y;
    weights_.push_back(data.weight[order_[i]]);
    total_ += weights_.back();
  }
}

// The work of going once over the kernel values of some rows, for each output.
double ValidationLoss::pass(std::size_t rows) const {
  return static_cast<double>(rows) * static_cast<double>(columns_) * static_cast<double>(outputs_);
}

// Scaled rows, and points as tiles.
void ValidationLoss::scale(std::span<const double> at) {
  const std::size_t n = data_.count, d = data_.width, lanes = isa::lanes<double>,
                    n_tiles = (points_ + lanes - 1) / lanes;
  std::vector<double> scales(d);
  for (std::size_t j = 0; j < d; ++j) scales[j] = std::exp(at[j]);
  scaled_.assign(n * features_, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) scaled_[i * features_ + j] = data_.rows[order_[i] * d + j] * scales[j];
  tiles_.assign(n_tiles * lanes * d, 0.0);
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t j = 0; j < d; ++j)
      tiles_[(k / lanes * d + j) * lanes + k % lanes] = scaled_[place_[k] * features_ + j];
  phi_.resize(n * stride_);
}

// phi[row] = (k(row, point_1), ..., the constant, 0 ...), of the rows [begin, end).
void ValidationLoss::compute_kernel(std::size_t begin, std::size_t end) {
  constexpr std::size_t lanes = isa::lanes<double>;
  const Kernel kernel{data_.base, Shape::exponential, 1.0, 0.0, 1};
  isa::routines<double>().tile(kernel, scaled_.data() + begin * features_, end - begin, features_, tiles_.data(),
                               (points_ + lanes - 1) / lanes, data_.width, phi_.data() + begin * stride_, stride_);
  for (std::size_t i = begin; i < end; ++i) {
    double* row = phi_.data() + i * stride_;
    row[points_] = Basis::constant_value;
    std::fill(row + columns_, row + stride_, 0.0);
  }
}

// The coefficients, [output][column], padded with zeros to the stride of phi.
Buffer<double> ValidationLoss::padded(std::span<const double> a, std::size_t columns) const {
  Buffer<double> result(outputs_ * stride_, 0.0);
  for (std::size_t o = 0; o < outputs_; ++o) std::copy_n(a.data() + o * columns_, columns, result.data() + o * stride_);
  return result;
}

// phi a, [row][output], of the rows [begin, end).
std::vector<double> ValidationLoss::times(std::span<const double> a, std::size_t begin, std::size_t end) const {
  std::vector<double> result((end - begin) * outputs_);
  const double* const rows = phi_.data() + begin * stride_;
  if (outputs_ == 1) {
    const Buffer<double> by = padded(a, columns_);
    for (std::size_t i = 0; i < end - begin; ++i)
      result[i] = isa::routines<double>().dot(rows + i * stride_, by.data(), stride_);
    return result;
  }
  constexpr std::size_t lanes = isa::lanes<double>;
  const std::size_t n_tiles = (outputs_ + lanes - 1) / lanes, tile_stride = columns_ * lanes, wide = n_tiles * lanes;
  Buffer<double> tiles(n_tiles * tile_stride, 0.0), products((end - begin) * wide);
  for (std::size_t o = 0; o < outputs_; ++o)
    for (std::size_t j = 0; j < columns_; ++j)
      tiles[o / lanes * tile_stride + j * lanes + o % lanes] = a[o * columns_ + j];
  isa::routines<double>().multiply_tiles(rows, end - begin, stride_, tiles.data(), n_tiles, tile_stride, columns_,
                                         products.data(), wide);
  for (std::size_t i = 0; i < end - begin; ++i)
    std::copy_n(products.data() + i * wide, outputs_, result.data() + i * outputs_);
  return result;
}

// phi' v, [output][column], of v [row][output].
std::vector<double> ValidationLoss::transposed_times(std::span<const double> v, std::size_t begin,
                                                     std::size_t end) const {
  Buffer<double> sums(round_up(outputs_, updated_rows) * stride_, 0.0);
  const double* const rows = phi_.data() + begin * stride_;
  if (outputs_ == 1)
    for (std::size_t i = 0; i < end - begin; ++i)
      isa::routines<double>().axpy(v[i], rows + i * stride_, sums.data(), stride_);
  else
    for (std::size_t first = 0; first < outputs_; first += updated_rows) {
      std::vector<double> shares((end - begin) * updated_rows, 0.0);
      for (std::size_t i = 0; i < end - begin; ++i)
        std::copy_n(v.data() + i * outputs_ + first, std::min(updated_rows, outputs_ - first),
                    shares.data() + i * updated_rows);
      isa::routines<double>().update_rows(shares.data(), rows, stride_, end - begin, sums.data() + first * stride_,
                                          stride_);
    }
  std::vector<double> result(outputs_ * columns_);
  for (std::size_t o = 0; o < outputs_; ++o)
    std::copy_n(sums.data() + o * stride_, columns_, result.data() + o * columns_);
  return result;
}

// (phi' V phi + lam K) a of the rows [begin, end), V their curvatures; for one output. phi is read once.
std::vector<double> ValidationLoss::curved(std::span<const double> a, std::span<const double> v, double lam,
                                           std::size_t begin, std::size_t end) const {
  const Buffer<double> by = padded(a, columns_);
  Buffer<double> sums(stride_, 0.0);
  for (std::size_t i = begin; i < end; ++i) {
    const double* row = phi_.data() + i * stride_;
    const double value = v[i - begin] * isa::routines<double>().dot(row, by.data(), stride_);
    isa::routines<double>().axpy(value, row, sums.data(), stride_);
  }
  std::vector<double> result = penalty_times(a);
  for (std::size_t j = 0; j < columns_; ++j) result[j] = sums[j] + lam * result[j];
  return result;
}

// K a, [output][column]: the points' kernel matrix, and 1 for the constant.
std::vector<double> ValidationLoss::penalty_times(std::span<const double> a) const {
  std::vector<double> result(outputs_ * columns_);
  const Buffer<double> by = padded(a, points_);
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t o = 0; o < outputs_; ++o)
      result[o * columns_ + k] =
          isa::routines<double>().dot(phi_.data() + place_[k] * stride_, by.data() + o * stride_, stride_);
  for (std::size_t o = 0; o < outputs_; ++o) result[o * columns_ + points_] = a[o * columns_ + points_];
  return result;
}

// g of the rows from `begin` on += shares values: shares is [row][output], values [output][stride]. Rows after the last
// one, up to a multiple of `updated_rows`, are updated by zeros.
void ValidationLoss::add_products(std::span<const double> shares, const Buffer<double>& values, std::size_t begin) {
  const std::size_t n = shares.size() / outputs_;
  std::vector<double> columns(outputs_ * updated_rows);
  for (std::size_t first = 0; first < n; first += updated_rows) {
    for (std::size_t o = 0; o < outputs_; ++o)
      for (std::size_t r = 0; r < updated_rows; ++r)
        columns[o * updated_rows + r] = first + r < n ? shares[(first + r) * outputs_ + o] : 0.0;
    isa::routines<double>().update_rows(columns.data(), values.data(), stride_, outputs_,
                                        g_.data() + (begin + first) * stride_, stride_);
  }
}

// sum_ik g_ik |z_ij - z_kj|.
Sliced<Buffer<double>> ValidationLoss::weighed_differences() const {
  Buffer<double> sums(features_, 0.0), points(stride_ * features_, 0.0);
  for (std::size_t k = 0; k < points_; ++k)
    std::copy_n(scaled_.data() + place_[k] * features_, features_, points.data() + k * features_);
  for (std::size_t i = 0; i < data_.count; ++i) {
    isa::routines<double>().weigh_differences(g_.data() + i * stride_, stride_, scaled_.data() + i * features_,
                                              points.data(), sums.data(), features_);
    co_await pace_.did(static_cast<double>(stride_ * features_));
  }
  co_return sums;
}

// sum_ik g_ik (z_ij - z_kj)^2 = sum_i z_ij (z_ij sum_k g_ik - 2 sum_k g_ik z_kj) + sum_k z_kj^2 sum_i g_ik: a product
// of matrices, a third of the work of the differences. z is measured from the mean of the points, so that little
// cancels, unless there are outliers.
Sliced<Buffer<double>> ValidationLoss::weighed_squares() const {
  constexpr std::size_t lanes = isa::lanes<double>;
  const std::size_t tile_stride = points_ * lanes;
  Buffer<double> mean(features_, 0.0), tiles(features_ * points_), products(rows_at_once * features_);
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t j = 0; j < features_; ++j)
      mean[j] += scaled_[place_[k] * features_ + j] / static_cast<double>(points_);
  for (std::size_t i = 0; i < data_.count; ++i)
    for (std::size_t j = 0; j < features_; ++j)
      if (!(std::abs(scaled_[i * features_ + j] - mean[j]) < far_away)) {
        Buffer<double> exact = co_await weighed_squares_of_differences();
        co_return exact;
      }
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t j = 0; j < features_; ++j)
      tiles[j / lanes * tile_stride + k * lanes + j % lanes] = scaled_[place_[k] * features_ + j] - mean[j];
  Buffer<double> sums(features_, 0.0), of_points(stride_, 0.0);
  const std::size_t at_once = rows_for(points_ * features_);
  for (std::size_t begin = 0; begin < data_.count; begin += at_once) {
    const std::size_t n = std::min(at_once, data_.count - begin);
    isa::routines<double>().multiply_tiles(g_.data() + begin * stride_, n, stride_, tiles.data(), features_ / lanes,
                                           tile_stride, points_, products.data(), features_);
    for (std::size_t i = 0; i < n; ++i) {
      const double* const g = g_.data() + (begin + i) * stride_;
      const double* const row = scaled_.data() + (begin + i) * features_;
      double total = 0.0;
      for (std::size_t k = 0; k < points_; ++k) {
        total += g[k];
        of_points[k] += g[k];
      }
      for (std::size_t j = 0; j < features_; ++j) {
        const double z = row[j] - mean[j];
        sums[j] += z * (z * total - 2 * products[i * features_ + j]);
      }
    }
    co_await pace_.did(static_cast<double>(n * points_ * features_));
  }
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t j = 0; j < features_; ++j) {
      const double z = tiles[j / lanes * tile_stride + k * lanes + j % lanes];
      sums[j] += of_points[k] * z * z;
    }
  co_return sums;
}

// The same, pair by pair; a pair without weight may be infinitely far apart.
Sliced<Buffer<double>> ValidationLoss::weighed_squares_of_differences() const {
  Buffer<double> sums(features_, 0.0);
  for (std::size_t i = 0; i < data_.count; ++i) {
    for (std::size_t k = 0; k < points_; ++k) {
      const double g = g_[i * stride_ + k];
      if (g == 0) continue;
      const double *x = scaled_.data() + i * features_, *point = scaled_.data() + place_[k] * features_;
      for (std::size_t j = 0; j < features_; ++j) sums[j] += g * ((x[j] - point[j]) * (x[j] - point[j]));
    }
    co_await pace_.did(static_cast<double>(points_ * features_));
  }
  co_return sums;
}

Sliced<double> ValidationLoss::at(std::span<const double> at, std::span<double> gradient) {
  scale(at);
  const std::size_t work = points_ * (data_.width + exponential);
  for (std::size_t begin = 0; begin < data_.count; begin += rows_for(work)) {
    const std::size_t end = std::min(data_.count, begin + rows_for(work));
    compute_kernel(begin, end);
    co_await pace_.did(static_cast<double>((end - begin) * work));
  }
  const bool with_gradient = !gradient.empty();
  if (with_gradient) g_.assign((data_.count + updated_rows) * stride_, 0.0);
  const double lam = std::max(least_lam, std::exp(at[data_.width]));
  double slope = 0.0;
  double loss = co_await validate(0, lam, with_gradient ? &slope : nullptr);
  loss += co_await validate(1, lam, with_gradient ? &slope : nullptr);
  if (!with_gradient) co_return loss;
  // dl/dtheta_j = -p sum_ik g_ik k_ik |z_ij - z_kj|^p, z the scaled rows.
  for (std::size_t i = 0; i < data_.count; ++i) {
    double* const g = g_.data() + i * stride_;
    for (std::size_t k = 0; k < points_; ++k) g[k] *= phi_[i * stride_ + k];
    std::fill(g + points_, g + stride_, 0.0);
  }
  const bool squared = data_.base == Base::squared_distance;
  Sliced<Buffer<double>> weighed = squared ? weighed_squares() : weighed_differences();
  const Buffer<double> sums = co_await weighed;
  for (std::size_t j = 0; j < data_.width; ++j) gradient[j] = (squared ? -2.0 : -1.0) * sums[j];
  gradient[data_.width] = lam > least_lam ? slope : 0.0;
  co_return loss;
}

// e and v at the present scores, and the loss there.
double ValidationLoss::judge(Fit& fit) const {
  const Fold& fold = *fit.fold;
  const std::size_t n = fold.end - fold.begin;
  fit.e.resize(n * outputs_);
  fit.v.resize(n);
  double loss = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weights_[fold.begin + i];
    fit.v[i] = w;
    for (std::size_t o = 0; o < outputs_; ++o) {
      const double y = targets_[(fold.begin + i) * outputs_ + o], score = fold.scores[i * outputs_ + o];
      if (is_logistic()) {
        const double q = logistic(-y * score);
        fit.e[i] = w * y * q;
        fit.v[i] = w * std::max(flattest, q * (1 - q));
        loss += w * softplus(-y * score);
      } else {
        fit.e[i * outputs_ + o] = w * (y - score);
        loss += 0.5 * w * (y - score) * (y - score);
      }
    }
  }
  return loss;
}

// The coefficients become these; returns the penalised loss.
double ValidationLoss::move(Fit& fit, std::vector<double> a) const {
  fit.a = std::move(a);
  fit.fold->scores = times(fit.a, fit.fold->begin, fit.fold->end);
  return judge(fit) + 0.5 * fit.lam * dot(fit.a, penalty_times(fit.a));
}

// phi' V phi + lam K, factored.
Sliced<Solver> ValidationLoss::hessian(const Fit& fit) const {
  const std::size_t size = round_up(columns_, Triangle::lanes), n = fit.v.size();
  Buffer<double> weighted(size * rows_at_once);
  Triangle h(columns_);
  for (std::size_t begin = 0; begin < n; begin += rows_at_once) {
    const std::size_t m = std::min(rows_at_once, n - begin);
    const double* rows = phi_.data() + (fit.fold->begin + begin) * stride_;
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t i = 0; i < m; ++i) weighted[j * m + i] = fit.v[begin + i] * rows[i * stride_ + j];
    for (std::size_t j = 0; j < size; j += Triangle::lanes) {
      isa::routines<double>().add_products(weighted.data() + j * m, rows + j, stride_, m, m,
                                           h.tile(j / Triangle::lanes), size - j);
      co_await pace_.did(static_cast<double>(m * Triangle::lanes * (size - j)));
    }
  }
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t l = 0; l <= k; ++l) h.at(k, l) += fit.lam * phi_[place_[k] * stride_ + l];
  h.at(points_, points_) += fit.lam;
  double largest = 0.0;
  for (std::size_t k = 0; k < columns_; ++k) largest = std::max(largest, h.at(k, k));
  for (std::size_t k = 0; k < columns_; ++k) h.at(k, k) += tiny * largest;
  Solver factor = Solver::begun(std::move(h), std::numeric_limits<double>::min());
  for (std::size_t rest = size; factor.factor_block(); rest -= Triangle::lanes)
    co_await pace_.did(static_cast<double>(rest * rest * Triangle::lanes / 2));
  co_return factor;
}

// H^-1 x for each output, H as it was factored.
std::vector<double> ValidationLoss::solved(const Fit& fit, std::vector<double> x) const {
  std::vector<double> column(round_up(columns_, Triangle::lanes));
  for (std::size_t o = 0; o < outputs_; ++o) {
    std::fill(column.begin(), column.end(), 0.0);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(o * columns_), columns_, column.begin());
    fit.factor->solve(column);
    fit.factor->solve_transposed(column);
    std::copy_n(column.begin(), columns_, x.begin() + static_cast<std::ptrdiff_t>(o * columns_));
  }
  return x;
}

// H^-1 x with the present H. In logistic regression the curvature changes from step to step: the Cholesky factor of the
// first one preconditions conjugate gradients, since a factorisation costs as much as many of their steps. Once these
// steps have cost as much, as they do while rare labels are being learned, the curvature is factored anew.
Sliced<std::vector<double>> ValidationLoss::solved_here(Fit& fit, std::vector<double> rest, double tolerance) const {
  if (!is_logistic()) co_return solved(fit, std::move(rest));
  if (fit.conjugate_steps >= max_conjugate_steps) {
    fit.factor = co_await hessian(fit);
    fit.conjugate_steps = 0;
  }
  std::vector<double> x(rest.size(), 0.0), near = solved(fit, rest), direction = near;
  double length = dot(rest, near);
  const double enough = tolerance * length;
  for (int step = 0; step < max_conjugate_steps && length > enough; ++step, ++fit.conjugate_steps) {
    const std::vector<double> along = curved(direction, fit.v, fit.lam, fit.fold->begin, fit.fold->end);
    const double by = length / dot(direction, along);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += by * direction[i];
      rest[i] -= by * along[i];
    }
    near = solved(fit, rest);
    const double before = std::exchange(length, dot(rest, near));
    for (std::size_t i = 0; i < x.size(); ++i) direction[i] = near[i] + length / before * direction[i];
    co_await pace_.did(2 * pass(fit.v.size() + columns_));
  }
  co_return x;
}

// phi' e - lam K a: minus the slope of the penalised loss in the coefficients.
std::vector<double> ValidationLoss::descent(const Fit& fit) const {
  std::vector<double> rest = transposed_times(fit.e, fit.fold->begin, fit.fold->end);
  const std::vector<double> held = penalty_times(fit.a);
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= fit.lam * held[i];
  return rest;
}

// One step of Newton's method from the scores at the previous scales, which are close to those at the present ones; for
// squared errors that is kernel ridge regression, whatever the scores. In logistic regression further steps follow,
// each halved until it helps. Returns the penalised loss.
Sliced<double> ValidationLoss::fitted(Fit& fit) const {
  judge(fit);
  fit.factor = co_await hessian(fit);
  std::vector<double> wanted(fit.e.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = fit.v[i / outputs_] * fit.fold->scores[i] + fit.e[i];
  double value = move(fit, solved(fit, transposed_times(wanted, fit.fold->begin, fit.fold->end)));
  co_await pace_.did(2 * pass(fit.v.size() + columns_));
  double least = std::numeric_limits<double>::infinity();  // the smallest decrement so far
  int stalls = 0;
  for (int step = 0; is_logistic() && step < max_newton_steps; ++step) {
    const std::vector<double> rest = descent(fit), before = fit.a;
    const std::vector<double> towards = co_await solved_here(fit, rest, rough);
    double length = 1.0, reached = value;
    for (int halving = 0; halving < max_halvings; ++halving, length /= 2) {
      std::vector<double> next = before;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = before[i] + length * towards[i];
      reached = move(fit, std::move(next));
      co_await pace_.did(pass(fit.v.size() + columns_));
      if (reached <= value) break;
    }
    const double gain = value - reached;
    if (gain < 0) move(fit, before);
    const double decrement = dot(rest, towards);
    if (decrement > least / 2 && gain <= negligible * value) ++stalls;
    if (!(decrement > converged * total_) || gain < 0 || stalls == max_stalls) break;
    least = std::min(least, decrement);
    value = reached;
  }
  co_return value;
}

// The loss of the fit on the other fold, and its slope in each score there, [row][output].
std::pair<double, std::vector<double>> ValidationLoss::loss_elsewhere(const Fit& fit, const Fold& other) const {
  const std::vector<double> f = times(fit.a, other.begin, other.end);
  std::vector<double> r(f.size());
  double loss = 0.0;
  for (std::size_t i = 0; i < other.end - other.begin; ++i)
    for (std::size_t o = 0; o < outputs_; ++o) {
      const double y = targets_[(other.begin + i) * outputs_ + o], score = f[i * outputs_ + o];
      const double share = weights_[other.begin + i] / total_;
      loss += share * (is_logistic() ? softplus(-y * score) : 0.5 * (score - y) * (score - y));
      r[i * outputs_ + o] = share * (is_logistic() ? -y * logistic(-y * score) : score - y);
    }
  return {loss, std::move(r)};
}

// The derivative with respect to each kernel value, divided by that value: r a' on the other fold, e u' - v (phi u) a'
// on the fold of the fit, -lam u a' among the points; u is the adjoint.
Sliced<double> ValidationLoss::add_gradient(const Fit& fit, const std::vector<double>& u, const Fold& other,
                                            const std::vector<double>& r) {
  const std::vector<double> along = times(u, fit.fold->begin, fit.fold->end);
  const Buffer<double> fitted = padded(fit.a, points_), adjoint = padded(u, points_);
  std::vector<double> down(along.size());
  for (std::size_t i = 0; i < down.size(); ++i) down[i] = -fit.v[i / outputs_] * along[i];
  co_await pace_.did(pass(fit.v.size()));
  add_products(r, fitted, other.begin);
  co_await pace_.did(pass(r.size() / outputs_));
  add_products(down, fitted, fit.fold->begin);
  co_await pace_.did(pass(fit.v.size()));
  add_products(fit.e, adjoint, fit.fold->begin);
  co_await pace_.did(pass(fit.v.size()));
  for (std::size_t k = 0; k < points_; ++k)
    for (std::size_t o = 0; o < outputs_; ++o)
      isa::routines<double>().axpy(-fit.lam * u[o * columns_ + k], fitted.data() + o * stride_,
                                   g_.data() + place_[k] * stride_, stride_);
  co_return 0.0;
}

// The loss on the other fold of the function fitted to this one; adds the derivative with respect to each kernel value
// to g_, and that with respect to log lambda to `slope`, where that is wanted.
Sliced<double> ValidationLoss::validate(std::size_t which, double lam, double* slope) {
  const Fold& other = folds_[1 - which];
  Fit fit{.fold = &folds_[which], .lam = lam};
  co_await fitted(fit);
  auto [loss, r] = loss_elsewhere(fit, other);
  co_await pace_.did(pass(other.end - other.begin));
  if (slope == nullptr) co_return loss;
  const std::vector<double> u = co_await solved_here(fit, transposed_times(r, other.begin, other.end), exact);
  *slope -= lam * dot(u, penalty_times(fit.a));
  // The loss at the limit of Newton's method, to second order in the distance from it.
  if (is_logistic()) {
    const std::vector<double> rest = descent(fit);
    for (std::size_t i = 0; i < rest.size(); ++i) loss += u[i] * rest[i];
  }
  co_await pace_.did(2 * pass(fit.v.size() + columns_));
  co_await add_gradient(fit, u, other, r);
  co_return loss;
}

Sliced<double> minimise(const Objective& objective, std::vector<double>& at, std::size_t evaluations) {
  const std::size_t n = at.size();
  struct Pair {
    std::vector<double> moved, turned;
    double curvature;
  };
  std::deque<Pair> pairs;
  std::vector<double> gradient(n), next(n), next_gradient(n), direction(n);
  double value = co_await objective(at, gradient);
  std::size_t evaluated = 1;
  std::vector<double> values = {value};  // the smallest value after each evaluation
  const auto gains = [&] {
    return values.size() <= tries || values.end()[-1 - static_cast<int>(tries)] - value >= least_gain;
  };
  while (evaluated < evaluations && gains()) {
    direction = gradient;
    std::vector<double> shares;
    for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
      shares.push_back(dot(pair->moved, direction) / pair->curvature);
      for (std::size_t i = 0; i < n; ++i) direction[i] -= shares.back() * pair->turned[i];
    }
    if (!pairs.empty()) {
      const Pair& last = pairs.back();
      const double size = last.curvature / dot(last.turned, last.turned);
      for (double& x : direction) x *= size;
    }
    for (auto pair = pairs.begin(); pair != pairs.end(); ++pair) {
      const double back = dot(pair->turned, direction) / pair->curvature;
      for (std::size_t i = 0; i < n; ++i) direction[i] += (shares.back() - back) * pair->moved[i];
      shares.pop_back();
    }
    double longest = 0.0;
    for (const double x : direction) longest = std::max(longest, std::abs(x));
    if (!(longest > 0)) break;
    // The first step has no curvature estimate: it moves the steepest coordinate by 1.
    double length = pairs.empty() ? 1.0 / longest : std::min(1.0, longest_step / longest);
    const double descent = -dot(gradient, direction);
    if (!(descent < 0)) break;
    bool found = false;
    for (; evaluated < evaluations && !found && gains(); length *= 0.4) {
      for (std::size_t i = 0; i < n; ++i) next[i] = at[i] - length * direction[i];
      const double reached = co_await objective(next, next_gradient);
      ++evaluated;
      found = std::isfinite(reached) && reached <= value + 1e-4 * length * descent;
      values.push_back(found ? reached : value);
      if (!found) continue;
      Pair pair{std::vector<double>(n), std::vector<double>(n), 0.0};
      for (std::size_t i = 0; i < n; ++i) {
        pair.moved[i] = next[i] - at[i];
        pair.turned[i] = next_gradient[i] - gradient[i];
      }
      pair.curvature = dot(pair.moved, pair.turned);
      if (pair.curvature > 1e-12 * dot(pair.turned, pair.turned)) pairs.push_back(std::move(pair));
      if (pairs.size() > remembered) pairs.pop_front();
      at = next;
      gradient = next_gradient;
      value = reached;
    }
    if (!found && evaluated >= evaluations) break;
    if (!found) pairs.clear();
  }
  co_return value;
}

Sliced<double> Search::objective(std::span<const double> x, std::span<double> gradient) {
  const double value = co_await loss_.at(x, gradient);
  const std::size_t d = data_.width;
  const double stiffness = std::isfinite(start_.spread) ? 1 / (start_.spread * static_cast<double>(data_.count)) : 0.0;
  for (double& slope : gradient) slope /= value;
  double mean = 0.0, penalty = 0.0;
  for (std::size_t j = 0; j < d; ++j) mean += (x[j] - start_.centre[j]) / static_cast<double>(d);
  for (std::size_t j = 0; j < d; ++j) {
    const double apart = x[j] - start_.centre[j] - mean;
    penalty += stiffness * apart * apart;
    gradient[j] += 2 * stiffness * apart;
  }
  // Within the space of tied scales the gradient of a group is the mean of its members'.
  std::vector<double> sums(d, 0.0), sizes(d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    sums[start_.groups[j]] += gradient[j];
    sizes[start_.groups[j]] += 1.0;
  }
  for (std::size_t j = 0; j < d; ++j) gradient[j] = sums[start_.groups[j]] / sizes[start_.groups[j]];
  co_return std::log(value) + penalty;
}

Sliced<double> Search::whole() {
  if (start_.evaluations == 0) co_return co_await loss_.at(start_.at, {});
  const Objective objective = [this](std::span<const double> x, std::span<double> gradient) {
    return this->objective(x, gradient);
  };
  co_return co_await minimise(objective, start_.at, start_.evaluations);
}

}  // namespace onkel
