// Sparse points behind an inverted index: a row costs the postings of its own features, not points times features.
//
// A feature is a list of postings (point, value), or a dense column where more than an eighth of the points have it.
// Either way a pair's sum runs over ascending features, one product and one addition each, and a missing value adds
// exactly nothing: the bits do not depend on how a feature is held, nor on which of the pair is the row. Distances are
// computed from such sums where little cancels; where much does (rows with a large mean, rows that are nearly equal)
// the distance of a pair is summed from its differences, as it is for dense rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "basis/basis.hpp"

namespace onkel {
namespace {

// A row or a point: its features, ascending, and their values.
template <class T>
struct Sparse {
  std::span<const std::int32_t> features;
  std::span<const T> values;
};

// The values of one feature over the points: postings in any order, or one value per point where `dense` is not empty.
template <class T>
struct Feature {
  std::size_t count = 0;  // points that have it
  std::vector<std::uint32_t> points;
  std::vector<T> values;
  Buffer<T> dense;

  void add(std::uint32_t point, T value) {
    points.push_back(point);
    values.push_back(value);
  }
  void remove(std::uint32_t point) {
    --count;
    if (!dense.empty()) {
      dense[point] = T{0};
      return;
    }
    const auto at = static_cast<std::size_t>(std::find(points.begin(), points.end(), point) - points.begin());
    points[at] = points.back();
    values[at] = values.back();
    points.pop_back();
    values.pop_back();
  }
  void become_dense(std::size_t room) {
    dense.assign(room, T{0});
    for (std::size_t i = 0; i < points.size(); ++i) dense[points[i]] = values[i];
    points = {};
    values = {};
  }
};

// Features by their number, which may be up to 2^31: pages, and tables of pages, exist as long as points have features
// on them.
template <class T>
class FeatureTable {
 public:
  FeatureTable() = default;
  FeatureTable(FeatureTable&&) = default;
  FeatureTable& operator=(FeatureTable&&) = default;
  FeatureTable(const FeatureTable& other) : directories_(other.directories_.size()) {
    for (std::size_t d = 0; d < directories_.size(); ++d) {
      if (!other.directories_[d]) continue;
      const Directory& pages = *other.directories_[d];
      directories_[d] = std::make_unique<Directory>();
      directories_[d]->used = pages.used;
      for (std::size_t i = 0; i < directory_size; ++i)
        if (pages.entries[i]) directories_[d]->entries[i] = std::make_unique<Page>(*pages.entries[i]);
    }
  }
  const Feature<T>* find(std::int32_t feature) const {
    const auto [directory, page, line] = place(feature);
    if (directory >= directories_.size() || !directories_[directory]) return nullptr;
    const auto& found = directories_[directory]->entries[page];
    return found ? &found->entries[line] : nullptr;
  }
  // Returns the feature, which one more point has from now on.
  Feature<T>& with_another(std::int32_t feature) {
    const auto [directory, page, line] = place(feature);
    if (directory >= directories_.size()) directories_.resize(directory + 1);
    auto& pages = directories_[directory];
    if (!pages) pages = std::make_unique<Directory>();
    auto& lines = pages->entries[page];
    if (!lines) {
      lines = std::make_unique<Page>();
      ++pages->used;
    }
    Feature<T>& found = lines->entries[line];
    if (found.count++ == 0) ++lines->used;
    return found;
  }
  // Removes a point from a feature that it has; memory that is no longer needed is released.
  void remove(std::int32_t feature, std::uint32_t point) {
    const auto [directory, page, line] = place(feature);
    auto& pages = directories_[directory];
    auto& lines = pages->entries[page];
    Feature<T>& found = lines->entries[line];
    found.remove(point);
    if (found.count > 0) return;
    found = {};
    if (--lines->used > 0) return;
    lines.reset();
    if (--pages->used == 0) pages.reset();
  }
  void clear() { directories_.clear(); }

