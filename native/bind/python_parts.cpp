#include "bind/python_parts.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "first_order/admission.hpp"
#include "first_order/evictions/eviction.hpp"
#include "first_order/loss.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace onkel {
namespace {

template <class T>
nb::ndarray<nb::numpy, T> array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}
nb::ndarray<nb::numpy, double> vector(std::span<const double> values) {
  return array(std::vector<double>(values.begin(), values.end()), {values.size()});
}

double number(const nb::object& value) { return static_cast<double>(nb::float_(value)); }

std::string text(double value) { return nb::cast<std::string>(nb::repr(nb::float_(value))); }

// An object that is passed to a method is valid during the call, and closed after it.
template <class Seen>
class View {
 public:
  explicit View(Seen& seen) : seen_(&seen) {}
  void close() { seen_ = nullptr; }

 protected:
  Seen& seen() const {
    if (seen_ == nullptr)
      throw std::runtime_error("this object may be used only during the call that it was passed to");
    return *seen_;
  }

 private:
  Seen* seen_;
};

template <class V>
class ScopedView {
 public:
  template <class... Arguments>
  explicit ScopedView(Arguments&&... arguments)
      : view_(new V(std::forward<Arguments>(arguments)...)), object_(nb::cast(view_, nb::rv_policy::take_ownership)) {}
  ~ScopedView() { view_->close(); }
  ScopedView(const ScopedView&) = delete;
  ScopedView& operator=(const ScopedView&) = delete;
  const nb::object& object() const { return object_; }

 private:
  V* view_;
  nb::object object_;
};

class RowView : public View<const Scored> {
 public:
  using View::View;
  const Scored& row() const { return seen(); }
  double self_kernel() const { return with_values().self(); }
  // The kernel values at the support vectors, in the order of Points.slots.
  nb::ndarray<nb::numpy, double> kernel_row() const {
    const Scored& row = with_values();
    std::vector<double> all(row.basis->columns()), values;
    row.basis->values(*row.block, row.row, all);
    for (const std::size_t slot : row.basis->alive_slots()) values.push_back(all[slot]);
    return vector(values);
  }

 private:
  // At the end of a mini-batch there are several rows, or none.
  const Scored& with_values() const {
    if (seen().block == nullptr || seen().block->count == 0) throw std::runtime_error("there is no row here");
    return seen();
  }
};

// ---- Losses and admissions --------------------------------------------------------------------------------------

ForeignCurve make_curve(const SharedObject& part, const std::string& name) {
  return [part, name](double z) {
    const nb::gil_scoped_acquire lock;
    const auto ask = [&](const char* what) {
      const double answer = number(part->attr(what)(z));
      if (!std::isfinite(answer) || (answer < 0 && std::string(what) != "slope"))
        throw std::invalid_argument(name + "." + what + " must be a number" +
                                    (std::string(what) == "slope" ? "" : " of at least 0") + ", got " + text(answer) +
                                    " at z = " + text(z));
      return answer;
    };
    return CurvePoint{ask("value"), ask("slope"), ask("curvature")};
  };
}

class PythonAdmission final : public CopiedAdmission<PythonAdmission> {
 public:
  PythonAdmission(SharedObject part, std::string name) : part_(std::move(part)), name_(std::move(name)) {}
  double probability(Scored& row) const override {
    const nb::gil_scoped_acquire lock;
    const ScopedView<RowView> view(row);
    const double p = number(part_->attr("probability")(view.object()));
    if (!(p >= 0 && p <= 1))
      throw std::invalid_argument(name_ + ".probability must be between 0 and 1, got " + text(p) + " at row " +
                                  std::to_string(row.position) + " of the stream");
    return p;
  }

 private:
  SharedObject part_;
  std::string name_;
};

// ---- Evictions --------------------------------------------------------------------------------------------------

// Shared by all learners with the same part.
struct EvictionSource {
  SharedObject part;
  std::string name;
  bool evicts, reweights, row_by_row;
};

