#include "team.hpp"

#include <algorithm>

namespace onkel {

Team::Team(std::size_t members) {
  for (std::size_t m = 1; m < members; ++m) helpers_.emplace_back([this, m] { help(m); });
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
  if (!helpers_.empty()) {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = helpers_.size();
    ++round_;
    start_.notify_all();
  }
  work(0);
  if (!helpers_.empty()) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }
}

void Team::split(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& work) {
  if (helpers_.empty()) {
    work(0, n);
    return;
  }
  const std::size_t share = (n / members() + grain) / grain * grain;
  run([&](std::size_t member) {
    const std::size_t begin = std::min(n, member * share);
    const std::size_t end = member + 1 == members() ? n : std::min(n, begin + share);
    if (begin < end) work(begin, end);
  });
}

void Team::help(std::size_t member) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    const auto* work = work_;
    lock.unlock();
    (*work)(member);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace onkel
