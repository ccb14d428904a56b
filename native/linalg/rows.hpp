// Rows: a view of the caller's rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onkel {

// Rows as the caller holds them, of the basis's own type: dense in C order, or CSR with ascending indices.
struct Rows {
  const void* values = nullptr;
  std::size_t count = 0;
  std::size_t width = 0;
  const std::int64_t* offsets = nullptr;  // CSR only
  const std::int32_t* indices = nullptr;
};

}  // namespace onkel
