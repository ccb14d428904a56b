#include "basis/basis.hpp"

#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

namespace onkel {

Basis::Basis(Type type, const std::vector<Plane>& planes, bool constant, const Fourier& fourier)
    : type_(type), metrics_(1), constant_(constant), fourier_(fourier) {
  for (const Plane& plane : planes) {
    planes_.push_back(plane.terms);
    const auto found = std::find(metrics_.begin(), metrics_.end(), plane.metric);
    metric_of_.push_back(static_cast<std::size_t>(found - metrics_.begin()));
    if (found == metrics_.end()) metrics_.push_back(plane.metric);
  }
}

double Basis::dot(const Block& block, std::size_t row, const double* weights) const {
  const double sum = type_ == Type::f32
                         ? isa::routines<float>().dot(table_row<float>(block, row), weights, columns())
                         : isa::routines<double>().dot(table_row<double>(block, row), weights, columns());
  return std::isfinite(sum) || holes_ == 0 ? sum : dot_without_holes(block, row, weights);
}

// A point that was removed in the middle of a block still has its values there, and 0 times an infinite value is NaN.
double Basis::dot_without_holes(const Block& block, std::size_t row, const double* weights) const {
  Buffer<double> values(columns());
  this->values(block, row, values);
  return isa::routines<double>().dot(values.data(), weights, columns());
}

std::pair<double, double> Basis::dot_pair(const Block& block, std::size_t row, const double* first,
                                          const double* second) const {
  double sums[2];
  if (type_ == Type::f32)
    isa::routines<float>().dot_pair(table_row<float>(block, row), first, second, columns(), sums);
  else
    isa::routines<double>().dot_pair(table_row<double>(block, row), first, second, columns(), sums);
  if (holes_ > 0 && !(std::isfinite(sums[0]) && std::isfinite(sums[1])))
    return {dot_without_holes(block, row, first), dot_without_holes(block, row, second)};
  return {sums[0], sums[1]};
}

void Basis::values(const Block& block, std::size_t row, std::span<double> values) const {
  if (type_ == Type::f32)
    std::copy_n(table_row<float>(block, row), columns(), values.begin());
  else
    std::copy_n(table_row<double>(block, row), columns(), values.begin());
  // There are few holes, usually one: the search ends with the last of them.
  for (std::size_t index = no_hole_before_, left = holes_; left > 0; ++index)
    if (births_[index] < 0) {
      values[first_slot() + index] = 0.0;
      --left;
    }
}

Priced Basis::cheapest(const Block& block, std::size_t row, std::size_t first, std::size_t end, double inverse_self,
                       const double* weights, std::span<const double> squares) const {
  const std::size_t from = first - first_slot();
  const auto among = [&]<class T>(const T* values) {
    Priced found;
    found.slot =
        first + isa::routines<T>().cheapest(values + first, units(diagonal_, self_of_all_).from(from), inverse_self,
                                            squares.empty() ? weights + first : squares.data() + from, !squares.empty(),
                                            end - first, &found.cost);
    return found;
  };
  return type_ == Type::f32 ? among(table_row<float>(block, row)) : among(table_row<double>(block, row));
}

void Basis::compare(const Block& block, std::span<const double> products, std::span<const double> squares, double least,
                    std::span<double> values) const {
  if (type_ == Type::f32)
    isa::routines<float>().compare(table_row<float>(block, 0) + first_slot(), products.data(), squares.data(), least,
                                   values.data(), values.size());
  else
    isa::routines<double>().compare(table_row<double>(block, 0) + first_slot(), products.data(), squares.data(), least,
                                    values.data(), values.size());
}

void Basis::rows_of(std::span<const std::size_t> slots, Block& scratch, std::span<double> values) const {
  for (std::size_t i = 0; i < slots.size(); ++i) row_of(slots[i], scratch, values.subspan(i * columns(), columns()));
}

std::size_t Basis::insert(Block& block, std::size_t row, std::int64_t position) {
  const std::size_t slot = occupy(position);
  store(slot, block, row);
  changed(slot, block, row);
  return slot;
}

std::size_t Basis::occupy(std::int64_t position) {
  std::size_t index = births_.size();
  if (holes_ > 0) {
    const auto from = births_.begin() + static_cast<std::ptrdiff_t>(no_hole_before_);
    index = static_cast<std::size_t>(std::find(from, births_.end(), -1) - births_.begin());
    no_hole_before_ = --holes_ > 0 ? index + 1 : births_.size();
  } else {
    if (index % isa::score_lanes == 0) grow();
    births_.push_back(-1);
    if (keeps_ghosts_) ghosts_.push_back(0);
    if (keeps_diagonal_)
      for (auto* kept : {&diagonal_, &lengths_, &inverse_lengths_}) kept->push_back(0.0);
  }
  births_[index] = position;
  return first_slot() + index;
}

void Basis::take_slots(const Basis& other) {
  births_ = other.births_;
  if (keeps_ghosts_) ghosts_ = other.ghosts_;
  holes_ = other.holes_;
  n_ghosts_ = other.n_ghosts_;
  no_hole_before_ = other.no_hole_before_;
}

void Basis::take(const Basis& other) {
  take_slots(other);
  for (std::size_t index = 0; index < slots(); index += isa::score_lanes) grow();
  const std::vector<std::size_t> held = held_slots();
  const PointRows points = other.points(held);
  Block block;
  block.rows = points.view();
  block.count = 1;
  for (const std::size_t slot : held) {
    store(slot, block, 0);
    ++block.begin;
  }
  restore_diagonal();
}

std::size_t Basis::take_point(const Basis& other, std::size_t slot) {
  const std::size_t own = occupy(other.born(slot));
  const PointRows point = other.points({&slot, 1});
  Block block;
  block.rows = point.view();
  block.count = 1;
  store(own, block, 0);
  if (keeps_diagonal_) measure(own);
  return own;
}

void Basis::reach(std::size_t) { throw std::invalid_argument("only sparse rows can have more features than before"); }

void Basis::changed(std::size_t slot, Block& block, std::size_t row) {
  if (keeps_diagonal_) measure(slot);
  refresh(slot, block, row + 1);
}

void Basis::erase(std::size_t slot, bool remembered) {
  const std::size_t index = slot - first_slot();
  if (keeps_ghosts_ && remembered) {
    ghosts_[index] = 1;
    ++n_ghosts_;
    return;
  }
  clear(slot);
  births_[index] = -1;
  no_hole_before_ = std::min(no_hole_before_, index);
  ++holes_;
}

std::size_t Basis::blend(std::size_t a, std::size_t b, double h, Block& block, std::size_t row, bool apart) {
  const std::size_t slot = keeps_ghosts_ || apart ? occupy(born(a)) : a;
  mix(slot, a, b, h, block, row);
  changed(slot, block, row);
  return slot;
}

void Basis::measure(std::size_t slot) {
  const std::size_t index = slot - first_slot();
  diagonal_[index] = self_kernel(slot, 0);
  lengths_[index] = std::sqrt(std::max(0.0, diagonal_[index]));
  inverse_lengths_[index] = lengths_[index] > 0 ? 1 / lengths_[index] : 0.0;
  are_alike_ = are_alike_ && (!is_measured_ || diagonal_[index] == self_of_all_[0]);
  if (is_measured_) return;
  is_measured_ = true;
  self_of_all_.fill(diagonal_[index]);
  length_of_all_.fill(lengths_[index]);
  inverse_length_of_all_.fill(inverse_lengths_[index]);
}

void Basis::restore_diagonal() {
  if (!keeps_diagonal_) return;
  for (auto* kept : {&diagonal_, &lengths_, &inverse_lengths_}) kept->assign(slots(), 0.0);
  for (std::size_t slot = first_slot(); slot < end_slot(); ++slot)
    if (born(slot) >= 0) measure(slot);
}

std::vector<std::size_t> Basis::alive_slots() const {
  std::vector<std::size_t> slots;
  for (std::size_t slot = first_slot(); slot < end_slot(); ++slot)
    if (alive(slot)) slots.push_back(slot);
  return slots;
}

std::vector<std::size_t> Basis::held_slots() const {
  std::vector<std::size_t> slots;
  for (std::size_t slot = first_slot(); slot < end_slot(); ++slot)
    if (born(slot) >= 0) slots.push_back(slot);
  return slots;
}

std::size_t Basis::oldest() const {
  std::size_t found = 0;
  auto earliest = std::numeric_limits<std::uint64_t>::max();
  // As an unsigned number the -1 of a hole is the largest of all.
  for (std::size_t i = 0; i < births_.size(); ++i) {
    const auto birth = static_cast<std::uint64_t>(births_[i]);
    if (birth >= earliest || (!ghosts_.empty() && ghosts_[i] == 1)) continue;
    earliest = birth;
    found = i;
  }
  return first_slot() + found;
}

void Basis::visit(Archive& archive) {
  archive.array("births", births_);
  archive.require(std::all_of(births_.begin(), births_.end(), [](std::int64_t b) { return b >= -1; }), "births",
                  "must hold rows of the stream, or -1 where there is no point");
  holes_ = static_cast<std::size_t>(std::count(births_.begin(), births_.end(), -1));
  no_hole_before_ = 0;
  if (!keeps_ghosts_) return;
  archive.array("ghosts", ghosts_);
  n_ghosts_ = static_cast<std::size_t>(std::count(ghosts_.begin(), ghosts_.end(), 1));
  archive.require(ghosts_.size() == births_.size(), "ghosts", "must hold one mark for each birth");
  for (std::size_t i = 0; i < births_.size(); ++i)
    archive.require(ghosts_[i] == 0 || (ghosts_[i] == 1 && births_[i] >= 0), "ghosts",
                    "must hold 0 or 1, and 0 where there is no point");
}

void Basis::check_births(std::int64_t t, bool distinct) const {
  for (const std::int64_t birth : births_)
    if (birth >= t)
      throw std::invalid_argument("state 'basis.births' must hold rows of the stream, of which there are " +
                                  std::to_string(t));
  if (!distinct) return;
  // A ghost may share its birth with the point that took its place.
  std::vector<std::int64_t> births;
  for (const std::size_t slot : alive_slots()) births.push_back(born(slot));
  std::sort(births.begin(), births.end());
  if (std::adjacent_find(births.begin(), births.end()) != births.end())
    throw std::invalid_argument("state 'basis.births' must hold no row twice");
}

namespace {

// Dense points in tiles of 64 bytes per feature (see isa.hpp).
template <class T>
class DenseBasis final : public Basis {
 public:
  DenseBasis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier, std::size_t width)
      : Basis(type_of<T>(), planes, constant, fourier), width_(width), tiles_(n_metrics()) {
    // x - x is 0 for every row but one that its metric has made infinite.
    for (std::size_t plane = 0; plane < n_planes(); ++plane)
      if (!uses(terms(plane), Base::dot) && metric(plane) == 0)
        self_.emplace_back(static_cast<double>(value_at<T>(terms(plane), [](Base) { return T{0}; })));
      else
        self_.emplace_back();
  }

