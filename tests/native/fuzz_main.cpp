// A stand-in for libFuzzer where the compiler is not clang: FUZZ CORPUS RUNS SEED FOUND runs every file of a folder,
// then so many changes of them, the same from the same seed. It does not look at coverage. The input under way is
// always in the file FOUND.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> read_folder(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the same run from the same seed
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

Bytes changed(const std::vector<Bytes>& corpus, std::mt19937& random) {
  Bytes bytes = corpus[random() % corpus.size()];
  for (auto n = 1 + random() % 6; n > 0; --n) {
    const auto place = [&](const Bytes& in) { return static_cast<std::ptrdiff_t>(random() % (in.size() + 1)); };
    const auto at = bytes.begin() + place(bytes);
    switch (random() % 4) {
      case 0:
        if (at != bytes.end()) *at = static_cast<std::uint8_t>(random());
        break;
      case 1:
        bytes.insert(at, static_cast<std::uint8_t>(random()));
        break;
      case 2:
        bytes.erase(at, at + std::min<std::ptrdiff_t>(bytes.end() - at, 1 + random() % 8));
        break;
      case 3: {  // a piece of another
        const Bytes& other = corpus[random() % corpus.size()];
        auto from = place(other), to = place(other);
        if (from > to) std::swap(from, to);
        bytes.insert(at, other.begin() + from, other.begin() + std::min<std::ptrdiff_t>(to, from + 64));
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s CORPUS RUNS SEED FOUND\n", words[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_folder(words[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "'%s' holds no file\n", words[1]);
    return 2;
  }
  std::FILE* found = std::fopen(words[4], "wb");
  std::size_t runs = 0;
  const auto run = [&](const Bytes& bytes) {
    if (found != nullptr) {
      std::rewind(found);
      std::fwrite(bytes.data(), 1, bytes.size(), found);
      std::fflush(found);
      std::filesystem::resize_file(words[4], bytes.size());
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++runs;
  };
  for (const Bytes& bytes : corpus) run(bytes);
  std::mt19937 random(static_cast<unsigned>(std::atoi(words[3])));
  for (long changes = std::atol(words[2]); changes > 0; --changes) run(changed(corpus, random));
  std::printf("%zu files, %zu runs\n", corpus.size(), runs);
  if (found != nullptr) std::fclose(found);
}