class PythonEviction final : public Eviction {
 public:
  PythonEviction(std::shared_ptr<EvictionSource> source, const EvictionContext& context)
      : Eviction(context), source_(std::move(source)) {}

  Newcomer absorb(Scored& row) override;
  void restore_budget(const Scored& row, std::size_t newest) override;
  void idle(const Scored& row) override;
  bool evicts() const override { return source_->evicts; }
  void visit(Archive& archive) override;
  std::unique_ptr<Eviction> clone(const EvictionContext& context) const override;

  // For the views.
  const EvictionContext& context() const { return context_; }
  const EvictionSource& source() const { return *source_; }
  std::size_t first_slot() const { return context_.basis.first_slot(); }
  std::size_t checked_slot(std::int64_t number) const;
  void leave(std::int64_t number) { evict(checked_slot(number)); }
  void add(std::int64_t number, const std::vector<double>& coefficients);
  void stretch(double factor);

 private:
  using Field = std::variant<std::vector<double>, std::vector<std::int64_t>>;
  using Fields = std::map<std::string, Field>;

  nb::object& part();
  Fields state();
  void give(const Fields& state);

  std::shared_ptr<EvictionSource> source_;
  // This learner's own copy of the part, created at its first use.
  SharedObject part_;
  std::optional<Fields> waiting_;  // a state that the copy has not been given yet
};

class PointsView : public View<PythonEviction> {
 public:
  PointsView(PythonEviction& eviction, std::int64_t t) : View(eviction), t_(t) {}

  std::size_t size() const { return basis().size(); }
  std::size_t outputs() const { return function().outputs(); }
  std::size_t budget() const { return seen().context().budget; }
  bool too_many() const { return size() > budget(); }
  nb::ndarray<nb::numpy, std::int64_t> slots() const {
    return each<std::int64_t>([&](std::size_t slot) { return static_cast<std::int64_t>(slot - basis().first_slot()); });
  }
  nb::ndarray<nb::numpy, std::int64_t> births() const {
    return each<std::int64_t>([&](std::size_t slot) { return basis().born(slot); });
  }
  nb::ndarray<nb::numpy, double> coefficients() const {
    std::vector<double> values;
    for (const std::size_t slot : basis().alive_slots())
      for (std::size_t o = 0; o < outputs(); ++o) values.push_back(function().last_coefficient(slot, o));
    return array(std::move(values), {size(), outputs()});
  }
  nb::ndarray<nb::numpy, double> kernel_row(std::int64_t number) const {
    std::vector<double> all(basis().columns());
    Block scratch;
    basis().row_of(seen().checked_slot(number), scratch, all);
    return each<double>([&](std::size_t slot) { return all[slot]; });
  }
  double self_kernel(std::int64_t number) const { return basis().self_kernel(seen().checked_slot(number), 0); }
  double uniform(std::uint32_t index) const { return seen().context().draws.uniform(t_, Purpose::eviction, index); }
  void evict(std::int64_t number) { seen().leave(number); }
  void add(std::int64_t number, const std::vector<double>& coefficients) { seen().add(number, coefficients); }
  void scale(double factor) { seen().stretch(factor); }

 private:
  const Basis& basis() const { return seen().context().basis; }
  const Function& function() const { return seen().context().function; }
  template <class T, class Value>
  nb::ndarray<nb::numpy, T> each(const Value& value) const {
    std::vector<T> values;
    for (const std::size_t slot : basis().alive_slots()) values.push_back(value(slot));
    const std::size_t n = values.size();
    return array(std::move(values), {n});
  }
  std::int64_t t_;
};

Newcomer PythonEviction::absorb(Scored& row) {
  const nb::gil_scoped_acquire lock;
  const ScopedView<PointsView> points(*this, row.t);
  const ScopedView<RowView> view(row);
  const nb::object answer = part().attr("absorb")(points.object(), view.object());
  const std::string said = nb::cast<std::string>(nb::str(answer));
  if (said == "insert") return Newcomer::inserted;
  if (said == "refuse") return Newcomer::refused;
  if (said != "absorbed")
    throw std::invalid_argument(source_->name + ".absorb must return 'insert', 'refuse' or 'absorbed', got " +
                                nb::cast<std::string>(nb::repr(answer)));
  if (!source_->row_by_row)
    throw std::invalid_argument(source_->name +
                                " has absorbed a row, and does not say so: its row_by_row must be true");
  return Newcomer::absorbed;
}

