#include "basis/pool.hpp"

#include <stdexcept>

namespace onkel {

std::size_t Pool::hold(Block& block, std::size_t row, std::int64_t position) {
  if (position != newest_) {
    newest_slot_ = points_.insert(block, row, position);
    newest_ = position;
  }
  hold(newest_slot_);
  return newest_slot_;
}

std::size_t Pool::hold_blend(std::size_t a, std::size_t b, double h, Block& block, std::size_t row) {
  const std::size_t slot = points_.blend(a, b, h, block, row, true);
  hold(slot);
  return slot;
}

void Pool::hold(std::size_t slot) {
  const std::size_t index = slot - points_.first_slot();
  if (holders_.size() <= index) holders_.resize(index + 1);
  ++holders_[index];
}

void Pool::release(std::size_t slot) {
  if (--holders_[slot - points_.first_slot()] > 0) return;
  points_.erase(slot, false);
  if (slot == newest_slot_) newest_ = -1;
}

void Pool::check_holders() const {
  for (std::size_t slot = points_.first_slot(); slot < points_.end_slot(); ++slot) {
    const std::size_t index = slot - points_.first_slot();
    if (points_.born(slot) >= 0 && (index >= holders_.size() || holders_[index] == 0))
      throw std::invalid_argument("state 'basis.births' must hold points of some kernel only");
  }
}

namespace {

template <class T>
class PlainView final : public View {
 public:
  PlainView(const KernelConfig& kernel, const std::vector<Plane>& planes, bool constant, std::size_t width, Pool& pool)
      : View(type_of<T>(), {{kernel.terms, {}}}, constant), function_(kernel.function), width_(width), pool_(pool) {
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
      if (planes[plane].metric == kernel.metric)
        plane_of_[static_cast<std::size_t>(planes[plane].terms[0].factors[0].base)] = plane;
  }

  PlainView(const PlainView& other, Pool& pool)
      : View(other),
        function_(other.function_),
        width_(other.width_),
        pool_(pool),
        places_(other.places_),
        points_(other.points_) {
    std::copy(std::begin(other.plane_of_), std::end(other.plane_of_), plane_of_);
  }
  std::unique_ptr<View> clone_over(Pool& pool) const override { return std::make_unique<PlainView>(*this, pool); }
  std::unique_ptr<Basis> clone() const override { throw std::logic_error("a view is copied over a copy of its pool"); }

  void take_over(const Basis& other, std::span<const std::size_t> pooled) override {
    take_slots(other);
    places_.assign(rounded(slots()), 0);
    const std::vector<std::size_t> held = held_slots();
    for (std::size_t i = 0; i < held.size(); ++i) {
      set_place(held[i], pooled[i]);
      pool_.hold(pooled[i]);
    }
    if (function_) {
      const PointRows rows = other.points(held);
      points_.assign(slots() * width_, T{0});
      for (std::size_t i = 0; i < held.size(); ++i)
        std::copy_n(reinterpret_cast<const T*>(rows.values.data()) + i * width_, width_, point(held[i]));
    }
    restore_diagonal();
  }

  PointRows points(std::span<const std::size_t> slots) const override {
    std::vector<std::size_t> places;
    for (const std::size_t slot : slots) places.push_back(place(slot));
    return pool_.points().points(places);
  }

  // A callable kernel takes one row at a time.
  std::size_t max_rows() const override { return function_ ? 1 : View::max_rows(); }

  bool has_room(std::int64_t position) const override { return pool_.has_room(position); }
  bool has_room_without(std::size_t slot, std::int64_t position) const override {
    return pool_.has_room(position) || pool_.has_one_holder(place(slot));
  }

  void project(Block& shared, std::size_t row, Block& own) const override {
    own.shared = &shared;
    own.shared_row = row;
    own.number = (shared.number << 32) + row + 1;  // the row is a block of its own
    make_room(own, 1);
    fill(shared, row, function_ ? row_at(shared, row) : nullptr, own, 0);
  }

  void project(Block& shared, Block& own) const override {
    own.shared = &shared;
    own.shared_row = 0;
    own.number = shared.number << 32;
    make_room(own, shared.count);
    for (std::size_t row = 0; row < shared.count; ++row) fill(shared, row, nullptr, own, row);
  }

  void tile(const Rows&, std::size_t, std::size_t, Block&, Team&) const override {
    throw std::logic_error("a view takes the rows of its pool");
  }

