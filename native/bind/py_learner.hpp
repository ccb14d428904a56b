// A learner as Python holds it, with what the binding needs to check its arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/interrupts.hpp"
#include "experts/experts.hpp"
#include "experts/make.hpp"
#include "first_order/evictions/eviction.hpp"
#include "loop/learner.hpp"

namespace onkel {

class PyLearner {
 public:
  explicit PyLearner(const Config& config) : core_(std::make_unique<Learner>(config, make)) {}
  PyLearner(const PyLearner& other) : core_(other.core_->copy()) {}
  explicit PyLearner(std::unique_ptr<Model> core) : core_(std::move(core)) {}

  // With `into` the scores go there, also where the call fails or is interrupted, and are not returned.
  std::optional<Floats> learn(const Rows& rows, const Numbers& y, const std::optional<Numbers>& weight, bool scores,
                              const Learner::Execution& execution, bool in_order, const std::optional<Room>& into,
                              const std::optional<RowIn<std::int64_t>>& positions) {
    if (y.shape(0) != rows.count || (weight && weight->shape(0) != rows.count))
      throw nb::value_error("X, y and the weights must have the same number of rows");
    if (positions && positions->shape(0) != rows.count)
      throw nb::value_error("there must be one position for each row");
    check_labels(y.data(), y.shape(0));
    const Learner::Batch batch{rows, y.data(), weight ? weight->data() : nullptr, in_order,
                               positions ? positions->data() : nullptr};
    if (into && into->shape(0) != rows.count) throw nb::value_error("there must be room for the scores of all rows");
    Learner::Scores result;
    InterruptCheck interrupts;
    const auto hand_over = [&] {
      for (std::size_t i = 0; into && i < result.values.size() / std::max<std::size_t>(1, result.outputs); ++i)
        std::copy_n(&result.values[i * result.outputs], std::min(result.outputs, into->shape(1)),
                    into->data() + i * into->shape(1));
    };
    try {
      const nb::gil_scoped_release unlocked;
      core_->learn(batch, scores || into ? &result : nullptr, execution, std::ref(interrupts));
    } catch (...) {
      hand_over();
      throw;
    }
    hand_over();
    interrupts.raise_if_interrupted();
    if (!scores || into) return std::nullopt;
    return array(std::move(result.values), {rows.count, result.outputs});
  }

  void learn_one(const Rows& row, double y) {
    check_labels(&y, 1);
    const nb::gil_scoped_release unlocked;
    core_->learn({row, &y}, nullptr, {}, [] { return true; });
  }

  Floats score(const Rows& rows, bool each, std::size_t threads, std::size_t block_rows) const {
    Learner::Scores scores;
    InterruptCheck interrupts;
    {
      const nb::gil_scoped_release unlocked;
      scores = core_->score(rows, each, {threads, block_rows}, std::ref(interrupts));
    }
    interrupts.raise_if_interrupted();
    return array(std::move(scores.values), {rows.count, scores.outputs});
  }

  Floats noise_at(const Rows& rows) const {
    auto values = unlocked([&] { return core_->noise_at(rows); });
    return array(std::move(values), {rows.count});
  }
  Floats deviation(const Rows& rows) const {
    auto values = unlocked([&] { return core_->deviation(rows); });
    return array(std::move(values), {rows.count});
  }
  Floats variance(const Rows& rows) const {
    auto values = unlocked([&] { return core_->variance(rows); });
    return array(std::move(values), {rows.count});
  }

  template <class T>
  bool takes() const {
    return config().type == type_of<T>() && !config().sparse;
  }
  template <class T>
  Rows dense(const RowsIn<T>& x) const {
    check<T>(x.shape(1), false);
    return {x.data(), x.shape(0), x.shape(1)};
  }
  template <class T>
  Rows single_row(const RowIn<T>& x) const {
    check<T>(x.shape(0), false);
    return {x.data(), 1, x.shape(0)};
  }
  template <class T>
  Rows sparse(const CsrIn<T>& x) const {
    check<T>(config().width, true);
    return csr_rows<T>(x, config().width);
  }