void PythonEviction::restore_budget(const Scored& row, std::size_t newest) {
  const nb::gil_scoped_acquire lock;
  const ScopedView<PointsView> points(*this, row.t);
  const ScopedView<RowView> view(row);
  part().attr("restore_budget")(points.object(), view.object(), newest - first_slot());
  if (too_many())
    throw std::invalid_argument(source_->name + ".restore_budget left " + std::to_string(context_.basis.size()) +
                                " support vectors, and the budget is " + std::to_string(context_.budget));
}

void PythonEviction::idle(const Scored& row) {
  const nb::gil_scoped_acquire lock;
  const ScopedView<PointsView> points(*this, row.t);
  const ScopedView<RowView> view(row);
  part().attr("idle")(points.object(), view.object());
}

std::size_t PythonEviction::checked_slot(std::int64_t number) const {
  const std::size_t slot = first_slot() + static_cast<std::size_t>(number);
  if (number < 0 || slot >= context_.basis.end_slot() || !context_.basis.alive(slot))
    throw std::out_of_range("there is no support vector in slot " + std::to_string(number));
  return slot;
}

void PythonEviction::add(std::int64_t number, const std::vector<double>& coefficients) {
  const std::size_t slot = checked_slot(number);
  if (!source_->reweights)
    throw std::invalid_argument(source_->name +
                                " changes the coefficients of points that stay, and does not say so: its reweights "
                                "must be true");
  if (coefficients.size() != context_.function.outputs())
    throw std::invalid_argument("add takes one coefficient for each of the " +
                                std::to_string(context_.function.outputs()) + " outputs, got " +
                                std::to_string(coefficients.size()));
  for (std::size_t o = 0; o < coefficients.size(); ++o) {
    if (!std::isfinite(coefficients[o]))
      throw std::invalid_argument("add takes finite coefficients, got " + text(coefficients[o]));
    if (coefficients[o] != 0) context_.function.add(slot, o, coefficients[o]);
  }
}

void PythonEviction::stretch(double factor) {
  if (!(factor >= 0 && std::isfinite(factor)))
    throw std::invalid_argument("scale takes a finite factor of at least 0, got " + text(factor));
  scale(factor);
}

nb::object& PythonEviction::part() {
  if (!part_) part_ = keep(nb::module_::import_("copy").attr("deepcopy")(*source_->part));
  if (waiting_) {
    give(*waiting_);
    waiting_.reset();
  }
  return *part_;
}

void PythonEviction::give(const Fields& state) {
  nb::dict given;
  for (const auto& [name, field] : state)
    std::visit([&](const auto& values) { given[name.c_str()] = array(values, {values.size()}); }, field);
  part_->attr("set_state")(given);
}

PythonEviction::Fields PythonEviction::state() {
  const nb::object numpy = nb::module_::import_("numpy");
  Fields fields;
  for (const auto& [key, value] : nb::cast<nb::dict>(part().attr("state")())) {
    const auto name = nb::cast<std::string>(key);
    const nb::object given = numpy.attr("ascontiguousarray")(value);
    const auto type = nb::cast<std::string>(given.attr("dtype").attr("str"));
    if ((type != "<i8" && type != "<f8") || nb::cast<int>(given.attr("ndim")) != 1)
      throw std::invalid_argument(
          source_->name + ".state must return arrays of one dimension, float64 or int64, and '" + name + "' is not");
    const nb::object values = given.attr("tolist")();
    fields.emplace(name, type == "<i8" ? Field(nb::cast<std::vector<std::int64_t>>(values))
                                       : Field(nb::cast<std::vector<double>>(values)));
  }
  return fields;
}

