#include "configs.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "loop/names.hpp"

namespace onkel {
namespace {

// The knots of a feature, and then its values at them.
PiecewiseLinear ranks_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (std::string word; std::getline(words, word, ',');) numbers.push_back(std::stod(word));
  const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  return {{numbers.begin(), half}, {half, numbers.end()}};
}

class Line {
 public:
  explicit Line(const std::string& text) {
    std::istringstream words(text);
    words >> made_.name;
    for (std::string word; words >> word;) take(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    end_factor();
  }
  NamedConfig result() { return std::move(made_); }

 private:
  void take(const std::string& key, const std::string& value) {
    Config& config = made_.config;
    if (key.rfind("recipe", 0) == 0) {
      take_part(config.recipe, key.substr(6), value);
    } else if (key.rfind("factor.", 0) == 0) {
      factor_.values[key.substr(7)] = std::stod(value);
    } else if (key == "task") {
      config.task = task_named(value);
    } else if (key == "dtype") {
      config.type = value == "float32" ? Type::f32 : Type::f64;
    } else if (key == "kernel") {
      end_factor();
      config.kernels.push_back(
          {.terms = {}, .metric = {}, .function = {}, .number = static_cast<std::uint32_t>(std::stoul(value))});
    } else if (key == "scale") {
      config.kernels.back().metric.scales.push_back(std::stod(value));
    } else if (key == "ranks") {
      config.kernels.back().metric.ranks.push_back(ranks_of(value));
    } else if (key == "start") {
      config.hedge->start = static_cast<std::int64_t>(std::stod(value));
    } else if (key == "term") {
      end_factor();
      config.kernels.back().terms.push_back({std::stod(value), {}});
    } else if (key == "factor") {
      end_factor();
      factor_.name = value;
    } else if (key == "hedge") {
      config.hedge = HedgeConfig{};
      config.hedge->combination = combination_named(value);
    } else if (key == "discount") {
      config.hedge->discount = std::stod(value);
    } else if (key == "smoothing") {
      config.hedge->smoothing = std::stod(value);
    } else if (key == "share") {
      config.hedge->share = std::stod(value);
    } else if (key == "zero_votes") {
      config.hedge->zero_votes = std::stod(value) != 0;
    } else if (!set_number(key, value)) {
      throw std::invalid_argument("a learner has no '" + key + "'");
    }
  }
  // "=name" names the part, ".number=value" is one of its numbers, "/part..." goes on in a part that it holds.
  static void take_part(Spec& spec, const std::string& path, const std::string& value) {
    if (path.empty()) {
      spec.name = value;
    } else if (path[0] == '.') {
      spec.values[path.substr(1)] = std::stod(value);
    } else {
      const auto end = std::min(path.find('/', 1), path.find('.', 1));
      take_part(spec.parts[path.substr(1, end - 1)], end == std::string::npos ? "" : path.substr(end), value);
    }
  }
  bool set_number(const std::string& key, const std::string& value) {
    Config& config = made_.config;
    const auto number = [&] { return std::stoull(value); };
    if (key == "sparse") return config.sparse = number() != 0, true;
    if (key == "average") return config.average = number() != 0, true;
    if (key == "constant") return config.constant = number() != 0, true;
    if (key == "n_features") return config.width = number(), true;
    if (key == "n_outputs") return config.outputs = number(), true;
    if (key == "budget") return config.budget = number(), true;
    if (key == "seed") return config.seed = number(), true;
    return false;
  }
  void end_factor() {
    if (factor_.name.empty()) return;
    made_.config.kernels.back().terms.back().factors.push_back(kernel_named(factor_));
    factor_ = {};
  }

  NamedConfig made_;
  Spec factor_;
};

}  // namespace

std::vector<NamedConfig> read_configs(const std::string& path) {
  std::ifstream file(path);
  std::vector<NamedConfig> configs;
  for (std::string line; std::getline(file, line);) configs.push_back(Line(line).result());
  if (configs.empty()) throw std::invalid_argument("'" + path + "' holds no configuration");
  return configs;
}

}  // namespace onkel