 private:
  static constexpr std::size_t page_size = 32, directory_size = 512;
  template <class Entry, std::size_t size>
  struct Table {
    std::size_t used = 0;  // entries that are not empty
    std::array<Entry, size> entries;
  };
  using Page = Table<Feature<T>, page_size>;
  using Directory = Table<std::unique_ptr<Page>, directory_size>;
  struct Place {
    std::size_t directory, page, line;
  };
  static Place place(std::int32_t feature) {
    const auto f = static_cast<std::size_t>(feature);
    return {f / page_size / directory_size, f / page_size % directory_size, f % page_size};
  }
  std::vector<std::unique_ptr<Directory>> directories_;
};

template <class T>
class SparseBasis final : public Basis {
 public:
  SparseBasis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier, std::size_t width)
      : Basis(type_of<T>(), planes, constant, fourier), width_(width), sides_(n_metrics()) {
    // x - x is 0 for every row.
    for (std::size_t plane = 0; plane < n_planes(); ++plane)
      if (uses(terms(plane), Base::dot))
        self_.emplace_back();
      else
        self_.emplace_back(static_cast<double>(value_at<T>(terms(plane), [](Base) { return T{0}; })));
  }

  // The frequencies of random features are computed again.
  SparseBasis(const SparseBasis& other)
      : Basis(other), width_(other.width_), self_(other.self_), sides_(other.sides_) {}
  std::unique_ptr<Basis> clone() const override { return std::make_unique<SparseBasis>(*this); }

  void reach(std::size_t width) override {
    width_ = width;
    frequencies_ = std::make_unique<Frequencies>();
  }

  PointRows points(std::span<const std::size_t> slots) const override {
    PointRows rows{slots.size(), width_, {}, {0}, {}};
    for (const std::size_t slot : slots) {
      const Sparse<T> point = points()[slot - first_slot()].view();
      const auto* values = reinterpret_cast<const std::byte*>(point.values.data());
      rows.values.insert(rows.values.end(), values, values + point.values.size_bytes());
      rows.indices.insert(rows.indices.end(), point.features.begin(), point.features.end());
      rows.offsets.push_back(static_cast<std::int64_t>(rows.indices.size()));
    }
    return rows;
  }

  // Blocks make no row cheaper, and a new point costs a column for the rows after it.
  bool is_quicker_by_blocks() const override { return false; }

  void tile(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Team&) const override {
    block.rows = rows;
    block.begin = begin;
    block.count = count;
    block.planes = n_planes();
    block.stride = count == 1 ? columns() : spread_stride<T>(columns() + rounded(count));
    const std::size_t bytes = count * block.planes * block.stride * sizeof(T);
    if (block.table.size() < bytes) block.table.resize(bytes);
    map_rows(block);
    for (std::size_t row = 0; row < count; ++row)
      fill(row, [&](std::size_t m) { return row_at(block, row, m); }, block);
  }

  double self_kernel(Block& block, std::size_t row, std::size_t plane) const override {
    if (self_[plane]) return *self_[plane];
    T square = 0;
    for (const T x : row_at(block, row, metric(plane)).values) square += x * x;
    return self_kernel(square, terms(plane));
  }
  double self_kernel(std::size_t slot, std::size_t plane) const override {
    if (self_[plane]) return *self_[plane];
    return self_kernel(sides_[metric(plane)].squares[slot - first_slot()], terms(plane));
  }

  void tile_point(std::size_t slot, Block& block) const override {
    block.planes = n_planes();
    block.stride = columns();
    const std::size_t bytes = block.planes * block.stride * sizeof(T);
    if (block.table.size() < bytes) block.table.resize(bytes);
    fill(0, [&](std::size_t m) { return sides_[m].points[slot - first_slot()].view(); }, block);
  }

