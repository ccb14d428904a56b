// Posterior: the posterior distribution given the rows that one memory keeps: a mean function on the span of some
// points (and the constant), and the covariance of its coefficients (docs/newton.md).
//
// The coefficients a have the covariance A, at first K^-1 / lam. A row with kernel values k, s = k . A k and curvature
// v updates them by a += A k b, A -= v / (1 + v s) A k (A k)'. Where the memory fades, the information H = sum v z z'
// in the orthonormal coordinates z = L^-1 k of the span is kept as well: every `period` rows it is scaled by forget to
// the power of `period`, the function stays, and A is computed from lam I + H anew when it is next needed. A memory so
// short that it fades every few rows uses H alone: with lam I + H = R R' and u = R^-1 z, s = |u|^2 and
// A k = L^-T R^-T u. Without fading, H is computed from A on request.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "linalg/archive.hpp"
#include "linalg/buffer.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/covariance.hpp"
#include "linalg/information.hpp"
#include "linalg/team.hpp"
#include "linalg/triangle.hpp"

namespace onkel {

// A point may join if its squared distance from the span is above a fraction of its squared length; what is shorter
// than this has no inverse to reckon with.
inline constexpr double least_squared_length = 1e-100;
double least_novelty(double kappa);

// Where a row lies with regard to the span of so many points: its coordinates there, its squared length, and its
// squared distance from the span.
struct Placement {
  std::size_t points;
  Buffer<double> l;  // L^-1 k, with room for the routines of the factor
  double kappa, novelty;
  bool is_independent() const { return novelty > least_novelty(kappa); }
};

// What a posterior knows of a row before it learns from it.
struct Row {
  Buffer<double> k;  // its values at the columns
  Buffer<double> h;  // A k
  Buffer<double> z;  // its coordinates L^-1 k, where the posterior keeps its information alone
  double s;          // k . A k, or 0 where that is due to rounding and the function is taken as known
};

class Posterior {
 public:
  // `max_points` is the largest number of points that the caller lets join; one that is full may exchange them.
  Posterior(double forget, double lam, bool constant, std::size_t max_points, std::size_t outputs);

  bool fades() const { return forget_ < 1; }
  double memory() const { return std::round(1e9 / (1 - forget_)) / 1e9; }  // in rows
  std::size_t size() const { return members_.size(); }
  std::size_t max_points() const { return max_points_; }
  const std::vector<std::int64_t>& members() const {
    return members_;
  }  // slots of the basis, in the order in which they joined
  bool holds(std::size_t slot) const;
  void set_members(std::vector<std::int64_t> members) { members_ = std::move(members); }  // on loading
  std::size_t columns() const { return n_fixed_ + members_.size(); }
  // The column of the basis that corresponds to this column.
  std::size_t basis_column(std::size_t column) const {
    return column < n_fixed_ ? 0 : static_cast<std::size_t>(members_[column - n_fixed_]);
  }
  // One coefficient for each column of the basis, 0 for columns that it does not use.
  const Buffer<double>& coefficients(std::size_t output) const { return a_[output]; }
  void set_coefficient(std::size_t column, std::size_t output, double value) {
    a_[output][basis_column(column)] = value;
  }

  // A function on the same points that is learned beside: the logarithm of the noise, as it departs from its level. It
  // has no say in which points stay.
  const Buffer<double>& local() const { return local_; }
  std::vector<double> own_local() const { return own(local_); }  // of its columns
  void set_local(std::span<const double> coefficients) { set_own(local_, coefficients); }

  void begin();  // the prior of the constant alone
  void limit(std::size_t max_points) { max_points_ = max_points; }
  void take(const Posterior& other);  // all but the largest number of points
  void widen(std::size_t outputs);
  void reach(std::size_t basis_columns);
  // Starts as this one on its first points: the function is its projection on their span, and of what is known counts
  // what so long a memory holds of so many rows.
  void begin_as(const Posterior& other, double rows, double even_information);

  // ---- A row ---------------------------------------------------------------------------------------------------
  // The values at these columns, with zeros beyond them, of those at all columns of the basis.
  Buffer<double> pick(std::span<const double> values) const;
  // A_0 k may be computed for several rows of a block at once: their numbers, and their values at these columns.
  struct Ahead {
    std::vector<std::size_t> rows;
    Buffer<double> k;  // [row][column]
    void add(std::size_t row, const Buffer<double>& values) {
      rows.push_back(row);
      k.insert(k.end(), values.begin(), values.end());
    }
  };
  // `may_join`: L^-1 k is computed as well, for `place_beyond`; the first row has been asked about already.
  void precompute(std::uint64_t block, const Ahead& ahead, bool may_join, Team* team);
  bool is_precomputed(std::uint64_t block, std::size_t row) const;
  // How many rows from t on may be second-order before A_0 changes, and how many may come at all.
  std::size_t steps_ahead() const;
  std::size_t rows_ahead(std::int64_t t) const;
  // A row of a block, which must be precomputed, with its values at all columns of the basis.
  Row look_at(std::uint64_t block, std::size_t row, std::span<const double> values) const;
  // a += h b for each output, and the information v of the row is added.
  void learn(Row row, std::span<const double> b, double v);
  // The local logarithm of the noise (see `local`) moves by h b.
  void learn_local(std::span<const double> h, double b);
  // Whether it is full and may exchange a point at row t; and that it did so.
  bool may_exchange(std::int64_t t) const { return size() >= max_points_ && t >= next_exchange_; }
  void exchanged(std::int64_t t) { next_exchange_ = t + 5 * period_; }
  // After row t: scales the information of the rows so far where that is due.
  void fade(std::int64_t t);
  double variance(const Buffer<double>& k) const;  // k . A k