  // The frequencies of random features are computed again.
  DenseBasis(const DenseBasis& other) : Basis(other), width_(other.width_), self_(other.self_), tiles_(other.tiles_) {}
  std::unique_ptr<Basis> clone() const override { return std::make_unique<DenseBasis>(*this); }

  PointRows points(std::span<const std::size_t> slots) const override {
    PointRows points{slots.size(), width_, std::vector<std::byte>(slots.size() * width_ * sizeof(T)), {}, {}};
    T* out = reinterpret_cast<T*>(points.values.data());
    for (const std::size_t slot : slots) {
      read(slot - first_slot(), out);
      out += width_;
    }
    return points;
  }

  void tile(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Team& team) const override {
    block.rows = rows;
    block.begin = begin;
    block.count = count;
    block.is_packed = false;
    block.planes = n_planes();
    block.stride = spread_stride<T>(columns() + rounded(count));
    const std::size_t bytes = count * block.planes * block.stride * sizeof(T);
    if (block.table.size() < bytes) block.table.resize(bytes);
    for (std::size_t row = 0; row < count; ++row) write_constant(table_row<T>(block, row));
    map_rows(block);
    write_features(block);
    const std::size_t cost = count * rounded(slots()) * (width_ + formula_cost) * block.planes;
    team.split(rounded(slots()) / lanes, isa::tiles_at_once, cost, [&](std::size_t first, std::size_t last) {
      for (std::size_t plane = 0; plane < block.planes; ++plane)
        evaluate(plane, row_at(block, 0, metric(plane)), count, tiles_[metric(plane)].data() + first * width_ * lanes,
                 last - first, table_row<T>(block, 0, plane) + first_slot() + first * lanes,
                 block.planes * block.stride);
    });
  }

