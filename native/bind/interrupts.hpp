// InterruptCheck: whether long work should continue, or the user has pressed Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>

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
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return true;
    last_ = now;
    const nanobind::gil_scoped_acquire lock;
    interrupted_ = PyErr_CheckSignals() != 0;
    if (!interrupted_ && cancellation_ != nullptr && cancellation_->is_cancelled()) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      interrupted_ = true;
    }
    return !interrupted_;
  }
  void raise_if_interrupted() const {
    if (interrupted_) throw nanobind::python_error();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  const Cancellation* cancellation_ = Cancellation::of_this_thread;
  bool interrupted_ = false;
};

}  // namespace onkel
