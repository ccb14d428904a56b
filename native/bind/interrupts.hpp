// InterruptCheck: whether long work should continue, or the user has pressed Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace onkel {

// Signals reach the main thread alone. Calls that other threads make on its behalf, between `enter` and `leave`, stop
// when it cancels them.
class Cancellation {
 public:
  void cancel() { cancelled_ = true; }
  bool is_cancelled() const { return cancelled_; }
  void enter() const { of_this_thread = this; }
  static void leave() { of_this_thread = nullptr; }

  static inline thread_local const Cancellation* of_this_thread = nullptr;

 private:
  std::atomic<bool> cancelled_{false};
};

// Lets Ctrl-C through now and then: it is called once per block, and checks at most fifty times a second.
class InterruptCheck {
 public:
  bool operator()() {
    if (interrupted_) return false;  // the exception is set: who asks once more must not be told to go on
    const auto now = std::chrono::steady_clock::now();
    const std::int64_t left = checks_left == no_test ? no_test : checks_left.fetch_sub(1);
    if (left == no_test && now - last_ < std::chrono::milliseconds(20)) return true;
    last_ = now;
    const nanobind::gil_scoped_acquire lock;
    interrupted_ = PyErr_CheckSignals() != 0;
    if (!interrupted_ && (left == 1 || (cancellation_ != nullptr && cancellation_->is_cancelled()))) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      interrupted_ = true;
    }
    return !interrupted_;
  }
  void raise_if_interrupted() const {
    if (interrupted_) throw nanobind::python_error();
  }

  // For tests, which interrupt by no clock: the check that this counts down to finds a Ctrl-C, and none is left out.
  static constexpr std::int64_t no_test = std::numeric_limits<std::int64_t>::max();
  static inline std::atomic<std::int64_t> checks_left{no_test};

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  const Cancellation* cancellation_ = Cancellation::of_this_thread;
  bool interrupted_ = false;
};

}  // namespace onkel
