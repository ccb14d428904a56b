// Basis: the columns that a function is a weighted sum of, and their values at the rows of a block.
//
// Columns are numbered: first the fixed ones (a constant term, random features, the features themselves), then from
// first_slot() on the slots of
// the support points. A slot keeps its number for as long as its point stays; a slot whose point left is a hole (zeros,
// to be filled again). Column counts are multiples of 16, the lanes of a score's sum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "basis/fourier.hpp"
#include "basis/metric.hpp"
#include "isa/isa.hpp"
#include "linalg/archive.hpp"
#include "linalg/buffer.hpp"
#include "linalg/rows.hpp"
#include "linalg/team.hpp"

namespace onkel {

// The kernel values of some consecutive rows against every column. Scratch: nothing in it outlives the call.
struct Block {
  Rows rows;
  std::size_t begin = 0, count = 0;  // the block is rows [begin, begin + count)
  std::size_t stride = 0;            // of the table, in values
  std::size_t planes = 1;
  Buffer<std::byte> table;   // table[row][plane][column]
  Buffer<std::byte> mapped;  // the rows as each metric but the first sees them: [metric - 1][row]
  Buffer<std::byte> packed;  // the rows as tiles, [metric], packed when the first of them becomes a point
  Buffer<std::byte> column;  // a point and its kernel values, while its column is written
  bool is_packed = false;
  // Where several kernels share their points: the values of one row for each of them, and the block that the row
  // belongs to.
  std::vector<Block> views;
  Block* shared = nullptr;
  std::size_t shared_row = 0;
  std::uint64_t number = 0;  // identifies the block, for updates that cache something about its rows
};

// The values of one plane at one row.
template <class T>
T* table_row(Block& block, std::size_t row, std::size_t plane = 0) {
  return reinterpret_cast<T*>(block.table.data()) + (row * block.planes + plane) * block.stride;
}
template <class T>
const T* table_row(const Block& block, std::size_t row, std::size_t plane = 0) {
  return reinterpret_cast<const T*>(block.table.data()) + (row * block.planes + plane) * block.stride;
}

// A kernel is a weighted sum of products of plain kernels; usually it is a single plain kernel.
struct Term {
  double weight = 1.0;
  std::vector<Kernel> factors;
};
using Terms = std::vector<Term>;

inline bool is_plain(const Terms& terms) {
  return terms.size() == 1 && terms[0].weight == 1.0 && terms[0].factors.size() == 1;
}
// Whether a factor of the kernel is a formula of this base quantity.
inline bool uses(const Terms& terms, Base base) {
  return std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.end(), [&](const Kernel& k) { return k.base == base; });
  });
}

// out[j] = kernel value at the base quantities quantity(base)[j], j < n (a multiple of isa::lanes<T>). `scratch` holds
// 2 n values.
template <class T, class Quantity>
void add_up(const Terms& terms, const Quantity& quantity, std::size_t n, T* scratch, T* out) {
  const auto factor_into = [&](T* values, const Kernel& kernel) {
    std::copy_n(quantity(kernel.base), n, values);
    isa::routines<T>().shape(kernel, values, n);
  };
  T* const product = scratch;
  T* const next = scratch + n;
  std::fill_n(out, n, T{0});
  for (const Term& term : terms) {
    factor_into(product, term.factors[0]);
    for (std::size_t i = 1; i < term.factors.size(); ++i) {
      factor_into(next, term.factors[i]);
      for (std::size_t j = 0; j < n; ++j) product[j] *= next[j];
    }
    for (std::size_t j = 0; j < n; ++j) out[j] += static_cast<T>(term.weight) * product[j];
  }
}
// The same; the value of a plain kernel has the bits of its formula alone.
template <class T, class Quantity>
void evaluate(const Terms& terms, const Quantity& quantity, std::size_t n, T* scratch, T* out) {
  if (!is_plain(terms)) return add_up(terms, quantity, n, scratch, out);
  const Kernel& kernel = terms[0].factors[0];
  std::copy_n(quantity(kernel.base), n, out);
  isa::routines<T>().shape(kernel, out, n);
}
// The same at one point.
template <class T, class Quantity>
T value_at(const Terms& terms, const Quantity& quantity) {
  T quantities[isa::lanes<T>] = {}, scratch[2 * isa::lanes<T>], out[isa::lanes<T>];
  const auto at = [&](Base base) {
    quantities[0] = quantity(base);
    return quantities;
  };
  add_up(terms, at, isa::lanes<T>, scratch, out);
  return out[0];
}

// A kernel, or a base quantity, and the metric of its rows.
struct Plane {
  Terms terms;
  Metric metric;
};

