// The binding of spans that partitions share, and of the sums over rows in them.
#include "bind/spans.hpp"

#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "bind/arrays.hpp"
#include "linalg/information.hpp"
#include "partitions/shared_span.hpp"

namespace onkel {
namespace {

using namespace nb::literals;

// The span of points that all partitions of the rows share.
class PySpan {
 public:
  PySpan(const Plane& plane, const Rows& points, bool single, bool constant)
      : width_(points.width),
        single_(single),
        sparse_(points.offsets != nullptr),
        span_(basis_of(plane, points, single, constant), points) {}

  static std::unique_ptr<Basis> basis_of(const Plane& plane, const Rows& points, bool single, bool constant) {
    const auto make = [&]<class T>(T) {
      return points.offsets != nullptr ? make_sparse_basis<T>({plane}, constant, {}, points.width)
                                       : make_dense_basis<T>({plane}, constant, {}, points.width);
    };
    return single ? make(float{}) : make(double{});
  }
  template <class T>
  Rows rows(const RowsIn<T>& x) const {
    check(x.shape(1), std::is_same_v<T, float>, false);
    return {x.data(), x.shape(0), x.shape(1)};
  }
  template <class T>
  Rows rows(const CsrIn<T>& x) const {
    check(width_, std::is_same_v<T, float>, true);
    return csr_rows<T>(x, width_);
  }
  Floats solved(const RowsIn<double>& x, bool transposed) const {
    if (x.shape(1) != span_.size()) throw nb::value_error("rows must have one number for each coordinate");
    std::vector<double> values(x.data(), x.data() + x.size());
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      const std::span<double> row(values.data() + i * x.shape(1), x.shape(1));
      transposed ? span_.solve_transposed(row) : span_.solve(row);
    }
    return array(std::move(values), {x.shape(0), x.shape(1)});
  }
  const SharedSpan& span() const { return span_; }

 private:
  void check(std::size_t width, bool single, bool sparse) const {
    if (width != width_ || single != single_ || sparse != sparse_)
      throw nb::type_error("the rows must have the width, the dtype and the container of the points");
  }
  std::size_t width_;
  bool single_, sparse_;
  SharedSpan span_;
};

// It does not check for interrupts: callers cut their rows into chunks.
class PyRowSums {
 public:
  PyRowSums(const PySpan& span, const nb::tuple& loss, const std::string& task, const RowsIn<double>& function,
            bool informed)
      : span_(span),
        outputs_(function.shape(0)),
        sums_(span.span(), {Loss(spec(loss), task_named(task)), task_named(task), outputs_, informed},
              {function.data(), checked(span, function)}) {}
  void add(const Rows& rows, const Numbers& y, const std::optional<Numbers>& weight) {
    if (y.shape(0) != rows.count || (weight && weight->shape(0) != rows.count))
      throw nb::value_error("X, y and the weights must have the same number of rows");
    unlocked([&] { sums_.add(rows, y.data(), weight ? weight->data() : nullptr); });
  }
  // loss, squares, rows, slopes, half of the information (empty where it was not asked for)
  nb::tuple result() const {
    auto half = sums_.information();
    const std::size_t n = half.size();
    return nb::make_tuple(sums_.loss(), sums_.squares(), sums_.rows(),
                          array(sums_.slopes(), {outputs_, span_.span().size()}), array(std::move(half), {n}));
  }
  const PySpan& span() const { return span_; }

 private:
  static std::size_t checked(const PySpan& span, const RowsIn<double>& function) {
    if (function.shape(1) != span.span().size() || function.shape(0) == 0)
      throw nb::value_error("a function must have one number for each coordinate");
    return function.size();
  }
  const PySpan& span_;
  std::size_t outputs_;
  RowSums sums_;
};

}  // namespace

