// LIBSVM text to sparse rows: "label [qid:n] index:value index:value ... [# comment]", one row per line.
//
// The reader is strict: indices ascend, numbers are finite, and anything else in a line is an error with its line, its
// column and what was expected. Lines that contain only blanks or a comment are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onkel {

struct LibsvmRules {
  bool labelled = true;     // otherwise a line may lack its label, and a label is ignored
  bool zero_based = false;  // the first feature has the index 0, not 1
  std::int64_t width = 0;   // the number of features
  bool skip = false;        // skip malformed lines
};

struct ParseError {
  std::int64_t line = 0;   // within the text, from 0
  std::size_t column = 0;  // in bytes, from 1
  std::string expected, found;
};

template <class T>
struct LibsvmRows {
  std::vector<double> labels;
  std::vector<T> values;
  std::vector<std::int32_t> features;  // ascending in each row
  std::vector<std::int64_t> offsets{0};
  std::size_t bytes = 0;  // the number of bytes of the text that were read
  std::int64_t lines = 0;
  std::int64_t skipped = 0;
  std::optional<ParseError> parse_error;  // the first; unless lines are skipped, reading stopped before its line
};

// Reads complete lines until there are `max_rows` rows or no complete line is left; with `last`, the end of the text
// ends its line too.
template <class T>
LibsvmRows<T> read_libsvm(std::string_view text, bool last, std::size_t max_rows, const LibsvmRules& rules);

}  // namespace onkel