  double self_kernel(Block& block, std::size_t row, std::size_t plane) const override {
    if (self_[plane]) return *self_[plane] + zero_if_finite(row_at(block, row, 0));
    pack(block);
    T values[lanes];
    const std::size_t m = metric(plane);
    evaluate(plane, row_at(block, row, m), 1, packed(block, m) + row / lanes * width_ * lanes, 1, values, lanes);
    return static_cast<double>(values[row % lanes]);
  }

  // Rows from outside may contain NaN, which their kernel value must not hide.
  double zero_if_finite(const T* row) const {
    T sums[lanes] = {};
    for (std::size_t i = 0; i < width_; ++i) sums[i % lanes] += T{0} * row[i];
    T sum = 0;
    for (const T each : sums) sum += each;
    return static_cast<double>(sum);
  }

  double self_kernel(std::size_t slot, std::size_t plane) const override {
    if (self_[plane]) return *self_[plane];
    const std::size_t index = slot - first_slot();
    std::vector<T> point(width_);
    read(index, point.data(), metric(plane));
    T values[lanes];
    evaluate(plane, point.data(), 1, tiles_[metric(plane)].data() + index / lanes * width_ * lanes, 1, values, lanes);
    return static_cast<double>(values[index % lanes]);
  }

  void tile_point(std::size_t slot, Block& block) const override {
    block.column.resize(width_ * sizeof(T));
    T* point = reinterpret_cast<T*>(block.column.data());
    read(slot - first_slot(), point);
    Team alone(1);
    tile({point, 1, width_}, 0, 1, block, alone);
  }

