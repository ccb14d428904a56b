// TicketLock: a lock whose holders take turns in the order in which they asked for it, so that a thread that releases
// it between two pieces of work lets waiting threads in. (With std::mutex the running thread would usually get it
// again.)
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace onkel {

class TicketLock {
 public:
  // Throws std::logic_error if this thread holds it already: a part or a kernel that calls its own learner. Throws
  // std::runtime_error if the process was forked while another thread held it: that thread does not exist here to
  // release it, and what it was changing may be half done.
  void lock();
  void unlock();

 private:
  std::atomic<std::uint64_t> next_{0}, now_{0};
  std::atomic<std::thread::id> holder_{};
  std::atomic<std::uint64_t> forks_{0};  // the number of forks in this process's ancestry when it was last acquired
};

}  // namespace onkel
