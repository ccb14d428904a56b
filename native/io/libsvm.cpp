// The reader of LIBSVM text. Every line ends in '\n' here, so the loops over digits and blanks need no other bound.
#include "io/libsvm.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace onkel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_line(char c) { return c == '\n' || c == '#'; }
const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

constexpr int exact_powers = 22;  // 10^22 is the last power of ten that a double holds exactly
constexpr auto powers_of_ten = [] {
  std::array<double, exact_powers + 1> powers{1.0};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

// Whether a number that no double can hold is too small rather than too large: the power of ten of its first digit.
bool is_tiny(const char* p, const char* end) {
  std::int64_t power = 0;
  bool seen = false, fraction = false;
  for (; p != end && (is_digit(*p) || *p == '.'); ++p) {
    if (*p == '.')
      fraction = true;
    else if (!fraction)
      power += seen |= *p != '0';
    else if (!seen)
      power -= !(seen = *p != '0');
  }
  int exponent = 0;
  if (p != end) ++p;  // the e
  if (p != end && *p == '+') ++p;
  const bool negative = p != end && *p == '-';
  if (std::from_chars(p, end, exponent).ec == std::errc::result_out_of_range) return negative;
  return power + exponent < 0;
}

// Reads a decimal number as exactly as std::from_chars; returns null where there is no finite number.
const char* read_number(const char* p, const char* end, double& value) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  std::uint64_t digits = 0;
  const char* q = p;
  while (is_digit(*q)) digits = digits * 10 + static_cast<std::uint64_t>(*q++ - '0');
  std::ptrdiff_t count = q - p, fraction = 0;
  if (*q == '.') {
    const char* first = ++q;
    while (is_digit(*q)) digits = digits * 10 + static_cast<std::uint64_t>(*q++ - '0');
    fraction = q - first;
    count += fraction;
  }
  // A whole number below 2^53 over an exact power of ten: one division, rounded once.
  if (count > 0 && count <= 19 && digits <= std::uint64_t{1} << 53 && (*q | 0x20) != 'e') {
    value = static_cast<double>(digits) / powers_of_ten[static_cast<std::size_t>(fraction)];
  } else {
    if (!is_digit(*p) && *p != '.') return nullptr;  // nan, inf, a second sign
    const auto read = std::from_chars(p, end, value);
    if (read.ec == std::errc::invalid_argument) return nullptr;
    if (read.ec == std::errc::result_out_of_range) {
      if (!is_tiny(p, read.ptr)) return nullptr;
      value = 0;
    }
    q = read.ptr;
  }
  if (negative) value = -value;
  return q;
}

// What is wrong with a line, and where; `expected` is empty for a correct line.
struct Failure {
  const char* at = nullptr;
  std::string expected;
};

template <class T>
class LineReader {
 public:
  LineReader(const LibsvmRules& rules, LibsvmRows<T>& rows) : rules_(rules), rows_(rows) {}

  // Appends the row of a line whose first character is neither blank nor its end; *end is '\n'.
  Failure read(const char* p, const char* end) {
    double label = 0;
    if (Failure failure = read_label(p, end, label); failure.at) return failure;
    p = skip_blanks(p);
    if (std::strncmp(p, "qid:", 4) == 0) {  // ends before '\n' at the latest
      const char* number = p + 4;
      const char* q = number;
      while (is_digit(*q)) ++q;
      if (q == number || !(is_blank(*q) || ends_line(*q))) return {number, "a whole number after qid:"};
      p = skip_blanks(q);
    }
    const std::int64_t first = rules_.zero_based ? 0 : 1;
    for (std::int64_t previous = first - 1; !ends_line(*p); p = skip_blanks(p)) {
      std::int64_t index = 0;
      const char* q = p;
      while (is_digit(*q) && q - p < 18) index = index * 10 + (*q++ - '0');
      if (q == p) return {p, "an index (a whole number)"};
      if (*q != ':') return {q, is_digit(*q) ? "an index of at most 2147483647" : "a colon after the index"};
      if (index <= previous) {
        if (index < first) return {p, "an index of at least 1 (zero_based=True reads files that count from 0)"};
        return {p, "an index greater than " + std::to_string(previous)};
      }
      if (index - first >= rules_.width) return {p, "an index of at most " + std::to_string(rules_.width - 1 + first)};
      double number = 0;
      const char* after = read_number(q + 1, end, number);
      const T value = static_cast<T>(number);
      if (!after || !std::isfinite(value)) return {q + 1, "a finite number after the colon"};
      if (!is_blank(*after) && !ends_line(*after)) return {after, "a blank after the value"};
      rows_.features.push_back(static_cast<std::int32_t>(index - first));
      rows_.values.push_back(value);
      previous = index;
      p = after;
    }
    rows_.labels.push_back(label);
    rows_.offsets.push_back(static_cast<std::int64_t>(rows_.values.size()));
    return {};
  }

 private:
  Failure read_label(const char*& p, const char* end, double& label) const {
    if (!rules_.labelled) {  // a first word without a colon
      const char* q = p;
      while (*q != ':' && !is_blank(*q) && !ends_line(*q)) ++q;
      if (*q != ':') p = q;
      return {};
    }
    const char* after = read_number(p, end, label);
    if (!after || !(is_blank(*after) || ends_line(*after))) return {p, "a label (a finite number, then a blank)"};
    p = after;
    return {};
  }

  const LibsvmRules& rules_;
  LibsvmRows<T>& rows_;
};

// The word at this place, shortened.
std::string word_at(const char* p) {
  constexpr std::ptrdiff_t longest = 30;
  const char* q = p;
  while (!is_blank(*q) && *q != '\n' && q - p < longest) ++q;
  return {p, q};
}

}  // namespace

template <class T>
LibsvmRows<T> read_libsvm(std::string_view text, bool last, std::size_t max_rows, const LibsvmRules& rules) {
  LibsvmRows<T> rows;
  LineReader<T> reader(rules, rows);
  std::string ended;  // the last line, with a line end
  while (rows.labels.size() < max_rows && rows.bytes < text.size()) {
    const char* begin = text.data() + rows.bytes;
    const std::size_t left = text.size() - rows.bytes;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', left));
    const std::size_t length = end ? static_cast<std::size_t>(end - begin) + 1 : left;
    if (!end) {
      if (!last) break;
      ended.assign(begin, left);
      ended += '\n';
      begin = ended.data();
      end = begin + left;
    }
    const char* p = skip_blanks(begin);
    if (!ends_line(*p)) {
      const std::size_t values = rows.values.size();
      const Failure failure = reader.read(p, end);
      if (failure.at) {
        rows.values.resize(values);
        rows.features.resize(values);
        if (!rows.parse_error)
          rows.parse_error = {rows.lines, static_cast<std::size_t>(failure.at - begin) + 1, failure.expected,
                              word_at(failure.at)};
        if (!rules.skip) break;
        ++rows.skipped;
      }
    }
    rows.bytes += length;
    ++rows.lines;
  }
  return rows;
}

template LibsvmRows<float> read_libsvm(std::string_view, bool, std::size_t, const LibsvmRules&);
template LibsvmRows<double> read_libsvm(std::string_view, bool, std::size_t, const LibsvmRules&);

}  // namespace onkel
