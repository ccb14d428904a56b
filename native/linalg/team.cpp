#include "linalg/team.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

namespace onkel {

namespace {

// As many multiply-adds take a few hundred microseconds; a thread wakes within some tens of microseconds.
constexpr std::size_t worth_sharing = std::size_t{1} << 23;
// Pieces that are large enough to be worth taking, and small enough that the last one does not keep the others waiting.
constexpr std::size_t pieces_a_member = 4;

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
  std::unique_lock lock(mutex_);
  work_ = nullptr;
  done_.wait(lock, [this] { return busy_ == 0; });
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

void Team::split(std::size_t n, std::size_t grain, std::size_t multiply_adds,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  if (multiply_adds >= worth_sharing) start();
  if (multiply_adds < worth_sharing || helpers_.empty()) {
    work(0, n);
    return;
  }
  const std::size_t most = pieces_a_member * (helpers_.size() + 1);
  const std::size_t piece = (n / most + grain) / grain * grain, pieces = (n + piece - 1) / piece;
  // Each member begins with the pieces that it had last time, which its cache may still hold, and then takes the
  // remaining pieces of the others.
  std::vector<std::atomic_flag> taken(pieces);
  run([&](std::size_t member) {
    const std::size_t first = member * pieces / (helpers_.size() + 1);
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t begin = (first + i) % pieces * piece;
      if (!taken[begin / piece].test_and_set()) work(begin, std::min(n, begin + piece));
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
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace onkel
