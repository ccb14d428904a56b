// The binding of what experts consist of.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <tuple>

#include "bind/py_learner.hpp"

namespace onkel {
namespace {

using namespace nb::literals;

using SideIn = std::pair<std::vector<const PyLearner*>, std::vector<double>>;

const Experts& experts_of(const PyLearner& learner) {
  if (learner.experts() == nullptr) throw nb::value_error("this learner has one expert only");
  return *learner.experts();
}

std::unique_ptr<PyLearner> as_python(std::unique_ptr<Experts> made) {
  return std::make_unique<PyLearner>(std::move(made));
}

// (number, parent, features, thresholds, born, rows, experts, path, weights, loss, noise) of each region.
using RegionOut =
    std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>, std::vector<double>, std::int64_t, std::int64_t,
               std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<double>, double, double>;

std::vector<RegionOut> regions(const PyLearner& self) {
  std::vector<RegionOut> found;
  for (const Experts::Seen& seen : unlocked([&] { return experts_of(self).regions(); }))
    found.emplace_back(seen.region.number, seen.parent, seen.region.condition.features,
                       seen.region.condition.thresholds, seen.region.born, seen.region.rows, seen.experts, seen.path,
                       seen.weights, seen.loss, seen.noise);
  return found;
}

std::unique_ptr<PyLearner> of_experts(const std::vector<const PyLearner*>& learners, std::int64_t t) {
  if (learners.empty()) throw nb::value_error("there must be at least one learner");
  std::vector<std::unique_ptr<Learner>> copies;
  for (const PyLearner* learner : learners) copies.push_back(unlocked([&] { return learner->plain().clone(); }));
  return as_python(unlocked([&] { return std::make_unique<Experts>(std::move(copies), t); }));
}

std::unique_ptr<PyLearner> divided(const PyLearner& self, std::int64_t region, std::vector<std::int64_t> features,
                                   std::vector<double> thresholds, const SideIn& lower, const SideIn& upper) {
  std::vector<const Learner*> low, high;
  for (const PyLearner* expert : lower.first) low.push_back(&expert->plain());
  for (const PyLearner* expert : upper.first) high.push_back(&expert->plain());
  const Condition condition{std::move(features), std::move(thresholds)};
  return as_python(
      unlocked([&] { return experts_of(self).divided(region, condition, {low, lower.second}, {high, upper.second}); }));
}

nb::ndarray<nb::numpy, std::int64_t> leaves_of(const PyLearner& self, const Rows& rows) {
  auto leaves = unlocked([&] { return experts_of(self).leaves_of(rows); });
  return array(std::move(leaves), {rows.count});
}

}  // namespace

void bind_experts(nb::class_<PyLearner>& learner) {
  const auto take_rows = [&]<class T>(T) {
    learner
        .def(
            "leaves_of", [](const PyLearner& self, const RowsIn<T>& x) { return leaves_of(self, self.dense<T>(x)); },
            "x"_a.noconvert())
        .def(
            "leaves_of", [](const PyLearner& self, const CsrIn<T>& x) { return leaves_of(self, self.sparse<T>(x)); },
            "x"_a.noconvert());
  };
  take_rows(double{});
  take_rows(float{});
  learner.def_static("of_experts", &of_experts, "learners"_a, "t"_a)
      .def("regions", &regions)
      .def_prop_ro("experts",
                   [](const PyLearner& self) { return unlocked([&] { return experts_of(self).numbers(); }); })
      .def(
          "expert",
          [](const PyLearner& self, std::int64_t number) {
            return std::make_unique<PyLearner>(unlocked([&] { return experts_of(self).expert(number); }));
          },
          "number"_a)
      .def(
          "leaf_history",
          [](const PyLearner& self, std::int64_t region) {
            auto [rows, weights] = unlocked([&] { return experts_of(self).weight_history(region); });
            const std::size_t n = rows.size(), m = n == 0 ? 0 : weights.size() / n;
            return nb::make_tuple(array(std::move(rows), {n}), array(std::move(weights), {n, m}));
          },
          "region"_a,
          nb::sig("def leaf_history(self, region: int) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.float64]]"))
      .def("divided", &divided, "region"_a, "features"_a, "thresholds"_a, "lower"_a, "upper"_a)
      .def(
          "with_expert",
          [](const PyLearner& self, std::int64_t region, const PyLearner& expert, double weight) {
            const Learner& own = expert.plain();
            return as_python(unlocked([&] { return experts_of(self).with_expert(region, own, weight); }));
          },
          "region"_a, "expert"_a, "weight"_a)
      .def(
          "without_expert",
          [](const PyLearner& self, std::int64_t expert) {
            return as_python(unlocked([&] { return experts_of(self).without_expert(expert); }));
          },
          "expert"_a)
      .def(
          "with_experts",
          [](const PyLearner& self, const std::vector<const PyLearner*>& experts,
             const std::vector<std::int64_t>& rows) {
            std::vector<const Learner*> own;
            for (const PyLearner* expert : experts) own.push_back(&expert->plain());
            return as_python(unlocked([&] { return experts_of(self).with_experts(own, rows); }));
          },
          "experts"_a, "rows"_a = std::vector<std::int64_t>())
      .def(
          "merged_back",
          [](const PyLearner& self, std::int64_t region) {
            return as_python(unlocked([&] { return experts_of(self).merged_back(region); }));
          },
          "region"_a)
      .def(
          "with_weights",
          [](const PyLearner& self, std::int64_t region, const std::vector<double>& weights) {
            return as_python(unlocked([&] { return experts_of(self).with_weights(region, weights); }));
          },
          "region"_a, "weights"_a);
}

}  // namespace onkel