  // The coefficients of a function: (output, point), (output,) and (output, random feature).
  using CoefficientsIn = std::tuple<RowsIn<double>, Numbers, RowsIn<double>>;

  void set(const Rows& points, const RowIn<std::int64_t>& births, const CoefficientsIn& last,
           const CoefficientsIn& average, std::int64_t t) {
    const Learner::Expansion expansion = expansion_of(points, births, last, average, t);
    unlocked([&] { plain().set(expansion); });
  }

  // (points, births, ghosts); sparse points are (values, features, offsets).
  nb::tuple points() const {
    return points_of(unlocked([&] { return core_->points(); }));
  }

  // What has been learned, of one moment; of each expert where there are several: (points, births, ghosts), the last
  // coefficients and those that predict, each ([function][output][point], [function][output], [output][random
  // feature]), the weights of several functions, the number of rows, and where it is asked for and there is some, the
  // information.
  nb::list learned(bool informed) const {
    nb::list all;
    for (Model::Learned& own : unlocked([&] { return core_->learned(informed); })) {
      const std::size_t f = own.functions, o = own.outputs, n = own.points.births.size(), m = own.weights.size();
      const auto as_tuple = [&](Model::Learned::Coefficients& given) {
        const std::size_t constants = given.constants.empty() ? 0 : o, features = given.features.size() / o;
        return nb::make_tuple(array(std::move(given.points), {f, o, n}),
                              array(std::move(given.constants), {f, constants}),
                              array(std::move(given.features), {o, features}));
      };
      nb::object known = nb::none();
      if (own.knowledge) known = information_of(std::move(*own.knowledge));
      all.append(nb::make_tuple(points_of(std::move(own.points)), as_tuple(own.last), as_tuple(own.average),
                                array(std::move(own.weights), {m}), own.t, known));
    }
    return all;
  }

  // Calls view(name, dtype, shape, bytes) for each array of the state; the bytes are valid during the call alone.
  void show(const nb::callable& view) const {
    static constexpr const char* names[] = {"<f4", "<f8", "<i8"};
    unlocked([&] {
      core_->show([&](const std::string& name, const Array& shape, std::span<const std::byte> bytes) {
        const nb::gil_scoped_acquire lock;
        const nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> shown(bytes.data(), {bytes.size()}, nb::handle());
        view(name, names[static_cast<int>(shape.type)], std::pair(shape.rows, shape.columns), shown);
      });
    });
  }

  // (births of the points in the order in which they joined, H as a square matrix, lam, noise, steps, deviation)
  static nb::tuple information_of(Informed::Knowledge&& information) {
    std::size_t n = 0;
    while (n * (n + 1) / 2 < information.half.size()) ++n;
    std::vector<double> square(n * n);
    for (std::size_t i = 0, next = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) square[i * n + j] = square[j * n + i] = information.half[next++];
    const std::size_t points = information.births.size(), numbers = information.deviation.size();
    return nb::make_tuple(array(std::move(information.births), {points}), array(std::move(square), {n, n}),
                          information.lam, information.noise, information.steps,
                          array(std::move(information.deviation), {numbers}));
  }
  void set_information(const RowsIn<double>& information, double noise, std::int64_t steps, const Numbers& deviation) {
    const std::vector<double> half = lower_half(information);
    unlocked([&] { plain().set_information(half, noise, steps, {deviation.data(), deviation.size()}); });
  }
  void add_information(const Rows& points, const RowIn<std::int64_t>& births, const CoefficientsIn& function,
                       const RowsIn<double>& information, double noise, std::int64_t steps, const Numbers& deviation,
                       double weight) {
    const Learner::Expansion expansion = expansion_of(points, births, function, function, steps);
    if (!(weight >= 0)) throw nb::value_error("the weight of information must not be negative");
    const std::vector<double> half = lower_half(information);
    unlocked(
        [&] { plain().add_information(expansion, half, noise, steps, {deviation.data(), deviation.size()}, weight); });
  }

