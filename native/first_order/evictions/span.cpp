#include "first_order/evictions/span.hpp"

#include <algorithm>
#include <stdexcept>

namespace onkel {

void Span::project(const Scored& row) {
  if (size() < basis_->size()) {  // after the expansion was set from outside
    include_points();
    gram_.apply_pending();  // a copy made after this row has no changes that wait, either
  }
  values_.resize(basis_->columns());
  basis_->values(*row.block, row.row, values_);
  members_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) members_[i] = values_[slot(i)];
  const double constant = basis_->has_constant() ? Basis::constant_value * Basis::constant_value : 0.0;
  gram_.project(members_, row.self() - constant);
}

void Span::add_projection(std::span<const double> c) {
  const auto projection = gram_.projection();
  for (std::size_t i = 0; i < projection.size(); ++i)
    for (std::size_t o = 0; o < c.size(); ++o)
      if (c[o] != 0) function_->add(slot(i), o, c[o] * projection[i]);
}

double Span::include_points(double max_squared_distance) {
  std::size_t missing = basis_->size() - size();
  if (missing == 0) return 0.0;
  std::vector<std::size_t> new_points, inside;
  known_.assign(basis_->end_slot(), 0);
  for (std::size_t i = 0; i < size(); ++i) known_[slot(i)] = 1;
  for (std::size_t slot = basis_->first_slot(); missing > 0; ++slot) {
    if (known_[slot] || !basis_->alive(slot)) continue;
    new_points.push_back(slot);
    --missing;
  }
  std::stable_sort(new_points.begin(), new_points.end(),
                   [&](std::size_t a, std::size_t b) { return basis_->born(a) < basis_->born(b); });
  for (std::size_t first = 0; first < new_points.size(); first += Gram::max_ahead) {
    const std::size_t count = std::min(Gram::max_ahead, new_points.size() - first);
    append_points(std::span(new_points).subspan(first, count), inside);
  }
  return replace(inside, max_squared_distance);
}

// Appends the points that have a component outside the span of the members and of the points before them; the others
// are `inside`.
void Span::append_points(std::span<const std::size_t> slots, std::vector<std::size_t>& inside) {
  const std::size_t columns = basis_->columns(), before = size();
  std::vector<double> values(slots.size() * columns), k(slots.size() * before);
  basis_->rows_of(slots, scratch_, values);
  for (std::size_t i = 0; i < slots.size(); ++i)
    for (std::size_t j = 0; j < before; ++j) k[i * before + j] = values[i * columns + slot(j)];
  const std::vector<double> products = gram_.multiply(k, slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    members_.resize(size());
    for (std::size_t j = 0; j < size(); ++j) members_[j] = values[i * columns + slot(j)];
    gram_.project(members_, values[i * columns + slots[i]], std::span(products).subspan(i * before, before));
    if (independent())
      gram_.append(slots[i]);
    else
      inside.push_back(slots[i]);
  }
}

void Span::project_point(std::size_t slot) {
  values_.resize(basis_->columns());
  basis_->row_of(slot, scratch_, values_);
  members_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) members_[i] = values_[this->slot(i)];
  gram_.project(members_, values_[slot]);
}

// The components of the points outside the span are orthogonal to it, but not to each other: the inner product of two
// of them is k(x, x') - k . d', with k the kernel row of one point and d' the projection of the other.
double Span::replace(const std::vector<std::size_t>& inside, double max_squared_distance) {
  double moved = 0.0;
  std::vector<std::size_t> replaced;
  std::vector<std::vector<double>> rows;
  std::vector<double> c(function_->outputs());
  for (const std::size_t slot : inside) {
    project_point(slot);
    for (std::size_t o = 0; o < c.size(); ++o) c[o] = function_->last_coefficient(slot, o);
    double further = moved + squared_length(slot) * novelty();
    for (std::size_t e = 0; e < rows.size(); ++e) {
      double along = 0.0, inner = values_[replaced[e]];
      for (std::size_t o = 0; o < c.size(); ++o) along += c[o] * function_->last_coefficient(replaced[e], o);
      for (std::size_t i = 0; i < size(); ++i) inner -= rows[e][i] * gram_.projection()[i];
      further += 2 * along * inner;
    }
    if (further > max_squared_distance) continue;
    moved = further;
    replaced.push_back(slot);
    rows.push_back(members_);
    add_projection(c);
  }
  for (const std::size_t slot : replaced) erase(slot);
  return std::max(0.0, moved);
}

// The projection of the leaving member r has the coefficients -P_ir / P_rr.
double Span::project_out(std::size_t position) {
  const double moved = cost(position);
  const std::size_t leaving = slot(position);
  const Buffer<double> column = gram_.column(position);
  for (std::size_t o = 0; o < function_->outputs(); ++o) {
    const double share = function_->last_coefficient(leaving, o) / column[position];
    for (std::size_t i = 0; i < size() && share != 0; ++i)
      if (i != position) function_->add(slot(i), o, -share * column[i]);
  }
  erase(leaving);
  if (gram_.remove(position, column)) return moved;
  gram_.clear();
  return moved + include_points();
}

void Span::erase(std::size_t slot) {
  function_->drop(slot);
  basis_->erase(slot, !function_->is_zero(slot));
}

void Span::visit(Archive& archive) {
  gram_.visit(archive);
  std::vector<bool> seen(basis_->end_slot());
  for (std::size_t i = 0; i < size() && archive.loading(); ++i) {
    if (slot(i) < basis_->first_slot() || slot(i) >= basis_->end_slot() || !basis_->alive(slot(i)))
      throw std::invalid_argument("state has an inverse Gram matrix of points that do not exist");
    if (seen[slot(i)]) throw std::invalid_argument("state has an inverse Gram matrix with a point twice");
    seen[slot(i)] = true;
  }
}

}  // namespace onkel