  void visit(Archive& archive) override {
    Basis::visit(archive);
    std::vector<std::int64_t> offsets{0}, features;
    std::vector<T> values;
    for (const Point& point : points()) {
      features.insert(features.end(), point.features.begin(), point.features.end());
      values.insert(values.end(), point.values.begin(), point.values.end());
      offsets.push_back(static_cast<std::int64_t>(values.size()));
    }
    archive.array("offsets", offsets);
    archive.array("features", features);
    archive.array("values", values);
    if (!archive.loading()) return;
    const auto n = static_cast<std::int64_t>(values.size());
    archive.require(features.size() == values.size(), "features", "must hold one feature for each value");
    archive.require(offsets.size() == slots() + 1 && offsets.front() == 0 && offsets.back() == n &&
                        std::is_sorted(offsets.begin(), offsets.end()),
                    "offsets", "must divide the values among the points");
    for (std::size_t i = 0; i < slots(); ++i)
      archive.require(born(first_slot() + i) >= 0 || offsets[i] == offsets[i + 1], "offsets",
                      "must give no values to where there is no point");
    for (std::size_t i = 0; i < slots(); ++i)
      for (std::int64_t last = -1, j = offsets[i]; j < offsets[i + 1]; ++j) {
        const std::int64_t feature = features[static_cast<std::size_t>(j)];
        archive.require(feature > last && feature < static_cast<std::int64_t>(width_), "features",
                        "must be ascending in a point, and less than the number of features");
        last = feature;
      }
    rebuild(offsets, features, values);
    restore_diagonal();
  }

 private:
  struct Point {
    std::vector<std::int32_t> features;
    std::vector<T> values;
    Sparse<T> view() const { return {features, values}; }
    // The memory stays for the next point in the slot, unless that needs less than half of it.
    void become(const Sparse<T>& row) {
      if (features.capacity() > 2 * row.features.size() + isa::score_lanes) *this = {};
      features.assign(row.features.begin(), row.features.end());
      values.assign(row.values.begin(), row.values.end());
    }
    void clear() {
      features.clear();
      values.clear();
    }
  };
  // The points as one metric sees them, and the index over them.
  struct Side {
    std::vector<Point> points;
    Buffer<T> squares, lengths;  // |s|^2 and |s|_1, and zeros up to a multiple of 16
    FeatureTable<T> features;
  };
  // The points as they came.
  std::vector<Point>& points() { return sides_[0].points; }
  const std::vector<Point>& points() const { return sides_[0].points; }

  // A row of the block as a metric sees it.
  static Sparse<T> row_at(const Block& block, std::size_t row, std::size_t metric) {
    const std::int64_t* offsets = block.rows.offsets + block.begin;
    const std::int64_t first = offsets[row];
    const auto n = static_cast<std::size_t>(offsets[row + 1] - first);
    const T* values = static_cast<const T*>(block.rows.values) + first;
    if (metric > 0)
      values = reinterpret_cast<const T*>(block.mapped.data()) +
               static_cast<std::int64_t>(metric - 1) * (offsets[block.count] - offsets[0]) + (first - offsets[0]);
    return {{block.rows.indices + first, n}, {values, n}};
  }

  void map_rows(Block& block) const {
    const std::int64_t first = block.rows.offsets[block.begin];
    const auto n = static_cast<std::size_t>(block.rows.offsets[block.begin + block.count] - first);
    block.mapped.resize((n_metrics() - 1) * n * sizeof(T));
    T* out = reinterpret_cast<T*>(block.mapped.data());
    const T* values = static_cast<const T*>(block.rows.values) + first;
    for (std::size_t m = 1; m < n_metrics(); ++m)
      for (std::size_t i = 0; i < n; ++i)
        *out++ =
            mapped(m, static_cast<std::size_t>(block.rows.indices[first + static_cast<std::int64_t>(i)]), values[i]);
  }

  // kernel(x, x) of a row with |x|^2 = square, where the kernel uses dot products.
  static double self_kernel(T square, const Terms& terms) {
    return static_cast<double>(value_at<T>(terms, [&](Base base) { return base == Base::dot ? square : T{0}; }));
  }

  // Writes a row of the table; seen(metric) is the row as that metric sees it.
  template <class Seen>
  void fill(std::size_t row, const Seen& seen, Block& block) const {
    write_fixed(seen(metric(0)), table_row<T>(block, row));
    for (std::size_t plane = 0; plane < block.planes; ++plane)
      evaluate(plane, seen(metric(plane)), table_row<T>(block, row, plane) + first_slot(), block.column);
  }

