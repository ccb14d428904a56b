// Pool: the points of several kernels, each held once; and a View for each kernel, its Basis over the pool.
//
// The pool's own basis has one plane for each base quantity (squared distances, dot products), which is computed once
// per block for all kernels. A view has slots of its own, each naming a point of the pool: a row's kernel values are
// picked from a plane and shaped (exp, powers) for the view's own points alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "basis/basis.hpp"

namespace onkel {

// A kernel of a learner: a sum of terms, or a callable kernel.
struct KernelConfig {
  Terms terms;
  Metric metric;             // of its rows
  KernelFunction function;   // used in place of `terms` where it is set
  std::uint32_t number = 0;  // its number among several kernels, for its draws and its names
};

class Pool {
 public:
  explicit Pool(Basis& points) : points_(points) {}
  // A copy over a copy of the points.
  Pool(const Pool& other, Basis& points)
      : points_(points),
        holders_(other.holders_),
        newest_(other.newest_),
        newest_slot_(other.newest_slot_),
        limit_(other.limit_) {}

  const Basis& points() const { return points_; }
  // The row becomes a point; if it has just become one for another kernel, the point gets one more holder.
  std::size_t hold(Block& block, std::size_t row, std::int64_t position);
  // A new point between two others.
  std::size_t hold_blend(std::size_t a, std::size_t b, double h, Block& block, std::size_t row);
  void hold(std::size_t slot);
  // One holder gives the point up; it is removed with its last holder.
  void release(std::size_t slot);
  // How many points there may be at most. It binds whoever asks before a row becomes a point.
  void set_limit(std::size_t limit) { limit_ = limit; }
  // Whether the row at this position may become a point; if another kernel has just made it one, it may.
  bool has_room(std::int64_t position) const { return position == newest_ || points_.size() < limit_; }
  // Whether the point leaves when one kernel lets go of it.
  bool has_one_holder(std::size_t slot) const { return holders_[slot - points_.first_slot()] == 1; }
  // After loading: throws where a point belongs to no kernel.
  void check_holders() const;

 private:
  Basis& points_;
  std::vector<std::int64_t> holders_;  // their number, for each slot
  std::int64_t newest_ = -1;           // the row that became a point last, and its slot
  std::size_t newest_slot_ = 0;
  std::size_t limit_ = std::numeric_limits<std::size_t>::max();
};

class View : public Basis {
 public:
  using Basis::Basis;
  // A copy over a copy of the pool.
  virtual std::unique_ptr<View> clone_over(Pool& pool) const = 0;
  // For a fresh view: the slots of another basis, whose points lie in these slots of the pool, one for each with a
  // point.
  virtual void take_over(const Basis& other, std::span<const std::size_t> pooled) = 0;
  // Makes `own` the table of one row, or of all rows, of the pool's block `shared`.
  virtual void project(Block& shared, std::size_t row, Block& own) const = 0;
  virtual void project(Block& shared, Block& own) const = 0;
  static bool shows_all_of(const Block& own, const Block& shared) { return own.number == shared.number << 32; }
  // The coefficients by the pool's slots, from those by the view's slots.
  virtual void scatter(const std::vector<double>& own, std::vector<double>& pooled) const = 0;
};

// The planes that these kernels share: one for each pair of a base quantity and a metric.
std::vector<Plane> shared_planes(const std::vector<KernelConfig>& kernels);

template <class T>
std::unique_ptr<View> make_view(const KernelConfig& kernel, const std::vector<Plane>& planes, bool constant,
                                std::size_t width, Pool& pool);

}  // namespace onkel
