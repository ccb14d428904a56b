// ProjectOnNearest: the point of least norm |a|^2 kernel(s, s), which may be the newcomer, is replaced by its
// projection on the few points nearest to it in the kernel's space (NPBSGD's second kind of maintenance). A neighbour
// that lies in the span of the nearer ones adds nothing and is skipped.
#include <algorithm>

#include "first_order/evictions/rules.hpp"
#include "linalg/gram.hpp"

namespace onkel {
namespace {

class ProjectOnNearest final : public CopiedEviction<ProjectOnNearest> {
 public:
  ProjectOnNearest(const Spec& spec, const EvictionContext& context)
      : CopiedEviction(context), few_(static_cast<std::size_t>(spec.at("n_neighbours"))) {
    context_.basis.keep_diagonal();
  }

  void restore_budget(const Scored&, std::size_t) override {
    while (too_many()) {
      const std::size_t leaves = smallest();
      project(leaves);
      evict(leaves);
    }
  }

 private:
  void project(std::size_t leaves) {
    Gram neighbours;
    find_nearest(leaves);
    for (const std::size_t slot : nearest_) {
      project(slot, neighbours);
      if (neighbours.independent()) neighbours.append(slot);
    }
    project(leaves, neighbours);
    const auto projection = neighbours.projection();
    for (std::size_t i = 0; i < projection.size(); ++i)
      for (std::size_t o = 0; o < context_.function.outputs(); ++o)
        context_.function.add(neighbours.slot(i), o, context_.function.last_coefficient(leaves, o) * projection[i]);
  }

  // By the squared distance minus k(s, s); the lowest slot among equal ones.
  void find_nearest(std::size_t leaves) {
    values_.resize(context_.basis.columns());
    context_.basis.row_of(leaves, scratch_, values_);
    const auto distance = [&](std::size_t slot) { return context_.basis.diagonal(slot) - 2 * values_[slot]; };
    nearest_ = context_.basis.alive_slots();
    std::erase(nearest_, leaves);
    const auto end = nearest_.begin() + static_cast<std::ptrdiff_t>(std::min(few_, nearest_.size()));
    std::partial_sort(nearest_.begin(), end, nearest_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(distance(a), a) < std::pair(distance(b), b);
    });
    nearest_.erase(end, nearest_.end());
  }

  void project(std::size_t slot, Gram& members) {
    context_.basis.row_of(slot, scratch_, values_);
    k_.resize(members.size());
    for (std::size_t i = 0; i < k_.size(); ++i) k_[i] = values_[members.slot(i)];
    members.project(k_, context_.basis.diagonal(slot));
  }

  std::size_t few_;
  std::vector<std::size_t> nearest_;
  std::vector<double> values_, k_;
  Block scratch_;
};

}  // namespace

std::unique_ptr<Eviction> make_project_on_nearest(const Spec& spec, const EvictionContext& context) {
  return std::make_unique<ProjectOnNearest>(spec, context);
}

}  // namespace onkel