  // The constant and the random features at one row.
  void write_fixed(const Sparse<T>& row, T* out) const {
    write_constant(out);
    if (n_features() == 0) return;
    const std::size_t n = rounded(n_features());
    out += first_feature();
    std::fill_n(out, n, T{0});
    const T* first = frequencies();
    for (std::size_t i = 0; i < row.values.size(); ++i)
      isa::routines<T>().axpy(row.values[i], first + static_cast<std::size_t>(row.features[i]) * n, out, n);
    fourier().finish(out, n);
  }

  // The frequencies of the random features, [feature][wave]; see Fourier for when they are computed.
  const T* frequencies() const {
    std::call_once(frequencies_->computed, [this] {
      const std::size_t n = rounded(n_features());
      frequencies_->values.resize(n * width_);
      for (std::size_t f = 0; f < width_; ++f)
        for (std::size_t i = 0; i < n_features(); ++i)
          frequencies_->values[f * n + i] = static_cast<T>(fourier().frequency(i, f));
    });
    return frequencies_->values.data();
  }

  // Kernel values of one row against every slot.
  void evaluate(std::size_t plane, const Sparse<T>& row, T* out, Buffer<std::byte>& scratch) const {
    const std::size_t n = rounded(slots());
    const Terms& terms = this->terms(plane);
    const Side& side = sides_[metric(plane)];
    if (is_plain(terms)) {
      gather(terms[0].factors[0].base, side, row, out, n);
      isa::routines<T>().shape(terms[0].factors[0], out, n);
      return;
    }
    scratch.resize((n_bases + 2) * n * sizeof(T));
    T* const quantities = reinterpret_cast<T*>(scratch.data());
    const auto of = [&](Base base) { return quantities + static_cast<std::size_t>(base) * n; };
    for (const Base base : bases)
      if (uses(terms, base)) gather(base, side, row, of(base), n);
    add_up(terms, of, n, quantities + n_bases * n, out);
  }

  // |x - s|^2 = |x|^2 + |s|^2 - 2 x.s, and |x - s|_1 = |x|_1 + |s|_1 - sum over shared features of
  // (|x_f| + |s_f| - |x_f - s_f|): every base quantity is a sum over shared features.
  void gather(Base base, const Side& side, const Sparse<T>& row, T* quantities, std::size_t n) const {
    std::fill_n(quantities, n, T{0});
    T norm = 0;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const T x = row.values[i];
      norm += base == Base::manhattan ? std::abs(x) : x * x;
      const Feature<T>* feature = side.features.find(row.features[i]);
      if (feature == nullptr) continue;
      if (base == Base::manhattan)
        gather_overlap(x, *feature, quantities);
      else
        gather_products(x, *feature, quantities);
    }
    if (base == Base::dot) return;
    const Buffer<T>& norms = base == Base::manhattan ? side.lengths : side.squares;
    const T share = base == Base::manhattan ? T{1} : T{2};
    constexpr std::size_t step = 4 * isa::score_lanes;  // few enough to test the pairs for cancellation one by one
    for (std::size_t first = 0; first < n; first += step) {
      const std::size_t last = std::min(first + step, n);
      if (!isa::routines<T>().distances(norm, norms.data() + first, share, quantities + first, last - first)) continue;
      for (std::size_t j = first; j < std::min(last, slots()); ++j)
        if (isa::cancels(quantities[j], norm + norms[j])) quantities[j] = distance(base, row, side.points[j].view());
    }
  }

