#include "bind/targets.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "io/targets.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace onkel {
namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// For each row in turn: encode it, then learn from it where `learned` says so. The statistics are changed in place.
Floats encode_targets(const Vector<std::int64_t>& counts, const Matrix<double>& sums, const Vector<std::int64_t>& rows,
                      const Vector<double>& mean, const Vector<double>& squares, const Vector<double>& errors,
                      const Vector<const std::int64_t>& levels, const std::optional<Matrix<const double>>& targets,
                      const std::optional<Vector<const bool>>& learned) {
  const std::size_t n = levels.shape(0), n_levels = counts.shape(0), n_targets = mean.shape(0);
  if (sums.shape(0) != n_levels || sums.shape(1) != n_targets || squares.shape(0) != n_targets || rows.shape(0) != 1 ||
      errors.shape(0) != TargetEncoding::priors.size())
    throw nb::value_error("the statistics of the targets must fit together");
  if (targets && (!learned || targets->shape(0) != n || targets->shape(1) != n_targets || learned->shape(0) != n))
    throw nb::value_error("there must be targets, and whether they count, for each row");
  if (std::any_of(levels.data(), levels.data() + n, [&](auto i) { return i >= static_cast<std::int64_t>(n_levels); }))
    throw nb::value_error("there must be statistics of each level");
  TargetEncoding encoding{n_levels,       n_targets,   counts.data(),  sums.data(),
                          rows.data()[0], mean.data(), squares.data(), errors.data()};
  std::vector<double> out(n * n_targets);
  unlocked([&] {
    for (std::size_t row = 0; row < n; ++row) {
      const std::int64_t level = levels.data()[row];
      encoding.encode(level, out.data() + row * n_targets);
      if (targets && learned->data()[row]) encoding.learn(level, targets->data() + row * n_targets);
    }
  });
  return Floats(array(std::move(out), {n, n_targets}));
}

}  // namespace

void bind_targets(nb::module_& m) {
  m.attr("target_priors") = TargetEncoding::priors.size();
  m.def("encode_targets", encode_targets, "counts"_a.noconvert(), "sums"_a.noconvert(), "rows"_a.noconvert(),
        "mean"_a.noconvert(), "squares"_a.noconvert(), "errors"_a.noconvert(), "levels"_a.noconvert(),
        "targets"_a.none(), "learned"_a.none());
}

}  // namespace onkel
