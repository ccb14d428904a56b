// The LIBSVM reader on text that nobody wrote, in buffers of exactly the text's size: for the sanitizers.
#include <cstdio>
#include <random>
#include <string>

#include "libsvm.hpp"

namespace {

std::string random_text(std::mt19937& random) {
  static const char* const words[] = {"1",
                                      "-1",
                                      "+",
                                      "1:2",
                                      "3:0.5",
                                      "2147483647:1",
                                      "2147483648:1",
                                      ":",
                                      "qid:",
                                      "#",
                                      "nan",
                                      "1e400",
                                      "1e-400",
                                      "9999999999999999999999",
                                      ".",
                                      "e",
                                      "\r",
                                      "\t",
                                      " ",
                                      "\n",
                                      "\n",
                                      "q",
                                      "qi",
                                      "qid",
                                      "0.",
                                      "1e99999999999999999999",
                                      "\xff"};
  std::string text;
  for (auto n = random() % 30; n > 0; --n) {
    text += words[random() % std::size(words)];
    if (random() % 2) text += ' ';
  }
  return text;
}

template <class T>
bool holds(const std::string& text, bool last, const onkel::LibsvmRules& rules) {
  const std::vector<char> exact(text.begin(), text.end());  // no byte after the text is readable
  const onkel::LibsvmRows<T> rows = onkel::read_libsvm<T>({exact.data(), exact.size()}, last, 1000, rules);
  if (rows.offsets.size() != rows.labels.size() + 1 || rows.values.size() != rows.features.size()) return false;
  for (const auto feature : rows.features)
    if (feature < 0 || feature >= rules.width) return false;
  return rows.bytes <= text.size() && (!last || !rules.skip || rows.bytes == text.size());
}

}  // namespace

int main() {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const std::string text = random_text(random);
    const onkel::LibsvmRules rules{random() % 4 > 0, random() % 2 > 0, random() % 2 > 0 ? 5 : 2147483647,
                                   random() % 2 > 0};
    const bool last = random() % 2 > 0;
    if (!holds<float>(text, last, rules) || !holds<double>(text, last, rules)) {
      std::fprintf(stderr, "rows do not fit together for the text\n%s\n", text.c_str());
      return 1;
    }
  }
}