// Points as rows of their own, of the type of the caller's rows: dense in C order, or CSR.
struct PointRows {
  std::size_t count = 0, width = 0;
  std::vector<std::byte> values;
  std::vector<std::int64_t> offsets;  // CSR only, where it is not empty
  std::vector<std::int32_t> indices;
  Rows view() const {
    return {values.data(), count, width, offsets.empty() ? nullptr : offsets.data(), indices.data()};
  }
};

// A slot and what it costs to remove its point; infinite where there is none.
struct Priced {
  std::size_t slot;
  double cost;
};

class Basis {
 public:
  // Each plane of the table is one kernel. A learner has one; several planes are the base quantities that several
  // kernels share. `type` is that of the values in the tables.
  Basis(Type type, const std::vector<Plane>& planes, bool constant, const Fourier& fourier = {});
  virtual ~Basis() = default;
  // A copy with the same slots.
  virtual std::unique_ptr<Basis> clone() const = 0;
  // For a fresh basis of the same points and constant: the slots of another, with its points.
  virtual void take(const Basis& other);
  // A new slot for the point in a slot of another; returns it.
  std::size_t take_point(const Basis& other, std::size_t slot);
  // From now on rows have so many features: those that the points do not have are 0. For sparse points alone.
  virtual void reach(std::size_t width);
  // The points in these slots, ghosts included.
  virtual PointRows points(std::span<const std::size_t> slots) const = 0;

  // Column 0 has this value everywhere: the constant term. Its square (0.098) is what it adds to kernel(x, x'); with 1
  // a noisy row would move every prediction as much as its own.
  static constexpr double constant_value = 0.3125;
  bool has_constant() const { return constant_; }
  // The random features are the columns [first_feature(), first_feature() + n_features()).
  std::size_t first_feature() const { return constant_ ? isa::score_lanes : 0; }
  std::size_t n_features() const { return fourier_.count(); }
  const Fourier& fourier() const { return fourier_; }
  // Under the linear kernel the features themselves may be columns, [first_weight(), first_weight() + n_weights()):
  // then no row becomes a point.
  static constexpr std::size_t most_weights = std::size_t{1} << 22;
  std::size_t first_weight() const { return first_feature() + rounded(fourier_.count()); }
  std::size_t n_weights() const { return n_weights_; }
  // The columns of a row's features, and their values, in `scratch`.
  struct Entry {
    std::size_t column;
    double value;
  };
  virtual std::span<const Entry> entries(const Block& /*block*/, std::size_t /*row*/,
                                         std::vector<Entry>& /*scratch*/) const {
    return {};
  }
  std::size_t first_slot() const { return first_weight() + rounded(n_weights_); }
  std::size_t columns() const { return first_slot() + rounded(births_.size()); }
  // The slots are [first_slot(), end_slot()), holes and ghosts included.
  std::size_t end_slot() const { return first_slot() + births_.size(); }
  // The number of support points of the last function; and that including the ghosts of its average.
  std::size_t size() const { return births_.size() - holes_ - n_ghosts_; }
  std::size_t size_with_ghosts() const { return births_.size() - holes_; }
  // The stream position (from 0) of the row in this slot, -1 for a hole.
  std::int64_t born(std::size_t slot) const { return births_[slot - first_slot()]; }
  bool alive(std::size_t slot) const { return born(slot) >= 0 && (ghosts_.empty() || !ghosts_[slot - first_slot()]); }
  std::vector<std::size_t> alive_slots() const;
  std::vector<std::size_t> held_slots() const;  // those with a point, ghosts included
  std::size_t oldest() const;                   // the slot of the support point that came first
  // From now on points that are removed stay as ghosts: columns that only the average uses.
  void keep_ghosts() { keeps_ghosts_ = true; }
  // From now on kernel(s, s) of each point is kept, with its square root (the point's length in the kernel's feature
  // space) and the inverse of that length (0 for a point of length 0).
  void keep_diagonal() { keeps_diagonal_ = true; }
  double diagonal(std::size_t slot) const { return diagonal_[slot - first_slot()]; }
  std::span<const double> diagonal() const { return diagonal_; }
  isa::Units lengths() const { return units(lengths_, length_of_all_); }
  isa::Units inverse_lengths() const { return units(inverse_lengths_, inverse_length_of_all_); }

