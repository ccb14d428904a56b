// LIBSVM text to sparse rows: "label [qid:n] index:value index:value ... [# comment]", one row a line.
//
// Strict: indices ascend, numbers are finite, and whatever else stands in a line is a complaint with its line, its
// column and what was expected. Lines without anything but blanks or a comment are no rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onkel {

struct LibsvmRules {
  bool labelled = true;     // otherwise a line may lack its label, and one that is there is ignored
  bool zero_based = false;  // the first feature has the index 0, not 1
  std::int64_t width = 0;   // features there are
  bool skip = false;        // pass over lines that are wrong
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
  std::size_t bytes = 0;  // of the text that were read
  std::int64_t lines = 0;
  std::int64_t skipped = 0;
  std::optional<ParseError> parse_error;  // the first; unless lines are skipped, reading stopped before its line
};

// Reads whole lines until there are `max_rows` rows or no whole line is left; `last`: the text's end ends its line too.
template <class T>
LibsvmRows<T> read_libsvm(std::string_view text, bool last, std::size_t max_rows, const LibsvmRules& rules);

}  // namespace onkel
