#include "loop/names.hpp"

#include <stdexcept>

namespace onkel {

Task task_named(const std::string& name) {
  if (name == "binary") return Task::binary;
  if (name == "multiclass") return Task::multiclass;
  if (name == "regression") return Task::regression;
  throw std::invalid_argument("task must be 'binary', 'multiclass' or 'regression'");
}

Kernel kernel_named(const Spec& spec) {
  const auto number = [&](const char* key, double otherwise) {
    return spec.values.contains(key) ? spec.at(key) : otherwise;
  };
  for (const NamedKernel& named : named_kernels)
    if (spec.name == named.name)
      return {named.base, named.shape, number("gamma", 1.0), number("coef0", 0.0),
              static_cast<int>(number("degree", 1))};
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
