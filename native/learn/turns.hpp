// Turns: a lock whose holders come in the order of asking: who lets go of it between two pieces of work and asks again
// lets in who waits. (With std::mutex the one that runs would mostly have it again.)
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace onkel {

class Turns {
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
