// Every learner by itself, apart from Python: chunks, threads, saving and predicting beside learning do not change a
// bit of it. Under ThreadSanitizer this is also the proof that no call disturbs another.
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "configs.hpp"
#include "experts/experts.hpp"
#include "streams.hpp"

namespace onkel {
namespace {

constexpr std::size_t n_rows = 150;

bool always() { return true; }

Stream make_stream(const Config& config) {
  Stream stream(config);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(config.width);
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (random() % 8 != 0)  // otherwise the last row again
      for (double& value : values) value = random() % 4 == 0 ? 0.0 : normal(random);
    const double score = values[0] * values[1] + 0.3 * normal(random);
    const double y = config.task == Task::regression ? score
                     : config.task == Task::binary   ? double(score > 0)
                                                     : double(score > 0) + double(score > 0.5);
    stream.add(values, y, random() % 10 == 0 ? 0.0 : 1.0);
  }
  return stream;
}

// Up to the row that it cannot learn from, if there is one: with some kernels some learners diverge.
void learn(Model& model, const Stream& stream, std::size_t begin, std::size_t end, std::size_t chunk,
           const Model::Execution& execution) {
  try {
    for (; begin < end; begin += chunk)
      model.learn(stream.batch(begin, std::min(end, begin + chunk)), nullptr, execution, always);
  } catch (const Diverged&) {
  }
}

void look_at(const Learner& learner) {
  learner.coefficients(Which::predicting);
  learner.norm();
}
void look_at(const Experts& experts) { experts.regions(); }

// Of models as `fresh` makes them.
template <class Fresh>
const char* error(const Config& config, const Fresh& fresh) {
  const Stream stream = make_stream(config);
  const auto row_by_row = fresh(), by_two = fresh(), saved = fresh(), beside = fresh();
  const Model::Execution one{1, 48}, two{2, 8};
  learn(*row_by_row, stream, 0, n_rows, 1, one);
  const State expected = row_by_row->save();

  learn(*by_two, stream, 0, n_rows, n_rows, two);
  if (by_two->save() != expected) return "two threads change it";

  const Rows rows = stream.rows(0, n_rows);
  if (by_two->score(rows, false, two, always).values != row_by_row->score(rows, false, one, always).values)
    return "two threads change its scores";

  learn(*saved, stream, 0, n_rows / 2, 37, one);
  const auto loaded = fresh();
  loaded->load(saved->save());
  if (expected.at("t") != saved->save().at("t")) learn(*loaded, stream, n_rows / 2, n_rows, 37, one);
  if (loaded->save() != expected) return "saving changes it";

  std::atomic<bool> learning = true;
  std::thread other([&] {
    learn(*beside, stream, 0, n_rows, 20, two);
    learning = false;
  });
  bool copies_stay = true;
  do {
    const auto copy = beside->copy();
    const State copied = copy->save();
    beside->score(rows, config.hedge.has_value(), two, always);
    beside->save();
    beside->points();
    beside->bytes();
    look_at(*beside);
    copy->score(rows, config.hedge.has_value(), two, always);
    copies_stay = copies_stay && copy->save() == copied;
  } while (learning);
  other.join();
  if (!copies_stay) return "learning changes a copy";
  if (beside->save() != expected) return "predicting beside learning changes it";
  return nullptr;
}

// A learner, and two experts of the root with a side that has one of its own.
const char* error(const Config& config) {
  if (const char* found = error(config, [&] { return std::make_unique<Learner>(config, make); })) return found;
  if (config.hedge) return nullptr;
  const Learner blank(config, make);
  const Learner* side = &blank;
  return error(config, [&] {
    std::vector<std::unique_ptr<Learner>> roots;
    for (int i = 0; i < 2; ++i) roots.push_back(blank.blank());
    const std::vector<double> three{0.25, 0.25, 0.5}, two{0.5, 0.5};
    return Experts(std::move(roots), 0).divided(0, {{1}, {0.1}}, {{&side, 1}, three}, {{}, two});
  });
}

}  // namespace
}  // namespace onkel

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: test_learner CONFIGS\n");
    return 2;
  }
  int failed = 0;
  const auto configs = onkel::read_configs(words[1]);
  for (const auto& [name, config] : configs)
    if (const char* error = onkel::error(config)) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), error);
      failed = 1;
    }
  std::printf("%zu learners\n", configs.size());
  return failed;
}
