// Team: a few threads that live for one call and sleep between tasks (nobody spins for a thread that has not begun: on
// a shared machine that is slower than none). They start with the first task that is worth sharing; with one member
// everything runs on the caller's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace onkel {

class Team {
 public:
  // The caller, and as many other members as the system has threads for.
  explicit Team(std::size_t members) : wanted_(members) {}
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls work(0) on the caller's thread, and work(member) on the other threads that wake before it has returned. On a
  // busy machine some may not, and the caller does not wait for a thread that has not started; therefore the work is
  // cut into pieces that the members take one by one. An exception in one of them is thrown again here.
  void run(const std::function<void(std::size_t)>& work);
  // Cuts [0, n) into such pieces, whose ends are multiples of `grain`, unless the whole takes so few multiply-adds that
  // waking a thread would take longer. Each phase begins when the one before it has been done for all of [0, n).
  using Work = std::function<void(std::size_t, std::size_t)>;
  void split(std::size_t n, std::size_t grain, std::size_t multiply_adds, std::span<const Work> phases);
  void split(std::size_t n, std::size_t grain, std::size_t multiply_adds, const Work& work) {
    split(n, grain, multiply_adds, std::span(&work, 1));
  }

 private:
  void start();
  void help(std::size_t member);
  void attempt(const std::function<void(std::size_t)>& work, std::size_t member);
  void count_down(std::atomic<std::size_t>& number);
  void wait_for_zero(const std::atomic<std::size_t>& number);

  std::size_t wanted_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t round_ = 0;
  std::atomic<std::size_t> busy_{0};
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> helpers_;
};

}  // namespace onkel
