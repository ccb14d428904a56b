// Pool: the points of several kernels, each held once; and a View for each kernel, its Basis over the pool.
//
// The pool's own basis has one plane a base quantity (squared distances, dot products), computed once a block for all
// kernels. A view has slots of its own, each naming a point of the pool: a row's kernel values are picked from a plane
// and shaped (exp, powers) for the view's own points alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "basis/basis.hpp"

namespace onkel {

// A kernel of a learner: a sum of terms, or a function of the caller's own.
struct KernelConfig {
  Terms terms;
  Scales scales;             // of its rows
  KernelFunction function;   // in place of `terms`, where it is set
  std::uint32_t number = 0;  // its number among several: of its draws, and in its names
};

class Pool {
 public:
  explicit Pool(Basis& points) : points_(points) {}

  const Basis& points() const { return points_; }
  // The row becomes a point; if another kernel has just made it one, that one is held once more.
  std::size_t hold(Block& block, std::size_t row, std::int64_t position);
  // A new point between two.
  std::size_t hold_blend(std::size_t a, std::size_t b, double h, Block& block, std::size_t row);
  void hold(std::size_t slot);
  // The point leaves with its last holder.
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
  std::vector<std::int64_t> holders_;  // one a slot
  std::int64_t newest_ = -1;           // the row that became a point last, and its slot
  std::size_t newest_slot_ = 0;
  std::size_t limit_ = std::numeric_limits<std::size_t>::max();
};

class View : public Basis {
 public:
  using Basis::Basis;
  // Makes `own` the table of rows of the pool's block `shared`: of one, or of all.
  virtual void project(Block& shared, std::size_t row, Block& own) const = 0;
  virtual void project(Block& shared, Block& own) const = 0;
  static bool shows_all_of(const Block& own, const Block& shared) { return own.number == shared.number << 32; }
  // One coefficient a slot of the pool, from one a slot of the view.
  virtual void scatter(const std::vector<double>& own, std::vector<double>& pooled) const = 0;
};

// The planes that these kernels share, one a base quantity and scales.
std::vector<Plane> shared_planes(const std::vector<KernelConfig>& kernels);

template <class T>
std::unique_ptr<View> make_view(const KernelConfig& kernel, const std::vector<Plane>& planes, bool constant,
                                std::size_t width, Pool& pool);

}  // namespace onkel