  void tile_point(std::size_t slot, Block& block) const override {
    if (!function_) pool_.points().tile_point(place(slot), raw_);
    make_room(block, 1);
    fill(raw_, 0, function_ ? point(slot) : nullptr, block, 0);
  }

  double self_kernel(Block& block, std::size_t row, std::size_t) const override {
    const std::size_t shared_row = block.shared_row + row;
    if (function_) return self_function(row_at(*block.shared, shared_row));
    return self_value([&](std::size_t plane) { return pool_.points().self_kernel(*block.shared, shared_row, plane); });
  }
  double self_kernel(std::size_t slot, std::size_t) const override {
    if (function_) return self_function(point(slot));
    return self_value([&](std::size_t plane) { return pool_.points().self_kernel(place(slot), plane); });
  }

  void scatter(const std::vector<double>& own, std::vector<double>& pooled) const override {
    for (std::size_t slot = first_slot(); slot < end_slot(); ++slot)
      if (born(slot) >= 0) pooled[place(slot) - pool_.points().first_slot()] = own[slot - first_slot()];
  }

  void visit(Archive& archive) override {
    Basis::visit(archive);
    std::vector<std::int64_t> places(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(slots_now()));
    archive.array("places", places);
    if (function_) archive.matrix("points", points_, width_);
    if (!archive.loading()) return;
    archive.require(places.size() == slots() && (!function_ || points_.size() == slots() * width_), "places",
                    "must hold one place for each birth");
    places_.assign(rounded(slots()), 0);
    const Basis& pooled = pool_.points();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t birth = born(first_slot() + i);
      const auto slot = static_cast<std::size_t>(places[i]) + pooled.first_slot();
      archive.require(
          birth < 0 ? places[i] == 0 : places[i] >= 0 && slot < pooled.end_slot() && pooled.born(slot) == birth,
          "places", "must hold the places of the kernel's points among all points");
      places_[i] = static_cast<std::int32_t>(places[i]);
      if (birth >= 0) pool_.hold(slot);
    }
    restore_diagonal();
  }

 private:
  std::size_t slots_now() const { return std::min(slots(), places_.size()); }
  // The slot in the pool that one of the view's slots refers to.
  std::size_t place(std::size_t slot) const {
    return pool_.points().first_slot() + static_cast<std::size_t>(places_[slot - first_slot()]);
  }
  void set_place(std::size_t slot, std::size_t pooled) {
    places_[slot - first_slot()] = static_cast<std::int32_t>(pooled - pool_.points().first_slot());
  }
  const T* row_at(const Block& block, std::size_t row) const {
    return static_cast<const T*>(block.rows.values) + (block.begin + row) * width_;
  }
  const T* point(std::size_t slot) const { return points_.data() + (slot - first_slot()) * width_; }
  T* point(std::size_t slot) { return points_.data() + (slot - first_slot()) * width_; }

  void make_room(Block& own, std::size_t count) const {
    own.planes = 1;
    own.count = count;
    own.stride = count == 1 ? columns() : spread_stride<T>(columns() + rounded(count));
    const std::size_t bytes = count * own.stride * sizeof(T);
    if (own.table.size() < bytes) own.table.resize(bytes);
  }

  // Fills a row of the table from row `at` of the pool's block; a callable kernel takes the `row` itself.
  void fill(const Block& raw, std::size_t at, const T* row, Block& own, std::size_t to) const {
    write_constant(table_row<T>(own, to));
    T* out = table_row<T>(own, to) + first_slot();
    const std::size_t n = rounded(slots());
    if (function_) {
      call(row, out, own.column);
    } else if (const Terms& terms = this->terms(); is_plain(terms)) {
      pick(raw, at, terms[0].factors[0].base, out, n);
      isa::routines<T>().shape(terms[0].factors[0], out, n);
    } else {
      own.column.resize((n_bases + 2) * n * sizeof(T));
      T* const picked = reinterpret_cast<T*>(own.column.data());
      const auto of = [&](Base base) { return picked + static_cast<std::size_t>(base) * n; };
      for (const Base base : bases)
        if (uses(terms, base)) pick(raw, at, base, of(base), n);
      add_up(terms, of, n, picked + n_bases * n, out);
    }
    // Where there is no point the value of another point was picked, which may even be infinite.
    for (std::size_t j = slots(); j < n; ++j) out[j] = T{0};
    for (std::size_t j = 0; j < slots() && size_with_ghosts() < slots(); ++j)
      if (born(first_slot() + j) < 0) out[j] = T{0};
  }

