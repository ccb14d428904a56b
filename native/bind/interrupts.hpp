// InterruptCheck: whether long work should continue, or the user has pressed Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace onkel {

// Lets Ctrl-C through now and then: it is called once per block, and checks at most fifty times a second.
class InterruptCheck {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return true;
    last_ = now;
    const nanobind::gil_scoped_acquire lock;
    interrupted_ = PyErr_CheckSignals() != 0;
    return !interrupted_;
  }
  void raise_if_interrupted() const {
    if (interrupted_) throw nanobind::python_error();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool interrupted_ = false;
};

}  // namespace onkel