  // Several points at once, at the speed of a block of rows; the values are the same.
  void rows_of(std::span<const std::size_t> slots, Block& block, std::span<double> values) const override {
    block.column.resize(slots.size() * width_ * sizeof(T));
    T* points = reinterpret_cast<T*>(block.column.data());
    for (std::size_t i = 0; i < slots.size(); ++i) read(slots[i] - first_slot(), points + i * width_);
    Team alone(1);
    tile({points, slots.size(), width_}, 0, slots.size(), block, alone);
    for (std::size_t i = 0; i < slots.size(); ++i) this->values(block, i, values.subspan(i * columns(), columns()));
  }

  void visit(Archive& archive) override {
    Basis::visit(archive);
    std::vector<T> points;
    if (!archive.loading()) points.resize(slots() * width_);
    for (std::size_t i = 0; i < slots() && !archive.loading(); ++i) read(i, points.data() + i * width_);
    archive.matrix("points", points, width_);
    if (!archive.loading()) return;
    archive.require(points.size() == slots() * width_, "points", "must hold one point for each birth");
    for (std::size_t i = 0; i < slots(); ++i)
      archive.require(
          born(first_slot() + i) >= 0 ||
              std::all_of(points.data() + i * width_, points.data() + (i + 1) * width_, [](T x) { return x == 0; }),
          "points", "must be zero where there is no point");
    for (Buffer<T>& tiles : tiles_) tiles.assign(rounded(slots()) * width_, T{0});
    for (std::size_t i = 0; i < slots(); ++i) write(i, points.data() + i * width_);
    restore_diagonal();
  }

