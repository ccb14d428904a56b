// A learner among hostile calls: the first bytes choose one of the configurations in the file ONKEL_CONFIGS, the others
// what happens to it. Rows are finite and labels are in range, as Python makes sure; the rest is anybody's guess:
// huge and denormal values, copies, weights, states that somebody changed.
//
// It must never break memory, must throw nothing but what Python turns into a sentence, and a row that is refused must
// leave everything as it was.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "configs.hpp"
#include "fuzz_input.hpp"
#include "streams.hpp"

namespace onkel {
namespace {

bool always() { return true; }

[[noreturn]] void fail(const NamedConfig& named, const char* what) {
  std::fprintf(stderr, "%s: %s\n", named.name.c_str(), what);
  std::abort();
}

double hostile(FuzzInput& input, Type type) {
  static constexpr double wild[] = {0.0,   -0.0,   1.0,     -1.0,     1e-310, -5e-324, 1e-38,  1e-20,
                                    1e10,  -1e10,  1e19,    -1e19,    1e38,   -3e38,   1e150,  -1e155,
                                    1e300, -1e300, 1.7e308, -1.7e308, 0.5,    2.0,     1e-160, 3.0};
  const std::uint8_t kind = input.byte();
  double value = (kind - 128) / 32.0;
  if (kind < 24) value = wild[kind];
  if (kind == 24) value = input.number<double>();
  const double most = type == Type::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  if (std::isnan(value)) return 0.0;
  return std::clamp(value, -most, most);
}

class Session {
 public:
  Session(const NamedConfig& named, FuzzInput& input)
      : named_(named), config_(named.config), input_(input), learner_(config_, make), values_(config_.width) {}

  void run() {
    for (int calls = 0; !input_.empty() && calls < 40; ++calls) {
      switch (input_.byte() % 8) {
        case 0:
          learn_one();
          break;
        case 1:
          learn_rows(1 + input_.below(40));
          break;
        case 2:
          score();
          break;
        case 3:
          learner_.flush();
          break;
        case 4:
          save_and_load();
          break;
        case 5:
          load_changed();
          break;
        case 6:
          learn_copies(1 + input_.below(60));
          break;
        case 7:
          project();
          break;
      }
    }
    project();
  }

 private:
  double label() {
    const std::uint8_t byte = input_.byte();
    if (config_.task == Task::binary) return byte % 2;
    if (config_.task == Task::multiclass) return byte % 4;
    return hostile(input_, Type::f64);
  }
  double weight() {
    const std::uint8_t byte = input_.byte();
    return byte < 200 ? 1.0 : byte < 230 ? 0.0 : std::fabs(hostile(input_, Type::f64));
  }
  void add_row(Stream& stream) {
    if (input_.byte() % 4 != 0)  // otherwise the last row again
      for (double& value : values_) value = hostile(input_, config_.type);
    const double y = label();
    stream.add(values_, y, weight());
  }
  // Python's FloatingPointError: everything before the row is learned, the row is not.
  void try_to_learn(const Stream& stream) {
    const std::int64_t before = learner_.t();
    try {
      learner_.learn(stream.batch(0, stream.size()), nullptr, {2, 8}, always);
    } catch (const Diverged&) {
      if (learner_.t() >= before + static_cast<std::int64_t>(stream.size())) fail(named_, "counts a refused row");
    }
  }
  void learn_one() {
    Stream stream(config_);
    add_row(stream);
    const State before = learner_.save();
    const std::int64_t t = learner_.t();
    const std::size_t outputs = learner_.outputs();
    try_to_learn(stream);
    const bool refused = learner_.t() == t && learner_.outputs() == outputs;
    if (refused && learner_.save() != before) fail(named_, "is changed by a row that it did not learn from");
  }
  void learn_rows(std::size_t n) {
    Stream stream(config_);
    for (std::size_t i = 0; i < n && !input_.empty(); ++i) add_row(stream);
    try_to_learn(stream);
  }
  void learn_copies(std::size_t n) {
    Stream stream(config_);
    const double y = label();
    const bool alternating = config_.task != Task::regression && input_.byte() % 2 == 0;
    for (std::size_t i = 0; i < n; ++i) stream.add(values_, alternating ? double(i % 2) : y);
    try_to_learn(stream);
  }
  void score() {
    Stream stream(config_);
    for (std::size_t i = 0; i < 3; ++i) add_row(stream);
    learner_.score(stream.rows(0, 3), config_.hedge.has_value(), {2, 2}, always);
  }
  void save_and_load() {
    const State state = learner_.save();
    Learner other(config_, make);
    try {
      other.load(state);
    } catch (const std::invalid_argument& error) {
      if (!trusted_) return;  // what somebody changed may have overflowed since
      fail(named_, error.what());
    }
    if (other.save() != state) fail(named_, "is changed by saving");
  }
  // Somebody has changed a file.
  void load_changed() {
    State state = learner_.save();
    for (std::size_t changes = 1 + input_.below(3); changes > 0; --changes) {
      auto at = state.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(input_.below(state.size())));
      Array& array = at->second;
      const std::size_t width = array.columns * size_of(array.type);
      const std::uint8_t kind = input_.byte();
      if (kind % 4 == 0 && array.rows > 0) {
        array.rows -= 1 + input_.below(array.rows);
      } else if (kind % 4 == 1) {
        array.rows += 1 + input_.below(20);
      } else if (!array.bytes.empty()) {
        const std::size_t first = input_.below(array.bytes.size() / size_of(array.type)) * size_of(array.type);
        const auto number = input_.number<std::uint64_t>();
        std::memcpy(array.bytes.data() + first, &number, size_of(array.type));
      }
      array.bytes.resize(array.rows * width);
    }
    try {
      learner_.load(state);
      trusted_ = false;
    } catch (const std::invalid_argument&) {
    }
  }
  void project() {
    const auto [coefficients, outputs] = learner_.coefficients(Which::predicting);
    learner_.norm();
    learner_.bytes();
    if (config_.hedge) {
      learner_.weights();
      learner_.weight_history();
    }
    if (!trusted_) return;
    for (const double coefficient : coefficients)
      if (!std::isfinite(coefficient)) fail(named_, "has a coefficient that is not finite");
    if (bounded() && learner_.size() > config_.budget) fail(named_, "has more points than its budget");
  }

  // Ghosts, the rows of a mini-batch and NPBSGD's law may exceed the budget.
  bool bounded() const {
    if (config_.average || config_.hedge) return false;
    return config_.recipe.name == "SecondOrder" ||
           (config_.recipe.at("batch_size") == 1 && config_.recipe.part("eviction").name != "GrowAtRandom");
  }

  const NamedConfig& named_;
  const Config& config_;
  FuzzInput& input_;
  Learner learner_;
  std::vector<double> values_;
  bool trusted_ = true;  // no state of somebody else's was loaded
};

}  // namespace
}  // namespace onkel

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto configs = [] {
    const char* path = std::getenv("ONKEL_CONFIGS");
    return onkel::read_configs(path == nullptr ? "" : path);
  }();
  onkel::FuzzInput input(data, size);
  const auto& named = configs[input.below(configs.size())];
  try {
    onkel::Session(named, input).run();
  } catch (const onkel::Diverged&) {
  }
  return 0;
}
