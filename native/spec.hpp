// Spec: a part as Python names it: its name and its numbers.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace onkel {

struct Spec {
  std::string name;
  std::map<std::string, double> values;

  double at(const std::string& key) const {
    const auto found = values.find(key);
    if (found == values.end()) throw std::invalid_argument("part '" + name + "' lacks '" + key + "'");
    return found->second;
  }
};

[[noreturn]] inline void unknown_part(const char* kind, const Spec& spec) {
  throw std::invalid_argument("there is no " + std::string(kind) + " called '" + spec.name + "'");
}

}  // namespace onkel
