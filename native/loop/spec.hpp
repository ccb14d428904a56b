// Spec: a part as it is described outside the core: its name, its numbers, and the parts that it holds. A recipe is a
// Spec too.
#pragma once

#include <algorithm>
#include <any>
#include <map>
#include <stdexcept>
#include <string>

namespace onkel {

struct Spec {
  std::string name;
  std::map<std::string, double> values;
  std::map<std::string, Spec> parts;
  std::any maker;  // the factory of a part that is written outside the core (see `make_...` of each kind)

  // Whether this part, or one that it holds, is written outside the core.
  bool is_foreign() const {
    return maker.has_value() ||
           std::any_of(parts.begin(), parts.end(), [](const auto& held) { return held.second.is_foreign(); });
  }
  double at(const std::string& key) const {
    const auto found = values.find(key);
    if (found == values.end()) throw std::invalid_argument("part '" + name + "' lacks '" + key + "'");
    return found->second;
  }
  const Spec& part(const std::string& key) const {
    const auto found = parts.find(key);
    if (found == parts.end()) throw std::invalid_argument("part '" + name + "' lacks the part '" + key + "'");
    return found->second;
  }
};

[[noreturn]] inline void unknown_part(const char* kind, const Spec& spec) {
  throw std::invalid_argument("there is no " + std::string(kind) + " called '" + spec.name + "'");
}

}  // namespace onkel