  // The same for one point.
  static T gather(Base base, const Sparse<T>& a, const Sparse<T>& b, T norm_of_b) {
    T sum = 0, norm = 0;
    for (std::size_t i = 0, j = 0; i < a.values.size(); ++i) {
      const T x = a.values[i];
      norm += base == Base::manhattan ? std::abs(x) : x * x;
      while (j < b.values.size() && b.features[j] < a.features[i]) ++j;
      if (j == b.values.size() || b.features[j] != a.features[i]) continue;
      sum += base == Base::manhattan ? overlap(x, b.values[j]) : x * b.values[j];
    }
    if (base == Base::dot) return sum;
    const T left = (norm + norm_of_b) - (base == Base::manhattan ? T{1} : T{2}) * sum;
    return isa::cancels(left, norm + norm_of_b) ? distance(base, a, b) : left;
  }

  // A pair's distance from its differences, features ascending.
  static T distance(Base base, const Sparse<T>& a, const Sparse<T>& b) {
    T sum = 0;
    for (std::size_t i = 0, j = 0; i < a.values.size() || j < b.values.size();) {
      const bool take_a = j == b.values.size() || (i < a.values.size() && a.features[i] <= b.features[j]);
      const bool take_b = i == a.values.size() || (j < b.values.size() && b.features[j] <= a.features[i]);
      const T difference = (take_a ? a.values[i] : T{0}) - (take_b ? b.values[j] : T{0});
      sum += base == Base::manhattan ? std::abs(difference) : difference * difference;
      i += take_a;
      j += take_b;
    }
    return sum;
  }

  static void gather_products(T x, const Feature<T>& feature, T* sums) {
    if (!feature.dense.empty()) {
      isa::routines<T>().axpy(x, feature.dense.data(), sums, feature.dense.size());
      return;
    }
    for (std::size_t i = 0; i < feature.points.size(); ++i) sums[feature.points[i]] += x * feature.values[i];
  }
  static T overlap(T x, T s) { return (std::abs(x) + std::abs(s)) - std::abs(x - s); }
  static void gather_overlap(T x, const Feature<T>& feature, T* sums) {
    for (std::size_t j = 0; j < feature.dense.size(); ++j) sums[j] += overlap(x, feature.dense[j]);
    if (!feature.dense.empty()) return;
    for (std::size_t i = 0; i < feature.points.size(); ++i) sums[feature.points[i]] += overlap(x, feature.values[i]);
  }

  void grow() override {}  // every list grows with its points

  void store(std::size_t slot, const Block& block, std::size_t row) override {
    const std::size_t index = slot - first_slot();
    make_room();
    points()[index].become(row_at(block, row, 0));
    enter(index);
  }

  void clear(std::size_t slot) override {
    const std::size_t index = slot - first_slot();
    for (std::size_t m = 0; m < n_metrics(); ++m) {
      Side& side = sides_[m];
      for (const std::int32_t number : side.points[index].features)
        if (is_used(m)) side.features.remove(number, static_cast<std::uint32_t>(index));
      side.points[index].clear();
      side.squares[index] = side.lengths[index] = T{0};
    }
  }

  void mix(std::size_t into, std::size_t first, std::size_t second, double h, Block&, std::size_t) override {
    make_room();
    const Point &a = points()[first - first_slot()], &b = points()[second - first_slot()];
    Point sum;
    for (std::size_t i = 0, j = 0; i < a.features.size() || j < b.features.size();) {
      const bool take_a = j == b.features.size() || (i < a.features.size() && a.features[i] <= b.features[j]);
      const bool take_b = i == a.features.size() || (j < b.features.size() && b.features[j] <= a.features[i]);
      sum.features.push_back(take_a ? a.features[i] : b.features[j]);
      const double x = take_a ? static_cast<double>(a.values[i++]) : 0.0;
      const double y = take_b ? static_cast<double>(b.values[j++]) : 0.0;
      sum.values.push_back(static_cast<T>(h * x + (1 - h) * y));
    }
    clear(into);
    points()[into - first_slot()] = std::move(sum);
    enter(into - first_slot());
  }

