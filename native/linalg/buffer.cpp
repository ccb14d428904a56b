#include "linalg/buffer.hpp"

#include <array>
#include <utility>

namespace onkel {
namespace {

constexpr std::align_val_t line{isa::tile_bytes};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t largest_spare = 0;  // whoever looks for errors of memory sees every release
#else
constexpr std::size_t largest_spare = std::size_t{1} << 16;
#endif

struct Spare {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

thread_local bool ended = false;  // memory may be released after the thread's own objects
struct Spares {
  std::array<Spare, 8> all;
  std::size_t oldest = 0;
  ~Spares() {
    ended = true;
    for (const Spare& spare : all) ::operator delete(spare.memory, line);
  }
};
thread_local Spares spares;

}  // namespace

void* take_lines(std::size_t bytes) {
  if (bytes <= largest_spare && !ended)
    for (Spare& spare : spares.all)
      if (spare.memory != nullptr && spare.bytes == bytes) return std::exchange(spare.memory, nullptr);
  return ::operator new(bytes, line);
}

void release_lines(void* memory, std::size_t bytes) {
  if (bytes <= largest_spare && !ended) {
    Spare& spare = spares.all[spares.oldest++ % spares.all.size()];
    std::swap(memory, spare.memory);
    spare.bytes = bytes;
  }
  ::operator delete(memory, line);
}

}  // namespace onkel
