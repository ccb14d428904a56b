#include "configs.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../names.hpp"

namespace onkel {
namespace {

class Line {
 public:
  explicit Line(const std::string& text) {
    std::istringstream words(text);
    words >> made_.name;
    for (std::string word; words >> word;) take(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    end_term();
  }
  NamedConfig made() { return std::move(made_); }

 private:
  void take(const std::string& key, const std::string& value) {
    Config& config = made_.config;
    const auto dot = key.find('.');
    if (dot != std::string::npos) {
      part(key.substr(0, dot)).values[key.substr(dot + 1)] = std::stod(value);
    } else if (key == "task") {
      config.task = task_named(value);
    } else if (key == "dtype") {
      config.type = value == "float32" ? Type::f32 : Type::f64;
    } else if (key == "kernel") {
      end_term();
      config.kernels.push_back({.terms = {}, .function = {}, .stream = static_cast<std::uint32_t>(std::stoul(value))});
    } else if (key == "term") {
      end_term();
      term_.name = value;
    } else if (key == "hedge") {
      config.hedge = HedgeChoice{};
      config.hedge->combination = combination_named(value);
    } else if (key == "discount") {
      config.hedge->discount = std::stod(value);
    } else if (key == "smoothing") {
      config.hedge->smoothing = std::stod(value);
    } else if (key == "radius") {
      config.recipe.radius = std::stod(value);
    } else if (!set_number(key, value)) {
      part(key).name = value;
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
    if (key == "budget_size") return config.budget = number(), true;
    if (key == "batch_size") return config.recipe.period = std::stoll(value), true;
    if (key == "seed") return config.seed = number(), true;
    return false;
  }
  Spec& part(const std::string& name) {
    Recipe& recipe = made_.config.recipe;
    if (name == "loss") return recipe.loss;
    if (name == "admission") return recipe.admission;
    if (name == "step") return recipe.step;
    if (name == "budget") return recipe.budget;
    if (name == "term") return term_;
    throw std::invalid_argument("a learner has no '" + name + "'");
  }
  void end_term() {
    if (term_.name.empty()) return;
    made_.config.kernels.back().terms.push_back({term_.at("weight"), kernel_named(term_)});
    term_ = {};
  }

  NamedConfig made_;
  Spec term_;
};

}  // namespace

std::vector<NamedConfig> read_configs(const std::string& path) {
  std::ifstream file(path);
  std::vector<NamedConfig> configs;
  for (std::string line; std::getline(file, line);) configs.push_back(Line(line).made());
  if (configs.empty()) throw std::invalid_argument("'" + path + "' holds no configuration");
  return configs;
}

}  // namespace onkel