 private:
  static constexpr std::size_t lanes = isa::lanes<T>;
  static constexpr std::size_t formula_cost = 16;  // of a kernel value, besides one multiply-add per feature
  static const isa::Routines<T>& routines() { return isa::routines<T>(); }
  const T* row_at(const Block& block, std::size_t row, std::size_t metric = 0) const {
    if (metric > 0)
      return reinterpret_cast<const T*>(block.mapped.data()) + ((metric - 1) * block.count + row) * width_;
    return static_cast<const T*>(block.rows.values) + (block.begin + row) * width_;
  }
  static std::size_t row_tiles(const Block& block) { return (block.count + lanes - 1) / lanes; }
  T* packed(Block& block, std::size_t metric) const {
    return reinterpret_cast<T*>(block.packed.data()) + metric * row_tiles(block) * width_ * lanes;
  }

  void map_rows(Block& block) const {
    const std::size_t bytes = (n_metrics() - 1) * block.count * width_ * sizeof(T);
    if (block.mapped.size() < bytes) block.mapped.resize(bytes);
    T* out = reinterpret_cast<T*>(block.mapped.data());
    for (std::size_t m = 1; m < n_metrics(); ++m)
      for (std::size_t row = 0; row < block.count; ++row)
        for (std::size_t f = 0; f < width_; ++f) *out++ = mapped(m, f, row_at(block, row)[f]);
  }

  void write_features(Block& block) const {
    if (n_features() == 0) return;
    routines().tile(identity_kernel(Base::dot), row_at(block, 0, metric(0)), block.count, width_, frequencies(),
                    rounded(n_features()) / lanes, width_, table_row<T>(block, 0) + first_feature(), block.stride);
    for (std::size_t row = 0; row < block.count; ++row)
      fourier().finish(table_row<T>(block, row) + first_feature(), rounded(n_features()));
  }

  // The frequencies of the random features, as tiles; see Fourier for when they are computed.
  const T* frequencies() const {
    std::call_once(frequencies_computed_, [this] {
      frequencies_.resize(rounded(n_features()) * width_);
      for (std::size_t i = 0; i < n_features(); ++i)
        for (std::size_t f = 0; f < width_; ++f)
          frequencies_[lane(i) + f * lanes] = static_cast<T>(fourier().frequency(i, f));
    });
    return frequencies_.data();
  }

  // Kernel values of rows against tiles: out[row * stride + point].
  void evaluate(std::size_t plane, const T* rows, std::size_t count, const T* tiles, std::size_t n_tiles, T* out,
                std::size_t stride) const {
    const Terms& terms = this->terms(plane);
    if (is_plain(terms)) {
      routines().tile(terms[0].factors[0], rows, count, width_, tiles, n_tiles, width_, out, stride);
      return;
    }
    const std::size_t n = n_tiles * lanes;
    Buffer<T> quantities[n_bases], scratch(2 * n);
    for (const Base base : bases) {
      if (!uses(terms, base)) continue;
      Buffer<T>& result = quantities[static_cast<std::size_t>(base)];
      result.resize(count * n);
      routines().tile(identity_kernel(base), rows, count, width_, tiles, n_tiles, width_, result.data(), n);
    }
    for (std::size_t row = 0; row < count; ++row) {
      const auto at_row = [&](Base base) { return quantities[static_cast<std::size_t>(base)].data() + row * n; };
      add_up(terms, at_row, n, scratch.data(), out + row * stride);
    }
  }

