// The features themselves as columns: under the linear kernel a function is one weight for each feature, and needs no
// points. A dense row is its own row of the table; a sparse row is read where it is, at the cost of its own features.
#include <stdexcept>

#include "basis/basis.hpp"

namespace onkel {
namespace {

template <class T>
class LinearBasis final : public Basis {
 public:
  LinearBasis(bool constant, std::size_t width, bool sparse)
      : Basis(type_of<T>(), {{{{1.0, {identity_kernel(Base::dot)}}}, {}}}, constant), width_(width), sparse_(sparse) {
    weigh_features(width);
  }
  std::unique_ptr<Basis> clone() const override { return std::make_unique<LinearBasis>(*this); }

  void reach(std::size_t width) override {
    if (!sparse_) return Basis::reach(width);
    if (width > most_weights)
      throw std::invalid_argument("under the linear kernel there is a weight for each feature, of which there may be " +
                                  std::to_string(most_weights) + ", and the rows have " + std::to_string(width));
    width_ = width;
    weigh_features(width);
  }

  PointRows points(std::span<const std::size_t>) const override {
    return {0, width_, {}, std::vector<std::int64_t>(sparse_ ? 1 : 0, 0), {}};
  }

  void tile(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Team&) const override {
    block.rows = rows;
    block.begin = begin;
    block.count = count;
    block.planes = 1;
    if (sparse_) return;
    block.stride = columns();
    const std::size_t bytes = count * block.stride * sizeof(T);
    if (block.table.size() < bytes) block.table.resize(bytes);
    for (std::size_t row = 0; row < count; ++row) {
      T* out = table_row<T>(block, row);
      write_constant(out);
      std::copy_n(values(block, row), width_, out + first_weight());
      std::fill(out + first_weight() + width_, out + columns(), T{0});
    }
  }

  double dot(const Block& block, std::size_t row, const double* weights) const override {
    if (!sparse_) return Basis::dot(block, row, weights);
    double sum = has_constant() ? constant_value * weights[0] : 0.0;
    each(block, row, [&](std::size_t feature, double x) { sum += x * weights[first_weight() + feature]; });
    return sum;
  }
  std::pair<double, double> dot_pair(const Block& block, std::size_t row, const double* first,
                                     const double* second) const override {
    if (!sparse_) return Basis::dot_pair(block, row, first, second);
    return {dot(block, row, first), dot(block, row, second)};
  }

  std::span<const Entry> entries(const Block& block, std::size_t row, std::vector<Entry>& entries) const override {
    entries.clear();
    each(block, row, [&](std::size_t feature, double x) { entries.push_back({first_weight() + feature, x}); });
    return entries;
  }

  void visit(Archive& archive) override {
    Basis::visit(archive);
    auto weights = static_cast<std::int64_t>(width_);
    archive.scalar("weights", weights);
    archive.require(weights == static_cast<std::int64_t>(width_), "weights", "must be the number of features");
    archive.require(end_slot() == first_slot(), "births", "must be empty where there are no points");
  }

  double self_kernel(Block& block, std::size_t row, std::size_t) const override {
    double sum = 0.0;
    each(block, row, [&](std::size_t, double x) { sum += x * x; });
    return sum;
  }
  double self_kernel(std::size_t, std::size_t) const override { return no_point(); }
  void tile_point(std::size_t, Block&) const override { no_point(); }

 private:
  const T* values(const Block& block, std::size_t row) const {
    return static_cast<const T*>(block.rows.values) + (block.begin + row) * width_;
  }
  template <class Visit>
  void each(const Block& block, std::size_t row, const Visit& visit) const {
    const auto* values = static_cast<const T*>(block.rows.values);
    const std::size_t at = block.begin + row;
    if (!sparse_) {
      for (std::size_t f = 0; f < width_; ++f) visit(f, static_cast<double>(values[at * width_ + f]));
      return;
    }
    for (auto i = static_cast<std::size_t>(block.rows.offsets[at]);
         i < static_cast<std::size_t>(block.rows.offsets[at + 1]); ++i)
      visit(static_cast<std::size_t>(block.rows.indices[i]), static_cast<double>(values[i]));
  }
  [[noreturn]] static double no_point() { throw std::logic_error("a basis of features has no points"); }
  void grow() override { no_point(); }
  void store(std::size_t, const Block&, std::size_t) override { no_point(); }
  void clear(std::size_t) override { no_point(); }
  void mix(std::size_t, std::size_t, std::size_t, double, Block&, std::size_t) override { no_point(); }
  void refresh(std::size_t, Block&, std::size_t) const override { no_point(); }

  std::size_t width_;
  bool sparse_;
};

}  // namespace

template <class T>
std::unique_ptr<Basis> make_linear_basis(bool constant, std::size_t width, bool sparse) {
  return std::make_unique<LinearBasis<T>>(constant, width, sparse);
}
template std::unique_ptr<Basis> make_linear_basis<float>(bool, std::size_t, bool);
template std::unique_ptr<Basis> make_linear_basis<double>(bool, std::size_t, bool);

}  // namespace onkel
