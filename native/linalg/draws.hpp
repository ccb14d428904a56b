// Draws: uniform numbers as a pure function of (seed, kernel, step, purpose, index).
//
// A run then depends neither on how its rows were cut into calls nor on where it was resumed: there is no generator
// state to lose. The bits come from Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011).
#pragma once

#include <array>
#include <cstdint>

namespace onkel {

// What a number is drawn for. The values are part of the file format: never renumber.
enum class Purpose : std::uint32_t { admission = 0, eviction = 1, feature = 2, visit = 3, easy = 4 };

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t low = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t high = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(high),
               static_cast<std::uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(low)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

struct Draws {
  std::uint64_t seed = 0;
  std::uint32_t kernel = 0;  // the kernel's number in a model of several kernels

  // A number in [0, 1) with 53 random bits.
  double uniform(std::int64_t step, Purpose purpose, std::uint32_t index = 0) const {
    const auto t = static_cast<std::uint64_t>(step);
    const auto bits = philox({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(t >> 32), index,
                              kernel << 8 | static_cast<std::uint32_t>(purpose)},
                             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::uint64_t wide = std::uint64_t{bits[0]} << 32 | bits[1];
    return static_cast<double>(wide >> 11) * 0x1p-53;
  }
};

}  // namespace onkel
