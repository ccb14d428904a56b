// The LIBSVM reader on text that nobody wrote, in buffers of exactly the text's size. The first byte holds the rules.
#include <cstdio>
#include <cstdlib>

#include "fuzz_input.hpp"
#include "io/libsvm.hpp"

namespace {

template <class T>
bool holds(const std::vector<char>& text, bool last, const onkel::LibsvmRules& rules) {
  const onkel::LibsvmRows<T> rows = onkel::read_libsvm<T>({text.data(), text.size()}, last, 1000, rules);
  if (rows.offsets.size() != rows.labels.size() + 1 || rows.values.size() != rows.features.size()) return false;
  for (const auto feature : rows.features)
    if (feature < 0 || feature >= rules.width) return false;
  return rows.bytes <= text.size() && (!last || !rules.skip || rows.bytes == text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onkel::FuzzInput input(data, size);
  const unsigned bits = input.byte();
  const onkel::LibsvmRules rules{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0 ? 5 : 2147483647, (bits & 8) != 0};
  const bool last = (bits & 16) != 0;
  const std::vector<char> text(input.data(), input.data() + input.rest());  // no byte after the text is readable
  if (!holds<float>(text, last, rules) || !holds<double>(text, last, rules)) {
    std::fprintf(stderr, "the rows of a text do not fit together\n");
    std::abort();
  }
  return 0;
}