  // ---- Points --------------------------------------------------------------------------------------------------
  // A row of squared length kappa with these values at the columns.
  Placement place(const Buffer<double>& k, double kappa) const;
  // The same for a row of a block; none where its distance is found to be below `least`, for less than the time of all.
  std::optional<Placement> place_beyond(double least, std::uint64_t block, std::size_t row, const Buffer<double>& k,
                                        double kappa) const;
  // The point in a slot, placed among the present points, becomes the last of them: L grows by a row. False where it
  // lies in the span of the others.
  bool extend(std::size_t slot, const Placement& placed);
  // The same within the stream, where the new direction has the prior variance 1 / lam and no information yet.
  bool join(std::size_t slot, const Placement& placed);
  // What it costs each point to leave, in the metric of the data: a_j^2 / A_jj; and the slot of the cheapest.
  std::vector<double> costs();
  std::size_t least_needed();
  // A point leaves: its coefficient is known to be 0, and the others' become what they are expected to be then. Where A
  // has no digits left to tell that, it is made anew first, from the information that is kept or else from this.
  void leave(std::size_t slot, double even_information);

  // ---- What is known -------------------------------------------------------------------------------------------
  Triangle coordinates() const;  // L of the coordinates: that of the points, and 1 for the constant
  // Where A has no digits left to tell, so much of every coordinate.
  Information current_information(double even_information) const;
  Information spread_evenly(double information) const;
  void adopt(Information information);  // from now on this is known
  const Cholesky& factor() const { return factor_; }
  Matrix covariance() const;                         // of the coefficients
  Matrix even_covariance(double information) const;  // what it would be by so much of every coordinate
  std::vector<double> sizes_of_variances() const;    // that rounding is measured by (see Covariance)
  // Keeps only these columns, with this covariance. `rows`: L of all of them, with L_S of those that stay: in their
  // coordinates the information is M H M', M = L'^-1 L_S; in the coefficients the rows and columns of the others are
  // left out.
  void restrict_to(const std::vector<std::size_t>& columns, const Matrix& rows, const Triangle& covariance);
  std::vector<double> mean(std::span<const double> coefficients) const;  // the coordinates w = L' a
  std::vector<double> from_mean(std::span<const double> w) const;        // a = L^-T w

  // `alone` means that its coefficients are those of the function, which is saved already.
  void visit(Archive& archive, bool alone);

 private:
  void make_room();
  void derive() const;
  Buffer<double> covariance_with(std::size_t column);  // A_:j
  void renew_covariance(double even_information);
  void forget_span();  // drops what was computed from L, or from members that have left
  void solve_ahead(std::uint64_t block, const Ahead& ahead);
  Row look_by_information(Row row) const;
  std::vector<double> own(const Buffer<double>& a) const;  // coefficients of its columns
  void set_own(Buffer<double>& a, std::span<const double> coefficients) const;
  template <class Change>
  void each_function(const Change& change) {
    for (Buffer<double>& a : a_) change(a);
    change(local_);
  }
  // To derive A takes as long as three steps without it.
  bool keeps_information_alone() const { return fades() && period_ <= 3; }
  void add_waiting() const;  // adds the rows that wait to H
  const Triangle& inverse() const;
  std::size_t padded_columns() const { return covariance_.columns(); }

  double forget_, lam_;
  std::size_t n_fixed_, max_points_;
  std::int64_t period_;             // rows from one forgetting to the next
  double fading_;                   // the factor of the information at each of these
  std::int64_t next_exchange_ = 0;  // the first row at which a point may be exchanged again
  std::vector<std::int64_t> members_;
  std::size_t basis_columns_ = 0;
  std::vector<Buffer<double>> a_;  // [output][column of the basis]
  Buffer<double> local_;           // [column of the basis]
  Cholesky factor_;
  mutable Covariance covariance_;
  mutable bool stale_ = false;       // whether A must be computed from H before its next use
  mutable Triangle inverse_;         // L^-1 of the coordinates, computed on demand; empty where L has changed
  mutable Information information_;  // where the memory fades
  static constexpr std::size_t max_waiting = 32;
  struct Waiting {
    Buffer<double> k;  // [row][column]
    std::vector<double> v;
  };
  mutable Waiting waiting_;  // rows that H does not include yet

  // A_0 k of rows of this block, as long as A_0 has been folded so often and no longer than its columns were.
  struct Precomputed {
    Precomputed() = default;
    Precomputed(const Precomputed&) {}  // a copy starts without
    Precomputed& operator=(const Precomputed&) = default;
    std::uint64_t block = 0;
    std::int64_t folds = -1;
    std::size_t columns = 0, stride = 0;  // the columns that it had, and with their padding
    Ahead ahead;
    Buffer<double> products;
    const double* product(std::size_t row) const;
  } precomputed_;
  // L^-1 k of rows of this block, for so many points as there were; those that have joined since go on from there.
  struct Solved {
    Solved() = default;
    Solved(const Solved&) {}  // a copy starts without
    Solved& operator=(const Solved&) = default;
    std::uint64_t block = 0;
    std::size_t points = 0, stride = 0;
    std::vector<std::size_t> rows;
    Buffer<double> l;
  } solved_;
};

}  // namespace onkel
