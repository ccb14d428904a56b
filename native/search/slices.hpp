// Work in slices: coroutines that pause where they have done as much counted work as they were given.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace onkel {

// How much work was done, in multiplications with an addition, at how much to pause next, and who pauses.
struct Pace {
  double spent = 0.0, until = 0.0;
  std::coroutine_handle<> innermost;

  // `co_await pace.did(work)` counts work that depends on shapes and numbers of steps alone.
  auto did(double work) {
    struct Pause {
      Pace& pace;
      bool await_ready() const { return pace.spent < pace.until; }
      void await_suspend(std::coroutine_handle<> here) { pace.innermost = here; }
      void await_resume() const {}
    };
    spent += work;
    return Pause{*this};
  }
};

// A coroutine that returns a result. Another one awaits it; the outermost is run by `run`.
template <typename Result>
class [[nodiscard]] Sliced {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    std::optional<Result> result;
    std::exception_ptr error;
    std::coroutine_handle<> caller = std::noop_coroutine();

    Sliced get_return_object() { return Sliced(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Return {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(Handle here) noexcept { return here.promise().caller; }
        void await_resume() noexcept {}
      };
      return Return{};
    }
    void return_value(Result value) { result.emplace(std::move(value)); }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit Sliced(Handle handle) : handle_(handle) {}
  Sliced(Sliced&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Sliced(const Sliced&) = delete;
  Sliced& operator=(const Sliced&) = delete;
  Sliced& operator=(Sliced&&) = delete;
  ~Sliced() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  Result await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return std::move(handle_.promise().result).value();
  }

  // Goes on until so much work was done; returns whether all of it is.
  bool run(Pace& pace, double until) {
    if (handle_.done()) return true;
    pace.until = until;
    (pace.innermost ? std::exchange(pace.innermost, {}) : std::coroutine_handle<>(handle_)).resume();
    return handle_.done();
  }
  Result result() { return await_resume(); }

 private:
  Handle handle_;
};

}  // namespace onkel
