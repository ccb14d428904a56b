#include "linalg/team.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

namespace onkel {

namespace {

// As many multiply-adds take a few hundred microseconds; a thread wakes within some tens of microseconds.
constexpr std::size_t worth_sharing = std::size_t{1} << 23;
// Pieces that are large enough to be worth taking, and small enough that the last one does not keep the others waiting.
constexpr std::size_t pieces_a_member = 8;
// Some microseconds.
constexpr int looks_before_sleep = 1 << 14;

}  // namespace

void Team::start() {
  try {
    for (std::size_t m = helpers_.size() + 1; m < wanted_; ++m) helpers_.emplace_back([this, m] { help(m); });
  } catch (const std::exception&) {
    // The system has no more threads, or no memory for them: the existing ones do the work.
  }
  wanted_ = helpers_.size() + 1;
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void Team::run(const std::function<void(std::size_t)>& work) {
  start();
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    ++round_;
  }
  start_.notify_all();
  attempt(work, 0);
  {
    const std::lock_guard lock(mutex_);
    work_ = nullptr;
  }
  wait_for_zero(busy_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::attempt(const std::function<void(std::size_t)>& work, std::size_t member) {
  try {
    work(member);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

// Whoever counts down is at work and will mostly be done at once, while to sleep and be woken takes as long as a piece.
void Team::wait_for_zero(const std::atomic<std::size_t>& number) {
  for (int look = 0; look < looks_before_sleep; ++look)
    if (number == 0) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return number == 0; });
}

void Team::count_down(std::atomic<std::size_t>& number) {
  if (--number > 0) return;
  const std::lock_guard lock(mutex_);
  done_.notify_all();
}

void Team::split(std::size_t n, std::size_t grain, std::size_t multiply_adds, std::span<const Work> phases) {
  if (multiply_adds >= worth_sharing) start();
  if (multiply_adds < worth_sharing || helpers_.empty()) {
    for (const Work& work : phases) work(0, n);
    return;
  }
  const std::size_t most = pieces_a_member * (helpers_.size() + 1);
  const std::size_t piece = (n / most + grain) / grain * grain, pieces = (n + piece - 1) / piece;
  struct Phase {
    std::vector<std::atomic_flag> taken;
    std::atomic<std::size_t> left;
    explicit Phase(std::size_t count) : taken(count), left(count) {}
  };
  std::deque<Phase> progress;
  for (std::size_t phase = 0; phase < phases.size(); ++phase) progress.emplace_back(pieces);
  // Each member begins with the pieces that it had last time, which its cache may still hold, and then takes the
  // remaining pieces of the others.
  run([&](std::size_t member) {
    const std::size_t first = member * pieces / (helpers_.size() + 1);
    for (std::size_t phase = 0; phase < phases.size(); ++phase) {
      if (phase > 0) wait_for_zero(progress[phase - 1].left);
      auto& [taken, left] = progress[phase];
      for (std::size_t i = 0; i < pieces; ++i) {
        const std::size_t begin = (first + i) % pieces * piece;
        if (taken[begin / piece].test_and_set()) continue;
        try {
          phases[phase](begin, std::min(n, begin + piece));
        } catch (...) {
          count_down(left);
          throw;
        }
        count_down(left);
      }
    }
  });
}

void Team::help(std::size_t member) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || (round_ != seen && work_ != nullptr); });
    if (stop_) return;
    seen = round_;
    ++busy_;
    const auto* work = work_;
    lock.unlock();
    attempt(*work, member);
    lock.lock();
    if (--busy_ == 0) done_.notify_all();
  }
}

}  // namespace onkel
