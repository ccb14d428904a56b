// Conversions that the whole binding needs: from arrays to rows, and from Python's parts to the core's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "basis/basis.hpp"
#include "bind/python_parts.hpp"
#include "linalg/rows.hpp"
#include "loop/names.hpp"
#include "loop/spec.hpp"

namespace onkel {

namespace nb = nanobind;

using Product = std::pair<double, std::vector<nb::tuple>>;            // a weight, and the factors
using Knots = std::pair<std::vector<double>, std::vector<double>>;    // of a piecewise linear function
using MetricIn = std::pair<std::vector<double>, std::vector<Knots>>;  // scales and ranks
using Formula = std::pair<std::vector<Product>, MetricIn>;            // a sum of products, and the metric of its rows
template <class T>
using RowsIn = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using RowIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// values, indices, offsets
template <class T>
using CsrIn = std::tuple<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>,
                         nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>,
                         nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<nb::numpy, double>;
using Room = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // of the caller, to be written into

// (name, numbers, parts), as Part.spec of onkel.parts returns it; for a part written in Python, the part itself is the
// fourth entry.
inline Spec spec(const nb::tuple& part) {
  if (part.size() < 3 || part.size() > 4)
    throw nb::value_error("a part must be its name, its numbers and the parts that it holds");
  Spec result{nb::cast<std::string>(part[0]), nb::cast<std::map<std::string, double>>(part[1]), {}, {}};
  for (const auto& [key, inner] : nb::cast<nb::dict>(part[2]))
    result.parts.emplace(nb::cast<std::string>(key), spec(nb::cast<nb::tuple>(inner)));
  if (part.size() > 3) result.maker = maker_of(part[3]);
  return result;
}

template <class T>
auto array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// The rows of a sparse matrix, after its arrays were checked.
template <class T>
Rows csr_rows(const CsrIn<T>& x, std::size_t width) {
  const auto& [values, indices, offsets] = x;
  const std::size_t count = offsets.shape(0) == 0 ? 0 : offsets.shape(0) - 1;
  if (values.shape(0) != indices.shape(0) || offsets.shape(0) == 0 || offsets.data()[0] != 0 ||
      offsets.data()[count] != static_cast<std::int64_t>(values.shape(0)))
    throw nb::value_error("the arrays of a sparse matrix do not fit together");
  for (std::size_t row = 0; row < count; ++row) {
    if (offsets.data()[row] > offsets.data()[row + 1]) throw nb::value_error("sparse rows must not overlap");
    std::int64_t last = -1;
    for (std::int64_t i = offsets.data()[row]; i < offsets.data()[row + 1]; ++i) {
      if (indices.data()[i] <= last || indices.data()[i] >= static_cast<std::int64_t>(width))
        throw nb::value_error("sparse rows must have ascending features within the width");
      last = indices.data()[i];
    }
  }
  return {values.data(), count, width, offsets.data(), indices.data()};
}

template <class T>
Rows rows_in(const RowsIn<T>& x, std::size_t width) {
  if (x.shape(1) != width) throw nb::value_error("the rows must have the expected number of features");
  return {x.data(), x.shape(0), width};
}
template <class T>
Rows rows_in(const CsrIn<T>& x, std::size_t width) {
  return csr_rows<T>(x, width);
}

// The core must not wait for its own lock while this thread holds the interpreter's: a learning thread may need that
// one.
template <class Work>
auto unlocked(const Work& work) {
  const nb::gil_scoped_release release;
  return work();
}

inline Terms terms_named(const std::vector<Product>& products) {
  Terms terms;
  for (const auto& [weight, factors] : products) {
    if (factors.empty()) throw nb::value_error("a product of kernels must have at least one factor");
    terms.push_back({weight, {}});
    for (const nb::tuple& factor : factors) terms.back().factors.push_back(kernel_named(spec(factor)));
  }
  if (terms.empty()) throw nb::value_error("a kernel must have at least one term");
  return terms;
}
inline Metric metric_of(const MetricIn& given) {
  Metric metric{given.first, {}};
  for (const auto& [at, values] : given.second) metric.ranks.emplace_back(at, values);
  return metric;
}
inline Plane plane_named(const Formula& formula) { return {terms_named(formula.first), metric_of(formula.second)}; }

}  // namespace onkel
