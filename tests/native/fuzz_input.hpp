// The bytes of a fuzzer as numbers; when they have run out, zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace onkel {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  std::size_t rest() const { return size_; }
  const std::uint8_t* data() const { return data_; }

  std::uint8_t byte() { return number<std::uint8_t>(); }
  std::size_t below(std::size_t n) { return number<std::uint16_t>() % n; }
  template <class T>
  T number() {
    T value{};
    const std::size_t n = std::min(size_, sizeof(T));
    if (n > 0) std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace onkel
