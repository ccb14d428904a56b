#include "loop/ticket_lock.hpp"

#include <stdexcept>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace onkel {
namespace {

std::atomic<std::uint64_t> forks{0};
#if !defined(_WIN32)  // which does not fork
[[maybe_unused]] const int counted =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
#endif

}  // namespace

void TicketLock::lock() {
  if (holder_.load(std::memory_order_relaxed) == std::this_thread::get_id())
    throw std::logic_error("a kernel or a part must not use the learner that it is part of");
  const std::uint64_t present = forks.load(std::memory_order_relaxed);
  if (forks_.load(std::memory_order_relaxed) != present) {
    if (next_.load(std::memory_order_relaxed) != now_.load(std::memory_order_relaxed))
      throw std::runtime_error(
          "this learner was at work in another thread when the process was forked, and may be half-way through a row: "
          "use a copy made before the fork, or fork while nothing learns");
    forks_.store(present, std::memory_order_relaxed);
  }
  const std::uint64_t ticket = next_.fetch_add(1);
  for (std::uint64_t now = now_.load(); now != ticket; now = now_.load()) now_.wait(now);
  holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void TicketLock::unlock() {
  holder_.store({}, std::memory_order_relaxed);
  now_.fetch_add(1);
  now_.notify_all();
}

}  // namespace onkel
