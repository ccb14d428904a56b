#include "bind/search.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/interrupts.hpp"
#include "loop/names.hpp"
#include "search/pairs.hpp"
#include "search/relevances.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace onkel {
namespace {

using Table = RowsIn<double>;

ValidationLoss::Data data_of(const Table& x, const Numbers& y, const Numbers& weight, const std::string& task,
                             std::size_t classes, const std::string& kernel, std::size_t max_points,
                             const std::vector<double>& at) {
  const ValidationLoss::Data data{.rows = x.data(),
                                  .y = y.data(),
                                  .weight = weight.data(),
                                  .count = x.shape(0),
                                  .width = x.shape(1),
                                  .task = task_named(task),
                                  .classes = classes,
                                  .base = kernel == "laplacian" ? Base::manhattan : Base::squared_distance,
                                  .max_points = max_points};
  if (kernel != "rbf" && kernel != "laplacian") throw nb::value_error("the kernel must be 'rbf' or 'laplacian'");
  if (data.count < 4 || y.shape(0) != data.count || weight.shape(0) != data.count || max_points == 0)
    throw nb::value_error(
        "X, y and the weights must have the same number of rows, at least 4, and there must be points");
  if (at.size() != data.width + 1) throw nb::value_error("there must be a log scale for each feature, and log lambda");
  for (std::size_t i = 0; i < data.count && data.task == Task::multiclass; ++i)
    if (!(data.y[i] >= 0 && data.y[i] < static_cast<double>(classes)))
      throw nb::value_error("labels must be class indices");
  return data;
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def(
      "validation_value",
      [](const Table& x, const Numbers& y, const Numbers& weight, const std::string& task, std::size_t classes,
         const std::string& kernel, std::size_t max_points, const std::vector<double>& at) {
        ValidationLoss loss(data_of(x, y, weight, task, classes, kernel, max_points, at));
        const nb::gil_scoped_release unlocked;
        return loss(at, {});
      },
      "x"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), nb::kw_only(), "task"_a, "classes"_a, "kernel"_a,
      "max_points"_a, "at"_a);
  m.def(
      "validation_loss",
      [](const Table& x, const Numbers& y, const Numbers& weight, const std::string& task, std::size_t classes,
         const std::string& kernel, std::size_t max_points, const std::vector<double>& at) {
        ValidationLoss loss(data_of(x, y, weight, task, classes, kernel, max_points, at));
        std::vector<double> gradient(at.size());
        const double value = loss(at, gradient);
        return std::pair{value, std::move(gradient)};
      },
      "x"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), nb::kw_only(), "task"_a, "classes"_a, "kernel"_a,
      "max_points"_a, "at"_a);
  m.def(
      "learn_scales",
      [](const Table& x, const Numbers& y, const Numbers& weight, const std::string& task, std::size_t classes,
         const std::string& kernel, std::size_t max_points, std::vector<double> at, const std::vector<double>& centre,
         const std::vector<std::size_t>& groups, double spread, std::size_t evaluations) {
        const ValidationLoss::Data data = data_of(x, y, weight, task, classes, kernel, max_points, at);
        if (centre.size() != data.width || !(spread > 0))
          throw nb::value_error("there must be a centre for each scale, and a positive spread");
        if (groups.size() != data.width ||
            std::ranges::any_of(groups, [&](std::size_t group) { return group >= data.width; }))
          throw nb::value_error("a group for each scale, whose number is below that of the scales");
        InterruptCheck interrupts;
        double value = 0.0;
        {
          const nb::gil_scoped_release unlocked;
          value = learn_scales(data, centre, groups, spread, evaluations, at, std::ref(interrupts));
        }
        interrupts.raise_if_interrupted();
        return std::pair{value, std::move(at)};
      },
      "x"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), nb::kw_only(), "task"_a, "classes"_a, "kernel"_a,
      "max_points"_a, "at"_a, "centre"_a, "groups"_a, "spread"_a, "evaluations"_a);
  m.def(
      "pair_effects",
      [](const Table& columns, const Table& residuals) {
        const std::size_t n = columns.shape(0), width = columns.shape(1);
        if (residuals.shape(0) != n) throw nb::value_error("the columns and the residuals must have the same rows");
        InterruptCheck interrupts;
        std::vector<double> sums;
        {
          const nb::gil_scoped_release unlocked;
          sums = pair_effects(columns.data(), residuals.data(), n, width, residuals.shape(1), std::ref(interrupts));
        }
        interrupts.raise_if_interrupted();
        return array(std::move(sums), {width, width});
      },
      "columns"_a.noconvert(), "residuals"_a.noconvert());
}

}  // namespace onkel