// A copy is given the state at its next use: should it be thrown away, no Python code runs for it.
std::unique_ptr<Eviction> PythonEviction::clone(const EvictionContext& context) const {
  const nb::gil_scoped_acquire lock;
  auto copy = std::make_unique<PythonEviction>(source_, context);
  copy->waiting_ = waiting_ ? *waiting_ : const_cast<PythonEviction&>(*this).state();
  return copy;
}

// On loading, a fresh part says which fields there are.
void PythonEviction::visit(Archive& archive) {
  const nb::gil_scoped_acquire lock;
  Fields fields = state();
  for (auto& [name, field] : fields) std::visit([&](auto& values) { archive.array(name, values); }, field);
  if (archive.loading() && !fields.empty()) give(fields);
}

}  // namespace

SharedObject keep(nb::object object) {
  return SharedObject(new nb::object(std::move(object)), [](nb::object* kept) {
    const nb::gil_scoped_acquire lock;
    delete kept;
  });
}

std::any maker_of(const nb::object& part) {
  const auto kind = nb::cast<std::string>(part.attr("kind"));
  const auto name = nb::cast<std::string>(part.type().attr("__name__"));
  const SharedObject kept = keep(part);
  if (kind == "loss") return make_curve(kept, name);
  if (kind == "admission")
    return AdmissionMaker([kept, name] { return std::make_unique<PythonAdmission>(kept, name); });
  if (kind != "eviction") throw nb::value_error("a part in Python is a loss, an admission or an eviction");
  const auto says = [&](const char* fact) { return nb::cast<bool>(part.attr(fact)); };
  const auto source = std::make_shared<EvictionSource>(
      EvictionSource{kept, name, says("evicts"), says("reweights"), says("row_by_row")});
  return EvictionMaker(
      [source](const EvictionContext& context) { return std::make_unique<PythonEviction>(source, context); });
}

void bind_views(nb::module_& module) {
  nb::class_<RowView>(module, "Row")
      .def_prop_ro("t", [](const RowView& self) { return self.row().t; })
      .def_prop_ro("y", [](const RowView& self) { return self.row().y; })
      .def_prop_ro("weight", [](const RowView& self) { return self.row().weight; })
      .def_prop_ro(
          "scores", [](const RowView& self) { return vector(self.row().f); }, nb::rv_policy::automatic)
      .def_prop_ro("z", [](const RowView& self) { return self.row().z; })
      .def_prop_ro("loss", [](const RowView& self) { return self.row().loss; })
      .def_prop_ro(
          "gradient", [](const RowView& self) { return vector(self.row().g); }, nb::rv_policy::automatic)
      .def_prop_ro("mistake", [](const RowView& self) { return self.row().mistake; })
      .def_prop_ro(
          "coefficients", [](const RowView& self) { return vector(self.row().coefficient); }, nb::rv_policy::automatic)
      .def_prop_ro("self_kernel", &RowView::self_kernel)
      .def_prop_ro("kernel_row", &RowView::kernel_row, nb::rv_policy::automatic);
  nb::class_<PointsView>(module, "Points")
      .def("__len__", &PointsView::size)
      .def_prop_ro("budget", &PointsView::budget)
      .def_prop_ro("too_many", &PointsView::too_many)
      .def_prop_ro("n_outputs", &PointsView::outputs)
      .def_prop_ro("slots", &PointsView::slots, nb::rv_policy::automatic)
      .def_prop_ro("births", &PointsView::births, nb::rv_policy::automatic)
      .def_prop_ro("coefficients", &PointsView::coefficients, nb::rv_policy::automatic)
      .def("kernel_row", &PointsView::kernel_row, "slot"_a)
      .def("self_kernel", &PointsView::self_kernel, "slot"_a)
      .def("uniform", &PointsView::uniform, "index"_a = 0)
      .def("evict", &PointsView::evict, "slot"_a)
      .def("add", &PointsView::add, "slot"_a, "coefficients"_a)
      .def("scale", &PointsView::scale, "factor"_a);
}

}  // namespace onkel