void bind_spans(nb::module_& m) {
  auto span = nb::class_<PySpan>(m, "Span");
  auto sums = nb::class_<PyRowSums>(m, "RowSums");
  const auto take_points = [&]<class T, class In>(T, std::type_identity<In>) {
    span.def(
            "__init__",
            [](PySpan* self, const Formula& kernel, const In& points, std::size_t n_features, bool constant) {
              const Rows rows = rows_in<T>(points, n_features);
              const Plane plane = plane_named(kernel);
              unlocked([&] { new (self) PySpan(plane, rows, std::is_same_v<T, float>, constant); });
            },
            "kernel"_a, "points"_a.noconvert(), "n_features"_a, "constant"_a)
        .def(
            "scores",
            [](const PySpan& self, const In& x, const RowsIn<double>& function) {
              const Rows rows = self.rows<T>(x);
              const std::size_t outputs = function.shape(0);
              if (function.shape(1) != self.span().size())
                throw nb::value_error("a function must have one number for each coordinate");
              auto values = unlocked([&] { return self.span().scores(rows, {function.data(), function.size()}); });
              return array(std::move(values), {rows.count, outputs});
            },
            "rows"_a.noconvert(), "function"_a)
        .def(
            "novelty",
            [](const PySpan& self, const In& x) {
              const Rows rows = self.rows<T>(x);
              auto values = unlocked([&] { return self.span().novelty(rows); });
              return array(std::move(values), {rows.count});
            },
            "rows"_a.noconvert());
    sums.def(
        "add",
        [](PyRowSums& self, const In& x, const Numbers& y, const std::optional<Numbers>& weight) {
          self.add(self.span().rows<T>(x), y, weight);
        },
        "rows"_a.noconvert(), "y"_a, "weight"_a.none());
    m.def(
        "choose_points",
        [](const Formula& kernel, const In& candidates, std::size_t n_features, const Numbers& keys,
           std::size_t n_first, std::size_t budget) {
          const Rows rows = rows_in<T>(candidates, n_features);
          if (keys.shape(0) != rows.count) throw nb::value_error("there must be one key for each candidate");
          const auto basis = PySpan::basis_of(plane_named(kernel), rows, std::is_same_v<T, float>, false);
          auto chosen =
              unlocked([&] { return choose_points(*basis, rows, {keys.data(), keys.shape(0)}, n_first, budget); });
          const std::size_t n = chosen.size();
          return array(std::move(chosen), {n});
        },
        "kernel"_a, "candidates"_a.noconvert(), "n_features"_a, "keys"_a, "n_first"_a, "budget"_a);
  };
  take_points(double{}, std::type_identity<RowsIn<double>>());
  take_points(float{}, std::type_identity<RowsIn<float>>());
  take_points(double{}, std::type_identity<CsrIn<double>>());
  take_points(float{}, std::type_identity<CsrIn<float>>());
  span.def_prop_ro("size", [](const PySpan& self) { return self.span().size(); })
      .def("solve", &PySpan::solved, "x"_a, "transposed"_a);
  sums.def(nb::init<const PySpan&, const nb::tuple&, const std::string&, const RowsIn<double>&, bool>(), "span"_a,
           "loss"_a, "task"_a, "function"_a, "informed"_a, nb::keep_alive<1, 2>())
      .def("result", &PyRowSums::result,
           nb::sig("def result(self) -> tuple[float, float, int, numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.float64]]"));
  nb::class_<Precision>(m, "Precision")
      .def(
          "__init__",
          [](Precision* self, const Numbers& half, std::size_t n, double lam) {
            if (half.shape(0) != n * (n + 1) / 2)
              throw nb::value_error("the information must have as many coordinates as the span");
            unlocked(
                [&] { new (self) Precision(Information::from_half(n, std::span(half.data(), half.shape(0))), lam); });
          },
          "half"_a, "n"_a, "lam"_a)
      .def(
          "solve",
          [](const Precision& self, const RowsIn<double>& linear) {
            if (linear.shape(1) != self.size()) throw nb::value_error("rows must have one number for each coordinate");
            std::vector<double> values;
            for (std::size_t i = 0; i < linear.shape(0); ++i) {
              const std::vector<double> w = self.solve(std::span(linear.data() + i * self.size(), self.size()));
              values.insert(values.end(), w.begin(), w.end());
            }
            return array(std::move(values), {linear.shape(0), self.size()});
          },
          "linear"_a);
  // The keys of rows with these scores: log(u) / (weight |g|^2), with |g| the largest slope; minus infinity where |g|
  // is at most easy_slope.
  m.def(
      "slope_keys",
      [](const nb::tuple& loss, const std::string& task, const RowsIn<double>& scores, const Numbers& y,
         const Numbers& weight, const Numbers& u, double easy_slope) {
        const std::size_t n = scores.shape(0);
        if (y.shape(0) != n || weight.shape(0) != n || u.shape(0) != n)
          throw nb::value_error("scores, y, the weights and the draws must have the same number of rows");
        std::vector<double> keys =
            slope_keys({Loss(spec(loss), task_named(task)), task_named(task), scores.shape(1), false}, scores.data(),
                       {y.data(), n}, weight.data(), u.data(), easy_slope);
        return array(std::move(keys), {n});
      },
      "loss"_a, "task"_a, "scores"_a, "y"_a, "weight"_a, "u"_a, "easy_slope"_a);
}

}  // namespace onkel
