// Stands in for libFuzzer where the compiler lacks it:
//   driver EFFORT FILE|FOLDER...
// It runs every corpus file of the command line, alone or in a folder, then
// EFFORT times a fixed number of seeded mutations of them: by bytes, or by the
// target's own mutator. If one run takes long, it ends earlier.
#include <algorithm>
#include <chrono>
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
// For targets that know the structure of their input (message_input.h).
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data,
                                                                size_t size,
                                                                size_t max_size,
                                                                unsigned seed);

namespace {

constexpr int kMutations = 5000;
constexpr size_t kMaxInputBytes = 1 << 16;
constexpr std::chrono::seconds kMaxTime(20);

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

std::string Mutate(std::string input, std::mt19937& random) {
  if (LLVMFuzzerCustomMutator != nullptr) {
    const size_t size = input.size();
    input.resize(std::max(size, kMaxInputBytes));
    input.resize(
        LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(input.data()), size,
                                input.size(), static_cast<unsigned>(random())));
    return input;
  }
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
  const int effort = argc > 1 ? std::atoi(argv[1]) : 1;
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
  const auto end = std::chrono::steady_clock::now() + effort * kMaxTime;
  int mutations = 0;
  while (mutations < effort * kMutations &&
         std::chrono::steady_clock::now() < end) {
    Run(Mutate(corpus[random() % corpus.size()], random));
    ++mutations;
  }
  std::printf("%zu corpus inputs, %d mutations\n", corpus.size(), mutations);
  std::fflush(nullptr);
  // Targets keep servers to the end, whose threads may still work: their data
  // must not be destroyed under them.
  std::_Exit(0);
}
