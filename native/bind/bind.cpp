// Only this folder knows Python: it takes and returns arrays, and releases the interpreter's lock while the core works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/interrupts.hpp"
#include "bind/py_learner.hpp"
#include "bind/search.hpp"
#include "bind/spans.hpp"
#include "bind/targets.hpp"
#include "experts/make.hpp"
#include "first_order/evictions/eviction.hpp"
#include "first_order/loss.hpp"
#include "io/libsvm.hpp"
#include "io/scaler.hpp"
#include "loop/learner.hpp"
#include "loop/names.hpp"

namespace onkel {
namespace {

using namespace nb::literals;

using KernelIn = std::variant<Formula, nb::callable>;

// A Python kernel, called as kernel(x[None], S) with read-only arrays.
template <class T>
KernelFunction call_kernel(nb::callable function, std::size_t width) {
  const SharedObject kept = keep(std::move(function));
  return [kept, width](const void* row, const void* points, std::size_t n, double* out) {
    const nb::gil_scoped_acquire lock;
    using View = nb::ndarray<nb::numpy, const T, nb::ndim<2>>;
    const auto view = [&](const void* data, std::size_t count) {
      return nb::cast(View(data, {count, width}, nb::handle()), nb::rv_policy::copy);
    };
    const nb::object numpy = nb::module_::import_("numpy");
    const nb::object values = numpy.attr("asarray")((*kept)(view(row, 1), view(points, n)), "dtype"_a = "float64");
    const auto flat = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(
        numpy.attr("ascontiguousarray")(values.attr("ravel")()));
    if (flat.shape(0) != n)
      throw nb::value_error(
          "a callable kernel must return one value for each support vector, an array of shape (1, n)");
    std::copy_n(flat.data(), n, out);
  };
}

// One loss at one row: onkel.checks tests its derivatives.
nb::tuple evaluate_loss(const nb::tuple& loss, const std::string& task, std::vector<double> f, double y, double scale,
                        double width) {
  Scored row(f.size());
  row.f = std::move(f);
  row.y = y;
  row.units = {scale, width};
  Loss(spec(loss), task_named(task)).evaluate(row);
  return nb::make_tuple(row.loss, row.g, row.curvature, row.mistake, row.chord);
}
// Rows of LIBSVM text: (labels, values, features, offsets), bytes, lines, skipped, complaint.
template <class T>
nb::tuple rows_of_libsvm(std::string_view text, bool last, std::size_t max_rows, const LibsvmRules& rules) {
  LibsvmRows<T> rows = unlocked([&] { return read_libsvm<T>(text, last, max_rows, rules); });
  const std::size_t count = rows.labels.size(), stored = rows.values.size();
  nb::object parse_error = nb::none();
  if (const auto& c = rows.parse_error)
    parse_error = nb::make_tuple(c->line, c->column, c->expected, nb::bytes(c->found.data(), c->found.size()));
  return nb::make_tuple(array(std::move(rows.labels), {count}), array(std::move(rows.values), {stored}),
                        array(std::move(rows.features), {stored}), array(std::move(rows.offsets), {count + 1}),
                        rows.bytes, rows.lines, rows.skipped, parse_error);
}

// Scaling: the statistics are NumPy arrays, changed in place; returns the scaled values in the layout of the rows.
template <class T>
using State1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = std::optional<nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

template <class T, class Scaling>
nb::ndarray<nb::numpy> scaled(Scaling scaling, const Rows& rows, std::size_t stored, bool learn, const Counts& counts) {
  if (counts && counts->shape(0) != rows.count) throw nb::value_error("there must be one count for each row");
  std::vector<T> out(stored);
  unlocked([&] { scale_rows<Scaling, T>(scaling, rows, learn, counts ? counts->data() : nullptr, out.data()); });
  return nb::ndarray<nb::numpy>(array(std::move(out), {stored}));
}

StandardScaling standard(const State1<std::int64_t>& n, const State1<std::int64_t>& seen, const State1<double>& mean,
                         const State1<double>& squares, bool centre, bool scale, double forget, std::size_t width) {
  if (n.shape(0) != 1 || seen.shape(0) != width || mean.shape(0) != width || squares.shape(0) != width)
    throw nb::value_error("the statistics and the rows must have the same number of features");
  return {n.data()[0], seen.data(), mean.data(), squares.data(), centre, scale, forget};
}

}  // namespace

NB_MODULE(_core, m) {
  // A callable kernel may hold a reference cycle with its learner until the interpreter ends.
  nb::set_leak_warnings(false);
  bind_search(m);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Diverged& error) {
      PyErr_SetString(PyExc_FloatingPointError, error.what());
    }
  });
  nb::class_<Cancellation>(m, "Cancellation")
      .def(nb::init<>())
      .def("cancel", &Cancellation::cancel)
      .def("__enter__", &Cancellation::enter)
      .def(
          "__exit__", [](const Cancellation&, const nb::args&) { Cancellation::leave(); },
          nb::sig("def __exit__(self, *error: object) -> None"));
  bind_views(m);
  bind_spans(m);
  bind_targets(m);
  m.def(
      "interrupt_check",
      [](std::optional<std::int64_t> number) {
        InterruptCheck::checks_left = number.value_or(InterruptCheck::no_test);
      },
      "number"_a.none());
  m.attr("isa") = isa::level().name;
  m.attr("constant_value") = Basis::constant_value;
  m.def(
      "uniform",
      [](std::uint64_t seed, std::uint32_t kernel, std::int64_t step, std::uint32_t purpose, std::uint32_t index) {
        return Draws{seed, kernel}.uniform(step, Purpose{purpose}, index);
      },
      "seed"_a, "kernel"_a, "step"_a, "purpose"_a, "index"_a = 0);
  m.def("evaluate_loss", &evaluate_loss, "loss"_a, "task"_a, "f"_a, "y"_a, "scale"_a = 0.0, "width"_a = 0.0,
        nb::sig("def evaluate_loss(loss: tuple[str, dict[str, float], dict[str, typing.Any]], task: str, f: "
                "list[float], y: float, scale: float = 0.0, width: float = 0.0) -> "
                "tuple[float, list[float], float, bool, float]"));
  // The yardstick of the benchmarks: n multiply-adds (a multiple of 192) on one core at its peak speed.
  m.def(
      "fma_peak",
      [](std::size_t n, const std::string& dtype) {
        return dtype == "float32" ? isa::routines<float>().fma_peak(n) : isa::routines<double>().fma_peak(n);
      },
      "n"_a, "dtype"_a);

  m.def(
      "read_libsvm",
      [](const nb::bytes& text, std::size_t begin, bool last, std::size_t max_rows, bool labelled, bool zero_based,
         std::int64_t width, bool skip, bool single) {
        const std::string_view rest(text.c_str() + std::min(begin, text.size()),
                                    text.size() - std::min(begin, text.size()));
        const LibsvmRules rules{labelled, zero_based, width, skip};
        return single ? rows_of_libsvm<float>(rest, last, max_rows, rules)
                      : rows_of_libsvm<double>(rest, last, max_rows, rules);
      },
      "text"_a, nb::kw_only(), "begin"_a, "last"_a, "max_rows"_a, "labelled"_a, "zero_based"_a, "width"_a, "skip"_a,
      "single"_a,
      nb::sig(
          "def read_libsvm(text: bytes, *, begin: int, last: bool, max_rows: int, labelled: bool, zero_based: bool, "
          "width: int, skip: bool, single: bool) -> tuple[numpy.typing.NDArray[numpy.float64], "
          "numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int64], "
          "int, int, int, tuple[int, int, str, bytes] | None]"));

  const auto scale = [&]<class T>(T) {
    m.def(
        "scale_standard",
        [](const State1<std::int64_t>& n, const State1<std::int64_t>& seen, const State1<double>& mean,
           const State1<double>& squares, bool centre, bool scale, double forget, const RowsIn<T>& x, bool learn,
           const Counts& counts) {
          return scaled<T>(standard(n, seen, mean, squares, centre, scale, forget, x.shape(1)),
                           {x.data(), x.shape(0), x.shape(1)}, x.size(), learn, counts);
        },
        "n"_a.noconvert(), "seen"_a.noconvert(), "mean"_a.noconvert(), "squares"_a.noconvert(), "centre"_a, "scale"_a,
        "forget"_a, "x"_a.noconvert(), "learn"_a, "counts"_a.none());
    m.def(
        "scale_standard",
        [](const State1<std::int64_t>& n, const State1<std::int64_t>& seen, const State1<double>& mean,
           const State1<double>& squares, bool centre, bool scale, double forget, const CsrIn<T>& x, bool learn,
           const Counts& counts) {
          return scaled<T>(standard(n, seen, mean, squares, centre, scale, forget, mean.shape(0)),
                           csr_rows<T>(x, mean.shape(0)), std::get<0>(x).shape(0), learn, counts);
        },
        "n"_a.noconvert(), "seen"_a.noconvert(), "mean"_a.noconvert(), "squares"_a.noconvert(), "centre"_a, "scale"_a,
        "forget"_a, "x"_a.noconvert(), "learn"_a, "counts"_a.none());
    m.def(
        "scale_range",
        [](const State1<std::int64_t>& n, const State1<double>& least, const State1<double>& greatest, double from,
           double to, const RowsIn<T>& x, bool learn, const Counts& counts) {
          if (n.shape(0) != 1 || least.shape(0) != x.shape(1) || greatest.shape(0) != x.shape(1))
            throw nb::value_error("the statistics and the rows must have the same number of features");
          return scaled<T>(RangeScaling{n.data()[0], least.data(), greatest.data(), from, to},
                           {x.data(), x.shape(0), x.shape(1)}, x.size(), learn, counts);
        },
        "n"_a.noconvert(), "least"_a.noconvert(), "greatest"_a.noconvert(), "start"_a, "end"_a, "x"_a.noconvert(),
        "learn"_a, "counts"_a.none());
  };
  scale(double{});
  scale(float{});

  auto learner = nb::class_<PyLearner>(m, "Learner");
  const auto take_rows = [&]<class T>(T) {
    learner
        .def(
            "learn",
            [](PyLearner& self, const RowsIn<T>& x, const Numbers& y, const std::optional<Numbers>& weight, bool scores,
               std::size_t n_jobs, std::size_t block_rows, bool in_order, const std::optional<Room>& into,
               const std::optional<RowIn<std::int64_t>>& positions) {
              return self.learn(self.dense<T>(x), y, weight, scores, {n_jobs, block_rows}, in_order, into, positions);
            },
            "x"_a.noconvert(), "y"_a, "weight"_a.none(), "scores"_a, "n_jobs"_a, "block_rows"_a, "in_order"_a = true,
            "into"_a.noconvert() = nb::none(), "positions"_a = nb::none())
        .def(
            "learn",
            [](PyLearner& self, const CsrIn<T>& x, const Numbers& y, const std::optional<Numbers>& weight, bool scores,
               std::size_t n_jobs, std::size_t block_rows, bool in_order, const std::optional<Room>& into,
               const std::optional<RowIn<std::int64_t>>& positions) {
              return self.learn(self.sparse<T>(x), y, weight, scores, {n_jobs, block_rows}, in_order, into, positions);
            },
            "x"_a.noconvert(), "y"_a, "weight"_a.none(), "scores"_a, "n_jobs"_a, "block_rows"_a, "in_order"_a = true,
            "into"_a.noconvert() = nb::none(), "positions"_a = nb::none())
        .def(
            "score",
            [](const PyLearner& self, const RowsIn<T>& x, bool each, std::size_t n_jobs, std::size_t block_rows) {
              return self.score(self.dense<T>(x), each, n_jobs, block_rows);
            },
            "x"_a.noconvert(), "each"_a, "n_jobs"_a, "block_rows"_a)
        .def(
            "score",
            [](const PyLearner& self, const CsrIn<T>& x, bool each, std::size_t n_jobs, std::size_t block_rows) {
              return self.score(self.sparse<T>(x), each, n_jobs, block_rows);
            },
            "x"_a.noconvert(), "each"_a, "n_jobs"_a, "block_rows"_a)
        .def(
            "variance", [](const PyLearner& self, const RowsIn<T>& x) { return self.variance(self.dense<T>(x)); },
            "x"_a.noconvert())
        .def(
            "deviation", [](const PyLearner& self, const RowsIn<T>& x) { return self.deviation(self.dense<T>(x)); },
            "x"_a.noconvert())
        .def(
            "deviation", [](const PyLearner& self, const CsrIn<T>& x) { return self.deviation(self.sparse<T>(x)); },
            "x"_a.noconvert())
        .def(
            "noise_at", [](const PyLearner& self, const RowsIn<T>& x) { return self.noise_at(self.dense<T>(x)); },
            "x"_a.noconvert())
        .def(
            "noise_at", [](const PyLearner& self, const CsrIn<T>& x) { return self.noise_at(self.sparse<T>(x)); },
            "x"_a.noconvert())
        .def(
            "variance", [](const PyLearner& self, const CsrIn<T>& x) { return self.variance(self.sparse<T>(x)); },
            "x"_a.noconvert())
        .def(
            "set_expansion",
            [](PyLearner& self, const RowsIn<T>& points, const RowIn<std::int64_t>& births,
               const PyLearner::CoefficientsIn& last, const PyLearner::CoefficientsIn& average,
               std::int64_t t) { self.set(self.dense<T>(points), births, last, average, t); },
            "points"_a.noconvert(), "births"_a, "last"_a, "average"_a, "t"_a)
        .def(
            "set_expansion",
            [](PyLearner& self, const CsrIn<T>& points, const RowIn<std::int64_t>& births,
               const PyLearner::CoefficientsIn& last, const PyLearner::CoefficientsIn& average,
               std::int64_t t) { self.set(self.sparse<T>(points), births, last, average, t); },
            "points"_a.noconvert(), "births"_a, "last"_a, "average"_a, "t"_a)
        .def(
            "add_information",
            [](PyLearner& self, const RowsIn<T>& points, const RowIn<std::int64_t>& births,
               const PyLearner::CoefficientsIn& function, const RowsIn<double>& information, double noise,
               std::int64_t steps, const Numbers& deviation, double weight) {
              self.add_information(self.dense<T>(points), births, function, information, noise, steps, deviation,
                                   weight);
            },
            "points"_a.noconvert(), "births"_a, "function"_a, "information"_a, "noise"_a, "steps"_a, "deviation"_a,
            "weight"_a)
        .def(
            "add_information",
            [](PyLearner& self, const CsrIn<T>& points, const RowIn<std::int64_t>& births,
               const PyLearner::CoefficientsIn& function, const RowsIn<double>& information, double noise,
               std::int64_t steps, const Numbers& deviation, double weight) {
              self.add_information(self.sparse<T>(points), births, function, information, noise, steps, deviation,
                                   weight);
            },
            "points"_a.noconvert(), "births"_a, "function"_a, "information"_a, "noise"_a, "steps"_a, "deviation"_a,
            "weight"_a)
        .def(
            "learn_one",
            [](PyLearner& self, const RowIn<T>& x, double y) {
              if (!self.takes<T>()) return false;
              self.learn_one(self.single_row<T>(x), y);
              return true;
            },
            "x"_a.noconvert(), "y"_a);
  };
  take_rows(double{});
  take_rows(float{});
  bind_experts(learner);
  // What is no row as the core takes it is left for the caller to convert.
  learner.def("learn_one", [](PyLearner&, const nb::object&, double) { return false; }, "x"_a, "y"_a);
  learner
      .def(
          "__init__",
          [](PyLearner* self, const nb::tuple& recipe, const std::vector<std::pair<std::uint32_t, KernelIn>>& kernels,
             const std::optional<nb::tuple>& hedge, const std::string& task, const std::string& dtype, bool sparse,
             std::size_t n_features, std::size_t n_outputs, std::size_t budget, bool average, bool constant,
             std::uint64_t seed) {
            if (n_features == 0 || n_outputs == 0) throw nb::value_error("n_features and n_outputs must be positive");
            if (n_features >= std::size_t{1} << 31 || n_outputs > std::size_t{1} << 20)
              throw nb::value_error("n_features must be less than 2^31 and n_outputs at most 2^20");
            Config config{.recipe = spec(recipe),
                          .kernels = {},
                          .hedge = {},
                          .task = task_named(task),
                          .type = dtype == "float32" ? Type::f32 : Type::f64,
                          .sparse = sparse,
                          .width = n_features,
                          .outputs = n_outputs,
                          .budget = budget,
                          .average = average,
                          .constant = constant,
                          .seed = seed};
            for (const auto& [number, kernel] : kernels) {
              config.kernels.push_back({.terms = {}, .metric = {}, .function = {}, .number = number});
              if (const auto* formula = std::get_if<Formula>(&kernel)) {
                config.kernels.back().terms = terms_named(formula->first);
                config.kernels.back().metric = metric_of(formula->second);
              } else {
                const auto& function = std::get<nb::callable>(kernel);
                config.kernels.back().function = config.type == Type::f32 ? call_kernel<float>(function, n_features)
                                                                          : call_kernel<double>(function, n_features);
              }
            }
            if (hedge)
              config.hedge = {combination_named(spec(*hedge).name),
                              spec(*hedge).at("discount"),
                              spec(*hedge).at("smoothing"),
                              spec(*hedge).at("share"),
                              static_cast<std::int64_t>(spec(*hedge).at("start")),
                              spec(*hedge).at("zero_votes") != 0};
            if (kernels.empty() || (kernels.size() > 1 && !hedge))
              throw nb::value_error("a learner must have one kernel, or a hedge over several");
            new (self) PyLearner(config);
          },
          nb::kw_only(), "recipe"_a, "kernels"_a, "hedge"_a.none(), "task"_a, "dtype"_a, "sparse"_a, "n_features"_a,
          "n_outputs"_a, "budget"_a, "average"_a, "constant"_a, "seed"_a)
      .def(
          "widen", [](PyLearner& self, std::size_t outputs) { unlocked([&] { self.core().widen(outputs); }); },
          "n_outputs"_a)
      .def(
          "reach", [](PyLearner& self, std::size_t width) { unlocked([&] { self.core().reach(width); }); },
          "n_features"_a)
      .def_prop_ro("budget", [](const PyLearner& self) { return unlocked([&] { return self.plain().budget(); }); })
      .def(
          "limit", [](PyLearner& self, std::size_t budget) { unlocked([&] { self.plain().limit(budget); }); },
          "budget"_a)
      .def("split",
           [](const PyLearner& self) {
             std::vector<std::unique_ptr<PyLearner>> parts;
             for (auto& part : unlocked([&] { return self.plain().split(); }))
               parts.push_back(std::make_unique<PyLearner>(std::move(part)));
             return parts;
           })
      .def(
          "join",
          [](PyLearner& self, const std::vector<const PyLearner*>& parts, const std::vector<double>& weights,
             double noise, bool moved, const PyLearner* like) {
            std::vector<const Learner*> cores;
            for (const PyLearner* part : parts) cores.push_back(&part->plain());
            unlocked(
                [&] { self.plain().join(cores, weights, noise, moved, like == nullptr ? nullptr : &like->plain()); });
          },
          "parts"_a, "weights"_a, "noise"_a, "moved"_a, "like"_a.none())
      .def(
          "compress",
          [](PyLearner& self, double eps, std::size_t n) {
            return unlocked([&] { return self.plain().compress(eps, n); });
          },
          "eps"_a, "n_support"_a)
      .def_prop_ro("has_information",
                   [](const PyLearner& self) {
                     return unlocked([&] { return self.experts() == nullptr && self.plain().has_information(); });
                   })
      .def(
          "information",
          [](const PyLearner& self) {
            return PyLearner::information_of(unlocked([&] { return self.plain().information(); }));
          },
          nb::sig("def information(self) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.float64], float, float, int, numpy.typing.NDArray[numpy.float64]]"))
      .def("points", &PyLearner::points,
           nb::sig("def points(self) -> tuple[typing.Any, numpy.typing.NDArray[numpy.int64], "
                   "numpy.typing.NDArray[numpy.int64]]"))
      .def("learned", &PyLearner::learned, "informed"_a,
           nb::sig("def learned(self, informed: bool) -> list[tuple[typing.Any, typing.Any, typing.Any, "
                   "numpy.typing.NDArray[numpy.float64], int, tuple[numpy.typing.NDArray[numpy.int64], "
                   "numpy.typing.NDArray[numpy.float64], float, float, int, "
                   "numpy.typing.NDArray[numpy.float64]] | None]]"))
      .def("clone", [](const PyLearner& self) { return unlocked([&] { return std::make_unique<PyLearner>(self); }); })
      .def("show", &PyLearner::show, "view"_a,
           nb::sig("def show(self, view: typing.Callable[[str, str, tuple[int, int], "
                   "numpy.typing.NDArray[numpy.uint8]], None]) -> None"))
      .def("set_information", &PyLearner::set_information, "information"_a, "noise"_a, "steps"_a, "deviation"_a)
      .def(
          "eliminate",
          [](PyLearner& self, double eps, std::size_t n) {
            const auto moved = unlocked([&] { return self.plain().eliminate(eps, n); });
            return std::pair(std::sqrt(moved.data), std::sqrt(moved.rkhs));
          },
          "eps"_a, "n_support"_a)
      .def(
          "begin_after", [](PyLearner& self, std::int64_t rows) { unlocked([&] { self.plain().begin_after(rows); }); },
          "rows"_a)
      .def("flush", [](PyLearner& self) { unlocked([&] { self.core().flush(); }); })
      .def("save", &PyLearner::save, nb::sig("def save(self) -> dict[str, numpy.typing.NDArray[typing.Any]]"))
      .def("load", &PyLearner::load, "state"_a)
      .def_prop_ro("t", [](const PyLearner& self) { return unlocked([&] { return self.core().t(); }); })
      .def_prop_ro("n_outputs", [](const PyLearner& self) { return unlocked([&] { return self.core().outputs(); }); })
      .def_prop_ro("n_support", [](const PyLearner& self) { return unlocked([&] { return self.core().size(); }); })
      .def_prop_ro("n_weights", [](const PyLearner& self) { return unlocked([&] { return self.core().n_weights(); }); })
      .def_prop_ro("nbytes", [](const PyLearner& self) { return unlocked([&] { return self.core().bytes(); }); })
      .def_prop_ro("noise_variance",
                   [](const PyLearner& self) { return unlocked([&] { return self.core().noise_variance(); }); })
      .def_prop_ro("norm", [](const PyLearner& self) { return unlocked([&] { return self.plain().norm(); }); })
      .def(
          "keep",
          [](PyLearner& self, const std::vector<std::size_t>& functions) {
            unlocked([&] { self.plain().keep(functions); });
          },
          "functions"_a)
      .def("random_features", &PyLearner::random_features,
           nb::sig("def random_features(self) -> tuple[numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.float64]]"))
      .def_prop_ro("weights", &PyLearner::weights, nb::rv_policy::automatic)
      .def_prop_ro("weight_history", &PyLearner::weight_history, nb::rv_policy::automatic,
                   nb::sig("def weight_history(self) -> tuple[numpy.typing.NDArray[numpy.int64], "
                           "numpy.typing.NDArray[numpy.float64]]"))
      .def_prop_ro("memories", &PyLearner::memories, nb::rv_policy::automatic)
      .def_prop_ro("memory_weights", &PyLearner::memory_weights, nb::rv_policy::automatic)
      .def_prop_ro("memory_history", &PyLearner::memory_history, nb::rv_policy::automatic,
                   nb::sig("def memory_history(self) -> tuple[numpy.typing.NDArray[numpy.int64], "
                           "numpy.typing.NDArray[numpy.float64]]"))
      .def_prop_ro("sizes", [](const PyLearner& self) { return unlocked([&] { return self.plain().sizes(); }); })
      .def("coefficients", &PyLearner::coefficients, "last"_a = false)
      .def("constants", &PyLearner::constants, "last"_a = false);
}

}  // namespace onkel