  // How many rows a block may have: 1 where values are not computed for several rows at once.
  virtual std::size_t max_rows() const { return std::numeric_limits<std::size_t>::max(); }
  // How many of these rows to take as one block: as many as possible if the caller `gains` by blocks or if blocks are
  // quicker than single rows, otherwise 1.
  std::size_t rows_at_once(std::size_t rows, bool gains = false) const {
    return gains || is_quicker_by_blocks() ? std::min(rows, max_rows()) : 1;
  }
  virtual bool is_quicker_by_blocks() const { return true; }
  // Whether the row at this position may become a point, or may do so once the point in a slot is gone. Only points
  // that several kernels share have a limit.
  virtual bool has_room(std::int64_t /*position*/) const { return true; }
  virtual bool has_room_without(std::size_t /*slot*/, std::int64_t /*position*/) const { return true; }
  // Makes `block` the table of rows [begin, begin + count); the team shares the columns among its members.
  virtual void tile(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Team& team) const = 0;
  // sum_j weights[j] column_j(row), the lanes of column mod 16 added in a fixed tree.
  virtual double dot(const Block& block, std::size_t row, const double* weights) const;
  // Two such sums over the same row, for less than twice the time.
  virtual std::pair<double, double> dot_pair(const Block& block, std::size_t row, const double* first,
                                             const double* second) const;
  // The squared length of a row's feature vector: kernel(x, x) plus the share of the constant column.
  double self(Block& block, std::size_t row) const {
    return self_kernel(block, row, 0) + (constant_ ? constant_value * constant_value : 0.0);
  }
  // kernel(x, x) of a row, and of the point in a slot.
  virtual double self_kernel(Block& block, std::size_t row, std::size_t plane) const = 0;
  virtual double self_kernel(std::size_t slot, std::size_t plane) const = 0;
  // Makes `block` the table of one row, the point in this slot.
  virtual void tile_point(std::size_t slot, Block& block) const = 0;

  // Every column at a row of the block, 0 where there is no point (a row's own column comes after the row: its value is
  // self()).
  void values(const Block& block, std::size_t row, std::span<double> values) const;
  // One column at a row of the block.
  double value(const Block& block, std::size_t row, std::size_t column) const {
    return type_ == Type::f32 ? static_cast<double>(table_row<float>(block, row)[column])
                              : table_row<double>(block, row)[column];
  }
  // isa::Routines::cheapest among the slots [first, end) at a row of the block, with one weight per column or its
  // square per slot.
  Priced cheapest(const Block& block, std::size_t row, std::size_t first, std::size_t end, double inverse_self,
                  const double* weights, std::span<const double> squares) const;
  // The values of a block of one row at the slots where products^2 > least * squares and products > 0 (one of each per
  // slot); 0 at the other slots.
  void compare(const Block& block, std::span<const double> products, std::span<const double> squares, double least,
               std::span<double> values) const;
  // Every column at the point in this slot, and at the points in these slots.
  void row_of(std::size_t slot, Block& scratch, std::span<double> values) const {
    tile_point(slot, scratch);
    this->values(scratch, 0, values);
  }
  virtual void rows_of(std::span<const std::size_t> slots, Block& scratch, std::span<double> values) const;

  // The row becomes a support point; its column is written for the rows after it. Returns its slot.
  std::size_t insert(Block& block, std::size_t row, std::int64_t position);
  // Removes the point; its slot becomes a hole, or a ghost where the average still needs it.
  void erase(std::size_t slot, bool remembered);
  // A new point, h * the point in slot a + (1 - h) * the point in slot b, whose column is written for the rows after
  // `row`. It takes the place of a, or a slot of its own where ghosts are kept or `apart` is true. Returns its slot.
  std::size_t blend(std::size_t a, std::size_t b, double h, Block& block, std::size_t row, bool apart = false);

  virtual void visit(Archive& archive);
  // After loading: checks that every point is a row of a stream of t rows and, where they are `distinct`, that no two
  // are the same row.
  void check_births(std::int64_t t, bool distinct = true) const;

