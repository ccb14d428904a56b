// ProjectOnNeighbour: BPA-NN (Wang and Vucetic 2010). As ProjectOnNewcomer, but the old point r is projected on the
// newcomer t and on r's nearest old neighbour n: the 2 x 2 system (k_tt k_tn; k_tn k_nn) (c_t, c_n) = (k_rt, k_rn),
// cost |a_r|^2 (k_rr - c_t k_rt - c_n k_rn). "Nearest" is the distance in the kernel's space.
#include "first_order/evictions/rules.hpp"

namespace onkel {
namespace {

class ProjectOnNeighbour final : public CopiedEviction<ProjectOnNeighbour> {
 public:
  explicit ProjectOnNeighbour(const EvictionContext& context) : CopiedEviction(context) {
    context_.basis.keep_diagonal();
  }

  Newcomer absorb(Scored& row) override {
    if (context_.basis.size() >= context_.budget) {
      newcomer_.resize(context_.basis.columns());
      context_.basis.values(*row.block, row.row, newcomer_);
    }
    return Newcomer::inserted;
  }

  void restore_budget(const Scored&, std::size_t newest) override {
    if (!too_many()) return;
    find_neighbours(newest);
    squares(costs_);
    double* const costs = costs_.data() - context_.basis.first_slot();
    for_each_except(newest, [&](std::size_t r, double) { costs[r] *= project(r, newest).distance_squared; });
    const std::size_t leaves = cheapest(costs_, newest);
    const Projection onto = project(leaves, newest);
    const std::size_t neighbour = nearest_[leaves].slot;
    for (std::size_t o = 0; o < context_.function.outputs(); ++o) {
      const double a = context_.function.last_coefficient(leaves, o);
      context_.function.add(newest, o, a * onto.newcomer);
      if (neighbour != no_slot) context_.function.add(neighbour, o, a * onto.neighbour);
    }
    evict(leaves);
    replace_neighbour(leaves);
    update_neighbours(newest);
  }

  // The neighbours are a function of the points: they are found again, not saved.
  void visit(Archive& archive) override {
    if (archive.loading()) nearest_.clear();
  }

 private:
  struct Projection {
    double newcomer, neighbour, distance_squared;
  };
  struct Neighbour {
    std::size_t slot = no_slot;
    double value = 0.0;     // the kernel value with it
    double distance = 0.0;  // squared, minus k_rr
    // Considers another point, with its kernel value here and with itself. Among equal ones the lowest slot wins.
    void consider(std::size_t other, double here, double self) {
      const double d = self - 2 * here;
      if (slot == no_slot || d < distance || (d == distance && other < slot)) *this = {other, here, d};
    }
  };

  Projection project(std::size_t r, std::size_t newest) const {
    const double tt = context_.basis.diagonal(newest), rt = newcomer_[r], rr = context_.basis.diagonal(r);
    const Neighbour& near = nearest_[r];
    if (near.slot != no_slot) {
      const double nn = context_.basis.diagonal(near.slot), tn = newcomer_[near.slot], rn = near.value;
      const double determinant = tt * nn - tn * tn;
      if (determinant > 1e-10 * tt * nn && std::min(tt, nn) > no_length) {
        const double unit = 1 / determinant, t = (rt * nn - rn * tn) * unit, n = (rn * tt - rt * tn) * unit;
        return {t, n, rr - t * rt - n * rn};
      }
    }
    // There is no neighbour, or the newcomer nearly duplicates it.
    const double t = tt > no_length ? rt / tt : 0.0;
    return {t, 0.0, rr - t * rt};
  }

  // Finds all neighbours among the old points where they are not known: at the beginning, and after loading.
  void find_neighbours(std::size_t newest) {
    const bool found = !nearest_.empty();
    nearest_.resize(context_.basis.end_slot());
    if (found) return;
    for (std::size_t slot = context_.basis.first_slot(); slot < context_.basis.end_slot(); ++slot)
      if (slot != newest && context_.basis.alive(slot)) search(slot, newest);
  }

  void search(std::size_t slot, std::size_t except) {
    values_.resize(context_.basis.columns());
    context_.basis.row_of(slot, scratch_, values_);
    Neighbour found;
    for_each_except(slot, [&](std::size_t other, double self) {
      if (other != except) found.consider(other, values_[other], self);
    });
    nearest_[slot] = found;
  }

  // Finds another neighbour for the points whose neighbour was removed: about one point per step.
  void replace_neighbour(std::size_t left) {
    const std::size_t end = context_.basis.end_slot();
    for (std::size_t slot = context_.basis.first_slot(); slot < end; ++slot)
      if (nearest_[slot].slot == left && context_.basis.alive(slot)) search(slot, no_slot);
  }

  void update_neighbours(std::size_t newest) {
    const double newest_self = context_.basis.diagonal(newest);
    Neighbour found;
    for_each_except(newest, [&](std::size_t slot, double self) {
      nearest_[slot].consider(newest, newcomer_[slot], newest_self);
      found.consider(slot, newcomer_[slot], self);
    });
    nearest_[newest] = found;
  }

  // Visits all points but one, with their kernel values with themselves.
  template <class Visit>
  void for_each_except(std::size_t except, const Visit& visit) const {
    const Basis& basis = context_.basis;
    const std::size_t first = basis.first_slot(), end = basis.end_slot();
    const double* const diagonal = basis.diagonal().data();
    for (std::size_t slot = first; slot < end; ++slot)
      if (slot != except && basis.alive(slot)) visit(slot, diagonal[slot - first]);
  }

  std::vector<Neighbour> nearest_;  // for each slot
  std::vector<double> newcomer_;    // the newcomer's kernel row
  std::vector<double> costs_, values_;
  Block scratch_;
};

}  // namespace

std::unique_ptr<Eviction> make_project_on_neighbour(const Spec&, const EvictionContext& context) {
  return std::make_unique<ProjectOnNeighbour>(context);
}

}  // namespace onkel
