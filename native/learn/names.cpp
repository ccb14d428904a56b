#include "learn/names.hpp"

#include <stdexcept>

namespace onkel {

Task task_named(const std::string& name) {
  if (name == "binary") return Task::binary;
  if (name == "multiclass") return Task::multiclass;
  if (name == "regression") return Task::regression;
  throw std::invalid_argument("task must be 'binary', 'multiclass' or 'regression'");
}

Kernel kernel_named(const Spec& spec) {
  if (spec.name == "rbf") return {Base::squared_distance, Shape::exponential, spec.at("gamma"), 0.0, 1};
  if (spec.name == "laplacian") return {Base::manhattan, Shape::exponential, spec.at("gamma"), 0.0, 1};
  if (spec.name == "linear") return {Base::dot, Shape::identity, 1.0, 0.0, 1};
  if (spec.name == "poly")
    return {Base::dot, Shape::polynomial, spec.at("gamma"), spec.at("coef0"), static_cast<int>(spec.at("degree"))};
  if (spec.name == "sigmoid") return {Base::dot, Shape::sigmoid, spec.at("gamma"), spec.at("coef0"), 1};
  unknown_part("kernel", spec);
}

Combination combination_named(const std::string& name) {
  if (name == "uniform") return Combination::uniform;
  if (name == "deterministic") return Combination::deterministic;
  if (name == "stochastic") return Combination::stochastic;
  if (name == "spa") return Combination::spa;
  if (name == "sum") return Combination::sum;
  throw std::invalid_argument("there is no combination called '" + name + "'");
}

}  // namespace onkel