 protected:
  Basis(const Basis&) = default;
  void weigh_features(std::size_t n) { n_weights_ = n; }
  static std::size_t rounded(std::size_t n) { return round_up(n, isa::score_lanes); }
  std::size_t slots() const { return births_.size(); }
  std::size_t n_planes() const { return planes_.size(); }
  const Terms& terms(std::size_t plane = 0) const { return planes_[plane]; }
  // Rows and points as a plane sees them: those of its metric. The first metric has them as they came, which is how
  // they are saved and shown.
  std::size_t n_metrics() const { return metrics_.size(); }
  std::size_t metric(std::size_t plane) const { return metric_of_[plane]; }
  bool is_used(std::size_t metric) const {
    return std::find(metric_of_.begin(), metric_of_.end(), metric) != metric_of_.end();
  }
  template <class T>
  T mapped(std::size_t metric, std::size_t feature, T value) const {
    if (metric == 0) return value;
    // What the metric carries beyond the largest number stays there: two infinite numbers would have no distance.
    constexpr double most = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp(metrics_[metric](feature, static_cast<double>(value)), -most, most));
  }
  // The constant column (and the 15 empty ones beside it) of one row of a table.
  template <class T>
  void write_constant(T* row) const {
    if (!constant_) return;
    std::fill_n(row, first_feature(), T{0});
    *row = T{constant_value};
  }
  void restore_diagonal();  // after loading
  void take_slots(const Basis& other);

  // An odd number of cache lines keeps the rows off each other's sets.
  template <class T>
  static std::size_t spread_stride(std::size_t n) {
    return n + (n / isa::lanes<T> % 2 == 0 ? isa::lanes<T> : 0);
  }
  // Room in the block for the column of a point that is about to be written, for the rows from `from` on.
  template <class T>
  void open_column(std::size_t slot, Block& block, std::size_t from) const;

  virtual void grow() = 0;  // makes room for 16 more slots, filled with zeros
  virtual void store(std::size_t slot, const Block& block, std::size_t row) = 0;
  virtual void clear(std::size_t slot) = 0;  // fills it with zeros
  // The point in `into` (which may be a) <- h a + (1 - h) b, at this row of the block.
  virtual void mix(std::size_t into, std::size_t a, std::size_t b, double h, Block& block, std::size_t row) = 0;
  // Writes a changed column for the rows from `from` on.
  virtual void refresh(std::size_t slot, Block& block, std::size_t from) const = 0;

 private:
  double dot_without_holes(const Block& block, std::size_t row, const double* weights) const;
  std::size_t occupy(std::int64_t position);  // a slot for a new point: the first hole, or else a new slot
  void measure(std::size_t slot);             // computes its diagonal and lengths
  using Alike = std::array<double, isa::score_lanes>;
  isa::Units units(const std::vector<double>& each, const Alike& all) const {
    return are_alike_ ? isa::Units{all.data(), 0} : isa::Units{each.data()};
  }
  void changed(std::size_t slot, Block& block, std::size_t row);

  Type type_;
  std::vector<Terms> planes_;
  std::vector<Metric> metrics_;  // all different; the first is empty
  std::vector<std::size_t> metric_of_;
  bool constant_;
  Fourier fourier_;
  std::size_t n_weights_ = 0;
  std::vector<std::int64_t> births_;
  std::vector<std::int64_t> ghosts_;  // per slot, 1 for a ghost; empty where none are kept
  std::size_t holes_ = 0, n_ghosts_ = 0;
  std::size_t no_hole_before_ = 0;  // where the search for the first hole starts
  bool keeps_ghosts_ = false, keeps_diagonal_ = false;
  std::vector<double> diagonal_, lengths_, inverse_lengths_;
  // The same for all points, as long as they are alike: kernels of distances have the same kernel(s, s) everywhere.
  bool are_alike_ = true, is_measured_ = false;
  Alike self_of_all_{}, length_of_all_{}, inverse_length_of_all_{};
};

template <class T>
void Basis::open_column(std::size_t slot, Block& block, std::size_t from) const {
  // There may be more columns than the block has room for: room was made for rows that become points, but not for
  // blended points.
  if (columns() > block.stride) {
    const std::size_t rows = block.count * block.planes, before = block.stride;
    const Buffer<std::byte> old = std::exchange(block.table, {});
    block.stride = spread_stride<T>(2 * columns());
    block.table.resize(rows * block.stride * sizeof(T));
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(reinterpret_cast<const T*>(old.data()) + row * before, before, table_row<T>(block, 0, row));
  }
  // This is the first point of 16 new columns, of which the others have no values yet.
  if ((slot - first_slot()) % isa::score_lanes == 0 && slot + 1 == end_slot())
    for (std::size_t row = from * block.planes; row < block.count * block.planes; ++row)
      std::fill_n(table_row<T>(block, 0, row) + slot, isa::score_lanes, T{0});
}

template <class T>
std::unique_ptr<Basis> make_dense_basis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier,
                                        std::size_t width);
template <class T>
std::unique_ptr<Basis> make_sparse_basis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier,
                                         std::size_t width);

// The features themselves as columns, at most Basis::most_weights of them.
template <class T>
std::unique_ptr<Basis> make_linear_basis(bool constant, std::size_t width, bool sparse);

// A callable kernel: out[i] = kernel(row, points[i]), with rows and points of the type of the basis.
using KernelFunction = std::function<void(const void* row, const void* points, std::size_t n, double* out)>;
template <class T>
std::unique_ptr<Basis> make_callable_basis(const KernelFunction& function, bool constant, std::size_t width);

}  // namespace onkel
