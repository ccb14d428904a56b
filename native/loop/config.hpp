// Config: what a learner is made of, as numbers and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "basis/pool.hpp"
#include "linalg/archive.hpp"
#include "loop/spec.hpp"

namespace onkel {

// What the learner predicts.
enum class Task { binary, multiclass, regression };

// How several kernels make a prediction (experts/hedge.hpp).
enum class Combination { uniform, deterministic, stochastic, spa, sum };

struct HedgeConfig {
  Combination combination = Combination::deterministic;
  double discount = 0.99;    // gamma in the paper
  double smoothing = 0.001;  // delta in the paper
  double share = 0.0;        // alpha of the fixed share
  std::int64_t start = 0;    // for a sum: the number of first rows that do not move the weights
  bool zero_votes = false;   // for two classes: a score of exactly 0 is a vote for the first class, not a mistake
};

struct Config {
  Spec recipe;
  std::vector<KernelConfig> kernels;  // one, or any number with a hedge over them
  std::optional<HedgeConfig> hedge;
  Task task = Task::binary;
  Type type = Type::f64;    // of rows and kernel values
  bool sparse = false;      // whether rows are CSR
  std::size_t width = 0;    // features
  std::size_t outputs = 1;  // 1, or the classes known so far
  std::size_t budget = 0;
  bool average = false;
  bool constant = false;
  std::uint64_t seed = 0;
  // Whether the function is one weight for each feature; where it is not said, who makes the learner decides, once.
  std::optional<bool> weights = {};
};

}  // namespace onkel
