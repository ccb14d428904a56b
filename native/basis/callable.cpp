// Points under a kernel that the caller computes: one row at a time against all points, in slot order.
#include <algorithm>
#include <stdexcept>

#include "basis/basis.hpp"

namespace onkel {
namespace {

template <class T>
class CallableBasis final : public Basis {
 public:
  CallableBasis(KernelFunction function, bool constant, std::size_t width)
      : Basis(Type::f64, {}, constant), function_(std::move(function)), width_(width) {}

  std::unique_ptr<Basis> clone() const override { return std::make_unique<CallableBasis>(*this); }

  PointRows points(std::span<const std::size_t> slots) const override {
    PointRows points{slots.size(), width_, std::vector<std::byte>(slots.size() * width_ * sizeof(T)), {}, {}};
    T* out = reinterpret_cast<T*>(points.values.data());
    for (const std::size_t slot : slots) out = std::copy_n(point(slot), width_, out);
    return points;
  }

  // The last bits of a callable kernel may depend on how many points it is given: it is always called with the present
  // points.
  std::size_t max_rows() const override { return 1; }

  void tile(const Rows& rows, std::size_t begin, std::size_t count, Block& block, Team&) const override {
    block.rows = rows;
    block.begin = begin;
    block.count = count;
    evaluate(row_at(block), block);
  }

  double self_kernel(Block& block, std::size_t, std::size_t) const override { return self_kernel(row_at(block)); }
  double self_kernel(std::size_t slot, std::size_t) const override { return self_kernel(point(slot)); }

  void tile_point(std::size_t slot, Block& block) const override { evaluate(point(slot), block); }

  void visit(Archive& archive) override {
    Basis::visit(archive);
    archive.matrix("points", points_, width_);
    archive.require(points_.size() == slots() * width_, "points", "must hold one point for each birth");
    if (archive.loading()) restore_diagonal();
  }

 private:
  const T* row_at(const Block& block) const { return static_cast<const T*>(block.rows.values) + block.begin * width_; }
  const T* point(std::size_t slot) const { return points_.data() + (slot - first_slot()) * width_; }
  T* point(std::size_t slot) { return points_.data() + (slot - first_slot()) * width_; }

  double self_kernel(const T* row) const {
    double value = 0.0;
    function_(row, row, 1, &value);
    return value;
  }

  void evaluate(const T* row, Block& block) const {
    block.table.resize(columns() * sizeof(double));
    double* out = table_row<double>(block, 0);
    std::fill_n(out, columns(), 0.0);
    write_constant(out);
    if (slots() > 0) function_(row, points_.data(), slots(), out + first_slot());
    // The kernel value of an empty slot does not count, even where it is NaN.
    for (std::size_t slot = first_slot(); slot < end_slot(); ++slot)
      if (born(slot) < 0) out[slot] = 0.0;
  }

  void grow() override {}
  void store(std::size_t slot, const Block& block, std::size_t) override {
    points_.resize(slots() * width_);
    std::copy_n(row_at(block), width_, point(slot));
  }
  void clear(std::size_t slot) override { std::fill_n(point(slot), width_, T{0}); }
  void mix(std::size_t into, std::size_t a, std::size_t b, double h, Block&, std::size_t) override {
    points_.resize(slots() * width_);
    for (std::size_t f = 0; f < width_; ++f)
      point(into)[f] =
          static_cast<T>(h * static_cast<double>(point(a)[f]) + (1 - h) * static_cast<double>(point(b)[f]));
  }
  // A block has one row, which comes before the point: at new columns it is 0.
  void refresh(std::size_t, Block& block, std::size_t) const override {
    block.table.resize(std::max(block.table.size(), columns() * sizeof(double)));
  }

  KernelFunction function_;
  std::size_t width_;
  std::vector<T> points_;
};

}  // namespace

template <class T>
std::unique_ptr<Basis> make_callable_basis(const KernelFunction& function, bool constant, std::size_t width) {
  return std::make_unique<CallableBasis<T>>(function, constant, width);
}
template std::unique_ptr<Basis> make_callable_basis<float>(const KernelFunction&, bool, std::size_t);
template std::unique_ptr<Basis> make_callable_basis<double>(const KernelFunction&, bool, std::size_t);

}  // namespace onkel