  nb::dict save() const {
    nb::dict arrays;
    for (const auto& [name, saved] : unlocked([&] { return core_->save(); })) {
      const auto as = [&]<class T>(T) {
        std::vector<T> values(saved.rows * saved.columns);
        if (!values.empty()) std::memcpy(values.data(), saved.bytes.data(), saved.bytes.size());
        if (saved.columns == 1) return nb::cast(array(std::move(values), {saved.rows}));
        return nb::cast(array(std::move(values), {saved.rows, saved.columns}));
      };
      const char* key = name.c_str();
      if (saved.type == Type::f32) arrays[key] = as(float{});
      if (saved.type == Type::f64) arrays[key] = as(double{});
      if (saved.type == Type::i64) arrays[key] = as(std::int64_t{});
    }
    return arrays;
  }

  void load(const std::map<std::string, nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>& arrays) {
    State state;
    for (const auto& [name, given] : arrays) {
      Array array;
      if (given.dtype() == nb::dtype<float>())
        array.type = Type::f32;
      else if (given.dtype() == nb::dtype<double>())
        array.type = Type::f64;
      else if (given.dtype() == nb::dtype<std::int64_t>())
        array.type = Type::i64;
      else
        throw nb::value_error(("state '" + name + "' has a type that no learner saves").c_str());
      if (given.ndim() < 1 || given.ndim() > 2)
        throw nb::value_error(("state '" + name + "' must have one or two dimensions").c_str());
      array.rows = given.shape(0);
      array.columns = given.ndim() == 2 ? given.shape(1) : 1;
      const auto* bytes = static_cast<const std::byte*>(given.data());
      array.bytes.assign(bytes, bytes + given.nbytes());
      state.emplace(name, std::move(array));
    }
    unlocked([&] { core_->load(state); });
  }

  Floats coefficients(bool last) const {
    const auto [values, outputs] = unlocked([&] { return plain().coefficients(which(last)); });
    const std::size_t points = values.size() / outputs;
    return array(std::vector<double>(values), {outputs, points});
  }
  Floats constants(bool last) const {
    auto values = unlocked([&] { return plain().constants(which(last)); });
    const std::size_t n = values.size();
    return array(std::move(values), {n});
  }

  nb::tuple random_features() const {
    auto result = unlocked([&] { return plain().random_features(); });
    const std::size_t n = result.phases.size();
    return nb::make_tuple(array(std::move(result.frequencies), {n, config().width}),
                          array(std::move(result.phases), {n}));
  }

  Floats weights() const {
    auto values = unlocked([&] { return plain().weights(); });
    const std::size_t n = values.size();
    return array(std::move(values), {n});
  }
  nb::tuple weight_history() const {
    auto [rows, weights] = unlocked([&] { return plain().weight_history(); });
    const std::size_t n = rows.size(), m = n == 0 ? 0 : weights.size() / n;
    return nb::make_tuple(array(std::move(rows), {n}), array(std::move(weights), {n, m}));
  }

  Floats memories() const {
    auto rows = unlocked([&] { return plain().memories(); });
    const std::size_t n = rows.size();
    return array(std::move(rows), {n});
  }
  Floats memory_weights() const {
    auto values = unlocked([&] { return plain().memory_weights(); });
    const std::size_t n = values.size();
    return array(std::move(values), {n});
  }
  nb::tuple memory_history() const {
    auto [rows, weights] = unlocked([&] { return plain().memory_history(); });
    const std::size_t n = rows.size(), m = plain().memories().size();
    return nb::make_tuple(array(std::move(rows), {n}), array(std::move(weights), {n, m}));
  }

