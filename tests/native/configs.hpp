// Configurations of learners as text, one a line: the tests of the core go through every learner that Python makes
// (tests/native_configs.py writes the lines), and Python's table of them stays the only one.
//
//   NAME task=binary dtype=float64 ... loss=hinge admission=spa admission.alpha=1 ... kernel=0 term=rbf term.gamma=0.5
#pragma once

#include <string>
#include <vector>

#include "experts/make.hpp"
#include "loop/learner.hpp"

namespace onkel {

struct NamedConfig {
  std::string name;
  Config config;
};

// Throws std::invalid_argument for a file that it cannot read.
std::vector<NamedConfig> read_configs(const std::string& path);

}  // namespace onkel