  // A base quantity at the view's own points.
  void pick(const Block& raw, std::size_t at, Base base, T* out, std::size_t n) const {
    const T* quantities = table_row<T>(raw, at, plane_of(base)) + pool_.points().first_slot();
    isa::routines<T>().pick(quantities, places_.data(), out, n);
  }
  std::size_t plane_of(Base base) const { return plane_of_[static_cast<std::size_t>(base)]; }

  void call(const T* row, T* out, Buffer<std::byte>& scratch) const {
    scratch.resize(slots() * sizeof(double));
    double* values = reinterpret_cast<double*>(scratch.data());
    if (slots() > 0) function_(row, points_.data(), slots(), values);
    std::copy_n(values, slots(), out);
  }

  double self_function(const T* row) const {
    double value = 0.0;
    function_(row, row, 1, &value);
    return value;
  }
  // kernel(x, x), from the values of the pool's planes.
  template <class Plane>
  double self_value(const Plane& plane) const {
    return static_cast<double>(value_at<T>(terms(), [&](Base base) { return static_cast<T>(plane(plane_of(base))); }));
  }

  void grow() override { places_.resize(places_.size() + isa::score_lanes, 0); }

  void store(std::size_t slot, const Block& block, std::size_t row) override {
    set_place(slot, pool_.hold(*block.shared, block.shared_row + row, born(slot)));
    if (!function_) return;
    points_.resize(slots() * width_);
    std::copy_n(row_at(*block.shared, block.shared_row + row), width_, point(slot));
  }

  void clear(std::size_t slot) override {
    pool_.release(place(slot));
    places_[slot - first_slot()] = 0;
    if (function_) std::fill_n(point(slot), width_, T{0});
  }

  void mix(std::size_t into, std::size_t a, std::size_t b, double h, Block& block, std::size_t row) override {
    Block none;
    const bool at_row = block.shared != nullptr;
    const std::size_t result =
        pool_.hold_blend(place(a), place(b), h, at_row ? *block.shared : none, at_row ? block.shared_row + row : 0);
    if (into == a) pool_.release(place(a));
    set_place(into, result);
  }

  // The pool has written the point's column already.
  void refresh(std::size_t slot, Block& block, std::size_t from) const override {
    if (from >= block.count) return;
    open_column<T>(slot, block, from);
    const std::size_t n = rounded(block.count - from);
    block.column.resize((n_bases + 3) * n * sizeof(T));
    T* const quantities = reinterpret_cast<T*>(block.column.data());
    std::fill_n(quantities, n_bases * n, T{0});
    const auto of = [&](Base base) { return quantities + static_cast<std::size_t>(base) * n; };
    for (const Base base : bases)
      for (std::size_t row = from; row < block.count && uses(terms(), base); ++row)
        of(base)[row - from] = table_row<T>(*block.shared, block.shared_row + row, plane_of(base))[place(slot)];
    T* const values = quantities + n_bases * n;
    onkel::evaluate(terms(), of, n, values + n, values);
    for (std::size_t row = from; row < block.count; ++row) table_row<T>(block, row)[slot] = values[row - from];
  }

  KernelFunction function_;
  std::size_t width_;
  Pool& pool_;
  std::size_t plane_of_[n_bases] = {};  // the plane of each base quantity
  std::vector<std::int32_t> places_;    // the pool's slot for each of its own
  std::vector<T> points_;               // for a callable kernel
  mutable Block raw_;                   // scratch of the learning thread
};

}  // namespace

std::vector<Plane> shared_planes(const std::vector<KernelConfig>& kernels) {
  std::vector<Plane> planes;
  for (const Base base : bases)
    for (const KernelConfig& kernel : kernels) {
      const bool exists = std::any_of(planes.begin(), planes.end(), [&](const Plane& plane) {
        return uses(plane.terms, base) && plane.metric == kernel.metric;
      });
      if (uses(kernel.terms, base) && !exists) planes.push_back({{Term{1.0, {identity_kernel(base)}}}, kernel.metric});
    }
  return planes;
}

template <class T>
std::unique_ptr<View> make_view(const KernelConfig& kernel, const std::vector<Plane>& planes, bool constant,
                                std::size_t width, Pool& pool) {
  return std::make_unique<PlainView<T>>(kernel, planes, constant, width, pool);
}
template std::unique_ptr<View> make_view<float>(const KernelConfig&, const std::vector<Plane>&, bool, std::size_t,
                                                Pool&);
template std::unique_ptr<View> make_view<double>(const KernelConfig&, const std::vector<Plane>&, bool, std::size_t,
                                                 Pool&);

}  // namespace onkel
