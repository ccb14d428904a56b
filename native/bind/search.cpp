#include "bind/search.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
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

// A search, with the arrays that it reads.
class BoundSearch {
 public:
  BoundSearch(Table x, Numbers y, Numbers weight, const std::string& task, std::size_t classes,
              const std::string& kernel, std::size_t max_points, const std::vector<double>& at,
              const std::vector<double>& centre, const std::vector<std::size_t>& groups, double spread,
              std::size_t evaluations)
      : x_(std::move(x)),
        y_(std::move(y)),
        weight_(std::move(weight)),
        search_(data_of(x_, y_, weight_, task, classes, kernel, max_points, at),
                checked({at, centre, groups, spread, evaluations}, x_.shape(1))) {}

  // Does so much work, as long as there is any; returns whether there is no more.
  bool go_on(double work) {
    const double until = search_.spent() + work;
    InterruptCheck interrupts;
    bool ended = false, goes_on = true;
    {
      const nb::gil_scoped_release unlocked;
      while (!ended && goes_on && search_.spent() < until) {
        ended = search_.run(std::min(until, search_.spent() + between_checks));
        goes_on = interrupts();
      }
    }
    interrupts.raise_if_interrupted();
    return ended;
  }
  Search& search() { return search_; }

 private:
  static constexpr double between_checks = 1e7;

  static Start checked(Start start, std::size_t width) {
    if (start.evaluations == 0) return start;
    if (start.centre.size() != width || !(start.spread > 0))
      throw nb::value_error("there must be a centre for each scale, and a positive spread");
    if (start.groups.size() != width ||
        std::ranges::any_of(start.groups, [&](std::size_t group) { return group >= width; }))
      throw nb::value_error("a group for each scale, whose number is below that of the scales");
    return start;
  }

  Table x_;
  Numbers y_, weight_;
  Search search_;
};

}  // namespace

void bind_search(nb::module_& m) {
  m.def(
      "validation_loss",
      [](const Table& x, const Numbers& y, const Numbers& weight, const std::string& task, std::size_t classes,
         const std::string& kernel, std::size_t max_points, const std::vector<double>& at) {
        Pace pace;
        ValidationLoss loss(data_of(x, y, weight, task, classes, kernel, max_points, at), pace);
        std::vector<double> gradient(at.size());
        Sliced<double> slices = loss.at(at, gradient);
        slices.run(pace, std::numeric_limits<double>::infinity());
        return std::pair{slices.result(), std::move(gradient)};
      },
      "x"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), nb::kw_only(), "task"_a, "classes"_a, "kernel"_a,
      "max_points"_a, "at"_a);
  nb::class_<BoundSearch>(m, "Search")
      .def(nb::init<Table, Numbers, Numbers, const std::string&, std::size_t, const std::string&, std::size_t,
                    std::vector<double>, std::vector<double>, std::vector<std::size_t>, double, std::size_t>(),
           "x"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), nb::kw_only(), "task"_a, "classes"_a,
           "kernel"_a, "max_points"_a, "at"_a, "centre"_a = std::vector<double>(),
           "groups"_a = std::vector<std::size_t>(), "spread"_a = 1.0, "evaluations"_a = 0)
      .def("go_on", &BoundSearch::go_on, "work"_a)
      .def_prop_ro("spent", [](BoundSearch& self) { return self.search().spent(); })
      .def_prop_ro("value", [](BoundSearch& self) { return self.search().value(); })
      .def_prop_ro("at", [](BoundSearch& self) { return self.search().at(); });
  m.def(
      "pair_effects",
      [](const Table& columns, const Table& residuals, std::size_t first, std::size_t last) {
        const std::size_t n = columns.shape(0), width = columns.shape(1);
        if (residuals.shape(0) != n) throw nb::value_error("the columns and the residuals must have the same rows");
        if (first > last || last > width) throw nb::value_error("these columns are not there");
        std::vector<double> sums;
        {
          const nb::gil_scoped_release unlocked;
          sums = pair_effects(columns.data(), residuals.data(), n, width, residuals.shape(1), first, last);
        }
        return array(std::move(sums), {last - first, width});
      },
      "columns"_a.noconvert(), "residuals"_a.noconvert(), "first"_a, "last"_a);
}

}  // namespace onkel