  std::size_t lane(std::size_t index) const { return index / lanes * width_ * lanes + index % lanes; }
  void write(std::size_t index, const T* point) {
    for (std::size_t m = 0; m < n_metrics(); ++m)
      for (std::size_t f = 0; f < width_; ++f) tiles_[m][lane(index) + f * lanes] = mapped(m, f, point[f]);
  }
  void read(std::size_t index, T* point, std::size_t metric = 0) const {
    for (std::size_t f = 0; f < width_; ++f) point[f] = tiles_[metric][lane(index) + f * lanes];
  }

  void grow() override {
    for (Buffer<T>& tiles : tiles_) tiles.resize(tiles.size() + isa::score_lanes * width_, T{0});
  }

  void store(std::size_t slot, const Block& block, std::size_t row) override {
    write(slot - first_slot(), row_at(block, row));
  }

  void clear(std::size_t slot) override {
    for (Buffer<T>& tiles : tiles_)
      for (std::size_t f = 0; f < width_; ++f) tiles[lane(slot - first_slot()) + f * lanes] = T{0};
  }

  void mix(std::size_t into, std::size_t a, std::size_t b, double h, Block&, std::size_t) override {
    std::vector<T> first(width_), second(width_);
    read(a - first_slot(), first.data());
    read(b - first_slot(), second.data());
    for (std::size_t f = 0; f < width_; ++f)
      first[f] = static_cast<T>(h * static_cast<double>(first[f]) + (1 - h) * static_cast<double>(second[f]));
    write(into - first_slot(), first.data());
  }

  void refresh(std::size_t slot, Block& block, std::size_t from) const override {
    if (from >= block.count) return;
    open_column<T>(slot, block, from);
    // Kernel values are symmetric to the bit, so the point plays the row and 16 rows at a time play the points.
    pack(block);
    const std::size_t first = from / lanes, tiles = row_tiles(block);
    block.column.resize((tiles * lanes + width_) * sizeof(T));
    T* values = reinterpret_cast<T*>(block.column.data());
    T* point = values + tiles * lanes;
    for (std::size_t plane = 0; plane < block.planes; ++plane) {
      read(slot - first_slot(), point, metric(plane));
      evaluate(plane, point, 1, packed(block, metric(plane)) + first * width_ * lanes, tiles - first,
               values + first * lanes, tiles * lanes);
      for (std::size_t row = from; row < block.count; ++row) table_row<T>(block, row, plane)[slot] = values[row];
    }
  }

  void pack(Block& block) const {
    if (block.is_packed) return;
    block.packed.resize(n_metrics() * row_tiles(block) * width_ * lanes * sizeof(T));
    for (std::size_t m = 0; m < n_metrics(); ++m) {
      if (!is_used(m)) continue;
      T* out = packed(block, m);
      for (std::size_t t = 0; t < row_tiles(block); ++t, out += width_ * lanes)
        for (std::size_t l = 0; l < lanes; ++l)
          for (std::size_t f = 0; f < width_; ++f)
            out[f * lanes + l] = t * lanes + l < block.count ? row_at(block, t * lanes + l, m)[f] : T{0};
    }
    block.is_packed = true;
  }

  std::size_t width_;
  std::vector<std::optional<double>> self_;  // kernel(x, x) of each plane, where it is the same for all rows
  std::vector<Buffer<T>> tiles_;             // one array per metric
  mutable Buffer<T> frequencies_;
  mutable std::once_flag frequencies_computed_;
};

}  // namespace

template <class T>
std::unique_ptr<Basis> make_dense_basis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier,
                                        std::size_t width) {
  return std::make_unique<DenseBasis<T>>(planes, constant, fourier, width);
}
template std::unique_ptr<Basis> make_dense_basis<float>(const std::vector<Plane>&, bool, const Fourier&, std::size_t);
template std::unique_ptr<Basis> make_dense_basis<double>(const std::vector<Plane>&, bool, const Fourier&, std::size_t);

}  // namespace onkel
