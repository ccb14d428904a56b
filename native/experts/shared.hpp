// Shared: a learner that several models may hold. It is copied by the one that is about to change it while others hold
// it too, so that a copy of a model of many experts costs those that learn a row before the next copy.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "loop/learner.hpp"

namespace onkel {

class Shared {
 public:
  explicit Shared(std::unique_ptr<Learner> learner) : held_(new Held{std::move(learner)}) {}
  Shared(const Shared& other) : held_(other.held_) { held_->holders.fetch_add(1, std::memory_order_relaxed); }
  Shared(Shared&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Shared() {
    if (held_ != nullptr && held_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
  }

  const Learner& operator*() const { return *held_->learner; }
  const Learner* operator->() const { return held_->learner.get(); }
  // To be changed, of which nobody else sees anything. Whoever let go of it before has finished with it.
  Learner& own() {
    if (held_->holders.load(std::memory_order_acquire) > 1) *this = Shared(held_->learner->clone());
    return *held_->learner;
  }

 private:
  struct Held {
    std::unique_ptr<Learner> learner;
    std::atomic<std::size_t> holders{1};
  };
  Held* held_;
};

}  // namespace onkel
