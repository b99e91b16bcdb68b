// Stands in for libFuzzer where the compiler lacks it:
//   driver EFFORT FILE|FOLDER...
// runs every corpus file given on the command line, alone or in a folder, then
// EFFORT times a fixed number of seeded mutations of them.
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutations = 5000;

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

std::string Mutate(std::string input, std::mt19937& random) {
  const int edits = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < edits; ++i) {
    const size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 4) {
      case 0:
        input.insert(at, 1, static_cast<char>(random() % 256));
        break;
      case 1:
        if (!input.empty()) input.erase(at, 1 + random() % 8);
        break;
      case 2:
        if (!input.empty()) input[at] = static_cast<char>(random() % 256);
        break;
      default:
        input.insert(at, input.substr(at, random() % 32));
    }
  }
  return input;
}

// A folder's files, by name; a file is itself.
std::vector<std::string> FilesOf(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus = {""};
  const int mutations = argc > 1 ? std::atoi(argv[1]) * kMutations : kMutations;
  for (int i = 2; i < argc; ++i) {
    for (const std::string& path : FilesOf(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      if (!file) {
        std::fprintf(stderr, "cannot read corpus file %s\n", path.c_str());
        return 1;
      }
      corpus.emplace_back(std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>());
    }
  }
  for (const std::string& input : corpus) Run(input);
  std::mt19937 random(20260101);
  for (int i = 0; i < mutations; ++i) {
    Run(Mutate(corpus[random() % corpus.size()], random));
  }
  std::printf("%zu corpus inputs, %d mutations\n", corpus.size(), mutations);
  return 0;
}