  void refresh(std::size_t slot, Block& block, std::size_t from) const override {
    if (from >= block.count) return;
    open_column<T>(slot, block, from);
    const std::size_t n = rounded(block.count - from);
    block.column.resize((n_bases + 3) * n * sizeof(T));
    T* const quantities = reinterpret_cast<T*>(block.column.data());
    std::fill_n(quantities, n_bases * n, T{0});
    const auto of = [&](Base base) { return quantities + static_cast<std::size_t>(base) * n; };
    T* const values = quantities + n_bases * n;
    for (std::size_t plane = 0; plane < block.planes; ++plane) {
      const std::size_t m = metric(plane), index = slot - first_slot();
      const Side& side = sides_[m];
      const Sparse<T> point = side.points[index].view();
      for (const Base base : bases) {
        if (!uses(terms(plane), base)) continue;
        const T norm = (base == Base::manhattan ? side.lengths : side.squares)[index];
        for (std::size_t row = from; row < block.count; ++row)
          of(base)[row - from] = gather(base, row_at(block, row, m), point, norm);
      }
      onkel::evaluate(terms(plane), of, n, values + n, values);
      for (std::size_t row = from; row < block.count; ++row) table_row<T>(block, row, plane)[slot] = values[row - from];
    }
  }

  void make_room() {
    for (Side& side : sides_) {
      side.points.resize(slots());
      side.squares.resize(rounded(slots()));
      side.lengths.resize(rounded(slots()));
    }
  }

  // The point is stored as it came: enters it into every metric that is used.
  void enter(std::size_t index) {
    for (std::size_t m = 0; m < n_metrics(); ++m) {
      if (!is_used(m)) continue;
      Side& side = sides_[m];
      Point& point = side.points[index];
      if (m > 0) point.become(points()[index].view());
      T square = 0, length = 0;
      for (std::size_t i = 0; i < point.values.size(); ++i) {
        const T x = point.values[i] = mapped(m, static_cast<std::size_t>(point.features[i]), point.values[i]);
        square += x * x;
        length += std::abs(x);
        enter(side.features.with_another(point.features[i]), static_cast<std::uint32_t>(index), x);
      }
      side.squares[index] = square;
      side.lengths[index] = length;
    }
  }

  // Chooses how the feature is stored.
  void enter(Feature<T>& feature, std::uint32_t index, T value) {
    const std::size_t room = rounded(slots());
    if (feature.dense.empty()) {
      feature.add(index, value);
      if (feature.points.size() * 8 > slots()) feature.become_dense(room);
      return;
    }
    if (feature.dense.size() < room) feature.dense.resize(room, T{0});
    feature.dense[index] = value;
  }

  void rebuild(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& features,
               const std::vector<T>& values) {
    for (Side& side : sides_) {
      side.points.assign(slots(), {});
      side.squares.assign(rounded(slots()), T{0});
      side.lengths.assign(rounded(slots()), T{0});
      side.features.clear();
    }
    for (std::size_t index = 0; index < slots(); ++index) {
      for (std::int64_t i = offsets[index]; i < offsets[index + 1]; ++i) {
        points()[index].features.push_back(static_cast<std::int32_t>(features[static_cast<std::size_t>(i)]));
        points()[index].values.push_back(values[static_cast<std::size_t>(i)]);
      }
      enter(index);
    }
  }

  std::size_t width_;
  std::vector<std::optional<double>> self_;  // kernel(x, x) of each plane, where it is the same for all rows
  std::vector<Side> sides_;                  // one per metric
  struct Frequencies {
    std::once_flag computed;
    Buffer<T> values;
  };
  std::unique_ptr<Frequencies> frequencies_ = std::make_unique<Frequencies>();
};

}  // namespace

template <class T>
std::unique_ptr<Basis> make_sparse_basis(const std::vector<Plane>& planes, bool constant, const Fourier& fourier,
                                         std::size_t width) {
  return std::make_unique<SparseBasis<T>>(planes, constant, fourier, width);
}
template std::unique_ptr<Basis> make_sparse_basis<float>(const std::vector<Plane>&, bool, const Fourier&, std::size_t);
template std::unique_ptr<Basis> make_sparse_basis<double>(const std::vector<Plane>&, bool, const Fourier&, std::size_t);

}  // namespace onkel