  Model& core() { return *core_; }
  const Model& core() const { return *core_; }
  // The only learner.
  Learner& plain() const {
    if (auto* learner = dynamic_cast<Learner*>(core_.get())) return *learner;
    throw nb::value_error("this learner consists of several experts, and only one has such a property: ask each");
  }
  // Experts, of which there are several.
  const Experts* experts() const { return dynamic_cast<const Experts*>(core_.get()); }

 private:
  nb::tuple points_of(Learner::Points&& points) const {
    const std::size_t n = points.births.size();
    PointRows& rows = points.rows;
    const auto values = [&]<class T>(T) -> nb::object {
      std::vector<T> typed(rows.values.size() / sizeof(T));
      if (!typed.empty()) std::memcpy(typed.data(), rows.values.data(), rows.values.size());
      if (rows.offsets.empty()) return nb::cast(array(std::move(typed), {n, config().width}));
      const std::size_t stored = typed.size();
      return nb::make_tuple(array(std::move(typed), {stored}), array(std::move(rows.indices), {stored}),
                            array(std::move(rows.offsets), {n + 1}));
    };
    const nb::object found = config().type == Type::f32 ? values(float{}) : values(double{});
    return nb::make_tuple(found, array(std::move(points.births), {n}), array(std::move(points.ghosts), {n}));
  }
  static Which which(bool last) { return last ? Which::last : Which::predicting; }
  template <class T>
  void check(std::size_t width, bool sparse) const {
    if (config().type != type_of<T>()) throw nb::type_error("the rows must have the learner's dtype");
    if (config().sparse != sparse)
      throw nb::type_error("the rows must be sparse for a sparse learner, and dense for a dense one");
    if (width != config().width) throw nb::value_error("the rows must have the learner's number of features");
  }
  Learner::Expansion expansion_of(const Rows& points, const RowIn<std::int64_t>& births, const CoefficientsIn& last,
                                  const CoefficientsIn& average, std::int64_t t) const {
    const std::size_t outputs = std::get<0>(last).shape(0), features = std::get<2>(last).shape(1);
    for (const CoefficientsIn& given : {last, average}) {
      const auto& [coefficients, constants, of_features] = given;
      if (coefficients.shape(0) != outputs || coefficients.shape(1) != points.count || constants.shape(0) != outputs ||
          of_features.shape(0) != outputs || of_features.shape(1) != features)
        throw nb::value_error("points, coefficients, constants and random features do not fit together");
    }
    if (births.shape(0) != points.count || outputs == 0 || t < 0)
      throw nb::value_error("there must be one birth for each point");
    if (outputs > 1 && config().task != Task::multiclass) throw nb::value_error("this task has one output only");
    if (features != features_asked(config().recipe))
      throw nb::value_error("the number of random features must be the learner's");
    const auto as = [features](const CoefficientsIn& given) {
      const auto& [coefficients, constants, of_features] = given;
      return Learner::Expansion::Coefficients{coefficients.data(), constants.data(),
                                              features == 0 ? nullptr : of_features.data()};
    };
    return {points, births.data(), as(last), as(average), outputs, t};
  }
  static std::vector<double> lower_half(const RowsIn<double>& square) {
    if (square.shape(0) != square.shape(1)) throw nb::value_error("the information must be a square matrix");
    std::vector<double> half;
    for (std::size_t i = 0; i < square.shape(0); ++i)
      for (std::size_t j = 0; j <= i; ++j) half.push_back(square(i, j));
    return half;
  }
  void check_labels(const double* y, std::size_t n) const {
    for (std::size_t i = 0; i < n && config().task != Task::regression; ++i)
      if (!(y[i] >= 0 && y[i] < (config().task == Task::binary ? 2 : 1 << 20)) || y[i] != static_cast<int>(y[i]))
        throw nb::value_error("labels must be class indices");
  }
  const Config& config() const { return core_->config(); }
  std::unique_ptr<Model> core_;
};

// What experts are made of, and how they come and go.
void bind_experts(nb::class_<PyLearner>& learner);

}  // namespace onkel
