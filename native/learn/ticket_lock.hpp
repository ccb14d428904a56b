// TicketLock: a lock whose holders take turns in the order in which they asked for it, so that a thread that releases
// it between two pieces of work lets those in that wait. (With std::mutex the running thread would mostly get it
// again.)
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace onkel {

class TicketLock {
 public:
  // Throws std::logic_error where this thread holds it already: a part or a kernel that calls its own learner. Throws
  // std::runtime_error where the process was forked while another thread held it: that thread is not here to let go,
  // and what it was changing may be half done.
  void lock();
  void unlock();

 private:
  std::atomic<std::uint64_t> next_{0}, now_{0};
  std::atomic<std::thread::id> holder_{};
  std::atomic<std::uint64_t> forks_{0};  // of this process's ancestry when it was last asked for
};

}  // namespace onkel
